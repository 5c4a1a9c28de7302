"""A server's process. It ends with the test run, however that ends: it is on the leash of Orion's brokers."""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from orion.hub.cluster_data import HOST, PORTS, is_free
from orion.hub.leash import leashed
from tests.faults import processes

__all__ = ["HOST", "Process", "another_user", "free_ports", "hand_over", "needs_another_user", "run"]

OTHER = "nobody"  # runs what refuses to run as root
PATIENCE_S = 120.0
SAID = 3000  # characters of a log that are shown when a server fails


class Process:
    """One server: started, waited for, ended, started again."""

    def __init__(self, name: str, log: Path) -> None:
        self._name = name
        self._log = log
        self._leash: subprocess.Popen[bytes] | None = None
        self._pid = 0

    @property
    def runs(self) -> bool:
        return self._leash is not None and self._leash.poll() is None

    def start(self, command: list[str], answers: Callable[[], object], *, env: Mapping[str, str] | None = None) -> None:
        """Run the command and wait until `answers` raises nothing."""
        with self._log.open("ab") as log:
            self._leash = subprocess.Popen(
                leashed(0, command),
                cwd=self._log.parent,
                env={**os.environ, **(env or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._leash.stdout is not None
        with self._leash.stdout as told:
            self._pid = int(told.readline() or 0)
        try:
            self._wait_for(answers)
        except BaseException:
            self.kill()
            raise

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask it to end, and wait until it has. May be called again."""
        if not self.runs:
            return
        everyone = processes.tree(self._pid)
        with suppress(ProcessLookupError):
            os.kill(self._pid, how)
        processes.wait_until(lambda: not any(one.runs for one in everyone), f"{self._name} doesn't end", PATIENCE_S)
        self._let_go()

    def kill(self) -> None:
        """End it and all that descend from it, at once. May be called again."""
        if self.runs:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGSTOP)  # it forks nobody from here on
            processes.end(processes.tree(self._pid))
        self._let_go()

    def _let_go(self) -> None:
        if self._leash is not None:
            assert self._leash.stdin is not None
            self._leash.stdin.close()
            self._leash.wait(PATIENCE_S)
            self._leash = None

    def _wait_for(self, answers: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                answers()
                return
            except Exception as error:
                if not self.runs:
                    raise RuntimeError(f"{self._name} ended at its start: {self._said()}") from error
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{self._name} doesn't answer ({error}): {self._said()}") from error
            time.sleep(0.05)

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-SAID:]


def run(command: list[str], *, cwd: Path, timeout: float = PATIENCE_S) -> str:
    """What a command says that ends by itself, such as one that makes a data folder."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {(done.stdout + done.stderr)[-SAID:]}")
    return done.stdout


def free_ports(count: int) -> list[int]:
    """Ports that nobody has. They are out of the range of outgoing connections, so a server finds its own again."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        if len(found) < count and is_free(port):
            found.append(port)
    return found


def needs_another_user() -> str | None:
    """Why a server that refuses to run as root can't run here."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "setpriv is missing, and root can't run it without: apt-get install util-linux"
    return None


def another_user(command: list[str]) -> list[str]:
    """The command as one that root runs as somebody else. A change of user drops the tie to the leash: it's renewed."""
    if os.geteuid() != 0:
        return command
    other = pwd.getpwnam(OTHER)
    who = [f"--reuid={other.pw_uid}", f"--regid={other.pw_gid}", "--clear-groups", "--pdeathsig=KILL"]
    return ["setpriv", *who, *command]


def hand_over(folder: Path) -> None:
    """Give a folder and all in it to the user that commands run as."""
    if os.geteuid() == 0:
        other = pwd.getpwnam(OTHER)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, other.pw_uid, other.pw_gid, follow_symlinks=False)

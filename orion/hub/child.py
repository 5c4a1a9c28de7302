"""A program that Orion runs and that doesn't outlive it: one run of a broker, or of Kafka Connect (see `leash.py`)."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from orion.hub.leash import leashed

STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program runs, and where what it says is found."""

    folder: Path
    console: Path  # of this run alone
    log: Path  # its own, which may have more than this run


class Child:
    """One run, from when it is made until it has ended."""

    def __init__(self, place: Place, command: list[str]) -> None:
        self._place = place
        self._log_start = place.log.stat().st_size if place.log.exists() else 0
        with place.console.open("wb") as console:
            self._leash = subprocess.Popen(
                leashed(STOP_SECONDS, command),
                cwd=place.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=console,
                start_new_session=True,
            )
        assert self._leash.stdout is not None
        with self._leash.stdout as told:
            self.pid = int(told.readline() or 0)

    @property
    def runs(self) -> bool:
        return self._leash.poll() is None

    @property
    def code(self) -> int | None:
        """How it ended, once that was seen."""
        return self._leash.returncode

    @property
    def was_killed(self) -> bool:
        """By someone outside, or by a machine that has run out of memory."""
        return self._leash.returncode == 128 + signal.SIGKILL

    def let_go(self) -> None:
        """Close the leash's pipe: it ends the program."""
        if self._leash.stdin is not None and not self._leash.stdin.closed:
            self._leash.stdin.close()

    def wait(self) -> int:
        """The exit code, once the program has ended. The leash sees to it that this doesn't take long."""
        try:
            return self._leash.wait(timeout=STOP_SECONDS + 5)
        except subprocess.TimeoutExpired:
            self._leash.kill()  # and the program with it
            return self._leash.wait()

    def said(self) -> str:
        """What this run has said, on its console and in its log."""
        said, log = self._place.console.read_text(errors="replace"), self._place.log
        if log.exists():
            with log.open("rb") as file:
                file.seek(self._log_start if self._log_start <= log.stat().st_size else 0)
                said += file.read().decode(errors="replace")
        return said

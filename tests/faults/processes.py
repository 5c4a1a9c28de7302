"""Processes by their ids: who descends from whom, and how each is ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# For JVMs that are killed after a minute or two: compiling well would be most of what they do. Where one lives longer,
# the room that is usual for code compiled this way (48 MB) wouldn't do.
SHORT_LIVED = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"}


@dataclass(frozen=True, slots=True)
class Process:
    """One process; `born` tells it from a later one of the same number."""

    pid: int
    parent: int
    born: int
    command: str

    @property
    def runs(self) -> bool:
        found = _look(self.pid)
        return found is not None and found.born == self.born

    def send(self, number: signal.Signals) -> None:
        if self.runs:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def tree(root: int) -> list[Process]:
    """A process and all that descend from it, parents first."""
    everyone = [p for entry in Path("/proc").iterdir() if entry.name.isdigit() and (p := _look(int(entry.name)))]
    found = [p for p in everyone if p.pid == root]
    for process in found:  # grows while it is walked
        found += [p for p in everyone if p.parent == process.pid]
    return found


def spark_of(processes: Iterable[Process]) -> list[Process]:
    """The JVM of Spark's driver."""
    return [p for p in processes if "org.apache.spark.deploy.SparkSubmit" in p.command]


def workers_of(processes: Iterable[Process]) -> list[Process]:
    """Spark's Python workers: forks of the daemon, so they carry its command."""
    daemons = {p.pid: p for p in processes if "-m orion.runtime.worker_daemon" in p.command}
    return [p for p in daemons.values() if p.parent in daemons]


def end(processes: Iterable[Process], deadline_s: float = 20.0) -> None:
    """SIGKILL, and wait until they are gone."""
    processes = list(processes)
    for process in processes:
        process.send(signal.SIGCONT)
        process.send(signal.SIGKILL)
    wait_until(lambda: not any(p.runs for p in processes), "a killed process is still there", deadline_s)


def wait_until(condition: Callable[[], bool], complaint: str | Callable[[], str], deadline_s: float) -> None:
    limit = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > limit:
            said = complaint if isinstance(complaint, str) else complaint()
            raise AssertionError(f"{said}, after {deadline_s:.0f} s")
        time.sleep(0.05)


def _look(pid: int) -> Process | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    return None if fields[0] in "ZX" else Process(pid, int(fields[1]), int(fields[19]), command)

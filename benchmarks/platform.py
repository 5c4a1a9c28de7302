"""A whole platform as a user starts it, `orion up` with its broker, and what all its processes take of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orion
from benchmarks.processor_time import list_tree, read_seconds_of
from orion.hub.running import Running

_START_S = 240.0


@dataclass(frozen=True)
class Platform:
    process: subprocess.Popen[bytes]
    running: Running

    @property
    def bootstrap(self) -> str:
        return self.running.bootstrap

    def sql(self, script: str) -> None:
        with orion.connect(self.running.url) as connection:
            connection.execute(script)

    def statuses(self) -> list[dict[str, Any]]:
        with orion.connect(self.running.url) as connection:
            found: list[dict[str, Any]] = connection.execute("SHOW QUERIES;")[0]["queries"]
            return found

    def processor_seconds(self) -> float:
        return read_seconds_of(self.process.pid)

    def memory_mb(self) -> float:
        """What is its own of all its processes, shared pages in parts."""
        total = 0
        for number in list_tree(self.process.pid):
            with suppress(OSError):
                lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return total / 1024


@contextmanager
def start_platform(settings: Mapping[str, str]) -> Iterator[Platform]:
    """`settings` as environment variables."""
    with tempfile.TemporaryDirectory(prefix="orion-bench-up-") as folder:
        data = Path(folder) / "data"
        command = [sys.executable, "-m", "orion", "--data", str(data), "up", "--port", "0"]
        with (Path(folder) / "up.log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **settings}
            )
        try:
            yield Platform(process, _await_start(process, data, Path(folder) / "up.log"))
        finally:
            process.terminate()
            process.wait(60)


def _await_start(process: subprocess.Popen[bytes], data: Path, log: Path) -> Running:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        found = Running.read(data)
        if found is not None and found.pid == process.pid:
            return found
        time.sleep(0.1)
    raise RuntimeError(f"the platform didn't start: {log.read_text()[-2000:]}")

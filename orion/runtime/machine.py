"""How much of the processors' time is wanted, and how much there is."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_STAT = Path("/proc/stat")
_QUOTAS = (Path("/sys/fs/cgroup/cpu.max"),)
_OVER_S = 15.0
_LEAST_S = 3.0  # of looks, before they say anything
_STARVED = 2.0  # times what there is


@dataclass(frozen=True, slots=True)
class Load:
    """CPU-seconds a second: what all processes of the machine want, and what there is for them."""

    wanted: float
    there: float

    @property
    def starved(self) -> bool:
        return self.wanted > _STARVED * self.there

    def __str__(self) -> str:
        word = "starved: " if self.starved else ""
        return f"{word}{self.wanted:.1f} CPU-seconds wanted a second, {self.there:.1f} there"


@dataclass(frozen=True, slots=True)
class _Look:
    at: float
    runnable: int  # threads that run or could
    total: int  # ticks of all kinds
    stolen: int  # ticks that another machine on the same hardware had


def read_stat() -> str | None:
    try:
        return _STAT.read_text(encoding="ascii")
    except OSError:  # not Linux
        return None


class Machine:
    """Looks at the kernel's counts now and then, and says what they come to."""

    def __init__(self, read: Callable[[], str | None] = read_stat, cores: float | None = None) -> None:
        self._read = read
        self._cores = cores or available_cores()
        self._looks: deque[_Look] = deque(maxlen=500)
        self._lock = threading.Lock()

    def look(self) -> None:
        text = self._read()
        seen = None if text is None else _parse(text, time.monotonic())
        if seen is not None:
            with self._lock:
                self._looks.append(seen)

    @property
    def load(self) -> Load | None:
        """Over the last seconds; None: it isn't known."""
        with self._lock:
            looks = [one for one in self._looks if one.at > time.monotonic() - _OVER_S]
        if len(looks) < 3 or looks[-1].at - looks[0].at < _LEAST_S:
            return None
        ticks = looks[-1].total - looks[0].total
        stolen = (looks[-1].stolen - looks[0].stolen) / ticks if ticks > 0 else 0.0
        # Whoever looks is one of those that run: without it, nobody would have wanted that time.
        wanted = sum(max(0, one.runnable - 1) for one in looks) / len(looks)
        return Load(wanted, self._cores * (1.0 - min(1.0, max(0.0, stolen))))

    @property
    def starved(self) -> bool:
        load = self.load
        return load is not None and load.starved


def available_cores() -> float:
    """The processors that this process may use: those of the machine, or what its container has of them."""
    cores = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    for file in _QUOTAS:
        try:
            quota, period = file.read_text(encoding="ascii").split()
            cores = cores if quota == "max" else min(cores, int(quota) / int(period))
        except (OSError, ValueError):
            continue
    return cores


def _parse(text: str, at: float) -> _Look | None:
    lines = {line.split(" ", 1)[0]: line.split()[1:] for line in text.splitlines() if line}
    try:
        ticks = [int(value) for value in lines["cpu"][:8]]
        return _Look(at, int(lines["procs_running"][0]), sum(ticks), ticks[7])
    except (KeyError, IndexError, ValueError):
        return None

"""How much of the processors' time Spark has used so far: its JVM, the Python workers, and those that have ended."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from orion.runtime.session import Spark

_PARENT, _FIRST_TIME, _LAST_TIME = 1, 11, 15  # behind the name: user and system time, and those of ended children


def read_processor_seconds(spark: Spark) -> float:
    children: dict[int, list[int]] = defaultdict(list)
    seconds: dict[int, float] = {}
    for folder in Path("/proc").iterdir():
        with suppress(ValueError, OSError):  # no process, or one that has just gone
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            number = int(folder.name)
            children[int(fields[_PARENT])].append(number)
            seconds[number] = sum(map(int, fields[_FIRST_TIME:_LAST_TIME])) / os.sysconf("SC_CLK_TCK")
    found, left = 0.0, [spark.sparkContext._gateway.proc.pid]  # type: ignore[union-attr]
    while left:
        number = left.pop()
        found += seconds.get(number, 0.0)
        left += children[number]
    return found

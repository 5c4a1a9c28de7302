"""How much of the processors' time some processes have used so far, those that have ended among them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from orion.runtime.session import Spark

_PARENT, _FIRST_TIME, _LAST_TIME = 1, 11, 15  # behind the name: user and system time, and those of ended children


def read_processor_seconds(spark: Spark) -> float:
    """Of Spark: its JVM and the Python workers."""
    return read_seconds_of(spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]


def read_seconds_of(root: int) -> float:
    """Of a process and all below it."""
    tree = list_tree(root)
    return sum(seconds for number, _, seconds in _read_processes() if number in tree)


def list_tree(root: int) -> set[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = defaultdict(list)
    for number, parent, _ in _read_processes():
        children[parent].append(number)
    found, left = set[int](), [root]
    while left:
        number = left.pop()
        found.add(number)
        left += children[number]
    return found


def _read_processes() -> Iterator[tuple[int, int, float]]:
    """Each process, its parent, and its seconds."""
    for folder in Path("/proc").iterdir():
        with suppress(ValueError, OSError):  # no process, or one that has just gone
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            seconds = sum(map(int, fields[_FIRST_TIME:_LAST_TIME])) / os.sysconf("SC_CLK_TCK")
            yield int(folder.name), int(fields[_PARENT]), seconds

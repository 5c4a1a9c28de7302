"""The peers' jars: pinned in `jars.lock` beside this file, kept in Orion's cache and fetched as its own are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orion.config import cache_folder
from orion.hub import ivy
from orion.hub.ivy import Jar, Progress
from orion.hub.jars import complete, parse, pyspark_folder

LOCK = Path(__file__).with_name("jars.lock")


def list_jars(set_name: str) -> list[Jar]:
    return [jar for name, jar in parse(LOCK.read_text("utf-8")) if name == set_name]


def bring_jars(set_name: str, progress: Progress) -> list[Path]:
    """The jars of a set, all there and all right."""
    return complete(list_jars(set_name), cache_folder() / "jars", _fetch, progress)


def _fetch(jars: Sequence[Jar], staging: Path, progress: Progress) -> None:
    ivy.fetch(jars, staging, ivy.ivy_in(pyspark_folder() / "jars"), progress)

"""Servers that are fetched or built once, and kept in the user's cache."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from orion.config import cache_folder

Tell = Callable[[str], None]

PREPARE = "python -m tests.servers"


def place(name: str) -> Path:
    """The file or folder of this name. What is there is whole."""
    return cache_folder() / "servers" / name


def keep(name: str, make: Callable[[Path], Path]) -> None:
    """Keep what `make` leaves in a folder that is gone afterwards. Two at the same time don't harm each other."""
    wanted = place(name)
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=wanted.parent) as folder:
        made = make(Path(folder))
        made.rename(wanted)


def absent(*tools: str) -> list[str]:
    """Programs that this machine doesn't have."""
    return [tool for tool in tools if shutil.which(tool) is None]

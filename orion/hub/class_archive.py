"""Classes of a JVM lying ready to be mapped into the next one: loading and checking them is most of a JVM's start.

An archive stands for one Java and the very jars that it was made of, and so does its name. The JVM looks by itself
whether an archive is right, down to the jars' sizes and times, and starts without one that isn't.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from orion.config import cache_folder
from orion.hub.java import Java

ARCHIVES_KEPT = 3
# An archive that doesn't fit is passed over, and nobody has to read about it.
QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")


def class_archive(program: str, java: Java, files: Iterable[Path]) -> Path:
    """Where the classes of a program lie, or would lie, for this Java and these jars."""
    marks = [java.executable.resolve(), *files]
    stats = [path.stat() for path in marks]
    text = "\n".join(f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in zip(marks, stats, strict=True))
    return cache_folder() / "classes" / f"{program}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsa"


def keep_archive(written: Path, archive: Path) -> None:
    """Move a freshly written archive to its place, and drop the program's oldest for other Javas and jars."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    arriving = archive.with_suffix(f".{os.getpid()}")
    shutil.move(written, arriving)
    os.replace(arriving, archive)
    program = archive.name.rpartition("-")[0]
    alike = sorted(archive.parent.glob(f"{program}-*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for stale in alike[ARCHIVES_KEPT:]:
        stale.unlink(missing_ok=True)

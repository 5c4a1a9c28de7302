"""What Spark's source that follows a folder has noted of the files it has read: its log in a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_COMPACT = ".compact"


def read_file_log(checkpoint: Path, done: int) -> Iterator[tuple[str, int]]:
    """The files that are read with batch `done`: the address of each, and when it was last changed. What isn't there,
    or can't be read, isn't told."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        offset = json.loads((checkpoint / "offsets" / str(done)).read_text(encoding="utf-8").split("\n")[2])
        log, last = checkpoint / "sources" / "0", int(offset["logOffset"])
        whole = max((n for n in _numbers(log, _COMPACT) if n <= last), default=-1)
        # An entry that was compacted has those of all before it.
        entries = [log / f"{whole}{_COMPACT}"] if whole >= 0 else []
        entries += [log / str(n) for n in sorted(_numbers(log, "")) if whole < n <= last]
        for entry in entries:
            for line in entry.read_text(encoding="utf-8").split("\n")[1:]:
                told = json.loads(line)
                yield str(told["path"]), int(told["timestamp"])


def _numbers(log: Path, suffix: str) -> list[int]:
    names = (file.name for file in log.iterdir() if file.name.endswith(suffix))
    return [int(name.removesuffix(suffix)) for name in names if name.removesuffix(suffix).isdecimal()]

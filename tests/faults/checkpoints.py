"""Checkpoint folders read from outside: which batches have begun, which are done, how many rows they hold; and the
local stores of state beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import lmdb
import msgpack


@dataclass(frozen=True)
class Checkpoint:
    """The folder of one query or connector."""

    folder: Path
    own: Path | None = None  # the query's own folder, where it runs in one stream with others

    @property
    def begun(self) -> int:
        """The last batch of the offset log; -1 when there is none."""
        return _last(self.folder / "offsets")

    @property
    def done(self) -> int:
        return _last(self.folder / "commits")

    def stores(self) -> list[Path]:
        """The folders of the tasks' local stores."""
        return sorted(file.parent for file in (self.own or self.folder).glob("tasks/*/*/data.mdb"))

    def half_written(self) -> list[str]:
        """Entries of the offset log that never got their name."""
        return sorted(p.name for p in _files(self.folder / "offsets") if p.name.startswith(".") and ".tmp" in p.name)

    def cut_off(self) -> int | None:
        """The batch that has begun and isn't done."""
        begun, done = self.begun, self.done
        return begun if begun > done else None

    def rows(self, batch: int) -> int:
        """How many records of its topics a batch reads."""
        before, after = self._reached(batch - 1), self._reached(batch)
        return sum(offset - before.get(place, 0) for place, offset in after.items())

    def _reached(self, batch: int) -> dict[tuple[str, str], int]:
        """Where a batch ends, by topic and partition; a query that scans a topic twice says it twice."""
        file = self.folder / "offsets" / str(batch)
        found: dict[tuple[str, str], int] = {}
        for line in file.read_text().splitlines() if file.exists() else []:
            for topic, ends in _object(line).items():
                if isinstance(ends, dict):
                    found |= {(topic, part): end for part, end in ends.items() if isinstance(end, int)}
        return found


def pending_batch(store: Path) -> int | None:
    """Of which batch a local store has changes that nobody has applied yet. Nothing is locked, so it may be read while
    it is written: what can't be made out then is nothing."""
    try:
        with lmdb.open(str(store), readonly=True, lock=False) as env, env.begin() as txn:
            note, pending = txn.get(b"n"), txn.get(b"p")
            told = None if note is None or pending is None else msgpack.unpackb(note)
    except (lmdb.Error, OSError, ValueError):
        return None
    return told["batch"] if isinstance(told, dict) else None


def of_query(data: Path, query: str) -> Checkpoint:
    """The folder of a query by its id; of the connector when there is no id."""
    pattern = f"{query}-*" if query else "connector-*"
    found = sorted((data / "checkpoints").glob(pattern))
    assert len(found) == 1, f"checkpoints of {query or 'the connector'} in {data}: {found}"
    members = sorted((data / "checkpoints").glob("shared-*/queries"), key=lambda file: file.stat().st_mtime)
    shared = [file.parent for file in members if query in file.read_text().splitlines()]
    if shared and not (found[0] / "offsets").is_dir():
        return Checkpoint(shared[-1], found[0])
    return Checkpoint(found[0])


def _last(log: Path) -> int:
    return max((int(p.name) for p in _files(log) if p.name.isdigit()), default=-1)


def _files(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _object(line: str) -> dict[str, object]:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}

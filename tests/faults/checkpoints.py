"""Spark's checkpoint folders read from outside: which batches have begun, which are done, how many rows they hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Checkpoint:
    """The folder of one query or connector."""

    folder: Path

    @property
    def begun(self) -> int:
        """The last batch of the offset log; -1 when there is none."""
        return _last(self.folder / "offsets")

    @property
    def done(self) -> int:
        return _last(self.folder / "commits")

    @property
    def state(self) -> Path:
        return self.folder / "state"

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


def of_query(data: Path, query: str) -> Checkpoint:
    """The folder of a query by its id; of the connector when there is no id."""
    pattern = f"{query}-*" if query else "connector-*"
    found = sorted((data / "checkpoints").glob(pattern))
    assert len(found) == 1, f"checkpoints of {query or 'the connector'} in {data}: {found}"
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

"""What a query's checkpoint folder says, and whether it can be trusted.

    metadata               Spark's id of the query
    offsets/N              up to where batch N reads, written before it runs
    commits/N              batch N is done
    tasks/OPERATOR/TASK    Orion's own: local copies of the state, see orion.runtime.state
    sources/               where the query began; not read again after the first batch. Of a feed that follows a
                           folder: sources/N/BATCH has the files of a batch, BATCH.compact those of all up to it
    orion.json             Orion's own: whose folder this is, and which topics it stands for

Spark believes what it finds. What it does with a folder that something was done to, as tried with Spark 4.2 and its
default file manager, and whether `verify` trusts it. One that isn't trusted is made anew from what stands in Kafka
(orion.runtime.checkpoint_planting):

| damage | Spark | trusted |
|---|---|---|
| all is gone; `offsets` and `commits` | begins from zero, without a word | no |
| another number in the last entry of `offsets` | reads on from there: rows lost, or read twice | no, by checksum |
| an older copy of the folder | does what came since again, in batches that are written already | no |
| last entry of `offsets` gone | does the batch before it again, then "Concurrent update to the log" | no |
| last but one entry of `offsets` gone | "batch 2 doesn't exist" | no |
| `offsets` gone | "assertion failed" | no |
| an entry of `offsets` or `commits` cut off, empty | "Incomplete log file", "Unexpected end-of-input" | no |
| `metadata` gone, cut off | refuses to start; an error of its JSON parser | no |
| `commits` gone, or more than its last entry | does the last batch again | no: no crash does that |
| last entry of `commits` gone | does the last batch again, as after a crash | yes |
| an old entry of `offsets`, `sources` gone | goes on, and is right | yes |
| `tasks` gone, damaged, of another time | doesn't know it | yes: made anew from the changelog |

The default file manager reads the logs without their checksums (`.N.crc`). The one that orion.runtime.session chooses
reads them, and ends a query whose entry doesn't match with "Checksum error".
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orion.runtime.checkpoint_planting import read_beginning
from orion.runtime.inputs import Input
from orion.runtime.progress import Offsets, slowest

_IDENTITY = "orion.json"


class Distrust(Exception):
    """Spark must not go on from a folder. The text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose checkpoint a folder is: the query, the service and cluster it runs on, and the topics it reads."""

    query: str
    service: str
    cluster: str
    stateful: bool
    topics: tuple[Input, ...]


@dataclass(frozen=True)
class Checkpoint:
    """The folder of one query. Nothing here is remembered: each question looks at the disk."""

    path: Path
    topics: bool = True  # the query reads topics: its offsets are theirs

    @property
    def exists(self) -> bool:
        return self.path.is_dir()

    @property
    def identity(self) -> Identity | None:
        """What Orion noted when the query first started."""
        file = self.path / _IDENTITY
        if not file.exists():
            return None
        try:
            told = json.loads(file.read_bytes())
            topics = tuple(
                Input(t["topic"], t["topic_id"], t["partitions"], {int(p): o for p, o in t["skipped"].items()})
                for t in told["topics"]
            )
            return Identity(told["query"], told["service"], told["cluster"], told["stateful"], topics)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _broken(file, "isn't what Orion wrote") from error

    def note(self, identity: Identity) -> None:
        """Write the identity, whole or not at all.

        To be called when Spark has started the query: a folder with an identity then has Spark's `metadata` too, and
        one that hasn't is damaged.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        new = self.path / f".{_IDENTITY}.new"
        with new.open("w", encoding="utf-8") as file:
            file.write(json.dumps(asdict(identity), indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path / _IDENTITY)

    @property
    def last_planned(self) -> int | None:
        """The last batch whose offsets are written."""
        return max(_numbers(self.path / "offsets"), default=None)

    @property
    def last_committed(self) -> int | None:
        """The last batch that is done."""
        return max(_numbers(self.path / "commits"), default=None)

    def offsets(self, batch: int) -> Offsets:
        """Up to where a batch reads each partition, not including that offset."""
        file = self.path / "offsets" / str(batch)
        if self.topics:
            return slowest(_sources(file))
        _check_files(self.path / "sources", [line for line in _entry(file)[1:] if line])
        return {}

    @property
    def reached(self) -> Offsets:
        """Where the query reads on, as far as it is known: behind the last batch that is done."""
        done = self.last_committed
        return {} if done is None else self.offsets(done)

    @property
    def ahead(self) -> Offsets:
        """Where the query reads on after the batch that it has planned last, be that one done or under way."""
        planned = self.last_planned
        return {} if planned is None else self.offsets(planned)

    @property
    def begun_at(self) -> Offsets:
        """Where the query's first batch began, as far as that is written."""
        try:
            return read_beginning(self.path / "sources" / "0" / "0")
        except (OSError, ValueError, LookupError, AttributeError):
            return {}

    def leave_to_kafka(self) -> None:
        """Remove what Spark goes by: from here on, Kafka alone tells how far the query is. Whose folder it is stays
        where that is known."""
        if self.path.is_dir() and not (self.path / _IDENTITY).exists():
            shutil.rmtree(self.path, ignore_errors=True)
        for name in ("metadata", ".metadata.crc", "offsets", "commits", "sources"):
            there = self.path / name
            shutil.rmtree(there, ignore_errors=True) if there.is_dir() else there.unlink(missing_ok=True)

    def verify(self, written: int | None) -> None:
        """Raise Distrust unless Spark would go on from here rightly. Call `sweep` first.

        `written` is the last batch that the ledger says has written something; None: it knows of none.
        """
        identity = self.identity
        planned, committed = self.last_planned, self.last_committed
        begun = self._begun(committed, written)
        if begun is None and planned is None and identity is None:
            return
        if not self.exists:
            raise _broken(self.path, f"is gone, though {begun}")
        _check_metadata(self.path / "metadata")
        if planned is None:
            if begun is None:
                return
            raise _broken(self.path / "offsets", f"holds nothing, though {begun}")
        for batch in range(max(0, planned - 1), planned + 1):
            self.offsets(batch)
        if committed is not None:
            _entry(self.path / "commits" / str(committed))
        self._check_numbers(planned, -1 if committed is None else committed, written)

    def _begun(self, committed: int | None, written: int | None) -> str | None:
        """What shows that a batch has run, besides the log of those that were planned."""
        if committed is not None:
            return f"batch {committed} is done"
        if written is not None:
            return f"batch {written} has been written"
        return None

    def _check_numbers(self, planned: int, committed: int, written: int | None) -> None:
        if planned not in (committed, committed + 1):
            last = "no batch is done" if committed < 0 else f"the last batch that is done is {committed}"
            raise _broken(self.path, f"has lost entries: the last batch that was planned is {planned}, and {last}")
        if written is not None and written > planned:
            raise _broken(
                self.path,
                f"is older than what the query has written: it ends with batch {planned}, and batch {written} has been "
                "written",
            )


def sweep(checkpoint: Path) -> None:
    """Remove what a stop in the middle of a write left behind: a half-written entry that was never given its name, and
    checksums without their entry.

    Spark refuses to write an entry over them ("Multiple streaming queries are concurrently using ..."), and would go
    on refusing.
    """
    for log in (checkpoint / "offsets", checkpoint / "commits", *(checkpoint / "sources").glob("*")):
        found = {entry.name: entry for entry in log.iterdir()} if log.is_dir() else {}
        checksums = {f".{name}.crc" for name in found if not name.startswith(".")}
        for name, entry in found.items():
            if name.startswith(".") and name not in checksums:
                entry.unlink(missing_ok=True)


# ---- Spark's files ---------------------------------------------------------------------------------------------------


def _numbers(log: Path) -> Iterator[int]:
    found = log.iterdir() if log.is_dir() else ()
    return (int(entry.name) for entry in found if entry.name.isdecimal())


def _check_metadata(file: Path) -> None:
    told = _json(file, _content(file))
    if not isinstance(told, dict) or not told.get("id"):
        raise _broken(file, "doesn't name the query")


def _entry(file: Path) -> list[str]:
    """The lines of an entry of a log, after the one that tells its version. The first of them is a JSON object."""
    version, *lines = _content(file).split("\n")
    if not re.fullmatch(r"v\d+", version) or not lines:
        raise _broken(file, "is cut off")
    if not isinstance(_json(file, lines[0]), dict):
        raise _broken(file, "isn't what Spark writes")
    return lines


def _sources(file: Path) -> list[Offsets]:
    """How far each source is; one that had nothing to read yet is a dash."""
    lines = [line for line in _entry(file)[1:] if line]
    if not lines:
        raise _broken(file, "is cut off")
    try:
        return [
            {topic: {int(p): int(o) for p, o in ends.items()} for topic, ends in _json(file, line).items()}
            for line in lines
            if line != "-"
        ]
    except (ValueError, AttributeError) as error:
        raise _broken(file, "doesn't hold offsets of topics") from error


def _check_files(logs: Path, offsets: list[str]) -> None:
    """A source that follows a folder has a log of its own, without which it would read all files again."""
    for source, told in enumerate(offsets):
        offset = _json(logs, told) if told != "-" else None
        last = offset.get("logOffset", -1) if isinstance(offset, dict) else -1
        log = logs / str(source)
        if last >= 0 and not (log / str(last)).exists() and not (log / f"{last}.compact").exists():
            raise _broken(log, f"lacks the files of batch {last}")


def _json(file: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise _broken(file, "is cut off, or isn't what Spark writes") from error


def _content(file: Path) -> str:
    try:
        content = file.read_bytes()
    except FileNotFoundError as error:
        raise _broken(file, "is gone") from error
    except OSError as error:
        raise _broken(file, f"can't be read ({error.strerror})") from error
    if not content:
        raise _broken(file, "is empty")
    if not _matches(content, file.with_name(f".{file.name}.crc")):
        raise _broken(file, "doesn't match its checksum: it was changed or cut off after Spark wrote it")
    return content.decode("utf-8", errors="replace")


def _matches(content: bytes, checksums: Path) -> bool:
    """Hadoop's checksum file: `crc`, a zero, how many bytes each of the CRC-32s that follow is of."""
    if not checksums.exists():
        return True  # Spark renames the file first, and may be stopped before the checksums follow
    told = checksums.read_bytes()
    size = int.from_bytes(told[4:8], "big")
    if told[:4] != b"crc\0" or size == 0:
        return True  # says nothing
    parts = (content[at : at + size] for at in range(0, len(content), size))
    return told[8:] == b"".join(zlib.crc32(part).to_bytes(4, "big") for part in parts)


def _broken(file: Path, what: str) -> Distrust:
    return Distrust(f"{file} {what}.")

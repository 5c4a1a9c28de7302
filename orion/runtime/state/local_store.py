"""A task's state on local disk: a copy of its partition of a changelog topic, in LMDB.

The topic is what is durable. The copy is never believed further than its note goes, which says what it is a copy of,
up to where, and which batch of which run it was made by. What a batch changes lies beside the rows, as *pending*, until
the next batch shows that it was committed; a run that ends without that leaves rows that are as they were.

Two processes may have it open for a moment, when a run ends while its last task still runs. A store is written only as
long as its note is the one that was last seen, so that the one which comes late changes nothing.

    n                 the note
    p                 what is pending: the changes of the batch in the note
    r PLACE           a record
    d DUE PLACE       that a record falls due then

LMDB takes keys of 511 bytes. A longer place is replaced by its hash, and stands in front of its record.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import lmdb
import msgpack

from orion.runtime.state.places import group, parse_place
from orion.runtime.state.state import Change
from orion.runtime.state.values import due_of

_NOTE, _PENDING, _ROW, _DUE = b"n", b"p", b"r", b"d"
_FORMAT = 1
# An address space, not a size: the file grows with what is in it.
_MOST_BYTES = 1 << 40
_LONGEST = 480  # of a place that is a key as it is
_HASHED = b"\x03"
_ROUND = 1 << 63  # times may be below zero, and their bytes must sort


@dataclass(frozen=True, slots=True)
class StoreNote:
    """What a store is a copy of, and how far it goes."""

    identity: str  # of the changelog's partition
    run: str = ""  # the run and the batch that what is pending is of
    batch: int = -1
    position: int = 0  # the rows have everything of the changelog before this offset
    positioned_ms: int = 0  # when that was seen
    boot: str = ""
    format: int = _FORMAT


class StoreTaken(Exception):
    """Another process has written the store since it was opened here."""


class LocalStore:
    """A folder of one task. Only its task writes it, a batch at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        # Nothing is synced to disk: after the machine's own crash the copy is made anew (`boot_id`).
        self._env = lmdb.open(
            str(folder), map_size=_MOST_BYTES, sync=False, metasync=False, readahead=False, max_spare_txns=2
        )
        self._reading: lmdb.Transaction | None = None
        self._check_length()
        self._seen = self._read_note()  # the note as it was read or written here last

    def _check_length(self) -> None:
        """A file that was cut off is refused here: to read behind its end would end the process."""
        wanted = (self._env.info()["last_pgno"] + 1) * self._env.stat()["psize"]
        if (self.folder / "data.mdb").stat().st_size < wanted:
            self._env.close()
            raise lmdb.CorruptedError(f"{self.folder} is shorter than what it says of itself")

    def _read_note(self) -> bytes | None:
        with self._env.begin() as txn:
            blob = txn.get(_NOTE)
        return None if blob is None else bytes(blob)

    @property
    def note(self) -> StoreNote | None:
        if self._seen is None:
            return None
        told = msgpack.unpackb(self._seen)
        return StoreNote(**told) if isinstance(told, dict) and told.get("format") == _FORMAT else None

    # ---- reading -----------------------------------------------------------------------------------------------

    def begin_reading(self) -> None:
        """From here on `load`, `scan` and `upcoming` see what the rows are now."""
        self.end_reading()
        self._reading = self._env.begin()

    def end_reading(self) -> None:
        if self._reading is not None:
            self._reading.abort()
            self._reading = None

    def load(self, place: bytes) -> bytes | None:
        assert self._reading is not None
        found: Any = self._reading.get(_ROW + _short(place))
        return found if found is None or len(place) <= _LONGEST else _parted(found)[1]

    def load_many(self, places: list[bytes]) -> list[bytes | None]:
        assert self._reading is not None
        if any(len(place) > _LONGEST for place in places):
            return [self.load(place) for place in places]
        get: Any = self._reading.get
        return [get(_ROW + place) for place in places]

    def scan(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        assert self._reading is not None
        found: list[tuple[bytes, bytes]] = []
        for start in (_ROW + prefix, _ROW + _HASHED + _digest(prefix)):
            with self._reading.cursor() as cursor:
                if not cursor.set_range(start):
                    continue
                entries: Iterator[Any] = iter(cursor)
                for key, blob in entries:
                    if not key.startswith(start):
                        break
                    found.append((key[1:], blob) if key[1:2] != _HASHED else _parted(blob))
        return sorted(found)

    def upcoming(self) -> Iterator[tuple[int, bytes]]:
        assert self._reading is not None
        with self._reading.cursor() as cursor:
            if not cursor.set_range(_DUE):
                return
            keys: Iterator[Any] = iter(cursor.iternext(values=False))
            for key in keys:
                if key[:1] != _DUE:
                    return
                place = key[9:]
                if place[:1] == _HASHED:
                    place = _parted(self._reading.get(_ROW + place))[0]
                yield int.from_bytes(key[1:9], "big") - _ROUND, place

    # ---- writing -----------------------------------------------------------------------------------------------

    def set_pending(self, note: StoreNote, changes: Iterable[Change]) -> None:
        """Lay a batch's changes beside the rows."""
        with self._writing(note) as txn:
            txn.put(_PENDING, msgpack.packb([tuple(change) for change in changes]))

    def apply_pending(self, note: StoreNote) -> None:
        """What is pending was committed: it is what the rows are now."""
        with self._writing(note) as txn:
            blob = txn.get(_PENDING)
            if blob is not None:
                for change in sorted(Change(*told) for told in msgpack.unpackb(blob)):
                    _write(txn, change)
                txn.delete(_PENDING)

    def restore(self, note: StoreNote, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Records of the changelog as they come, up to where the note says. What was pending is dropped."""
        with self._writing(note) as txn:
            txn.delete(_PENDING)
            for place, blob in sorted(dict(records).items()):
                old: Any = txn.get(_ROW + _short(place))
                if old is not None and len(place) > _LONGEST:
                    old = _parted(old)[1]
                was_due = None if old is None else due_of(old)
                _write(txn, Change(place, blob, None if blob is None else due_of(blob), was_due))

    @contextmanager
    def _writing(self, note: StoreNote) -> Iterator[lmdb.Transaction]:
        """A transaction that ends with the note; raises StoreTaken where the store isn't as it was seen last."""
        self.end_reading()
        blob: bytes = msgpack.packb(asdict(replace(note, boot=boot_id())))
        with self._env.begin(write=True) as txn:
            if txn.get(_NOTE) != self._seen:
                raise StoreTaken(f"{self.folder} was written by another task meanwhile")
            yield txn
            txn.put(_NOTE, blob)
        self._seen = blob

    def count(self) -> int:
        """How many records there are, those that fall due counted twice."""
        with self._env.begin() as txn:
            return int(txn.stat()["entries"])

    def close(self) -> None:
        self.end_reading()
        self._env.close()

    def discard(self) -> None:
        """Close it and remove what it holds: whoever opens it next makes it anew."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def open_store(folder: Path, identity: str) -> tuple[LocalStore, StoreNote]:
    """The store of a task with its note; a new one where the old can't be read, or is of something else."""
    with suppress(lmdb.Error, OSError, ValueError, TypeError):
        store = LocalStore(folder)
        note = store.note
        if note is not None and note.identity == identity and note.boot == boot_id():
            return store, note
        store.close()
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.unlink()  # where somebody has put a file
    return LocalStore(folder), StoreNote(identity, positioned_ms=round(time.time() * 1000))


@cache
def boot_id() -> str:
    """Which start of the machine this is; empty where the system doesn't say."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def _write(txn: lmdb.Transaction, change: Change) -> None:
    key = _short(change.place)
    if change.was_due is not None and change.was_due != change.due:
        txn.delete(_due(change.was_due, key))
    if change.blob is None:
        txn.delete(_ROW + key)
        return
    long = len(change.place) > _LONGEST
    txn.put(_ROW + key, len(change.place).to_bytes(4, "big") + change.place + change.blob if long else change.blob)
    if change.due is not None and change.due != change.was_due:
        txn.put(_due(change.due, key), b"")


def _due(due: int, key: bytes) -> bytes:
    return _DUE + (due + _ROUND).to_bytes(8, "big") + key


def _short(place: bytes) -> bytes:
    """The place, or something short that only it has; members of a group still begin alike."""
    if len(place) <= _LONGEST:
        return place
    told = parse_place(place)
    if told.member is None:
        return _HASHED + _digest(place)
    return _HASHED + _digest(group(told.key)) + _digest(told.member)


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=32).digest()


def _parted(blob: Any) -> tuple[bytes, bytes]:
    """A long place, and the record behind it."""
    length = int.from_bytes(blob[:4], "big")
    return blob[4 : 4 + length], blob[4 + length :]

"""A slot on its way into objects.

Rows wait by topic and folder until an object's worth is there, and are encoded then. Nothing leaves the worker before
`commit`, which puts every object whole. What objects hold and how they are called comes from the slot's rows and the
connector's options alone:

- A slot that runs again puts the same bytes under the same names, however far the try before it came. So every row
  stands once, and nothing has to be remembered about epochs.
- A worker that was given up and still lives can do no harm: whatever it puts late is what stands there already.
- Folders named by the wall clock would break that. Of such a connector each slot notes its epoch and the time of its
  first try in an object beside the topics, before it puts anything; a slot that runs again reads the time there. Two
  workers that have the same slot at the very same time may both find no note; so this one case holds only while a
  worker that was given up is dead.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orion.sinks.objects.contents import Contents
from orion.sinks.objects.partitioning import Clock, Millis, Partitioner, escaped
from orion.sinks.objects.place import Place, Shelf
from orion.sinks.store import DELETED, OFFSET, ROUTE, Layout, Refusal, Slot

NOTES = "_orion"  # beside the topics; readers of folders pass over names that begin so
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Cut:
    """When an object is full."""

    rows: int
    span_ms: int = 0  # of its rows' times; 0: any

    def ends(self, times: Millis) -> Iterator[int]:
        """Behind which rows objects end, as far as these rows tell: more may come."""
        start = 0
        while start < len(times):
            ahead = times[start : start + self.rows]
            far = np.flatnonzero(ahead - ahead[0] >= self.span_ms) if self.span_ms else np.empty(0, np.intp)
            if len(far):
                start += int(far[0])
            elif len(ahead) == self.rows:
                start += self.rows
            else:
                return
            yield start


@dataclass(frozen=True, slots=True)
class Naming:
    """Kafka Connect's: TOPICS/TOPIC/FOLDER/TOPIC+PARTITION+OFFSET.EXTENSION, the offset with ten digits."""

    topics: str
    directory: str = "/"
    file: str = "+"

    def name(self, topic: str, folder: str, place: tuple[int, int], extension: str) -> str:
        partition, offset = place
        leaf = self.file.join((topic, str(partition), f"{offset:010}")) + extension
        return self.directory.join(part for part in (self.topics, topic, folder, leaf) if part)

    def note(self, slot: Slot) -> str:
        return self._beside(f"{slot.task}-{slot.number}.json")

    @property
    def probe(self) -> str:
        """What is put to see whether objects can be. It stays: a key that may write may not delete."""
        return self._beside("probe")

    def _beside(self, leaf: str) -> str:
        return self.directory.join(part for part in (self.topics, NOTES, leaf) if part)


@dataclass(frozen=True, slots=True)
class Scheme:
    """All that says which objects a slot's rows become."""

    layout: Layout
    place: Place
    naming: Naming
    partitioner: Partitioner
    clock: Clock
    contents: Contents
    cut: Cut
    deletes: str = "ignore"  # or fail, or write
    deleted_folder: str = "tombstone"


@dataclass(frozen=True, slots=True)
class ObjectSession:
    scheme: Scheme
    shelf: Shelf

    def begin(self, slot: Slot) -> ObjectTransfer:
        scheme = self.scheme
        if not scheme.clock.is_wall:
            return ObjectTransfer(scheme, self.shelf, slot, scheme.clock)
        noted = self.shelf.get(scheme.naming.note(slot))
        note = json.loads(noted) if noted else {}
        if note.get("epoch") == slot.epoch:
            return ObjectTransfer(scheme, self.shelf, slot, scheme.clock.at(int(note["time"])))
        return ObjectTransfer(scheme, self.shelf, slot, scheme.clock.at(time.time_ns() // 1_000_000), note=True)

    def close(self) -> None:
        """Nothing is held open between two objects."""


@dataclass
class Waiting:
    """Rows of one folder that make no whole object yet."""

    rows: list[pa.RecordBatch] = field(default_factory=list)
    times: list[Millis] = field(default_factory=list)

    def add(self, rows: pa.RecordBatch, times: Millis) -> None:
        self.rows.append(rows)
        self.times.append(times)


@dataclass
class ObjectTransfer:
    scheme: Scheme
    shelf: Shelf
    slot: Slot
    clock: Clock
    note: bool = False  # the clock's time must be noted first
    waiting: dict[tuple[str, str], Waiting] = field(default_factory=dict)
    made: dict[str, bytes] = field(default_factory=dict)

    def write(self, rows: pa.RecordBatch) -> Sequence[Refusal]:
        rows, unreadable = _readable(rows)
        times, timed = self.clock.read(rows)
        deleted = _mask(rows, DELETED)
        keep, refused = np.ones(rows.num_rows, np.bool_), [*unreadable]
        if self.scheme.deletes != "write":
            keep &= ~deleted
        if self.scheme.deletes == "fail":
            refused += _refusals(rows, deleted, "it has no value, and behavior.on.null.values is fail")
        refused += _refusals(rows, ~timed & ~deleted, f"{self._time_field} has no time")
        keep &= timed | deleted
        kept = rows.filter(pa.array(keep))
        self._place(kept, times[keep], deleted[keep])
        return sorted(refused, key=lambda refusal: refusal.offset)

    def finish(self) -> Sequence[Refusal]:
        for key in list(self.waiting):
            self._cut(key, whole=False)
        return ()

    def commit(self) -> None:
        if not self.made:
            return
        if self.note:
            told = json.dumps({"epoch": self.slot.epoch, "time": self.clock.wall_ms}).encode()
            self.shelf.put(self.scheme.naming.note(self.slot), told)
        with ThreadPoolExecutor(min(_AT_ONCE, len(self.made))) as pool:
            for _ in pool.map(self.shelf.put, self.made, self.made.values()):
                pass
        self.made.clear()

    def abort(self) -> None:
        self.waiting.clear()
        self.made.clear()

    @property
    def _time_field(self) -> str:
        return self.clock.field.name if self.clock.field else "the record"

    def _place(self, rows: pa.RecordBatch, times: Millis, deleted: npt.NDArray[np.bool_]) -> None:
        """Put rows with those of their topic and folder, which keep their order."""
        if not rows.num_rows:
            return
        scheme = self.scheme
        folders = scheme.partitioner.folders(rows, times, self.slot.number)
        folders = pc.if_else(pa.array(deleted), scheme.deleted_folder, folders)
        topics = pc.fill_null(rows.column(rows.schema.get_field_index(ROUTE)), scheme.layout.topic)
        for key, places in _groups(topics, folders):
            self.waiting.setdefault(key, Waiting()).add(rows.take(pa.array(places)), times[places])
            self._cut(key, whole=True)

    def _cut(self, key: tuple[str, str], *, whole: bool) -> None:
        """Encode what waits in a folder: whole objects only, or all of it."""
        waiting = self.waiting[key]
        if whole and not self.scheme.cut.span_ms and sum(map(len, waiting.times)) < self.scheme.cut.rows:
            return
        rows, times = pa.Table.from_batches(waiting.rows), np.concatenate(waiting.times)
        start = 0
        for end in self.scheme.cut.ends(times):
            self._make(key, rows.slice(start, end - start))
            start = end
        rest = rows.slice(start)
        if rest.num_rows and whole:
            self.waiting[key] = Waiting(rest.to_batches(), [times[start:]])
            return
        if rest.num_rows:
            self._make(key, rest)
        del self.waiting[key]

    def _make(self, key: tuple[str, str], rows: pa.Table) -> None:
        scheme, (topic, folder) = self.scheme, key
        offset = rows.column(OFFSET)[0].as_py()
        name = scheme.naming.name(escaped(topic), folder, (self.slot.number, offset), scheme.contents.extension)
        columns = scheme.layout.columns
        self.made[name] = scheme.contents.write(columns, rows.select([c.name for c in columns]))


def _groups(topics: pa.Array, folders: pa.Array) -> Iterator[tuple[tuple[str, str], npt.NDArray[np.intp]]]:
    """The places of rows by topic and folder, each in order."""
    topic, folder = topics.dictionary_encode(), folders.dictionary_encode()
    codes = topic.indices.to_numpy().astype(np.int64) * len(folder.dictionary) + folder.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    bounds = np.flatnonzero(np.diff(codes[order])) + 1
    for places in np.split(order, bounds):
        at, into = divmod(int(codes[places[0]]), len(folder.dictionary))
        yield (topic.dictionary[at].as_py(), folder.dictionary[into].as_py()), places


def _readable(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, list[Refusal]]:
    """Without rows whose text is no text: Spark makes STRING of any bytes, and no reader of objects takes that."""
    if _is_valid(rows):
        return rows, []
    good = np.array([_is_valid(rows.take(pa.array([at]))) for at in range(rows.num_rows)], np.bool_)
    return rows.filter(pa.array(good)), _refusals(rows, ~good, "its text isn't UTF-8")


def _is_valid(rows: pa.RecordBatch) -> bool:
    try:
        rows.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _mask(rows: pa.RecordBatch, name: str) -> npt.NDArray[np.bool_]:
    found = pc.fill_null(rows.column(rows.schema.get_field_index(name)), False)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)


def _refusals(rows: pa.RecordBatch, which: npt.NDArray[np.bool_], reason: str) -> list[Refusal]:
    if not which.any():
        return []
    offsets = rows.column(rows.schema.get_field_index(OFFSET)).filter(pa.array(which))
    return [Refusal(offset, reason) for offset in offsets.to_pylist()]

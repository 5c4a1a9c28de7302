"""A batch cut into rows for a table: those that can't go are told, and of one key the last change is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from orion.sinks.sql.database import Database, Into
from orion.sinks.sql.target import TOPIC, Target
from orion.sinks.sql.texts import outside
from orion.sinks.store import DELETED, OFFSET, ROUTE, Refusal


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows for one table, in the order of their offsets."""

    rows: pa.RecordBatch  # a column for each of the table's places
    offsets: pa.Array
    deleted: pa.Array

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def cut(self, first: int, length: int) -> Piece:
        return Piece(
            self.rows.slice(first, length), self.offsets.slice(first, length), self.deleted.slice(first, length)
        )

    def where(self, mask: pa.Array) -> Piece:
        return Piece(self.rows.filter(mask), self.offsets.filter(mask), self.deleted.filter(mask))

    def take(self, places: pa.Array) -> Piece:
        return Piece(self.rows.take(places), self.offsets.take(places), self.deleted.take(places))

    def chunks(self, size: int) -> Iterator[Piece]:
        for first in range(0, len(self), size):
            yield self.cut(first, size)

    def halves(self) -> tuple[Piece, Piece]:
        half = len(self) // 2
        return self.cut(0, half), self.cut(half, len(self) - half)

    @property
    def any_deleted(self) -> bool:
        return bool(pc.any(self.deleted).as_py())

    def kept(self) -> Piece:
        return self.where(pc.invert(self.deleted)) if self.any_deleted else self

    def gone(self) -> Piece:
        return self.where(self.deleted)

    def runs(self) -> Iterator[Piece]:
        """Cut where rows to keep and rows to delete meet."""
        flags = self.deleted.to_pylist()
        first = 0
        for place in range(1, len(flags) + 1):
            if place == len(flags) or flags[place] != flags[first]:
                yield self.cut(first, place - first)
                first = place

    def latest(self, key: int) -> Piece:
        """The last row of each key; the key is the first columns."""
        if len(self) < 2:
            return self
        names = [f"k{n}" for n in range(key)]
        columns = [*self.rows.columns[:key], pa.array(range(len(self)), pa.int64())]
        grouped = pa.table(columns, names=[*names, "place"]).group_by(names, use_threads=False)
        last = grouped.aggregate([("place", "max")])["place_max"].combine_chunks()
        return self if len(last) == len(self) else self.take(last.take(pc.sort_indices(last)))


def routed(batch: pa.RecordBatch, topic: str) -> Iterator[tuple[str, pa.RecordBatch]]:
    """A batch by where its rows go: their route, or the topic."""
    routes = batch.column(ROUTE)
    if routes.null_count == batch.num_rows:
        yield topic, batch
        return
    routes = pc.fill_null(routes, topic)
    for route in pc.unique(routes):
        yield route.as_py(), batch.filter(pc.equal(routes, route))


def sorted_out(database: Database, into: Into, target: Target, batch: pa.RecordBatch) -> tuple[Piece, list[Refusal]]:
    """The rows that can go to the server, and those that can't."""
    columns = [
        pa.repeat(target.topic, batch.num_rows) if item.source == TOPIC else batch.column(item.source)
        for item in target.items
    ]
    rows = pa.record_batch(columns, names=[str(n) for n in range(len(columns))])
    piece = Piece(rows, batch.column(OFFSET), batch.column(DELETED))
    refused: list[Refusal] = []
    for mask, reason in _untaken(database, into, target, piece):
        bad = pc.fill_null(mask, False)
        if pc.any(bad).as_py():
            known = {r.offset for r in refused}
            found = (offset for offset in piece.offsets.filter(bad).to_pylist() if offset not in known)
            refused += [Refusal(offset, reason) for offset in found]
    if refused:
        known_offsets = pa.array([r.offset for r in refused], pa.int64())
        piece = piece.where(pc.invert(pc.is_in(piece.offsets, known_offsets)))
    return piece, refused


def _untaken(database: Database, into: Into, target: Target, piece: Piece) -> Iterator[tuple[pa.Array, str]]:
    """Where rows are that aren't even tried, and why."""
    if not target.deletes:
        yield piece.deleted, "The record has no value, and 'delete.enabled' isn't set."
    for place, values in zip(into.places, piece.rows.columns, strict=True):
        if place.key and values.null_count:
            yield values.is_null(), f"{place.name} is NULL, and part of the key."
        beyond = outside(place.type, values)
        if beyond is not None:
            yield beyond, f"{place.name} is out of range for {place.type}."
        found = database.untaken(place, values)
        if found is not None:
            yield found

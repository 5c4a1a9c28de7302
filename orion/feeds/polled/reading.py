"""A table, or a query's result, polled: asked for new rows every now and then, and read by a worker."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC
from datetime import tzinfo as Zone
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from orion.arrow import arrow_type
from orion.databases.address import Database, Kind
from orion.databases.connecting import Connection, asked, connect, connected, rows, translated
from orion.databases.tables import quoted
from orion.errors import ExternalError
from orion.feeds import FeedAway, frames
from orion.feeds.polled.bounds import POLLED, Bounds, Offset, Place
from orion.feeds.values import as_columns, text
from orion.hub.positions import key_of, written
from orion.plan.sources import ROWTIME
from orion.schema import Column

_NOW = {
    Kind.POSTGRESQL: "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint",
    Kind.MYSQL: "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))",
    # The file's clock is this machine's.
    Kind.SQLITE: "SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
}


@dataclass(frozen=True, slots=True)
class Pace:
    every_ms: int
    most_rows: int
    delay_ms: int = 0  # rows younger than this wait: those of transactions under way may yet come before them
    step_us: int = 1  # how fine the column's times are; those of a step that isn't over wait too


@dataclass(frozen=True)
class Polling:
    """All that it takes to poll; `columns` are the target's, `names` those of the table that fill them."""

    connector: str
    place: str  # what is read, for people
    partition: Mapping[str, Any] | None
    bounds: Bounds
    pace: Pace
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    zones: tuple[str, ...]
    types: tuple[tuple[str, str], ...]  # of the frame, in Spark's DDL
    initial: Mapping[str, Any] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.bounds.database

    @property
    def schema(self) -> str:
        return ", ".join(f"`{name.replace('`', '``')}` {type_}" for name, type_ in self.types)

    def open(self) -> Session:
        return Session(self)

    def read(self, start: Offset, end: Offset) -> Iterator[pa.RecordBatch]:
        columns = ", ".join(quoted(self.database, name) for name in self.names)
        statement, parameters = self.bounds.between(columns, Place.of(start), Place.of(end))
        polled = int(end[POLLED])
        try:
            with connected(self.database) as connection:
                for some in rows(connection, self.database, statement, parameters):
                    yield self._batch(some, polled)
        except ExternalError as error:
            raise FeedAway(error.message) from None
        if self.partition is not None:
            yield self._note(end, polled)

    def _batch(self, found: Sequence[tuple[Any, ...]], polled: int) -> pa.RecordBatch:
        zones: list[Zone] = [UTC if zone == "UTC" else ZoneInfo(zone) for zone in self.zones]
        made = as_columns(found, self.columns, zones)
        bad = [None if why is None else f"{frames.UNREADABLE}: {why}" for why in made.bad]
        raws = [None if why is None else self._told(row) for row, why in zip(found, bad, strict=True)]
        return self._made(made.arrays, polled, (bad, [None] * len(bad), raws))

    def _note(self, end: Offset, polled: int) -> pa.RecordBatch:
        """Where the feed stands with this batch, as a record of the offsets' topic."""
        stands = written(Place.of(end).offset)
        key = key_of(self.connector, self.partition or {})
        none = [pa.nulls(1, arrow_type(column.type)) for column in self.columns]
        return self._made(none, polled, ([frames.NOTE], [key], [stands]))

    def _made(self, own: list[pa.Array], polled: int, beside: tuple[list[Any], list[Any], list[Any]]) -> pa.RecordBatch:
        bad, keys, values = beside
        count = len(bad)
        arrays = [
            *own,
            pa.array([polled] * count, pa.int64()),
            pa.array(bad, pa.string()),
            pa.array(keys, pa.binary()),
            pa.array(values, pa.binary()),
            pa.array([self.place] * count, pa.string()),
            pa.nulls(count, pa.int64()),
        ]
        names = [*(column.name for column in self.columns), ROWTIME, *frames.BESIDE]
        return pa.RecordBatch.from_arrays(arrays, names=names)

    def _told(self, row: tuple[Any, ...]) -> bytes:
        """A row as JSON, for its dead letter."""
        named = dict(zip(self.names, row, strict=True))
        return json.dumps(named, default=_shown, ensure_ascii=False).encode()


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes | bytearray | memoryview) else text(value)


class Session:
    """Asks, in the one process that does, with a connection that is kept."""

    def __init__(self, polling: Polling) -> None:
        self._polling = polling
        self._connection: Connection | None = None
        self._due = 0.0

    def begin(self) -> Offset:
        return dict(self._polling.initial)

    def ahead(self, start: Offset) -> Offset:
        if time.monotonic() < self._due:
            return start
        polled = time.time_ns() // 1_000_000
        if self._polling.bounds.mode == "bulk":
            self._wait()
            return {"poll": start.get("poll", 0) + 1, POLLED: polled}
        try:
            with translated(self._polling.database):
                found = self._next(Place.of(start))
        except ExternalError as error:
            raise FeedAway(error.message) from None
        if found is None:
            self._wait()
            return start
        end, count = found
        if count < self._polling.pace.most_rows:
            self._wait()  # that was all; otherwise the next batch comes at once
        return {**end.offset, POLLED: polled}

    def _next(self, start: Place) -> tuple[Place, int] | None:
        pace = self._polling.pace
        if self._connection is None:
            self._connection = connect(self._polling.database)
        before = int(asked(self._connection, _NOW[self._polling.database.kind])[0][0]) - pace.delay_ms * 1000
        statement, parameters = self._polling.bounds.ahead(start, before - before % pace.step_us, pace.most_rows)
        found = asked(self._connection, statement, parameters)
        return self._polling.bounds.place(found[0]) if found else None

    def _wait(self) -> None:
        self._due = time.monotonic() + self._polling.pace.every_ms / 1000

    def close(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()

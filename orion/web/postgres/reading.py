"""Queries on their way: connections of DuckDB's, and what has been read of a result."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb

from orion.web.postgres.catalog import OF_SETTINGS, Catalog
from orion.web.postgres.errors import CANCELLED, Refused
from orion.web.postgres.public_views import PublicViews
from orion.web.postgres.types import Column, columns

BATCH_ROWS = 2048


class Reader:
    """A connection of DuckDB's, with one result at a time."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.cursor = cursor
        self._zone: str | None = None
        self._has: set[str] = set()  # of the catalogs
        self._version = 0
        # Else a table that isn't there could be a variable of this program.
        cursor.execute("SET python_enable_replacements = false").fetchall()

    def prepare(self, catalog: Catalog, needed: frozenset[str], zone: str) -> None:
        """Have what a query needs of PostgreSQL's catalogs, and the session's time zone."""
        if zone != self._zone:
            self.cursor.execute(f"SET TimeZone = '{zone.replace(chr(39), chr(39) * 2)}'").fetchall()
            self._zone = zone
        if catalog.version != self._version:
            self._has -= OF_SETTINGS
            self._version = catalog.version
        catalog.install(self.cursor, needed, self._has)


class Readers:
    """The connections of one session: a result that isn't read to its end keeps its own."""

    def __init__(self, views: PublicViews) -> None:
        self._views = views
        self._idle: list[Reader] = []
        self._busy: list[Reader] = []
        self._cancelled = threading.Event()

    def take(self, catalog: Catalog, needed: frozenset[str], zone: str) -> Reader:
        self._views.refresh()
        reader = self._idle.pop() if self._idle else Reader(self._views.connect())
        self._busy.append(reader)
        try:
            reader.prepare(catalog, needed, zone)
        except Exception:
            self.give_back(reader)
            raise
        return reader

    def give_back(self, reader: Reader) -> None:
        self._busy.remove(reader)
        self._idle.append(reader)

    def drop(self, reader: Reader) -> None:
        self._busy.remove(reader)
        reader.cursor.close()

    def cancel(self) -> None:
        """Stop what runs; called from another thread, and again until it has stopped."""
        self._cancelled.set()
        for reader in tuple(self._busy):
            reader.cursor.interrupt()

    def go_on(self) -> None:
        self._cancelled.clear()

    def check(self) -> None:
        if self._cancelled.is_set():
            raise Refused(CANCELLED, "the query was cancelled")

    def close(self) -> None:
        for reader in (*self._idle, *self._busy):
            reader.cursor.close()
        self._idle, self._busy = [], []


class Reading:
    """A query's result, read in batches as far as it is asked for, in a transaction that can only read."""

    def __init__(self, readers: Readers, reader: Reader, sql: str, values: Mapping[str, Any]) -> None:
        self._readers = readers
        self._reader: Reader | None = reader
        self._batches: Iterator[Any] | None = None
        self._source: Any = None
        self._rest: Any = None
        try:
            reader.cursor.execute("BEGIN TRANSACTION READ ONLY").fetchall()
            self._relation = reader.cursor.sql(sql, params=dict(values) or None)
            if self._relation is None:
                raise Refused("42601", "this gives no rows")
            self.columns: tuple[Column, ...] = columns(self._relation.columns, self._relation.types)
        except Exception:
            self.close()
            raise

    def take(self, limit: int | None) -> Iterator[Any]:
        """Batches of Arrow, of so many rows at most."""
        while limit is None or limit > 0:
            batch = self._next()
            if batch is None:
                return
            if limit is not None:
                self._rest = batch.slice(limit) if batch.num_rows > limit else None
                batch = batch.slice(0, limit)
                limit -= batch.num_rows
            yield batch

    def _next(self) -> Any:
        self._readers.check()
        if self._rest is not None:
            rest, self._rest = self._rest, None
            return rest
        if self._reader is None:
            return None  # read to its end
        if self._batches is None:
            self._source = self._fetched().to_arrow_reader(BATCH_ROWS)
            self._batches = iter(self._source)
        batch = next(self._batches, None)
        if batch is None:
            self.close()
        return batch

    def _fetched(self) -> Any:
        """The relation, with those columns written as text that Arrow can't carry as they are."""
        if all(column.fetched is None for column in self.columns):
            return self._relation
        parts = ((column.fetched or "{}").format(f"#{at}") for at, column in enumerate(self.columns, 1))
        return self._relation.project(", ".join(parts))

    def close(self) -> None:
        """Give the connection back. What runs on it was interrupted, or has ended."""
        reader, self._reader = self._reader, None
        if reader is None:
            return
        if self._source is not None:
            self._source.close()
        self._source = self._batches = None
        try:
            reader.cursor.execute("ROLLBACK").fetchall()
        except duckdb.Error:  # there is no transaction, or something else is wrong with it: not worth knowing
            self._readers.drop(reader)
        else:
            self._readers.give_back(reader)

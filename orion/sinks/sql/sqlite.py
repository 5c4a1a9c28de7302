"""SQLite: one file, one writer at a time. Times, dates and decimals are text, which it keeps exactly."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from orion.databases.address import Address
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct
from orion.sinks.sql.database import Existing, Into, Place, Refused, Shape, server_refuses
from orion.sinks.sql.login import known_parameters
from orion.sinks.sql.names import Quoting, TableName, nearest
from orion.sinks.sql.options import InsertMode
from orion.sinks.sql.texts import times, zoned
from orion.sinks.store import StoreAway

_WAIT_S = 30.0  # for another writer
_AWAY = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_NOMEM", "SQLITE_PROTOCOL")
_ROWS = ("SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "SQLITE_TOOBIG")

_DECLARED = {
    Scalar.BOOLEAN: "BOOLEAN",
    Scalar.INTEGER: "INTEGER",
    Scalar.BIGINT: "BIGINT",
    Scalar.DOUBLE: "REAL",
    Scalar.STRING: "TEXT",
    Scalar.BYTES: "BLOB",
    Scalar.DATE: "TEXT",
    Scalar.TIME: "TEXT",
    Scalar.TIMESTAMP: "TEXT",
}
# What values are by SQLite's own rules: a column's affinity.
_FITTING: dict[Scalar, tuple[str, ...]] = {
    Scalar.BOOLEAN: ("INTEGER", "NUMERIC"),
    Scalar.INTEGER: ("INTEGER", "NUMERIC", "REAL"),
    Scalar.BIGINT: ("INTEGER", "NUMERIC"),
    Scalar.DOUBLE: ("REAL", "NUMERIC"),
    Scalar.STRING: ("TEXT",),
    Scalar.BYTES: (),
    Scalar.DATE: ("TEXT", "DATE"),
    Scalar.TIME: ("TEXT", "TIME"),
    Scalar.TIMESTAMP: ("TEXT", "DATE"),
}


@dataclass(frozen=True)
class Sqlite:
    address: Address
    quoting: Quoting
    for_update: str = ""
    makes_aside: bool = False

    def connect(self) -> SqliteConnection:
        known_parameters(self.address, {})
        try:
            connection = sqlite3.connect(self.address.database, timeout=_WAIT_S, isolation_level=None)
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
        except sqlite3.Error as error:
            raise _judged(error, self.address) from None
        return SqliteConnection(connection, self)

    def fits(self, type_: SqlType, declared: str) -> bool:
        affinity = _affinity(declared)
        match type_:
            case Scalar():
                return affinity == "BLOB" or affinity in _FITTING[type_]
            case Decimal():
                return affinity in ("TEXT", "NUMERIC", "BLOB")
            case Array() | Map() | Struct():
                return affinity in ("TEXT", "BLOB")

    def untaken(self, place: Place, values: pa.Array) -> tuple[pa.Array, str] | None:
        if place.type is not Scalar.DOUBLE:
            return None
        return pc.is_nan(values), f"{place.name} is NaN, which SQLite can't keep."

    def lock_of(self, epochs: str) -> str | None:
        return None

    def first_of(self, epochs: str) -> str:
        return f"INSERT OR IGNORE INTO {epochs} (task, slot, epoch) VALUES (?, ?, -1)"

    def probes(self, into: Into, *, deletes: bool) -> list[str]:
        # A trigger or a view of an unknown table shows here; rights are the file's.
        return [f"UPDATE {self.quoting.table(into.table)} SET {self.quoting(into.names[0])} = NULL WHERE false"]


class SqliteConnection:
    def __init__(self, connection: sqlite3.Connection, database: Sqlite) -> None:
        self._connection, self._database = connection, database
        self._quote = database.quoting

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._told():
            return self._connection.execute(sql, values).fetchall()

    def shape(self, table: TableName) -> Shape | None:
        schema = self._quote(table.schema or "main")
        named = self.ask(
            f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table' AND lower(name) = lower(?)", table.name
        )
        found = nearest(table.name, [row[0] for row in named])
        if found is None:
            return None
        columns = self.ask(f"PRAGMA {schema}.table_info({self._quote(found)})")
        key = [(row[5], row[1]) for row in columns if row[5]]
        unique = [frozenset(name for _, name in key)] if key else []
        for _, index, is_unique, _, partial in self.ask(f"PRAGMA {schema}.index_list({self._quote(found)})"):
            names = {row[2] for row in self.ask(f"PRAGMA {schema}.index_info({self._quote(index)})")}
            if is_unique and not partial and None not in names:
                unique.append(frozenset(names))
        # A lone INTEGER PRIMARY KEY counts up by itself.
        counted = {name for _, name in key} if len(key) == 1 else set()
        return Shape(
            TableName(table.schema, found),
            tuple(
                Existing(name, type_, bool(not_null) and default is None and name not in counted)
                for _, name, type_, not_null, default, _ in columns
            ),
            tuple(unique),
        )

    def declared(self, type_: SqlType, *, key: bool) -> str:
        return _DECLARED[type_] if isinstance(type_, Scalar) else "TEXT"

    def begin(self) -> None:
        self.ask("BEGIN IMMEDIATE")

    def savepoint(self) -> None:
        self.ask("SAVEPOINT chunk")

    def release(self) -> None:
        self.ask("RELEASE chunk")

    def back(self) -> None:
        self.ask("ROLLBACK TO chunk")
        self.ask("RELEASE chunk")

    def write(self, into: Into, rows: pa.RecordBatch) -> None:
        table, quote = self._quote.table(into.table), self._quote
        if into.mode is InsertMode.UPDATE:
            new = ", ".join(f"{quote(n)} = ?{len(into.key) + k}" for k, n in enumerate(into.others, 1))
            self._each(f"UPDATE {table} SET {new} WHERE {self._by_key(into)}", into.places, rows)
            return
        sql = f"INSERT INTO {table} ({quote.all(into.names)}) VALUES ({', '.join('?' for _ in into.places)})"
        if into.mode is InsertMode.UPSERT:
            new = ", ".join(f"{quote(n)} = excluded.{quote(n)}" for n in into.others)
            sql += f" ON CONFLICT ({quote.all(into.key)}) DO {f'UPDATE SET {new}' if new else 'NOTHING'}"
        self._each(sql, into.places, rows)

    def delete(self, into: Into, keys: pa.RecordBatch) -> None:
        sql = f"DELETE FROM {self._quote.table(into.table)} WHERE {self._by_key(into)}"
        self._each(sql, [p for p in into.places if p.key], keys)

    def commit(self) -> None:
        self.ask("COMMIT")

    def rollback(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.rollback()

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()

    def _by_key(self, into: Into) -> str:
        return " AND ".join(f"{self._quote(n)} = ?{number}" for number, n in enumerate(into.key, 1))

    def _each(self, sql: str, places: Sequence[Place], rows: pa.RecordBatch) -> None:
        with self._told():
            try:
                columns = [_values(place, values) for place, values in zip(places, rows.columns, strict=True)]
            except UnicodeDecodeError:
                raise Refused("A text isn't UTF-8.") from None
            self._connection.executemany(sql, zip(*columns, strict=True))

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _judged(error, self._database.address) from None


def _values(place: Place, values: pa.Array) -> list[Any]:
    """A column's values as SQLite keeps them."""
    match place.type:
        case Scalar.TIME:
            values = times(values).cast(pa.string())
        case Scalar.TIMESTAMP:
            values = pc.replace_substring(zoned(values), " ", "T")
        case Scalar.DATE | Decimal():
            values = values.cast(pa.string())
        case _:
            pass
    found: list[Any] = values.to_pylist()
    return found


def _affinity(declared: str) -> str:
    """As SQLite finds it; DATE and TIME for types that people mean as such."""
    name = declared.upper()
    if "INT" in name:
        return "INTEGER"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT", "JSON")):
        return "TEXT"
    if not name or "BLOB" in name:
        return "BLOB"
    if any(part in name for part in ("REAL", "FLOA", "DOUB")):
        return "REAL"
    if name.startswith(("DATE", "TIMESTAMP")):
        return "DATE"
    return "TIME" if name.startswith("TIME") else "NUMERIC"


def _judged(error: sqlite3.Error, address: Address) -> Exception:
    # The module's own errors have no number: a text too long, an integer too large.
    name = getattr(error, "sqlite_errorname", None)
    if name is None:
        return Refused(str(error))
    if name.startswith(_AWAY):
        return StoreAway(str(address), str(error))
    if name.startswith(_ROWS):
        return Refused(str(error))
    return server_refuses(f"{address} refuses: {error}.")

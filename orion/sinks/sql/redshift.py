"""Redshift: PostgreSQL's protocol over another engine.

It has no COPY from a client, no ON CONFLICT, no locks on rows and no savepoints. So rows go in by INSERT with values
beside the statement, an upsert is a DELETE and an INSERT, slots take turns, and a row that the server refuses stops the
connector: nothing can be taken back but the whole slot. For many rows, load what the s3 sink stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from orion.errors import ConfigError
from orion.schema import Array, Map, Scalar, SqlType, Struct
from orion.sinks.sql.database import SERVER_REFUSED, Existing, Into, Place, Refused, Shape
from orion.sinks.sql.names import TableName, nearest
from orion.sinks.sql.postgresql import PostgreSql, PostgreSqlConnection

_SETTINGS = "SET datestyle = 'ISO, YMD'; SET timezone = 'UTC'"
_LONGEST = 65_535  # bytes of a text
_VALUES = 32_000  # that one statement takes
_TEXT = f"varchar({_LONGEST})"
_COLUMNS = """
SELECT c.oid, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull AND NOT a.atthasdef, a.attnum
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE lower(c.relname) = lower(?) AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
"""
_UNIQUE = "SELECT conkey FROM pg_constraint WHERE conrelid = ? AND contype IN ('p', 'u')"


@dataclass(frozen=True)
class Redshift(PostgreSql):
    for_update: str = ""

    def connect(self) -> RedshiftConnection:
        return RedshiftConnection(self.connected(_SETTINGS), self)

    def untaken(self, place: Place, values: pa.Array) -> tuple[pa.Array, str] | None:
        if place.type is not Scalar.STRING and not isinstance(place.type, Array | Map | Struct):
            return None
        bad = pc.or_(pc.greater(pc.binary_length(values), _LONGEST), pc.match_substring(values, "\x00"))
        return bad, f"{place.name} is longer than {_LONGEST} bytes, or has the character NUL."

    def lock_of(self, epochs: str) -> str | None:
        return f"LOCK {epochs}"

    def first_of(self, epochs: str) -> str:
        return f"INSERT INTO {epochs} (task, slot, epoch) VALUES (?, ?, -1)"

    def on_conflict(self, into: Into) -> str:
        return ""


class RedshiftConnection(PostgreSqlConnection):
    # TRUNCATE would end the transaction.
    CREATE_STAGE: ClassVar[str] = "CREATE TEMPORARY TABLE {stage} AS {source} WHERE false"
    EMPTY_STAGE: ClassVar[str] = "DELETE FROM {stage}"

    def __init__(self, connection: psycopg.Connection[Any], database: Redshift) -> None:
        super().__init__(connection, database)
        self._refused: str | None = None

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            return super().ask(sql, *values)
        except Refused as refused:
            self._refused = refused.reason
            raise

    def declared(self, type_: SqlType, *, key: bool) -> str:
        match type_:
            case Scalar.BYTES:
                raise ConfigError(
                    "TYPE_MISMATCH", "A column of BYTES has no type in Redshift that rows can be put into."
                )
            case Scalar.STRING | Array() | Map() | Struct():
                return _TEXT
            case Scalar.TIME:
                return "time"
            case _:
                return super().declared(type_, key=key)

    def shape(self, table: TableName) -> Shape | None:
        where = "n.nspname = ?" if table.schema else "pg_table_is_visible(c.oid)"
        names = (table.name, table.schema) if table.schema else (table.name,)
        rows = self.ask(f"{_COLUMNS} AND {where} ORDER BY a.attnum", *names)
        found = nearest(table.name, {row[1] for row in rows})
        if found is None:
            return None
        rows = [row for row in rows if row[1] == found]
        numbers = {row[5]: row[2] for row in rows}
        unique = (frozenset(numbers[n] for n in key) for (key,) in self.ask(_UNIQUE, rows[0][0]))
        columns = tuple(Existing(name, type_, required) for _, _, name, type_, required, _ in rows)
        return Shape(TableName(table.schema, found), columns, tuple(unique))

    def begin(self) -> None:
        self.ask("BEGIN")

    def savepoint(self) -> None:
        """There is none."""

    def release(self) -> None:
        """There is none."""

    def back(self) -> None:
        raise ConfigError(SERVER_REFUSED, f"Redshift refuses a row, and can't go on without it: {self._refused}")

    def merge(self, into: Into, stage: str) -> None:
        self.remove(into, stage)
        super().merge(into, stage)

    def load(self, table: str, places: Sequence[Place], rows: pa.RecordBatch) -> None:
        names = self._quote.all(p.name for p in places)
        row = f"({', '.join(map(_parameter, places))})"
        size = max(1, _VALUES // len(places))
        for first in range(0, rows.num_rows, size):
            part = rows.slice(first, size)
            columns = [self.rendered(p, values) for p, values in zip(places, part.columns, strict=True)]
            statement = f"INSERT INTO {table} ({names}) VALUES {', '.join(row for _ in range(part.num_rows))}"
            try:
                texts = [column.cast(pa.string()).to_pylist() for column in columns]
            except UnicodeDecodeError:
                self._refused = "A text isn't UTF-8."
                raise Refused(self._refused) from None
            self.ask(statement, *chain.from_iterable(zip(*texts, strict=True)))


def _parameter(place: Place) -> str:
    """Texts as they are: a cast would cut one that is too long."""
    plain = place.type is Scalar.STRING or isinstance(place.type, Array | Map | Struct)
    return "?" if plain else f"CAST(? AS {place.declared})"

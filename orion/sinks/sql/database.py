"""What a database is to the jdbc sink. A Database is frozen and travels; a Connection is open and stays in its worker.

A connection's methods raise three things and nothing of a driver's: Refused when the server doesn't take a row,
StoreAway when trying again can help, ConfigError when somebody must act.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from orion.errors import ConfigError
from orion.schema import SqlType
from orion.sinks.sql.names import Quoting, TableName
from orion.sinks.sql.options import InsertMode

SERVER_REFUSED = "DATABASE_REFUSED"  # the server's own words: rights, logins, and statements that it can't run


def server_refuses(words: str) -> ConfigError:
    """What a server doesn't let us do, in its words, and where to look."""
    hint = "Look at 'connection.user' and 'connection.password', the user's rights, and the name in 'connection.url'."
    return ConfigError(SERVER_REFUSED, words, hint=hint)


class Refused(Exception):
    """The server doesn't take a row of what was just written; its words, without the row's values."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Existing:
    """A column that a table has."""

    name: str
    type: str  # as the database spells it
    required: bool  # no NULL, and nothing in its place where a row brings no value


@dataclass(frozen=True, slots=True)
class Shape:
    """A table that is there."""

    table: TableName
    columns: tuple[Existing, ...]
    unique: tuple[frozenset[str], ...]  # columns that no two rows have alike


@dataclass(frozen=True, slots=True)
class Place:
    """A column to write, as the table has it."""

    name: str
    type: SqlType
    declared: str  # the database's own type
    key: bool


@dataclass(frozen=True, slots=True)
class Into:
    """A table to write, checked. Batches for it have a column for each of its places, in their order."""

    table: TableName
    places: tuple[Place, ...]
    mode: InsertMode

    @property
    def names(self) -> list[str]:
        return [p.name for p in self.places]

    @property
    def key(self) -> list[str]:
        return [p.name for p in self.places if p.key]

    @property
    def others(self) -> list[str]:
        return [p.name for p in self.places if not p.key]


class Connection(Protocol):
    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement; `?` stands for a value."""
        ...

    def shape(self, table: TableName) -> Shape | None: ...

    def declared(self, type_: SqlType, *, key: bool) -> str:
        """The type of a column that is made."""
        ...

    def begin(self) -> None: ...

    def savepoint(self) -> None: ...

    def release(self) -> None: ...

    def back(self) -> None:
        """To the savepoint."""
        ...

    def write(self, into: Into, rows: pa.RecordBatch) -> None:
        """Insert, upsert or update, as `into` says. Of one key there is one row, unless it inserts."""
        ...

    def delete(self, into: Into, keys: pa.RecordBatch) -> None:
        """Delete rows by their keys; the batch has columns for those alone."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Leave nothing. Never raises for a server that is away."""
        ...

    def close(self) -> None: ...


class Database(Protocol):
    @property
    def quoting(self) -> Quoting: ...

    @property
    def for_update(self) -> str:
        """What locks a row that is asked for. One that has nothing of the kind locks more as a slot begins."""
        ...

    @property
    def makes_aside(self) -> bool:
        """Whether tables are made on a connection of their own, so that nobody waits for a transaction's end."""
        ...

    def connect(self) -> Connection: ...

    def fits(self, type_: SqlType, declared: str) -> bool:
        """Whether values of a type go into a column that is there."""
        ...

    def untaken(self, place: Place, values: pa.Array) -> tuple[pa.Array, str] | None:
        """Where values are that the database would bend or misread instead of refusing them, and a reason."""
        ...

    def lock_of(self, epochs: str) -> str | None:
        """What keeps others out of the table of epochs, where rows can't be locked."""
        ...

    def first_of(self, epochs: str) -> str:
        """A statement that makes a slot's row in the table of epochs, unless it is there."""
        ...

    def probes(self, into: Into, *, deletes: bool) -> list[str]:
        """Statements that change nothing, and that only somebody with the rights to write can run."""
        ...

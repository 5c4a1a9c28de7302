"""Cases of the jdbc sink: a database of its own for each test, read back by the database's own client."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any, ClassVar, cast

from orion.plan.sources import Connector
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct
from orion.sinks.jdbc import JdbcStore, open_sink
from orion.sinks.store import Layout
from tests.contracts.case import REFUSED, Mode
from tests.servers.mariadb import Database as MariaDatabase
from tests.servers.postgres import Database as PostgresDatabase
from tests.servers.process import free_ports

MAKING = {"auto.create": "true", "auto.evolve": "true"}
MODES = {
    Mode.APPEND: MAKING,
    Mode.UPSERT: MAKING | {"insert.mode": "upsert", "pk.mode": "record_key", "delete.enabled": "true"},
}


def jdbc_store(layout: Layout, **options: str) -> JdbcStore:
    """A store by its options; a name's underscores are dots."""
    named = tuple((name.replace("_", "."), value) for name, value in options.items())
    return open_sink(Connector("PLAYS", "jdbc", (), named), layout)


def underscored(options: dict[str, str]) -> dict[str, str]:
    return {name.replace(".", "_"): value for name, value in options.items()}


@dataclass(frozen=True)
class SqliteCase:
    path: Path
    bad: ClassVar[tuple[SqlType, Any, Any]] = (Scalar.DOUBLE, 0.5, float("nan"))

    def store(self, layout: Layout, mode: Mode) -> JdbcStore:
        return jdbc_store(layout, connection_url=f"jdbc:sqlite:{self.path}", **underscored(MODES[mode]))

    def rows(self, layout: Layout) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self.path)) as connection:
            found = connection.execute(f"SELECT {', '.join(layout.names)} FROM plays").fetchall()
        return [_parsed(layout, row, _from_sqlite) for row in found]

    def seen(self, type_: SqlType, value: Any) -> Any:
        return REFUSED if value != value else value

    def with_wrong_password(self, layout: Layout) -> JdbcStore:
        raise NotImplementedError

    def with_nobody_there(self, layout: Layout) -> JdbcStore:
        raise NotImplementedError

    def kill(self) -> None:
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class ServedCase:
    """A database of a server that both fixtures give alike."""

    database: PostgresDatabase | MariaDatabase

    def store(self, layout: Layout, mode: Mode, **options: str) -> JdbcStore:
        return jdbc_store(layout, **self.reached(), **underscored(MODES[mode]), **options)

    def reached(self) -> dict[str, str]:
        server = self.database.server
        return {
            "connection_url": f"jdbc:{self.database.url}",
            "connection_user": server.user,
            "connection_password": server.password,
        }

    def with_wrong_password(self, layout: Layout) -> JdbcStore:
        return jdbc_store(layout, **self.reached() | {"connection_password": "wrong-password"})

    def with_nobody_there(self, layout: Layout) -> JdbcStore:
        (port,) = free_ports(1)
        url = f"jdbc:{self.database.url}".replace(f":{self.database.server.port}/", f":{port}/")
        return jdbc_store(layout, **self.reached() | {"connection_url": url})

    def kill(self) -> None:
        self.database.server.kill()

    def start(self) -> None:
        self.database.server.start()


@dataclass(frozen=True)
class PostgresCase(ServedCase):
    bad: ClassVar[tuple[SqlType, Any, Any]] = (Scalar.STRING, "text", "a\x00b")

    def rows(self, layout: Layout) -> list[dict[str, Any]]:
        columns = ", ".join(
            # Its client has no date beyond the year 9999, and none is there.
            f"\"{c.name.lower()}\" AT TIME ZONE 'UTC'" if c.type is Scalar.TIMESTAMP else f'"{c.name.lower()}"'
            for c in layout.columns
        )
        with closing(cast(PostgresDatabase, self.database).connect()) as connection:
            found = connection.execute(f"SELECT {columns} FROM plays").fetchall()
        return [_parsed(layout, row, _from_server) for row in found]

    def seen(self, type_: SqlType, value: Any) -> Any:
        return REFUSED if type_ is Scalar.STRING and "\x00" in value else value


@dataclass(frozen=True)
class MariaCase(ServedCase):
    bad: ClassVar[tuple[SqlType, Any, Any]] = (Scalar.DOUBLE, 0.5, float("inf"))

    def rows(self, layout: Layout) -> list[dict[str, Any]]:
        columns = ", ".join(f"`{name.lower()}`" for name in layout.names)
        connection = cast(MariaDatabase, self.database).connect()
        with closing(connection), connection.cursor() as cursor:
            cursor.execute(f"SELECT {columns} FROM plays")
            return [_parsed(layout, row, _from_server) for row in cursor.fetchall()]

    def seen(self, type_: SqlType, value: Any) -> Any:
        return REFUSED if type_ is Scalar.DOUBLE and value - value != 0 else value


def _parsed(layout: Layout, row: Any, read: Callable[[SqlType, Any], Any]) -> dict[str, Any]:
    return {
        c.name: None if value is None else read(c.type, value) for c, value in zip(layout.columns, row, strict=True)
    }


def _from_sqlite(type_: SqlType, value: Any) -> Any:
    match type_:
        case Scalar.BOOLEAN:
            return bool(value)
        case Scalar.DATE:
            return date.fromisoformat(value)
        case Scalar.TIME:
            return _milliseconds(time.fromisoformat(value))
        case Scalar.TIMESTAMP:
            return datetime.fromisoformat(value)
        case Decimal():
            return Exact(value)
        case Array() | Map() | Struct():
            return json.loads(value)
        case _:
            return value


def _from_server(type_: SqlType, value: Any) -> Any:
    match type_:
        case Scalar.BOOLEAN:
            return bool(value)
        case Scalar.TIME:
            return _milliseconds(value)
        case Scalar.TIMESTAMP:
            return value.replace(tzinfo=UTC)
        case Array() | Map() | Struct():
            return json.loads(value) if isinstance(value, str) else value
        case _:
            return value


def _milliseconds(value: time | timedelta) -> int:
    if isinstance(value, time):
        value = datetime.combine(date.min, value) - datetime.min
    return round(value / timedelta(milliseconds=1))

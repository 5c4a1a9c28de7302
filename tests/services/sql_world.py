"""A database of each kind for tests of the jdbc sink, asked in its own words."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from orion.sinks.jdbc import JdbcStore
from orion.sinks.store import Layout, Nested, Refusal, Slot
from tests.contracts.databases import jdbc_store
from tests.contracts.rows import Row, batch
from tests.servers.mariadb import Database as MariaDatabase
from tests.servers.postgres import Database as PostgresDatabase

NAMES = ("postgresql", "mariadb", "sqlite")
UPSERT = {"insert_mode": "upsert", "pk_mode": "record_key", "delete_enabled": "true"}


@dataclass(frozen=True)
class SqlWorld:
    kind: str
    database: PostgresDatabase | MariaDatabase | Path

    @property
    def reached(self) -> dict[str, str]:
        if isinstance(self.database, Path):
            return {"connection_url": f"jdbc:sqlite:{self.database}"}
        server = self.database.server
        return {
            "connection_url": f"jdbc:{self.database.url}",
            "connection_user": server.user,
            "connection_password": server.password,
        }

    def store(self, layout: Layout, **options: str) -> JdbcStore:
        return jdbc_store(layout, **self.reached | options)

    def ready(self, layout: Layout, **options: str) -> JdbcStore:
        """A store that has made what it needs."""
        store = self.store(layout, auto_create="true", auto_evolve="true", **options)
        store.prepare()
        return store

    def ask(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements; the rows of the last."""
        if isinstance(self.database, Path):
            with closing(sqlite3.connect(self.database, isolation_level=None)) as connection:
                return [connection.execute(s).fetchall() for s in statements][-1]
        with closing(self.database.connect()) as served, served.cursor() as cursor:
            found: list[tuple[Any, ...]] = []
            for statement in statements:
                cursor.execute(statement.encode() if self.kind == "postgresql" else statement)
                found = list(cursor.fetchall()) if cursor.description else []
            return found


def opened(kind: str, request: pytest.FixtureRequest) -> SqlWorld:
    if kind == "sqlite":
        return SqlWorld(kind, request.getfixturevalue("tmp_path") / "world.db")
    stack = ExitStack()
    request.addfinalizer(stack.close)
    server = request.getfixturevalue("postgres" if kind == "postgresql" else kind)
    return SqlWorld(kind, stack.enter_context(server.database()))


def put(store: JdbcStore, rows: Sequence[Row], epoch: int = 1, number: int = 3) -> list[Refusal] | None:
    """Rows as one slot, in one batch."""
    return put_batch(store, batch(store.layout, rows, Nested.TEXT), epoch, number)


def put_batch(store: JdbcStore, rows: pa.RecordBatch, epoch: int = 1, number: int = 3) -> list[Refusal] | None:
    session = store.open()
    try:
        transfer = session.begin(Slot("task", number, epoch))
        if transfer is None:
            return None
        refused = [*transfer.write(rows), *transfer.finish()]
        transfer.commit()
        return refused
    finally:
        session.close()

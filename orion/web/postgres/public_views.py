"""The tables under the names that clients know, as views in a database of their own.

It is in memory, beside the one that holds the rows, and connections of sessions are in it from their start: what isn't
among these views has no name there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import duckdb
import structlog

from orion.schema import duckdb_name
from orion.serving.relations import Relation
from orion.web.postgres.port import Tables

log = structlog.get_logger()

DATABASE = "orion"
SCHEMA = "main"
# What DuckDB doesn't know of a view: whether it is called a table, and its key.
KNOWN = f"{DATABASE}.orion_catalog.relations"


class PublicViews:
    """The views of one server; any thread may ask for a connection."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._made: dict[str, Relation] | None = None  # none: it isn't known what there is

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection in the database of the views, which is there after the first refresh; the caller closes it."""
        cursor = self._tables.cursor()
        cursor.execute(f"USE {DATABASE}.{SCHEMA}").fetchall()
        return cursor

    def ready(self, seconds: float) -> bool:
        return self._tables.ready(seconds)

    def refresh(self) -> None:
        """Follow the tables: they come and go, and come back with other columns."""
        wanted = {relation.name: relation for relation in self._tables.relations()}
        with self._lock:
            if wanted == self._made:
                return
            cursor = self._tables.cursor()
            try:
                if self._made is None:
                    _attach_empty(cursor)
                    self._made = {}
                self._follow(cursor, wanted, self._made)
            finally:
                cursor.close()

    def _follow(
        self, cursor: duckdb.DuckDBPyConnection, wanted: dict[str, Relation], made: dict[str, Relation]
    ) -> None:
        """Each in a transaction of its own: a table that has just gone keeps nobody from the others."""
        for name in [name for name, relation in made.items() if wanted.get(name) != relation]:
            _replace_view(cursor, name, None)
            del made[name]
        for name in wanted.keys() - made.keys():
            try:
                _replace_view(cursor, name, wanted[name])
            except duckdb.Error as error:
                log.info("a table can't be shown to PostgreSQL's clients yet", table=name, reason=str(error))
            else:
                made[name] = wanted[name]


def _attach_empty(cursor: duckdb.DuckDBPyConnection) -> None:
    """Begin without views, even where an earlier server left some."""
    _run(
        cursor,
        [
            f"ATTACH IF NOT EXISTS ':memory:' AS {DATABASE}",
            f"CREATE SCHEMA IF NOT EXISTS {DATABASE}.orion_catalog",
            f"CREATE OR REPLACE TABLE {KNOWN} (name VARCHAR, kind VARCHAR, key VARCHAR[])",
        ],
    )
    left = cursor.execute(
        "SELECT view_name FROM duckdb_views() WHERE database_name = ? AND schema_name = ?", [DATABASE, SCHEMA]
    ).fetchall()
    _run(cursor, (f"DROP VIEW {_path(name)}" for (name,) in left))


def _replace_view(cursor: duckdb.DuckDBPyConnection, name: str, relation: Relation | None) -> None:
    """Make a view; with no relation, take away the one that there is."""
    cursor.execute("BEGIN").fetchall()
    try:
        cursor.execute(f"DELETE FROM {KNOWN} WHERE name = ?", [name]).fetchall()
        _run(cursor, [f"DROP VIEW IF EXISTS {_path(name)}"])
        if relation is not None:
            _run(cursor, [f"CREATE VIEW {_path(name)} AS {relation.select}"])
            kind = "v" if relation.is_view else "r"
            cursor.execute(f"INSERT INTO {KNOWN} VALUES (?, ?, ?)", [name, kind, [*relation.key]]).fetchall()
        cursor.execute("COMMIT").fetchall()
    except BaseException:
        cursor.execute("ROLLBACK").fetchall()
        raise


def _run(cursor: duckdb.DuckDBPyConnection, statements: Iterable[str]) -> None:
    for statement in statements:
        cursor.execute(statement).fetchall()


def _path(name: str) -> str:
    return f"{DATABASE}.{SCHEMA}.{duckdb_name(name)}"

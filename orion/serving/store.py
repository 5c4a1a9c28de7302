"""The DuckDB file that holds the tables: rows go in by batches, each in one transaction with how far its topic is read.

A table has the columns of its source, WINDOWSTART and WINDOWEND if its keys carry a window, and ROWTIME. Its identity
is its key where that is one plain column; else the bytes of the record's key, in `__key`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import structlog

from orion.arrow import ZONELESS, arrow_type
from orion.plan.codec import dumps
from orion.plan.interruption import MOST_ROWS, refuse_too_many
from orion.plan.sources import PSEUDO, ROWTIME, WINDOW_BOUNDS, Source
from orion.schema import Array, Column, Map, Scalar, Struct, duckdb_name, duckdb_type

log = structlog.get_logger()

KEY = "__key"
# Up to so many keys are deleted by the index; of more the whole column is looked through, once.
_FEW = 50
_PORTION = 10_000
_MOST_BAD = 1_000  # bad records of a table whose places are kept; all are counted
_LAYOUT = 2  # of these tables: raised when files that are there can't be gone on with


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record of a table's topic that is no row of it."""

    partition: int
    offset: int
    reason: str


@dataclass(frozen=True)
class Changes:
    """What records do to a table: rows by identity, the last one of each; and how far the topic is read by then."""

    rows: Mapping[Any, Sequence[Any]] = field(default_factory=dict)
    gone: frozenset[Any] = frozenset()
    touched: frozenset[Any] = frozenset()  # the values of the key's first column in all of these
    positions: Mapping[int, int] = field(default_factory=dict)
    bad: tuple[BadRecord, ...] = ()


@dataclass(frozen=True)
class Layout:
    """A source as a table of DuckDB."""

    source: Source

    @property
    def columns(self) -> tuple[Column, ...]:
        """The order in which rows are given."""
        bounds = [Column(n, t) for n, t in WINDOW_BOUNDS.items()] if self.source.window else []
        own = [*self.source.schema.key, *bounds, *self.source.schema.value, *self.source.schema.headers]
        return (*own, Column(ROWTIME, PSEUDO[ROWTIME]))

    @property
    def is_plain(self) -> bool:
        """Whether the key is one column that can be indexed."""
        keys = self.source.schema.key
        return len(keys) == 1 and self.source.window is None and _is_indexable(keys[0])

    @property
    def identity(self) -> str:
        return self.source.schema.key[0].name if self.is_plain else KEY

    @property
    def name(self) -> str:
        return duckdb_name(self.source.name)

    def statements(self) -> list[str]:
        made = [f"{duckdb_name(c.name)} {duckdb_type(c.type)}" for c in self.columns]
        made += [] if self.is_plain else [f"{KEY} BLOB"]
        texts = [f"CREATE TABLE {self.name} ({', '.join(made)}, PRIMARY KEY ({duckdb_name(self.identity)}))"]
        keys = self.source.schema.key
        if not self.is_plain and keys and _is_indexable(keys[0]):
            index = duckdb_name(f"{self.source.name} by {keys[0].name}")
            texts.append(f"CREATE INDEX {index} ON {self.name} ({duckdb_name(keys[0].name)})")
        return texts

    def arrow(self, changes: Changes) -> pa.Table:
        types = [arrow_type(c.type, ZONELESS) for c in self.columns]
        by_column = list(zip(*changes.rows.values(), strict=True)) or [()] * len(types)
        arrays = [pa.array(values, type_) for values, type_ in zip(by_column, types, strict=True)]
        names = [c.name for c in self.columns]
        if not self.is_plain:
            arrays, names = [*arrays, pa.array(list(changes.rows), pa.binary())], [*names, KEY]
        return pa.Table.from_arrays(arrays, names=names)

    def fingerprint(self) -> str:
        """A hash of all that a table's rows hang on, but for the topic's records."""
        plain = replace(self.source, statement="", query_id=None, read_only=False)
        return sha256(f"{_LAYOUT} {dumps(plain)}".encode()).hexdigest()


def _is_indexable(column: Column) -> bool:
    return not isinstance(column.type, Array | Map | Struct)


class Store:
    """One database. Readers have a cursor a thread; writers take turns."""

    def __init__(self, path: Path | None = None, memory_limit: str = "512MB", most_rows: int = MOST_ROWS) -> None:
        """Without a path it is in memory, and gone when it is closed. `most_rows` is how many an answer may have."""
        self.most_rows = most_rows
        self._path, self._memory_limit = path, memory_limit
        self._write = threading.Lock()
        self._local = threading.local()
        self.generation = 0  # how often the database was opened anew
        self._open()

    def _open(self) -> None:
        self._db = _opened(self._path, self._memory_limit)
        self._writer = self._db.cursor()
        for table in (
            "__tables (name VARCHAR, fingerprint VARCHAR, topic_id VARCHAR)",
            "__positions (name VARCHAR, part INTEGER, next BIGINT)",
            "__bad (name VARCHAR, part INTEGER, position BIGINT, reason VARCHAR, number BIGINT)",
        ):
            self._writer.execute(f"CREATE TABLE IF NOT EXISTS {table}")

    def reopen(self) -> None:
        """Open the database anew: after an error of its own, DuckDB answers nothing any more. Who follows a topic has
        to look again how far it is."""
        if self._path is None:
            return
        with self._write:
            with suppress(duckdb.Error):
                self._writer.close()
            with suppress(duckdb.Error):
                self._db.close()
            self._open()
            self.generation += 1

    # ---- reading -----------------------------------------------------------------------------------------------

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """This thread's own."""
        found: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if found is None or self._local.generation != self.generation:
            self._local.generation = self.generation
            found = self._local.cursor = self._db.cursor()
        return found

    def connection(self) -> duckdb.DuckDBPyConnection:
        """A new one, for who closes it."""
        return self._db.cursor()

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.cursor().execute(sql, parameters).fetchall()

    def rows_up_to(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The same, but no more than an answer may have: they are taken in portions, and are all in memory then."""
        cursor = self.cursor().execute(sql, parameters)
        taken: list[tuple[Any, ...]] = []
        try:
            while some := cursor.fetchmany(_PORTION):
                taken += some
                refuse_too_many(len(taken), self.most_rows)
        except BaseException:
            self._local.cursor = None  # one whose answer isn't read to its end takes no other question
            cursor.close()
            raise
        return taken

    def arrow(self, source: Source, condition: str | None = None, parameters: Sequence[Any] = ()) -> pa.Table:
        """The rows of a table, or those that fulfil a condition."""
        names = ", ".join(duckdb_name(c.name) for c in Layout(source).columns)
        where = f" WHERE {condition}" if condition else ""
        found = self.cursor().sql(f"SELECT {names} FROM {Layout(source).name}{where}", params=list(parameters))
        return found.to_arrow_table()

    def some(self, source: Source, columns: Sequence[str], most: int) -> list[tuple[Any, ...]]:
        """Some columns of up to so many rows of a table."""
        return self.rows(f"SELECT {', '.join(map(duckdb_name, columns))} FROM {Layout(source).name} LIMIT {most}")

    def count(self, source: Source) -> int:
        return int(self.rows(f"SELECT count(*) FROM {Layout(source).name}")[0][0])

    @property
    def database(self) -> str:
        """What DuckDB calls it."""
        return str(self.rows("SELECT system.main.current_database()")[0][0])

    def fingerprints(self) -> dict[str, str]:
        """The tables that there are, each with what its rows hang on."""
        return dict(self.rows("SELECT name, fingerprint FROM __tables"))

    def count_bad(self, table: str) -> int:
        """How many records of its topic were no rows of a table."""
        return int(self.rows("SELECT coalesce(max(number), 0) FROM __bad WHERE name = ?", [table])[0][0])

    def bad_records(self, table: str, most: int) -> list[BadRecord]:
        """The last of them, the newest first."""
        sql = "SELECT part, position, reason FROM __bad WHERE name = ? ORDER BY number DESC LIMIT ?"
        return [BadRecord(*row) for row in self.rows(sql, [table, most])]

    def names(self) -> list[str]:
        return [name for (name,) in self.rows("SELECT name FROM __tables")]

    # ---- writing -----------------------------------------------------------------------------------------------

    def opened(self, source: Source, topic_id: str) -> dict[int, int]:
        """How far the table's topic is read. A table that is new, or of another topic or other columns, is made."""
        layout = Layout(source)
        with self._write:
            wanted = (layout.fingerprint(), topic_id)
            found = self._writer.execute(
                "SELECT fingerprint, topic_id FROM __tables WHERE name = ?", [source.name]
            ).fetchone()
            if found != wanted:
                self._transact([*self._dropping(source.name), *layout.statements()])
                self._writer.execute("INSERT INTO __tables VALUES (?, ?, ?)", [source.name, *wanted])
            read = self._writer.execute("SELECT part, next FROM __positions WHERE name = ?", [source.name]).fetchall()
            return dict(read)

    def drop(self, name: str) -> None:
        with self._write:
            self._transact(self._dropping(name))

    def apply(self, layout: Layout, changes: Changes) -> None:
        """All of it, or after a crash nothing."""
        touched = [*changes.rows, *(changes.gone - changes.rows.keys())]
        with self._write:
            self._writer.execute("BEGIN")
            try:
                self._delete(layout, touched)
                if changes.rows:
                    self._writer.register("__batch", layout.arrow(changes))
                    names = ", ".join(duckdb_name(n) for n in [c.name for c in layout.columns])
                    names += "" if layout.is_plain else f", {KEY}"
                    self._writer.execute(f"INSERT INTO {layout.name} ({names}) SELECT {names} FROM __batch")
                    self._writer.unregister("__batch")
                self._note_bad(layout.source.name, changes.bad)
                self._move(layout.source.name, changes.positions)
                self._writer.execute("COMMIT")
            except BaseException:
                with suppress(duckdb.Error):  # it may be over already, or the database gone
                    self._writer.execute("ROLLBACK")
                raise

    def _note_bad(self, table: str, bad: Sequence[BadRecord]) -> None:
        if not bad:
            return
        last = "SELECT coalesce(max(number), 0) FROM __bad WHERE name = ?"
        known = int(self._writer.execute(last, [table]).fetchall()[0][0])
        kept = list(enumerate(bad, known + 1))[-_MOST_BAD:]
        noted = {
            "name": pa.array([table] * len(kept), pa.string()),
            "part": pa.array([one.partition for _, one in kept], pa.int32()),
            "position": pa.array([one.offset for _, one in kept], pa.int64()),
            "reason": pa.array([one.reason for _, one in kept], pa.string()),
            "number": pa.array([number for number, _ in kept], pa.int64()),
        }
        self._writer.register("__noted", pa.table(noted))
        self._writer.execute("INSERT INTO __bad SELECT * FROM __noted")
        self._writer.unregister("__noted")
        self._writer.execute("DELETE FROM __bad WHERE name = ? AND number <= ?", [table, known + len(bad) - _MOST_BAD])

    def _delete(self, layout: Layout, touched: list[Any]) -> None:
        if not touched:
            return
        name = duckdb_name(layout.identity)
        type_ = layout.source.schema.key[0].type if layout.is_plain else Scalar.BYTES
        keys = pa.Table.from_arrays([pa.array(touched, arrow_type(type_, ZONELESS))], names=["k"])
        self._writer.register("__keys", keys)
        if len(touched) <= _FEW and layout.is_plain and type_ in (Scalar.STRING, Scalar.INTEGER, Scalar.BIGINT):
            marks = ", ".join("?" * len(touched))
            self._writer.execute(f"DELETE FROM {layout.name} WHERE {name} IN ({marks})", touched)
        else:
            self._writer.execute(f"DELETE FROM {layout.name} WHERE {name} IN (SELECT k FROM __keys)")
        self._writer.unregister("__keys")

    def _move(self, table: str, positions: Mapping[int, int]) -> None:
        for part, following in positions.items():
            self._writer.execute("DELETE FROM __positions WHERE name = ? AND part = ?", [table, part])
            self._writer.execute("INSERT INTO __positions VALUES (?, ?, ?)", [table, part, following])

    def _dropping(self, name: str) -> list[str]:
        quoted = "'" + name.replace("'", "''") + "'"
        return [
            f"DROP TABLE IF EXISTS {duckdb_name(name)}",
            f"DELETE FROM __tables WHERE name = {quoted}",
            f"DELETE FROM __positions WHERE name = {quoted}",
            f"DELETE FROM __bad WHERE name = {quoted}",
        ]

    def _transact(self, statements: Sequence[str]) -> None:
        self._writer.execute("BEGIN")
        try:
            for text in statements:
                self._writer.execute(text)
            self._writer.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):
                self._writer.execute("ROLLBACK")
            raise

    def close(self) -> None:
        with self._write:
            self._writer.close()
            self._db.close()


def _opened(path: Path | None, memory_limit: str) -> duckdb.DuckDBPyConnection:
    """The database; a file that can't be read is made anew, since topics hold all that was in it."""
    # Nothing that is asked of it reads or writes any other file.
    config: dict[str, Any] = {
        "memory_limit": memory_limit,
        "error_on_division_by_zero": False,
        "enable_external_access": False,
    }
    if path is None:
        return duckdb.connect(":memory:", config=config)
    path.parent.mkdir(parents=True, exist_ok=True)
    config["temp_directory"] = str(path.with_suffix(".spill"))
    try:
        return duckdb.connect(str(path), config=config)
    except duckdb.Error as error:
        log.warning("tables are made anew: their file can't be read", file=str(path), reason=str(error))
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
        return duckdb.connect(str(path), config=config)

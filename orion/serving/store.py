"""The DuckDB file that holds the tables: rows go in by batches, each in one transaction with how far its topic is read.

A table has the columns of its source, WINDOWSTART and WINDOWEND if its keys carry a window, and ROWTIME. Its identity
is its key where that is one plain column; else the bytes of the record's key, in `__key`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import structlog

from orion.arrow import ZONELESS, arrow_type
from orion.plan.codec import dumps
from orion.plan.sources import PSEUDO, ROWTIME, WINDOW_BOUNDS, Source
from orion.schema import Array, Column, Map, Scalar, Struct, duckdb_name, duckdb_type

log = structlog.get_logger()

KEY = "__key"
# Up to so many keys are deleted by the index; of more the whole column is looked through, once.
_FEW = 50
_LAYOUT = 1  # of these tables: raised when files that are there can't be gone on with


@dataclass(frozen=True)
class Changes:
    """What records do to a table: rows by identity, the last one of each; and how far the topic is read by then."""

    rows: Mapping[Any, Sequence[Any]] = field(default_factory=dict)
    gone: frozenset[Any] = frozenset()
    touched: frozenset[Any] = frozenset()  # the values of the key's first column in all of these
    positions: Mapping[int, int] = field(default_factory=dict)


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

    def __init__(self, path: Path | None = None, memory_limit: str = "512MB") -> None:
        """Without a path it is in memory, and gone when it is closed."""
        self._db = _opened(path, memory_limit)
        self._write = threading.Lock()
        self._writer = self._db.cursor()
        self._local = threading.local()
        self._writer.execute(
            "CREATE TABLE IF NOT EXISTS __tables (name VARCHAR, fingerprint VARCHAR, topic_id VARCHAR)"
        )
        self._writer.execute("CREATE TABLE IF NOT EXISTS __positions (name VARCHAR, part INTEGER, next BIGINT)")

    # ---- reading -----------------------------------------------------------------------------------------------

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """This thread's own."""
        found: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if found is None:
            found = self._local.cursor = self._db.cursor()
        return found

    def connection(self) -> duckdb.DuckDBPyConnection:
        """A new one, for who closes it."""
        return self._db.cursor()

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.cursor().execute(sql, parameters).fetchall()

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
                self._move(layout.source.name, changes.positions)
                self._writer.execute("COMMIT")
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise

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
        ]

    def _transact(self, statements: Sequence[str]) -> None:
        self._writer.execute("BEGIN")
        try:
            for text in statements:
                self._writer.execute(text)
            self._writer.execute("COMMIT")
        except BaseException:
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

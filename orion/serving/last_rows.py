"""Rows of tables by their key, as their topics last had them: for look-ups that want columns of one row and no more.

DuckDB is made for many rows: one costs it the better part of a millisecond. The rows here are those that changed last,
up to a bound; who asks for another is answered by DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from orion.plan.steps import Pull
from orion.schema import PLAIN
from orion.serving.pull import Pulled
from orion.serving.store import Changes, Layout, Store


@dataclass(frozen=True)
class _Table:
    places: dict[str, int]  # columns by name, as they stand in the rows here
    taken: tuple[int, ...]  # which of a record's columns these are
    rows: dict[Any, tuple[Any, ...]] = field(default_factory=dict)


class LastRows:
    """At most `size` rows of each table. Its feed alone writes a table; anybody may read it meanwhile."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._tables: dict[str, _Table] = {}

    def get(self, pull: Pull, key: Any) -> Pulled | None:
        table = self._tables.get(pull.reads[0].name)
        if table is None or pull.row is None or (row := table.rows.get(key)) is None:
            return None
        places = table.places
        return Pulled(pull.columns, [[row[places[name]] for name in pull.row]])

    def open(self, layout: Layout, store: Store) -> None:
        """Begin with the rows that are in the table; before anything is read or changed."""
        self.drop(layout.source.name)  # one of the same name may have had other columns
        if not self._size or not layout.is_plain:
            return
        plain = [(at, c.name) for at, c in enumerate(layout.columns) if c.type in PLAIN]
        names = [name for _, name in plain]
        table = _Table({name: at for at, name in enumerate(names)}, tuple(at for at, _ in plain))
        found = store.some(layout.source, [layout.identity, *names], self._size)
        self._put(table, ((key, row) for key, *row in found))
        self._tables[layout.source.name] = table

    def change(self, layout: Layout, changes: Changes) -> None:
        """What the table has now; before anybody is told of it."""
        table = self._tables.get(layout.source.name)
        if table is None:
            return
        for gone in changes.gone - changes.rows.keys():
            table.rows.pop(gone, None)
        self._put(table, ((key, [row[at] for at in table.taken]) for key, row in changes.rows.items()))

    def drop(self, table: str) -> None:
        self._tables.pop(table, None)

    def _put(self, table: _Table, rows: Iterable[tuple[Any, Sequence[Any]]]) -> None:
        for key, row in rows:
            table.rows.pop(key, None)  # the last to change is the last to go
            table.rows[key] = tuple(row)
        for key in list(islice(table.rows, max(0, len(table.rows) - self._size))):
            del table.rows[key]

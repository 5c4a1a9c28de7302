"""Tables as SQL clients from outside see them: what they are called, and a query that gives their rows.

Names that Orion's SQL writes without quotes are in capitals there; PostgreSQL's clients expect theirs to be small, so
`TOTALS` is shown as `totals`. TIME and TIMESTAMP, which are milliseconds and a time in no zone inside, become a time of
day and an instant. What only serves the keeping of a table isn't shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from orion.plan.sources import WINDOW_BOUNDS
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct, duckdb_name
from orion.serving.store import Layout


@dataclass(frozen=True, slots=True)
class Relation:
    """A table to read from. `select` is in DuckDB's SQL; `is_view` is only about what it is called."""

    name: str
    select: str
    key: tuple[str, ...] = ()
    is_view: bool = False


def relation_of(layout: Layout, database: str) -> Relation:
    """How a table in a database of DuckDB's is shown."""
    source = layout.source
    columns = (f"{_shown(duckdb_name(c.name), c.type)} AS {duckdb_name(shown_name(c.name))}" for c in layout.columns)
    key = [c.name for c in source.schema.key] + [*(WINDOW_BOUNDS if source.window else ())]
    table = f"{duckdb_name(database)}.main.{layout.name}"
    return Relation(shown_name(source.name), f"SELECT {', '.join(columns)} FROM {table}", tuple(map(shown_name, key)))


def shown_name(name: str) -> str:
    """A name in capitals was written without quotes, or may be."""
    return name.lower() if name == name.upper() else name


def _shown(value: str, type_: SqlType, depth: int = 0) -> str:
    """An expression of DuckDB's for a value of a type; the value itself where it is shown as it is."""
    if not _has_times(type_):
        return value
    one = f"e{depth}"
    match type_:
        case Scalar.TIME:
            return f"CAST(make_timestamp(CAST({value} AS BIGINT) * 1000) AS TIME)"
        case Scalar.TIMESTAMP:
            return f"timezone('UTC', {value})"
        case Array(element):
            return f"list_transform({value}, lambda {one}: {_shown(one, element, depth + 1)})"
        case Map(key, element):
            parts = (_shown(f"{one}.{part}", t, depth + 1) for part, t in (("key", key), ("value", element)))
            pair = "struct_pack(k := {}, v := {})".format(*parts)
            return f"map_from_entries(list_transform(map_entries({value}), lambda {one}: {pair}))"
        case Struct(fields):
            names = {duckdb_name(f.name): f.type for f in fields}
            inner = (f"{name} := {_shown(f'({value}).{name}', t, depth)}" for name, t in names.items())
            return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(inner)}) END"
        case Scalar() | Decimal():
            return value
        case _:
            assert_never(type_)


def _has_times(type_: SqlType) -> bool:
    match type_:
        case Array(element):
            return _has_times(element)
        case Map(key, element):
            return _has_times(key) or _has_times(element)
        case Struct(fields):
            return any(_has_times(f.type) for f in fields)
        case _:
            return type_ in (Scalar.TIME, Scalar.TIMESTAMP)

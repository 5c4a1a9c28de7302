"""Values of SQL's types as values of a document.

A store says how its scalars look; arrays, maps and structs are put together here, to any depth. A converter of None
means that a value stays as Arrow gives it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct

Convert = Callable[[Any], Any]
Plain = Callable[[Scalar | Decimal], Convert | None]  # how a store wants a type that holds no others
Entries = Callable[[list[tuple[str, Any]]], Any]  # ... and a map: dict, or a list


class Unfit(ValueError):
    """A value that a document of this store can't hold. Its text says which kind, never the value."""


def converter(type_: SqlType, plain: Plain, entries: Entries = dict) -> Convert | None:
    match type_:
        case Scalar() | Decimal():
            return plain(type_)
        case Array(element):
            return _array(converter(element, plain, entries))
        case Map(key, value):
            return _map(converter(key, plain, entries), converter(value, plain, entries), entries)
        case Struct(fields):
            return _struct({f.name: converter(f.type, plain, entries) for f in fields})
        case _:
            assert_never(type_)


def clock(milliseconds: int) -> str:
    """TIME as text, which sorts as the times do."""
    seconds, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}.{rest:03}"


def name_of(value: Any) -> str:
    """A map's key: documents have only names."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value)


def _array(element: Convert | None) -> Convert | None:
    if element is None:
        return None
    return lambda values: [None if v is None else element(v) for v in values]


def _map(key: Convert | None, value: Convert | None, entries: Entries) -> Convert:
    def convert(pairs: list[tuple[Any, Any]]) -> Any:
        return entries(
            [(name_of(k if key is None else key(k)), v if v is None or value is None else value(v)) for k, v in pairs]
        )

    return convert


def _struct(fields: dict[str, Convert | None]) -> Convert | None:
    changed = {name: convert for name, convert in fields.items() if convert is not None}
    if not changed:
        return None

    def convert(record: dict[str, Any]) -> dict[str, Any]:
        return {n: v if v is None or n not in changed else changed[n](v) for n, v in record.items()}

    return convert

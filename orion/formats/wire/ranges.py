"""Dates and times of records, as Spark SQL: read without stopping over any number, and judged afterwards.

Spark stops a query over a timestamp that it has no room for. So a number beyond the range becomes one just beyond it,
and a record with such a value is none: `beyond_range` says so, of every format alike.
"""

from __future__ import annotations

from orion.moments import DAY_MS, DAYS, MILLIS
from orion.schema import Array, Column, Map, Scalar, SqlType, Struct, quote

_BOUNDS = {
    Scalar.DATE: (f"date_from_unix_date({DAYS[0]})", f"date_from_unix_date({DAYS[1]})"),
    Scalar.TIME: ("0", str(DAY_MS)),
    Scalar.TIMESTAMP: (f"timestamp_millis({MILLIS[0]}L)", f"timestamp_millis({MILLIS[1]}L)"),
}


def timestamp(millis: str) -> str:
    """The timestamp at so many milliseconds; one beyond the range for a number that is."""
    least, most = MILLIS
    return f"timestamp_millis(if({millis} NOT BETWEEN {least}L AND {most}L, {least - 1}L, {millis}))"


def beyond_range(columns: tuple[Column, ...], values: tuple[str, ...]) -> str | None:
    """A condition: some column's value holds a date or time that is out of range. None: none of them could."""
    found = [_beyond(value, column.type) for column, value in zip(columns, values, strict=True)]
    told = [one for one in found if one is not None]
    return f"coalesce({' OR '.join(told)}, FALSE)" if told else None


def _beyond(value: str, type_: SqlType, depth: int = 0) -> str | None:
    x = f"b{depth}"
    match type_:
        case Scalar.DATE | Scalar.TIME | Scalar.TIMESTAMP:
            least, most = _BOUNDS[type_]
            return f"coalesce({value} NOT BETWEEN {least} AND {most}, FALSE)"
        case Array(element):
            inside = _beyond(x, element, depth + 1)
            return None if inside is None else f"exists({value}, {x} -> {inside})"
        case Map(_, element):
            inside = _beyond(x, element, depth + 1)
            return None if inside is None else f"exists(map_values({value}), {x} -> {inside})"
        case Struct(fields):
            parts = [_beyond(f"{value}.{quote(f.name)}", f.type, depth) for f in fields]
            told = [part for part in parts if part is not None]
            return f"coalesce({' OR '.join(told)}, FALSE)" if told else None
        case _:
            return None

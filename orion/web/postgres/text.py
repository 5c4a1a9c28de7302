"""Columns of Arrow in PostgreSQL's text format: whole columns at a time, without a step of Python's for each value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Encoder = Callable[[Any], Any]  # a column of Arrow to one of bytes or text

MICROS_FOREVER = 2**63 - 1  # how DuckDB and PostgreSQL write infinity
DAYS_FOREVER = 2**31 - 1


def each(encode: Callable[[Any], bytes | str]) -> Encoder:
    """Value by value, for types that Arrow has no way with."""

    def encoded(column: Any) -> Any:
        written = [None if v is None else encode(v) for v in column.to_pylist()]
        return pa.array([v.encode() if isinstance(v, str) else v for v in written], pa.binary())

    return encoded


def plain(column: Any) -> Any:
    return column.cast(pa.string())


def boolean(column: Any) -> Any:
    return pc.if_else(column, "t", "f")


def floating(column: Any) -> Any:
    """Arrow writes the shortest digits, as PostgreSQL does, but `nan` and `inf`."""
    written = column.cast(pa.string())
    for ours, theirs in (("nan", "NaN"), ("inf", "Infinity")):
        written = pc.replace_substring(written, ours, theirs)
    return written


def numeric(column: Any) -> Any:
    """Never with an exponent, as Arrow writes small ones."""
    written = column.cast(pa.string())
    if pc.any(pc.match_substring(written, "E")).as_py():
        return each(lambda value: format(value, "f"))(column)
    return written


def date(column: Any) -> Any:
    days = column.cast(pa.int32())
    return _endless(days, DAYS_FOREVER, lambda finite: finite.cast(pa.date32()).cast(pa.string()))


def timestamp(column: Any) -> Any:
    micros = column.cast(pa.timestamp("us")).cast(pa.int64())
    return _endless(micros, MICROS_FOREVER, lambda finite: finite.cast(pa.timestamp("us")).cast(pa.string()))


def timestamp_with_zone(column: Any) -> Any:
    """In the zone of the session, which is the column's."""
    return _endless(column.cast(pa.int64()), MICROS_FOREVER, lambda finite: _zoned(finite, column.type.tz))


def _zoned(micros: Any, zone: str) -> Any:
    local = pc.local_timestamp(micros.cast(pa.timestamp("us", zone)))
    offsets = pc.divide(pc.subtract(local.cast(pa.int64()), micros), 1_000_000).to_pylist()
    shown = {offset: _offset(offset) for offset in set(offsets)}
    return pc.binary_join_element_wise(local.cast(pa.string()), pa.array([shown[o] for o in offsets], pa.string()), "")


def _offset(seconds: int | None) -> str | None:
    """Hours, and minutes and seconds only where there are any."""
    if seconds is None:
        return None
    hours, rest = divmod(abs(seconds), 3600)
    parts = [f"{hours:02}", *(f"{part:02}" for part in divmod(rest, 60))]
    while len(parts) > 1 and parts[-1] == "00":
        parts.pop()
    return ("-" if seconds < 0 else "+") + ":".join(parts)


def _endless(numbers: Any, forever: int, write: Encoder) -> Any:
    """Dates and times have two that Arrow can't write."""
    after, before = pc.equal(numbers, forever), pc.equal(numbers, -forever)
    if not pc.any(pc.or_(after, before)).as_py():
        return write(numbers)
    finite = write(pc.if_else(pc.or_(after, before), pa.scalar(0, numbers.type), numbers))
    return pc.case_when(pc.make_struct(after, before), "infinity", "-infinity", finite)


def bytea(value: bytes) -> str:
    return "\\x" + value.hex()


def interval(value: Any) -> str:
    """`1 mons 2 days 03:04:05`, of a MonthDayNano."""
    micros = value.nanoseconds // 1000
    seconds, fraction = divmod(abs(micros), 1_000_000)
    time = f"{'-' if micros < 0 else ''}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if fraction:
        time += f".{fraction:06}"
    parts = [f"{number} {unit}" for number, unit in ((value.months, "mons"), (value.days, "days")) if number]
    return " ".join([*parts, time] if micros or not parts else parts)


def array(element: Encoder) -> Encoder:
    """A list as `{a,"b c",NULL}`."""

    def encoded(column: Any) -> Any:
        inner = element(column.flatten()).cast(pa.binary()).to_pylist()
        return pa.array([_braces(part) for part in slices(column, inner)], pa.binary())

    return encoded


def slices(column: Any, flat: list[Any]) -> list[list[Any] | None]:
    """The elements of each list, of those of all of them."""
    sizes = pc.list_value_length(column).to_pylist()
    at, parts = 0, []
    for size in sizes:
        parts.append(None if size is None else flat[at : at + size])
        at += size or 0
    return parts


def _braces(elements: list[bytes | None] | None) -> bytes | None:
    if elements is None:
        return None
    return b"{" + b",".join(b"NULL" if e is None else _quoted(e) for e in elements) + b"}"


def _quoted(element: bytes) -> bytes:
    if element and element.upper() != b"NULL" and not any(c in b'{}",\\ \t\n\r\v\f' for c in element):
        return element
    return b'"' + element.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'

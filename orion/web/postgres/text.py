"""Columns of Arrow in PostgreSQL's text format: whole columns at a time, without a step of Python's for each value."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Encoder = Callable[[Any], Any]  # a column of Arrow to one of bytes or text

MICROS_A_DAY = 86_400_000_000
_NUMBERLIKE = re.compile(r'"(?:[^"\\]|\\.)*"|-?Infinity|NaN')


@dataclass(frozen=True, slots=True)
class Span:
    """Days or microseconds since 1970 that PostgreSQL holds, and those between that need no thought."""

    first: int
    year_1: int
    year_10000: int
    end: int


DAYS = Span(-2_440_588, -719_162, 2_932_897, 2_145_042_906)
MICROS = Span(DAYS.first * MICROS_A_DAY, DAYS.year_1 * MICROS_A_DAY, DAYS.year_10000 * MICROS_A_DAY, 2**63 - 1)


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
    return _written(column.cast(pa.int32()), DAYS, lambda days: days.cast(pa.date32()).cast(pa.string()), spell_date)


def time(column: Any) -> Any:
    """The day's end is an hour that Arrow doesn't know."""
    micros = column.cast(pa.int64())
    if not pc.any(pc.greater_equal(micros, MICROS_A_DAY)).as_py():
        return column.cast(pa.string())
    return each(lambda value: "24:00:00" if value >= MICROS_A_DAY else _spell_clock(value))(micros)


def timestamp(column: Any) -> Any:
    micros = column.cast(pa.timestamp("us")).cast(pa.int64())
    return _written(micros, MICROS, lambda finite: finite.cast(pa.timestamp("us")).cast(pa.string()), spell_timestamp)


def timestamp_with_zone(column: Any) -> Any:
    """In the zone of the session, which is the column's; in UTC where no zone's rules reach."""
    zone = column.type.tz
    return _written(column.cast(pa.int64()), MICROS, lambda finite: _zoned(finite, zone), _spell_in_utc)


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


def _written(numbers: Any, kept: Span, usual: Encoder, unusual: Callable[[int], str]) -> Any:
    """Days or instants: those of the years 1 to 9999 at once, others one by one."""
    odd = pc.or_(pc.less(numbers, kept.year_1), pc.greater_equal(numbers, kept.year_10000))
    if not pc.any(odd).as_py():
        return usual(numbers)
    some = usual(pc.if_else(odd, pa.scalar(0, numbers.type), numbers)).to_pylist()
    pairs = zip(numbers.to_pylist(), odd.to_pylist(), some, strict=True)
    written = [_endless(number, kept, unusual) if is_odd else text for number, is_odd, text in pairs]
    return pa.array(written, pa.string())


def _endless(number: int, kept: Span, write: Callable[[int], str]) -> str:
    """What PostgreSQL's types don't hold is without end to them."""
    return "-infinity" if number < kept.first else "infinity" if number >= kept.end else write(number)


def spell_date(days: int) -> str:
    """By the calendar of today, whichever day it is."""
    year, month, day = _calendar(days)
    return f"{year:04}-{month:02}-{day:02}" if year > 0 else f"{1 - year:04}-{month:02}-{day:02} BC"


def spell_timestamp(micros: int, zone: str = "") -> str:
    days, rest = divmod(micros, MICROS_A_DAY)
    date, _, era = spell_date(days).partition(" ")
    return f"{date} {_spell_clock(rest)}{zone}{' ' if era else ''}{era}"


def _spell_in_utc(micros: int) -> str:
    return spell_timestamp(micros, "+00")


def _spell_clock(micros: int) -> str:
    seconds, fraction = divmod(micros, 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"


def _calendar(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day since 1970, with leap years as they are now: Python's own stops at year 9999."""
    era, of_era = divmod(days + 719_468, 146_097)  # 400 years, from March on
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def json(column: Any) -> Any:
    """DuckDB writes numbers into it that JSON doesn't have."""
    if not pc.any(pc.match_substring_regex(column, "NaN|Infinity|nan|inf")).as_py():
        return column.cast(pa.string())
    return each(lambda value: _NUMBERLIKE.sub(_quote_word, value))(column)


def _quote_word(found: re.Match[str]) -> str:
    return found.group() if found.group().startswith('"') else f'"{found.group()}"'


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

"""Python values as other systems' clients give them, as columns of SQL's types in Arrow.

A whole column is handed to Arrow first, which is quick; only where Arrow doesn't take it as it is, each value is looked
at for itself. A value that doesn't fit makes its row a bad one, and not the batch.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from datetime import tzinfo as Zone
from decimal import Decimal as Number
from decimal import InvalidOperation, localcontext
from typing import Any, assert_never
from uuid import UUID

import pyarrow as pa

from orion.arrow import arrow_type
from orion.schema import Array, Column, Decimal, Map, Scalar, SqlType, Struct

Convert = Callable[[Any], Any]
_INT, _BIGINT = 1 << 31, 1 << 63
_DAY = timedelta(days=1)
_TRUE, _FALSE = ("true", "t", "yes", "y", "on", "1"), ("false", "f", "no", "n", "off", "0")
# What Arrow takes for a type, and means as we do.
_AS_IT_IS: dict[SqlType, tuple[type, ...]] = {
    Scalar.BOOLEAN: (bool,),
    Scalar.DOUBLE: (float,),
    Scalar.STRING: (str,),
    Scalar.BYTES: (bytes,),
}


class Misfit(ValueError):
    """A value that isn't what its column takes. The value itself isn't told: it may be a secret."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows as columns, and why a row is bad, where one is: all its columns are NULL then."""

    arrays: list[pa.Array]
    bad: list[str | None]


def as_columns(rows: Sequence[Sequence[Any]], columns: Sequence[Column], zones: Sequence[Zone] = ()) -> Columns:
    """Rows as columns; `zones` are what times without one are read in, a zone for each column, or UTC."""
    each = list(zones) or [UTC] * len(columns)
    bad: list[str | None] = [None] * len(rows)
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    made = []
    for column, zone, found in zip(columns, each, values, strict=True):
        made.append(_converted(found, column, zone, bad))
    if any(bad):
        made = [[None if bad[at] else v for at, v in enumerate(column)] for column in made]
    return Columns([pa.array(v, arrow_type(c.type)) for v, c in zip(made, columns, strict=True)], bad)


def _converted(found: Sequence[Any], column: Column, zone: Zone, bad: list[str | None]) -> list[Any]:
    kinds = {type(value) for value in found}
    if kinds <= {type(None), *_AS_IT_IS.get(column.type, ())}:
        return list(found)
    convert = converter(column.type, zone)
    made: list[Any] = []
    for at, value in enumerate(found):
        try:
            made.append(None if value is None else convert(value))
        except Misfit as misfit:
            made.append(None)
            bad[at] = bad[at] or f"{column.name} is {misfit}"
        except (ValueError, TypeError, OverflowError, InvalidOperation):
            made.append(None)
            bad[at] = bad[at] or f"{column.name} is no {column.type}"
    return made


def converter(type_: SqlType, zone: Zone = UTC) -> Convert:
    """What makes a value of a type; raises Misfit, or ValueError and its like, for one that can't be made."""
    match type_:
        case Scalar.BOOLEAN:
            return _boolean
        case Scalar.INTEGER:
            return lambda value: _whole(value, _INT)
        case Scalar.BIGINT:
            return lambda value: _whole(value, _BIGINT)
        case Scalar.DOUBLE:
            return _double
        case Scalar.STRING:
            return text
        case Scalar.BYTES:
            return _bytes
        case Scalar.DATE:
            return _date
        case Scalar.TIME:
            return _milliseconds_of_day
        case Scalar.TIMESTAMP:
            return lambda value: moment(value, zone)
        case Decimal(precision, scale):
            return lambda value: _decimal(value, precision, scale)
        case Array(element):
            return _list_of(converter(element, zone))
        case Map(key, value):
            return _map_of(converter(key, zone), converter(value, zone))
        case Struct(fields):
            return _struct_of([(f.name, converter(f.type, zone)) for f in fields])
        case _:
            assert_never(type_)


def text(value: Any) -> str:
    """Any value as text; what has parts is JSON."""
    match value:
        case str():
            return value
        case bytes():
            return value.decode()  # one that is no text is a misfit
        case bool():
            return str(value).lower()
        case dict() | list() | tuple():
            return json.dumps(value, default=text, ensure_ascii=False)
        case datetime():
            return value.isoformat(sep=" ")
        case set() | frozenset():
            return ",".join(sorted(map(text, value)))
        case _:
            return str(value)


def moment(value: Any, zone: Zone) -> datetime:
    """A time as a moment; one without a zone is read in the given one. A number is milliseconds since 1970."""
    match value:
        case bool():
            raise Misfit("no time")
        case datetime():
            return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)
        case date():
            return datetime(value.year, value.month, value.day, tzinfo=zone).astimezone(UTC)
        case int() | float() | Number():
            return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=float(value))
        case str():
            return moment(datetime.fromisoformat(value.strip()), zone)
        case _:
            raise Misfit("no time")


def _boolean(value: Any) -> bool:
    if isinstance(value, bytes) and len(value) == 1:
        return value != b"\0"  # MySQL's BIT(1)
    told = str(value).strip().lower()
    if told in _TRUE or told in _FALSE:
        return told in _TRUE
    raise Misfit("neither true nor false")


def _whole(value: Any, limit: int) -> int:
    if isinstance(value, str):
        value = Number(value.strip())
    made = int(value)
    if made != value:
        raise Misfit("no whole number")
    if not -limit <= made < limit:
        raise Misfit("too large a number")
    return made


def _double(value: Any) -> float:
    made = float(value)
    if math.isinf(made) and not isinstance(value, float) and "inf" not in str(value).lower():
        raise Misfit("too large a number")
    return made


def _decimal(value: Any, precision: int, scale: int) -> Number:
    number = Number(str(value).strip())
    if not number.is_finite():
        raise Misfit("no number")
    with localcontext() as context:
        context.prec = 76
        made = number.quantize(Number(1).scaleb(-scale))
    if made and made.adjusted() >= precision - scale:
        raise Misfit(f"too large for DECIMAL({precision}, {scale})")
    return made


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, int):
        raise Misfit("no bytes")
    return bytes(value)


def _date(value: Any) -> date:
    match value:
        case datetime():
            return value.date()
        case date():
            return value
        case str():
            return date.fromisoformat(value.strip()[:10])
        case _:
            raise Misfit("no date")


def _milliseconds_of_day(value: Any) -> int:
    match value:
        case time():
            since = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
            since += timedelta(microseconds=value.microsecond)
        case timedelta():
            since = value
        case datetime():
            return _milliseconds_of_day(value.time())
        case str():
            return _milliseconds_of_day(time.fromisoformat(re.sub(r"[+-]\d\d(:\d\d)?$", "", value.strip())))
        case _:
            raise Misfit("no time of day")
    if not timedelta(0) <= since < _DAY:
        raise Misfit("no time of day")
    return round(since / timedelta(milliseconds=1))


def _parsed(value: Any, kind: type) -> Any:
    """A value that has parts, or JSON of one."""
    found = json.loads(value) if isinstance(value, str) else value
    if not isinstance(found, kind):
        raise Misfit(f"no {'list' if kind is list else 'object'}")
    return found


def _list_of(convert: Convert) -> Convert:
    return lambda value: [None if v is None else convert(v) for v in _parsed(value, list)]


def _map_of(key: Convert, convert: Convert) -> Convert:
    def made(value: Any) -> list[tuple[Any, Any]]:
        pairs = value if isinstance(value, list) else _parsed(value, dict).items()
        return [(key(k), None if v is None else convert(v)) for k, v in pairs]

    return made


def _struct_of(fields: list[tuple[str, Convert]]) -> Convert:
    def made(value: Any) -> dict[str, Any]:
        found = _parsed(value, dict)
        alike = {str(name).lower(): inner for name, inner in found.items()}
        return {name: _field(found.get(name, alike.get(name.lower())), convert) for name, convert in fields}

    return made


def _field(value: Any, convert: Convert) -> Any:
    return None if value is None else convert(value)

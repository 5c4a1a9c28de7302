"""Values as formats give them, as values of columns: for readers of records that have no Spark.

TIMESTAMP is microseconds since 1970, DATE days, TIME milliseconds of the day, MAP a list of pairs: what Arrow takes.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from base64 import b64decode
from collections.abc import Callable
from decimal import Decimal as Number
from typing import Any

from orion.formats.messages.numbers import EPOCH_DAY, INT, LONG, double_text, fitted
from orion.moments import DAY_MS, MILLIS, TABLE_DAYS, FarMoment, days_of, micros_of
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct

Fit = Callable[[Any], Any]
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
# What Java reads as a number from text: Python would also take 1_000 and digits of other scripts.
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
_DIGITS = r"(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?"
_DECIMAL = re.compile(rf"\s*[+-]?{_DIGITS}\s*", re.ASCII)
_ISO = re.compile(
    r"([+-]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.]([0-9]{1,9}))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_DOUBLE = re.compile(rf"\s*([+-]?(?:NaN|Infinity|{_DIGITS}))[dDfF]?\s*", re.ASCII)


def fit(type_: SqlType) -> Fit:
    """What makes a column's value of a value that isn't None. Raises ValueError or TypeError where it doesn't fit."""
    match type_:
        case Decimal():
            return _decimal(type_)
        case Array(element):
            inner = optional(fit(element))
            return lambda value: [inner(one) for one in _of(list, value)]
        case Map(key, value_type):
            key_fit, value_fit = fit(key), optional(fit(value_type))
            return lambda value: [(key_fit(k), value_fit(v)) for k, v in _entries(value)]
        case Struct(fields):
            fits = [(f.name, optional(fit(f.type))) for f in fields]
            return lambda value: {name: inner(field_of(_of(dict, value), name)) for name, inner in fits}
        case _:
            return _SCALARS[type_]


def optional(inner: Fit) -> Fit:
    return lambda value: None if value is None else inner(value)


def field_of(fields: dict[str, Any], name: str, spelling: str | None = None) -> Any:
    """A field by its exact name, as it is spelled, or in any case if the name is in capitals."""
    if name in fields:
        return fields[name]
    if spelling is not None and spelling in fields:
        return fields[spelling]
    if name == name.upper():
        return next((v for k, v in fields.items() if k.upper() == name), None)
    return None


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"no {kind.__name__}")
    return value


def _entries(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    pairs = _of(list, value)  # a map whose keys aren't texts travels as entries
    return [(field_of(p, "KEY"), field_of(p, "VALUE")) if isinstance(p, dict) else (p[0], p[1]) for p in pairs]


def _boolean(value: Any) -> bool:
    return bool(_of(bool, value))


def _number(value: Any) -> int | float | Number:
    if isinstance(value, bool):
        raise TypeError("a boolean is no number")
    if not isinstance(value, int | float | Number):
        raise TypeError("no number")
    return value


def _spelled(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError("no number")
    return text.strip()


def _whole(least: int, most: int) -> Fit:
    """A whole number within bounds, which are held against it before the digits of 1e999999999 are written out."""

    def convert(value: Any) -> int:
        if type(value) is not int:
            value = int(_spelled(_WHOLE, value)) if isinstance(value, str) else _cut(_number(value), least, most)
        if not least <= value <= most:
            raise ValueError("out of range")
        return int(value)

    return convert


def _cut(value: int | float | Number, least: int, most: int) -> int:
    """Without what is behind the point, as Java's intValue."""
    if not least - 1 < value < most + 1:  # NaN isn't, either
        raise ValueError("out of range")
    return int(value)


def _double(value: Any) -> float:
    if isinstance(value, str):
        found = _DOUBLE.fullmatch(value)
        if found is None:
            raise ValueError("no number")
        return float(found[1])
    number = _number(value)
    # By its digits: a whole number that is too large is infinite, as in Java, where Python's float() refuses it.
    return number if isinstance(number, float) else float(str(number))


def _decimal(type_: Decimal) -> Fit:
    rounded = fitted(type_)

    def convert(value: Any) -> Number:
        number = Number(_spelled(_DECIMAL, value)) if isinstance(value, str) else _number(value)
        found = None if isinstance(number, float) and not math.isfinite(number) else rounded(number)
        if found is None:
            raise ValueError("too many digits")
        return Number(found)

    return convert


def _text(value: Any) -> str:
    match value:
        case str():
            return _of_characters(value)
        case bool():
            return "true" if value else "false"
        case float():
            return double_text(value)
        case Number() | int():
            return str(value)
        case bytes():
            return value.decode()
        case _:
            return _of_characters(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def _of_characters(text: str) -> str:
    """A text as it is, if it is one: half of a pair of surrogates is no character, and no neighbour would take it."""
    try:
        text.encode()
    except UnicodeEncodeError as e:
        raise ValueError(f"half of a character at {e.start}, the surrogate \\u{ord(text[e.start]):04x} alone") from None
    return text


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b64decode(_of(str, value), validate=True)


def _date(value: Any) -> int:
    if isinstance(value, FarMoment):
        return int(_DAYS(days_of(value)))
    return value.toordinal() - EPOCH_DAY if isinstance(value, dt.date) else _DAYS(value)


def _time(value: Any) -> int:
    if isinstance(value, dt.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    return int(_OF_DAY(value))


def _timestamp(value: Any) -> int:
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return (aware - _EPOCH) // _MICROSECOND
    if isinstance(value, str) and (found := _ISO.fullmatch(value)):
        return _moment(found)
    if isinstance(value, FarMoment):
        return int(_MILLIS(micros_of(value) // 1000)) * 1000
    return int(_MILLIS(value)) * 1000


def _moment(found: re.Match[str]) -> int:
    """Microseconds of a text of ISO 8601 with its offset, cut to milliseconds."""
    text, fraction, sign, hours, minutes = found.groups()
    micros = micros_of(f"{text}{'.' + fraction[:3] if fraction else ''}")
    shift = (int(hours or 0) * 60 + int(minutes or 0)) * 60_000_000
    return int(_MILLIS((micros + (shift if sign == "-" else -shift)) // 1000)) * 1000


_DAYS, _OF_DAY, _MILLIS = _whole(*TABLE_DAYS), _whole(0, DAY_MS), _whole(*MILLIS)
_SCALARS: dict[SqlType, Fit] = {
    Scalar.BOOLEAN: _boolean,
    Scalar.INTEGER: _whole(-INT, INT - 1),
    Scalar.BIGINT: _whole(-LONG, LONG - 1),
    Scalar.DOUBLE: _double,
    Scalar.STRING: _text,
    Scalar.BYTES: _bytes,
    Scalar.DATE: _date,
    Scalar.TIME: _time,
    Scalar.TIMESTAMP: _timestamp,
}

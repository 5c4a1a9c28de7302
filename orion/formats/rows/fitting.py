"""Values as formats give them, as values of columns: for readers of records that have no Spark.

TIMESTAMP is microseconds since 1970, DATE days, TIME milliseconds of the day, MAP a list of pairs: what Arrow takes.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from base64 import b64decode
from collections.abc import Callable
from decimal import Decimal as Number
from typing import Any

from orion.formats.messages.numbers import EPOCH_DAY, INT, LONG, double_text, fitted
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct

Fit = Callable[[Any], Any]
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_DAY_MS = 86_400_000


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
    if isinstance(value, str):
        return Number(value.strip())
    if not isinstance(value, int | float | Number):
        raise TypeError("no number")
    return value


def _whole(most: int) -> Fit:
    def convert(value: Any) -> int:
        if type(value) is not int:
            value = int(_number(value))
        if not -most <= value < most:
            raise ValueError("out of range")
        return int(value)

    return convert


def _double(value: Any) -> float:
    if isinstance(value, str) and value.strip() in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    return float(_number(value))


def _decimal(type_: Decimal) -> Fit:
    rounded = fitted(type_)

    def convert(value: Any) -> Number:
        number = _number(value)
        found = None if isinstance(number, float) and not math.isfinite(number) else rounded(number)
        if found is None:
            raise ValueError("too many digits")
        return Number(found)

    return convert


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return double_text(value)
        case Number() | int():
            return str(value)
        case bytes():
            return value.decode()
        case _:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b64decode(_of(str, value), validate=True)


def _date(value: Any) -> int:
    return value.toordinal() - EPOCH_DAY if isinstance(value, dt.date) else _whole(INT)(value)


def _time(value: Any) -> int:
    if isinstance(value, dt.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    return int(_whole(_DAY_MS + 1)(value))


def _timestamp(value: Any) -> int:
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return (aware - _EPOCH) // _MICROSECOND
    return int(_whole(LONG // 1000)(value)) * 1000


_SCALARS: dict[SqlType, Fit] = {
    Scalar.BOOLEAN: _boolean,
    Scalar.INTEGER: _whole(INT),
    Scalar.BIGINT: _whole(LONG),
    Scalar.DOUBLE: _double,
    Scalar.STRING: _text,
    Scalar.BYTES: _bytes,
    Scalar.DATE: _date,
    Scalar.TIME: _time,
    Scalar.TIMESTAMP: _timestamp,
}

"""Values of SQL's types as Arrow has them, as numbers, and as text."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal as Exact
from typing import Any

import numpy as np
import pyarrow as pa

from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct

_ARROW = {
    Scalar.BOOLEAN: pa.bool_(),
    Scalar.INTEGER: pa.int32(),
    Scalar.BIGINT: pa.int64(),
    Scalar.DOUBLE: pa.float64(),
    Scalar.STRING: pa.string(),
    Scalar.BYTES: pa.binary(),
    Scalar.DATE: pa.date32(),
    Scalar.TIME: pa.time32("ms"),
    Scalar.TIMESTAMP: pa.timestamp("us", "UTC"),
}

# Days, milliseconds of the day, microseconds: Python's own dates end where Spark's don't.
_NUMBERS = {Scalar.DATE: pa.int32(), Scalar.TIME: pa.int32(), Scalar.TIMESTAMP: pa.int64()}


def arrow_type(type_: SqlType, *, plain: bool = False) -> pa.DataType:
    """The type in Arrow; a plain one has dates and times as numbers, as deep as they may stand."""
    match type_:
        case Scalar():
            return _NUMBERS.get(type_, _ARROW[type_]) if plain else _ARROW[type_]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element):
            return pa.list_(arrow_type(element, plain=plain))
        case Map(key, value):
            return pa.map_(arrow_type(key, plain=plain), arrow_type(value, plain=plain))
        case Struct(fields):
            return pa.struct([_field(f, plain) for f in fields])


def _field(field: Field, plain: bool) -> pa.Field:
    return pa.field(field.name, arrow_type(field.type, plain=plain))


def shown_as(type_: SqlType) -> Callable[[Any], str]:
    """How plain values of a scalar type are written."""
    match type_:
        case Scalar.BOOLEAN:
            return lambda value: str(value).lower()
        case Scalar.DATE:
            return lambda value: str(np.datetime64(value, "D"))
        case Scalar.TIME:
            return lambda value: str(np.datetime64(value, "ms"))[11:]
        case Scalar.TIMESTAMP:
            return lambda value: str(np.datetime64(value // 1000, "ms"))
        case _:
            return lambda value: format(value, "f") if isinstance(value, Exact) else str(value)

"""SQL's types as Arrow has them. Where they differ is in days and times, which every neighbour has in its own way."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, assert_never

import pyarrow as pa

from orion.moments import date_of, timestamp_of
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct

_SAME = {
    Scalar.BOOLEAN: pa.bool_(),
    Scalar.INTEGER: pa.int32(),
    Scalar.BIGINT: pa.int64(),
    Scalar.DOUBLE: pa.float64(),
    Scalar.STRING: pa.string(),
    Scalar.BYTES: pa.binary(),
}


@dataclass(frozen=True)
class Times:
    """How DATE, TIME and TIMESTAMP are written; as deep as they may stand in a type."""

    moment: pa.DataType
    clock: pa.DataType = field(default_factory=pa.int32)  # milliseconds of the day
    day: pa.DataType = field(default_factory=pa.date32)


# As Spark takes them; as it and DuckDB take a time that is in no zone.
SPARK = Times(pa.timestamp("us", "UTC"))
ZONELESS = Times(pa.timestamp("us"))


def python_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """What `to_pylist` gives; a date or timestamp that Python has no value for is its text."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):  # one of them is: then value by value
        return [_python_value(value) for value in column]


def _python_value(value: pa.Scalar) -> Any:
    if not value.is_valid:
        return None
    match value:
        case pa.Date32Scalar():
            return date_of(value.value)
        case pa.TimestampScalar():
            made = timestamp_of(value.cast(pa.timestamp("us")).value)
            return made.replace(tzinfo=dt.UTC) if isinstance(made, dt.datetime) and value.type.tz else made
        case pa.MapScalar():
            return [(_python_value(entry["key"]), _python_value(entry["value"])) for entry in value.values]
        case pa.ListScalar() | pa.LargeListScalar():
            return [_python_value(one) for one in value.values]
        case pa.StructScalar():
            return {name: _python_value(value[name]) for name in value}
        case _:
            return value.as_py()


def arrow_type(type_: SqlType, times: Times = SPARK) -> pa.DataType:
    match type_:
        case Scalar.DATE:
            return times.day
        case Scalar.TIME:
            return times.clock
        case Scalar.TIMESTAMP:
            return times.moment
        case Scalar():
            return _SAME[type_]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element):
            return pa.list_(arrow_type(element, times))
        case Map(key, value):
            return pa.map_(arrow_type(key, times), arrow_type(value, times))
        case Struct(fields):
            return pa.struct([pa.field(f.name, arrow_type(f.type, times)) for f in fields])
        case _:
            assert_never(type_)

"""Columns to Protobuf's bytes, a batch of rows at a time: runs in Spark's Python workers.

A NULL is written by leaving its field out. An element of an ARRAY or MAP can't be left out: a NULL is its type's zero
there, as which a field that is left out is read, too.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal as Number
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from orion.errors import SchemaError
from orion.formats.messages.numbers import EPOCH_DAY, WIDE
from orion.formats.messages.types import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    WRAPPERS,
    Files,
    Path,
    decimal_of,
    described,
    entry_of,
    field_of,
    unfit,
    value_type,
)
from orion.schema import INTEGRAL, Array, Decimal, Field, Map, Scalar, SqlType, Struct, is_numeric

Listed = Callable[[pa.Array], list[Any]]  # the values that a message's constructor takes; None: left out
_UNFIT = (ValueError, TypeError, ArithmeticError)
_FLOATING = (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE)


@dataclass(frozen=True)
class Writing:
    """Into which message of which schema columns are written."""

    files: Files
    path: Path
    columns: tuple[SqlType, ...]
    names: tuple[str, ...]


@lru_cache(maxsize=64)
def writer(writing: Writing) -> Callable[..., pa.Array]:
    """One array for each column to the bytes of messages; of a row with a value that its field can't hold, none.

    Raises SchemaError if the columns don't fit.
    """
    message = described(writing.files, writing.path)
    if message is None:
        raise SchemaError("SCHEMA_UNFIT", "The schema declares no message.")
    make = GetMessageClass(message)
    fields = _fields(message, [Field(n, t) for n, t in zip(writing.names, writing.columns, strict=True)])
    names = [field.name for field, _ in fields]

    def rows(columns: Iterable[pa.Array]) -> list[bytes]:
        listed = [values(column) for (_, values), column in zip(fields, columns, strict=True)]
        made = (make(**dict(zip(names, row, strict=True))) for row in zip(*listed, strict=True))
        # Entries of maps in a fixed order: equal keys must be equal bytes.
        return [one.SerializeToString(deterministic=True) for one in made]

    def row(columns: Iterable[pa.Array]) -> bytes | None:
        try:
            return rows(columns)[0]
        except _UNFIT:
            return None

    def write(*columns: pa.Array) -> pa.Array:
        try:
            written: list[Any] = rows(columns)
        except _UNFIT:  # one of them: which, only a try of each tells
            written = [row([column.slice(at, 1) for column in columns]) for at in range(len(columns[0]))]
        return pa.array(written, pa.binary())

    return write


def _fields(message: Descriptor, given: Iterable[Field]) -> list[tuple[FieldDescriptor, Listed]]:
    found = [(one, field_of(message, one.name)) for one in given]
    missing = [one.name for one, field in found if field is None]
    if missing:
        told = f"The message {message.full_name} of the schema has no field {', '.join(missing)}."
        raise SchemaError("SCHEMA_UNFIT", told, hint="Register a version with it, or leave the column out.")
    return [(field, _field(field, one.type, one.name)) for one, field in found if field is not None]


def _field(field: FieldDescriptor, type_: SqlType, name: str) -> Listed:
    entry = entry_of(field)
    match type_:
        case Map(key, value) if entry is not None and value_type(entry[0]) == key:
            return _entries(_values(entry[0], key, name), _elements(entry[1], value, name))
        case Array(element) if field.is_repeated and entry is None:
            return _lists(_elements(field, element, name))
        case _ if field.is_repeated:
            raise unfit(name, type_, field)
        case _:
            return _values(field, type_, name)


def _lists(elements: Listed) -> Listed:
    def listed(array: pa.Array) -> list[Any]:
        flat = elements(array.values)
        return [flat[a:b] if there else None for there, a, b in _slices(array)]

    return listed


def _entries(keys: Listed, values: Listed) -> Listed:
    def listed(array: pa.Array) -> list[Any]:
        pairs = list(zip(keys(array.keys), values(array.items), strict=True))
        return [dict(pairs[a:b]) if there else None for there, a, b in _slices(array)]

    return listed


def _slices(array: pa.Array) -> Iterable[tuple[bool, int, int]]:
    bounds = pairwise(array.offsets.to_pylist())
    return ((there, a, b) for there, (a, b) in zip(array.is_valid().to_pylist(), bounds, strict=True))


def _elements(field: FieldDescriptor, type_: SqlType, name: str) -> Listed:
    values = _values(field, type_, name)
    zero = {} if field.message_type is not None else _ZEROS[value_type(field)]
    if field.enum_type is not None:
        zero = field.enum_type.values[0].number

    def listed(array: pa.Array) -> list[Any]:
        found = values(array)
        return found if array.null_count == 0 else [zero if v is None else v for v in found]

    return listed


_ZEROS: dict[SqlType, Any] = {
    Scalar.BOOLEAN: False,
    Scalar.INTEGER: 0,
    Scalar.BIGINT: 0,
    Scalar.DOUBLE: 0.0,
    Scalar.STRING: "",
    Scalar.BYTES: b"",
}


def _values(field: FieldDescriptor, type_: SqlType, name: str) -> Listed:
    """Of single values of the field."""
    if field.message_type is None:
        return _scalars(field, type_, name)
    kind = field.message_type.full_name
    if kind in WRAPPERS:
        inner = _values(field.message_type.fields_by_name["value"], type_, name)
        return lambda array: [None if v is None else {"value": v} for v in inner(array)]
    match type_:
        case Struct(fields):
            return _structs(_fields(field.message_type, fields))
        case Scalar.TIMESTAMP if kind == TIMESTAMP:
            return _converted(_moment, pa.int64())
        case Scalar.DATE if kind == DATE:
            return _converted(_date, pa.int32())
        case Scalar.TIME if kind == TIME:
            return _converted(_time)
        case _ if kind == DECIMAL and is_numeric(type_):
            return _decimals(field, type_)
        case _:
            raise unfit(name, type_, field)


def _structs(fields: list[tuple[FieldDescriptor, Listed]]) -> Listed:
    names = [field.name for field, _ in fields]

    def listed(array: pa.Array) -> list[Any]:
        there = array.is_valid().to_pylist()
        if not fields:
            return [{} if one else None for one in there]
        columns = [values(column) for (_, values), column in zip(fields, array.flatten(), strict=True)]
        rows = zip(*columns, strict=True)
        return [dict(zip(names, row, strict=True)) if one else None for one, row in zip(there, rows, strict=True)]

    return listed


def _scalars(field: FieldDescriptor, type_: SqlType, name: str) -> Listed:
    natural = value_type(field)
    match type_:
        case Scalar.STRING if field.enum_type is not None:
            return _symbols(field.enum_type)
        case _ if natural == type_:
            return _plain
        case Scalar.INTEGER if natural is Scalar.BIGINT or field.type in _FLOATING:
            return _plain
        case Scalar.BIGINT if field.type in _FLOATING:
            return _plain
        case Scalar.TIMESTAMP if natural is Scalar.BIGINT:
            return _converted(lambda micros: micros // 1000, pa.int64())
        case Scalar.DATE if natural is Scalar.INTEGER:
            return lambda array: _plain(array.cast(pa.int32()))
        case Scalar.TIME if natural in INTEGRAL:
            return _plain
        case _:
            raise unfit(name, type_, field)


def _plain(array: pa.Array) -> list[Any]:
    """By way of numpy, which makes Python's values in C, unless it has no NULLs of the type."""
    if array.null_count == 0 or pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        listed: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
        return listed
    return list(array.to_pylist())


def _converted(convert: Callable[[Any], Any], plain: pa.DataType | None = None) -> Listed:
    def listed(array: pa.Array) -> list[Any]:
        values = _plain(array if plain is None else array.cast(plain))
        return [None if v is None else convert(v) for v in values]

    return listed


def _symbols(enum: EnumDescriptor) -> Listed:
    numbers = {one.name: one.number for one in enum.values}

    def number(symbol: str) -> int:
        if symbol not in numbers:
            raise ValueError(f"The enum {enum.full_name} of the schema has no {symbol}.")
        return numbers[symbol]

    return _converted(number)


def _moment(micros: int) -> dict[str, int]:
    return {"seconds": micros // 1_000_000, "nanos": micros % 1_000_000 * 1000}


def _date(days: int) -> dict[str, int]:
    date = dt.date.fromordinal(days + EPOCH_DAY)
    return {"year": date.year, "month": date.month, "day": date.day}


def _time(millis: int) -> dict[str, int]:
    seconds, rest = divmod(millis, 1000)
    minutes, hours = seconds // 60, seconds // 3600
    return {"hours": hours, "minutes": minutes % 60, "seconds": seconds % 60, "nanos": rest * 1_000_000}


def _decimals(field: FieldDescriptor, type_: SqlType) -> Listed:
    """With the digits that the field declares behind the point, or else those of the column."""
    declared = decimal_of(field) or (type_ if isinstance(type_, Decimal) else Decimal(38, 0))
    step = Number(1).scaleb(-declared.scale)

    def message(value: Any) -> dict[str, Any]:
        number = Number(repr(value)) if isinstance(value, float) else Number(value)
        whole = int(number.quantize(step, context=WIDE).scaleb(declared.scale, context=WIDE))
        size = (whole if whole >= 0 else -whole - 1).bit_length() // 8 + 1
        return {
            "value": whole.to_bytes(size, "big", signed=True),
            "precision": len(str(abs(whole))),
            "scale": declared.scale,
        }

    return _converted(message)

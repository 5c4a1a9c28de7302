"""Protobuf's bytes to columns, a batch of records at a time: runs in Spark's Python workers.

Records are parsed one by one in C; from there on everything goes column by column into Arrow, which the JVM takes as it
is. Bytes that don't fit become a NULL row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from orion.arrow import arrow_type
from orion.errors import SchemaError
from orion.formats.messages.numbers import EPOCH_DAY, LONG, conversion, fitted, integer, unscaled
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
    messages,
    unfit,
    value_type,
)
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct

Build = Callable[[list[Any]], pa.Array]
_ID = 5  # a zero byte and four of the schema's id
_UNSIGNED = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)


@dataclass(frozen=True)
class Reading:
    """Which columns are read out of messages of which schemas."""

    schemas: tuple[tuple[int, Files], ...]  # by id
    columns: tuple[SqlType, ...]
    names: tuple[str, ...]
    framed: bool = True  # else there is no header, and one schema whose first message it is

    def check(self) -> None:
        """Refuse schemas that have no message, but those inside of others, which the columns could be read from."""
        for _, files in self.schemas:
            errors = []
            for path in [path for path, _ in messages(files) if len(path) == 1]:
                try:
                    _rows(self, files, path)
                    break
                except SchemaError as error:
                    errors.append(error)
            else:
                raise errors[0] if errors else SchemaError("SCHEMA_UNFIT", "it declares no message")


@lru_cache(maxsize=64)
def reader(reading: Reading) -> Callable[[pa.Array], pa.Array]:
    """Bytes to a struct with the fields c0, c1 ... for the columns."""
    return _Reader(reading)


@dataclass(frozen=True, eq=False)
class _Kind:
    """A message that records hold."""

    parse: Callable[[bytes], Any]
    rows: Build


class _Reader:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._schemas = {number.to_bytes(_ID, "big"): files for number, files in reading.schemas}
        self._type = pa.struct([(f"c{at}", arrow_type(t)) for at, t in enumerate(reading.columns)])
        self._kinds: dict[tuple[bytes, Path], _Kind | None] = {}
        # Headers whose length is known before they are read: of a schema's first message.
        self._heads: dict[bytes, _Kind | None] = {}

    def __call__(self, raw: pa.Array) -> pa.Array:
        found: dict[_Kind, tuple[list[int], list[Any]]] = {}
        start = _ID + 1 if self._reading.framed else 0
        heads = self._heads
        for at, record in enumerate(raw.to_numpy(zero_copy_only=False).tolist()):
            if record is None:
                continue
            head = record[:start]
            try:
                if head in heads:
                    kind, body = heads[head], record[start:]
                else:
                    kind, body = self._located(record)
                if kind is None:
                    continue
                message = kind.parse(body)
            except DecodeError:
                continue
            if kind not in found:
                found[kind] = ([], [])
            places, some = found[kind]
            places.append(at)
            some.append(message)
        return self._in_order(found, len(raw))

    def _in_order(self, found: dict[_Kind, tuple[list[int], list[Any]]], length: int) -> pa.Array:
        parts = [kind.rows(some) for kind, (_, some) in found.items()]
        places = [at for some, _ in found.values() for at in some]
        if len(parts) == 1 and len(places) == length:
            return parts[0]
        order: list[int | None] = [None] * length
        for new, old in enumerate(places):
            order[old] = new
        return pa.concat_arrays(parts).take(pa.array(order, pa.int64())) if parts else pa.nulls(length, self._type)

    def _located(self, record: bytes) -> tuple[_Kind | None, bytes]:
        """What a record holds by its header, and the rest of it. Raises DecodeError where there is no header."""
        if not self._reading.framed:
            self._heads[b""] = self._kind(self._reading.schemas[0][0].to_bytes(_ID, "big"), (0,))
            return self._heads[b""], record
        path, start = indexes(record)
        kind = self._kind(record[:_ID], path)
        if start == _ID + 1:
            self._heads[record[:start]] = kind
        return kind, record[start:]

    def _kind(self, head: bytes, path: Path) -> _Kind | None:
        if (head, path) not in self._kinds:
            files = self._schemas.get(head)
            try:
                self._kinds[head, path] = None if files is None else _rows(self._reading, files, path)
            except SchemaError:
                self._kinds[head, path] = None
        return self._kinds[head, path]


def indexes(record: bytes) -> tuple[Path, int]:
    """Which message of its schema a record holds, and where the message begins."""
    count, at = _varint(record, _ID)
    if count == 0:
        return (0,), at
    path = []
    for _ in range(count):
        one, at = _varint(record, at)
        path.append(one)
    return tuple(path), at


def _varint(record: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(record) or shift > 63:
            raise DecodeError("no message index")
        byte = record[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at


def _rows(reading: Reading, files: Files, path: Path) -> _Kind | None:
    message = described(files, path)
    if message is None:
        return None
    fields = [Field(name, type_) for name, type_ in zip(reading.names, reading.columns, strict=True)]
    rows = _struct(message, fields, [f"c{at}" for at in range(len(fields))])
    return _Kind(GetMessageClass(message).FromString, rows)


# ---- columns of messages -----------------------------------------------------------------------------------------


def _struct(message: Descriptor, fields: list[Field], names: list[str]) -> Build:
    """What makes of messages, none of them missing, an array of structs."""
    children = [_field(message, field) for field in fields]
    inner = [pa.field(name, arrow_type(field.type)) for name, field in zip(names, fields, strict=True)]

    def build(some: list[Any]) -> pa.Array:
        if not inner:
            return pa.array([{}] * len(some), pa.struct([]))
        return pa.StructArray.from_arrays([child(some) for child in children], fields=inner)

    return build


def _field(message: Descriptor, wanted: Field) -> Build:
    field = field_of(message, wanted.name)
    if field is None:
        arrow = arrow_type(wanted.type)
        return lambda some: pa.nulls(len(some), arrow)
    name, type_ = field.name, wanted.type
    get = attrgetter(name)
    if entry_of(field) is not None:
        return _entries(field, type_, get)
    if field.is_repeated:
        if not isinstance(type_, Array):
            raise unfit(wanted.name, type_, field)
        return _elements(_values(field, type_.element, wanted.name), get)
    values = _values(field, type_, wanted.name)
    if field.has_presence:
        return lambda some: values([get(one) if one.HasField(name) else None for one in some])
    return lambda some: values(list(map(get, some)))


def _elements(values: Build, get: Callable[[Any], Any]) -> Build:
    def build(some: list[Any]) -> pa.Array:
        lists = list(map(get, some))
        return pa.ListArray.from_arrays(_offsets(lists), values(list(chain.from_iterable(lists))))

    return build


def _entries(field: FieldDescriptor, type_: SqlType, get: Callable[[Any], Any]) -> Build:
    entry = entry_of(field)
    if entry is None or not isinstance(type_, Map):
        raise unfit(field.name, type_, field)
    key, value = entry
    if type_.key not in (value_type(key), Scalar.STRING):  # any other could be NULL
        raise unfit(field.name, type_, field)
    keys, values = _values(key, type_.key, field.name), _values(value, type_.value, field.name)

    def build(some: list[Any]) -> pa.Array:
        maps = list(map(get, some))
        pairs = [pair for one in maps for pair in one.items()]
        return pa.MapArray.from_arrays(_offsets(maps), keys([k for k, _ in pairs]), values([v for _, v in pairs]))

    return build


def _offsets(some: list[Any]) -> pa.Array:
    return pa.array(accumulate(map(len, some), initial=0), pa.int32())


def _values(field: FieldDescriptor, type_: SqlType, name: str) -> Build:
    """What makes of single values of the field, None among them, an array."""
    arrow = arrow_type(type_)
    if field.message_type is None:
        return _scalars(field, type_, name)
    kind = field.message_type.full_name
    if kind in WRAPPERS:
        inner = _values(field.message_type.fields_by_name["value"], type_, name)
        return lambda values: inner([None if v is None else v.value for v in values])
    match type_:
        case Struct(fields):
            return _optional(_struct(field.message_type, list(fields), [f.name for f in fields]))
        case Scalar.TIMESTAMP if kind == TIMESTAMP:
            return _converted(lambda v: integer(v.seconds * 1_000_000 + v.nanos // 1000, LONG), arrow)
        case Scalar.DATE if kind == DATE:
            return _converted(_days, arrow)
        case Scalar.TIME if kind == TIME:
            return _converted(_millis, arrow)
        case _ if kind == DECIMAL:
            return _decimals(field, type_, name)
        case _:
            raise unfit(name, type_, field)


def _decimals(field: FieldDescriptor, type_: SqlType, name: str) -> Build:
    natural, declared = value_type(field), decimal_of(field)
    convert = fitted(type_) if isinstance(type_, Decimal) else conversion(natural, type_)
    if convert is None:
        raise unfit(name, type_, field)

    def number(message: Any) -> Any:
        # The message says how many digits are behind the point, unless it says nothing at all.
        scale = message.scale if message.precision or message.scale or declared is None else declared.scale
        exact = unscaled(message.value, scale)
        return None if exact is None else convert(exact)

    return _converted(number, arrow_type(type_))


def _scalars(field: FieldDescriptor, type_: SqlType, name: str) -> Build:
    arrow = arrow_type(type_)
    natural = value_type(field)
    if field.enum_type is not None:
        if type_ is not Scalar.STRING:
            raise unfit(name, type_, field)
        symbols = {one.number: one.name for one in reversed(field.enum_type.values)}
        unknown = f"UNKNOWN_ENUM_VALUE_{field.enum_type.name}_"  # as Java's library calls them
        return _converted(lambda v: symbols.get(v) or f"{unknown}{v}", arrow)
    convert = conversion(natural, type_)
    if convert is None and natural != type_:
        raise unfit(name, type_, field)
    if field.type in _UNSIGNED:
        then = convert or (lambda v: v)
        return _converted(lambda v: then((v + LONG) % (2 * LONG) - LONG), arrow)
    if convert is not None:
        return _converted(convert, arrow)
    return _texts if type_ is Scalar.STRING else lambda values: pa.array(values, arrow)


def _converted(convert: Callable[[Any], Any], arrow: pa.DataType) -> Build:
    return lambda values: pa.array([None if v is None else convert(v) for v in values], arrow)


def _texts(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values, pa.string())
    except pa.ArrowInvalid:  # proto2 lets any bytes be a text
        texts = [v.decode(errors="replace") if isinstance(v, bytes) else v for v in values]
        return pa.array(texts, pa.string())


def _optional(build: Build) -> Build:
    def over(values: list[Any]) -> pa.Array:
        some = [v for v in values if v is not None]
        built = build(some)
        if len(some) == len(values):
            return built
        places = iter(range(len(some)))
        return built.take(pa.array([None if v is None else next(places) for v in values], pa.int64()))

    return over


def _days(date: Any) -> int | None:
    try:
        return dt.date(date.year, date.month, date.day).toordinal() - EPOCH_DAY
    except ValueError:  # a year or a month alone, which Google's dates may be
        return None


def _millis(time: Any) -> int | None:
    millis = ((time.hours * 60 + time.minutes) * 60 + time.seconds) * 1000 + time.nanos // 1_000_000
    return millis if 0 <= millis <= 86_400_000 else None

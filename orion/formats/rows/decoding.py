"""Records to rows in Python, in every format: for readers that have no Spark, a batch at a time.

decode = decoder(source, registry.by_id)
for row in decode([record.key for record in records], [record.value for record in records]): ...
"""

from __future__ import annotations

import csv
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from typing import Any

from orion.errors import OrionError, SchemaError
from orion.formats.delimited import delimiter_of
from orion.formats.rows.fitting import field_of, fit, optional
from orion.formats.wire import values
from orion.plan.sources import Serde, Source, Window, WindowKind, WireSchema, is_alone
from orion.schema import Column, Role, Scalar

SchemaOf = Callable[[int], WireSchema | None]
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Bad:
    """Why bytes are no row."""

    reason: str


class _Gone:
    """A value that says there is none, such as JSON's null."""


GONE = _Gone()
Side = Row | Bad | _Gone
Decode = Callable[[Sequence[bytes]], list[Side]]
_TROUBLE = (OrionError, ValueError, TypeError, LookupError, ArithmeticError, EOFError, RecursionError, struct.error)


def decoder(source: Source, role: Role, schema_of: SchemaOf) -> Decode:
    """What reads the keys or the values of a source's records. Windows are cut off from keys before: see `bounds`."""
    columns, serde = source.columns(role), source.serde(role)
    if not columns:
        return lambda raws: [()] * len(raws)
    if serde.format in ("PROTOBUF", "PROTOBUF_NOSR"):
        return _messages(columns, serde, schema_of)
    read = _reading(columns, serde, schema_of)
    return lambda raws: [_guarded(read, raw) for raw in raws]


def _guarded(read: Callable[[Any], Side], raw: Any) -> Side:
    try:
        return read(raw)
    except _TROUBLE as error:
        return Bad(error.message if isinstance(error, OrionError) else str(error) or type(error).__name__)


def bounds(window: Window, key: bytes) -> tuple[bytes, int, int]:
    """The key itself, and the start and end that Kafka Streams' serialisers put behind it."""
    if window.kind is WindowKind.SESSION:
        end, start = struct.unpack(">qq", key[-16:])
        return key[:-16], start, end
    (start,) = struct.unpack(">q", key[-8:])
    return key[:-8], start, start + window.size_ms


# ---- formats -----------------------------------------------------------------------------------------------------


def _reading(columns: tuple[Column, ...], serde: Serde, schema_of: SchemaOf) -> Callable[[bytes], Side]:
    match serde.format:
        case "KAFKA":
            return _kafka(columns[0])
        case "DELIMITED":
            return _delimited(columns, serde)
        case "JSON":
            rows = _rows(columns, serde)
            return lambda raw: rows(_json(raw))
        case "JSON_SR":
            rows = _rows(columns, serde)
            return lambda raw: rows(values.read(raw, schema_of, serde.schema_type, parse_json=_json))
        case "AVRO":
            rows = _rows(columns, serde)
            return lambda raw: rows(values.read(raw, schema_of, serde.schema_type))
        case _:
            raise SchemaError("FORMAT", f"Records in {serde.format} can't be read here.")


def _json(raw: bytes) -> Any:
    # json itself would guess at other encodings, and let halves of characters pass.
    return json.loads(raw.decode(), parse_float=Number)


def _rows(columns: tuple[Column, ...], serde: Serde) -> Callable[[Any], Side]:
    """What makes a row of a value with named fields, or of one that stands alone."""
    fits = [(c.name, c.spelling, optional(fit(c.type))) for c in columns]
    alone = is_alone(columns, serde)

    def make(value: Any) -> Side:
        if value is None:
            return GONE
        if alone:
            return (fits[0][2](value),)
        if not isinstance(value, dict):
            raise TypeError("no object with the columns")
        return tuple(
            inner(value[name] if name in value else field_of(value, name, spelling)) for name, spelling, inner in fits
        )

    return make


def _kafka(column: Column) -> Callable[[bytes], Side]:
    codes = {Scalar.INTEGER: ">i", Scalar.BIGINT: ">q", Scalar.DOUBLE: ">d"}
    if isinstance(column.type, Scalar) and column.type in codes:
        unpack = struct.Struct(codes[column.type])
        return lambda raw: _exactly(unpack, raw)
    return (lambda raw: (raw,)) if column.type is Scalar.BYTES else lambda raw: (raw.decode(errors="replace"),)


def _exactly(unpack: struct.Struct, raw: bytes) -> Side:
    return unpack.unpack(raw) if len(raw) == unpack.size else Bad(f"not {unpack.size} bytes")


def _delimited(columns: tuple[Column, ...], serde: Serde) -> Callable[[bytes], Side]:
    fits = [fit(c.type) for c in columns]
    delimiter = delimiter_of(serde)
    types = [c.type for c in columns]

    def read(raw: bytes) -> Side:
        cells = next(csv.reader([raw.decode().rstrip("\r\n")], delimiter=delimiter, strict=True), [])
        if len(cells) != len(columns):
            return Bad(f"not {len(columns)} cells")
        given = [c.lower() == "true" if t is Scalar.BOOLEAN and c else c for c, t in zip(cells, types, strict=True)]
        return tuple(None if cell == "" else inner(cell) for cell, inner in zip(given, fits, strict=True))

    return read


def _messages(columns: tuple[Column, ...], serde: Serde, schema_of: SchemaOf) -> Decode:
    """Protobuf, by the reader that Spark's workers have."""
    types, names = tuple(c.type for c in columns), tuple(c.name for c in columns)
    fits = [optional(fit(t)) for t in types]

    def decode(raws: Sequence[bytes]) -> list[Side]:
        import pyarrow as pa

        from orion.arrow import python_values
        from orion.formats.messages.read import Reading, reader
        from orion.formats.messages.schema import files_of, linked
        from orion.formats.messages.schema import schema_of as own_schema

        if serde.format == "PROTOBUF_NOSR":
            reading = Reading(((0, linked(own_schema(columns, serde))),), types, names, framed=False)
        else:
            numbers = sorted({n for raw in raws if (n := values.schema_id(raw)) is not None})
            known = [found for n in numbers if (found := schema_of(n)) is not None]
            reading = Reading(tuple((one.id, files_of(one)) for one in known), types, names)
        made = python_values(reader(reading)(pa.array(raws, pa.binary())))
        return [_guarded(make, one) for one in made]

    def make(message: Any) -> Side:
        if message is None:
            return Bad("no such message")
        return tuple(inner(message[f"c{at}"]) for at, inner in enumerate(fits))

    return decode

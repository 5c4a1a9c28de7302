"""Rows as the bytes of an object: Parquet, Avro, JSON.

The same rows give the same bytes, whenever and by whomever they are written.

| SQL | Parquet | Avro | JSON |
|---|---|---|---|
| BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING | the same | the same | the same; NaN and infinity are null |
| BYTES | BYTE_ARRAY | bytes | text, base64 |
| DECIMAL | DECIMAL | bytes, decimal | a number, all its digits |
| DATE | DATE | int, date | "2026-01-31" |
| TIME | TIME, ms | int, time-millis | "23:59:59.999" |
| TIMESTAMP | TIMESTAMP, us, UTC | long, timestamp-millis | "2026-01-31T23:59:59.999Z" |
| ARRAY, STRUCT | LIST, group | array, record | array, object |
| MAP | MAP | map; keys are STRING | object; keys as text |
"""

from __future__ import annotations

import base64
import bz2
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import fastavro
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from orion.arrow import arrow_type
from orion.formats.records.types import schema_of
from orion.plan.sources import Serde
from orion.schema import Array, Column, Decimal, Map, Scalar, SqlType, Struct
from orion.sinks.objects.values import NUMBERS, WRITTEN, shown_as

Convert = Callable[[Any], Any]

_BLOCK = 4000  # rows of an Avro block


class Contents(Protocol):
    @property
    def extension(self) -> str: ...

    def write(self, columns: tuple[Column, ...], rows: pa.Table) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Parquet:
    codec: str

    @property
    def extension(self) -> str:
        ending = {"none": "", "gzip": ".gz", "lz4": ".lz4", "brotli": ".br"}.get(self.codec, f".{self.codec}")
        return f"{ending}.parquet"

    def write(self, columns: tuple[Column, ...], rows: pa.Table) -> bytes:
        out = io.BytesIO()
        pq.write_table(_cast(columns, rows, plain=False), out, compression=self.codec)
        return out.getvalue()


@dataclass(frozen=True, slots=True)
class Json:
    gzipped: bool

    @property
    def extension(self) -> str:
        return ".json.gz" if self.gzipped else ".json"

    def write(self, columns: tuple[Column, ...], rows: pa.Table) -> bytes:
        names = [c.name for c in columns]
        lines = (dict(zip(names, row, strict=True)) for row in _rows(columns, rows, _as_json))
        text = b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
        return gzip.compress(text, mtime=0) if self.gzipped else text


@dataclass(frozen=True, slots=True)
class Avro:
    codec: str

    @property
    def extension(self) -> str:
        return ".avro"

    def write(self, columns: tuple[Column, ...], rows: pa.Table) -> bytes:
        """An object container file, whose marks between blocks come from what is in it instead of from chance."""
        text = schema_of(columns, Serde("AVRO"))
        schema = fastavro.parse_schema(json.loads(text))
        names = [c.name for c in columns]
        records = [dict(zip(names, row, strict=True)) for row in _rows(columns, rows, _as_avro)]
        blocks = [records[at : at + _BLOCK] for at in range(0, len(records), _BLOCK)]
        packed = [(len(block), _packed(_encoded(schema, block), self.codec)) for block in blocks]
        mark = hashlib.md5(text.encode() + b"".join(data for _, data in packed), usedforsecurity=False).digest()
        meta = {"avro.codec": self.codec.encode(), "avro.schema": text.encode()}
        told = b"".join(_long(len(k)) + k.encode() + _long(len(v)) + v for k, v in meta.items())
        head = b"Obj\x01" + _long(len(meta)) + told + _long(0) + mark
        return head + b"".join(_long(count) + _long(len(data)) + data + mark for count, data in packed)


def check_avro(columns: tuple[Column, ...]) -> None:
    """Raises SchemaError for columns that Avro has no type or name for."""
    schema_of(columns, Serde("AVRO"))


# ---- rows as values of Python's --------------------------------------------------------------------------------


def _rows(columns: tuple[Column, ...], rows: pa.Table, of: Callable[[SqlType], Convert | None]) -> Any:
    """Tuples, each value as a format wants it."""
    lists = []
    for column, values in zip(columns, _cast(columns, rows, plain=True).columns, strict=True):
        convert, listed = _nullable(of(column.type)), _listed(column.type, values)
        lists.append(listed if convert is None else [convert(value) for value in listed])
    return zip(*lists, strict=True)


def _listed(type_: SqlType, values: pa.ChunkedArray) -> list[Any]:
    """What `to_pylist` gives, several times as fast for values that hold no others."""
    if isinstance(type_, Array | Map | Struct):
        return cast(list[Any], values.to_pylist())
    if not (values.null_count and pa.types.is_primitive(values.type)):
        return cast(list[Any], values.to_numpy().tolist())
    listed: list[Any] = pc.fill_null(values, False if type_ is Scalar.BOOLEAN else 0).to_numpy().tolist()
    for at in np.flatnonzero(values.is_null().to_numpy()).tolist():
        listed[at] = None
    return listed


def _cast(columns: tuple[Column, ...], rows: pa.Table, *, plain: bool) -> pa.Table:
    times = NUMBERS if plain else WRITTEN
    return rows.cast(pa.schema([pa.field(c.name, arrow_type(c.type, times)) for c in columns]), safe=False)


def _nullable(convert: Convert | None) -> Convert | None:
    return convert and (lambda value: None if value is None else convert(value))


def _nested(type_: SqlType, of: Callable[[SqlType], Convert | None], key: Convert) -> Convert | None:
    """How a type that holds others is converted."""
    match type_:
        case Array(element):
            inner = _nullable(of(element))
            return inner and (lambda values: [inner(v) for v in values])
        case Map(_, element):
            value = _nullable(of(element)) or (lambda v: v)
            return lambda entries: {key(k): value(v) for k, v in entries}
        case Struct(fields):
            inners = {f.name: convert for f in fields if (convert := _nullable(of(f.type)))}
            return (lambda row: row | {n: convert(row[n]) for n, convert in inners.items()}) if inners else None
        case _:
            return None


def _as_json(type_: SqlType) -> Convert | None:
    match type_:
        case Scalar.BYTES:
            return lambda value: base64.b64encode(value).decode()
        case Scalar.DATE | Scalar.TIME:
            return shown_as(type_)
        case Scalar.TIMESTAMP:
            shown = shown_as(type_)
            return lambda value: shown(value) + "Z"
        case Decimal():
            return lambda value: orjson.Fragment(format(value, "f").encode())
        case Map(key, _):
            return _nested(type_, _as_json, shown_as(key))
        case _:
            return _nested(type_, _as_json, str)


def _as_avro(type_: SqlType) -> Convert | None:
    match type_:
        case Scalar.TIMESTAMP:
            return lambda value: value // 1000
        case _:
            return _nested(type_, _as_avro, str)


# ---- Avro's files ----------------------------------------------------------------------------------------------


def _encoded(schema: Any, records: list[dict[str, Any]]) -> bytes:
    """As the items of one array, which are the same bytes and take one call: without their number, and the end's 0."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, {"type": "array", "items": schema}, records)
    return out.getvalue()[len(_long(len(records))) : -1]


def _packed(data: bytes, codec: str) -> bytes:
    match codec:
        case "deflate":
            squeezed = zlib.compressobj(wbits=-15)
            return squeezed.compress(data) + squeezed.flush()
        case "bzip2":
            return bz2.compress(data)
        case "snappy":
            return bytes(pa.Codec("snappy").compress(data)) + zlib.crc32(data).to_bytes(4, "big")
        case _:
            return data


def _long(number: int) -> bytes:
    """As Avro writes one that isn't negative."""
    left, out = number << 1, bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)

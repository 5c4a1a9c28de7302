"""Parquet files: columns by name, as the types that are wanted; a row that doesn't fit is a bad one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from orion.arrow import arrow_type
from orion.feeds.reading.entries import UNREADABLE_FILE, Found
from orion.feeds.values import Columns, as_columns, text
from orion.schema import Array, Column, Decimal, Field, Map, Scalar, Schema, SqlType, Struct

_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a file: the columns, why a row is bad, and what a bad one was."""

    rows: Columns
    raws: list[bytes | None]
    first: int  # the number of the first row, from 1


def parquet_blocks(found: Found, wanted: Sequence[Column]) -> Iterator[Block]:
    first = 1
    try:
        with found.open() as source, pq.ParquetFile(source) as file:
            names = _placed(file.schema_arrow.names, wanted)
            if not any(names):
                yield _unreadable(found, wanted, "it has none of the columns")
                return
            for batch in file.iter_batches(_ROWS, columns=[name for name in names if name]):
                yield _block(batch, names, wanted, first)
                first += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, PermissionError):
            raise
        yield _unreadable(found, wanted, str(error).splitlines()[0])


def schema_of(found: Found) -> Schema:
    with found.open() as source, pq.ParquetFile(source) as file:
        return Schema(tuple(Column(field.name.upper(), _sql_type(field.type)) for field in file.schema_arrow))


def _placed(there: Sequence[str], wanted: Sequence[Column]) -> list[str | None]:
    alike = {name.upper(): name for name in reversed(there)}
    return [column.name if column.name in there else alike.get(column.name.upper()) for column in wanted]


def _block(batch: pa.RecordBatch, names: list[str | None], wanted: Sequence[Column], first: int) -> Block:
    try:
        arrays = [
            pa.nulls(batch.num_rows, arrow_type(column.type)) if name is None else _cast(batch.column(name), column)
            for name, column in zip(names, wanted, strict=True)
        ]
        return Block(Columns(arrays, [None] * batch.num_rows), [None] * batch.num_rows, first)
    except pa.ArrowException:
        rows = [tuple(None if n is None else row[n] for n in names) for row in batch.to_pylist(maps_as_pydicts="lossy")]
        made = as_columns(rows, wanted)
        raws = [_told(row, wanted) if bad else None for row, bad in zip(rows, made.bad, strict=True)]
        return Block(made, raws, first)


def _cast(array: pa.Array, column: Column) -> pa.Array:
    if column.type is Scalar.TIME and array.type != pa.time32("ms"):
        raise pa.ArrowInvalid("a time of day is looked at value by value")
    if pa.types.is_floating(array.type) and column.type is Scalar.STRING:
        raise pa.ArrowInvalid("Arrow writes numbers in its own way")
    return array.cast(arrow_type(column.type))


def _told(row: tuple[object, ...], wanted: Sequence[Column]) -> bytes:
    """A row as JSON, for its dead letter."""
    named = {column.name: value for column, value in zip(wanted, row, strict=True)}
    return json.dumps(named, default=_shown, ensure_ascii=False).encode()


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else text(value)


def _unreadable(found: Found, wanted: Sequence[Column], why: str) -> Block:
    empty = [pa.nulls(1, arrow_type(column.type)) for column in wanted]
    return Block(Columns(empty, [f"{UNREADABLE_FILE}: {why}"]), [found.path.encode()], 0)


def _sql_type(type_: pa.DataType) -> SqlType:
    is_ = pa.types
    if is_.is_boolean(type_):
        return Scalar.BOOLEAN
    if is_.is_integer(type_):
        return Scalar.INTEGER if type_.bit_width < 32 or type_ == pa.int32() else Scalar.BIGINT
    if is_.is_floating(type_):
        return Scalar.DOUBLE
    if is_.is_decimal(type_):
        return Decimal(min(38, type_.precision), type_.scale)
    if is_.is_date(type_):
        return Scalar.DATE
    if is_.is_time(type_):
        return Scalar.TIME
    if is_.is_timestamp(type_):
        return Scalar.TIMESTAMP
    if is_.is_binary(type_) or is_.is_large_binary(type_) or is_.is_fixed_size_binary(type_):
        return Scalar.BYTES
    if is_.is_list(type_) or is_.is_large_list(type_):
        return Array(_sql_type(type_.value_type))
    if is_.is_map(type_):
        return Map(_sql_type(type_.key_type), _sql_type(type_.item_type))
    if is_.is_struct(type_):
        return Struct(tuple(Field(field.name.upper(), _sql_type(field.type)) for field in type_))
    return Scalar.STRING

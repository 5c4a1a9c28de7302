"""Rows of an answer as text and as files: CSV, JSON lines or Parquet.

Values are those of the JSON that a server sends. Numbers with a point come as Decimals, so that each digit of a DECIMAL
is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal as Number
from enum import StrEnum
from typing import Any

from orion.clients.values import Result, row_of, types_of
from orion.schema import Array, Map, Scalar, SqlType, Struct


class FileFormat(StrEnum):
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def export_rows(columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]], to: FileFormat) -> bytes:
    """Rows of columns whose types are written as SQL writes them."""
    parsed = types_of({"columnTypes": list(types)})
    match to:
        case FileFormat.CSV:
            head = ",".join(map(csv_text, columns))
            return _encode_lines([head, *(csv_row(parsed, row) for row in rows)])
        case FileFormat.JSON:
            return _encode_lines(json_row(columns, parsed, row) for row in rows)
        case FileFormat.PARQUET:
            return _write_parquet(columns, parsed, rows)


def json_row(names: Sequence[str], types: Sequence[SqlType], row: Sequence[Any]) -> str:
    """A row as an object of its columns."""
    return _members((n, json_text(v, t)) for n, t, v in zip(names, types, row, strict=True))


def json_text(value: Any, type_: SqlType) -> str:
    """A value as JSON writes it, a DECIMAL with all its digits."""
    match type_:
        case _ if value is None:
            return "null"
        case Array(element):
            return f"[{', '.join(json_text(one, element) for one in value)}]"
        case Map(_, element):
            return _members((name, json_text(one, element)) for name, one in value.items())
        case Struct(fields):
            types = {field.name: field.type for field in fields}
            return _members((name, json_text(one, types[name])) for name, one in value.items())
        case _ if isinstance(value, int | float | Number):
            return scalar_text(value, type_)
        case _:
            return json.dumps(value, ensure_ascii=False)


def scalar_text(value: Any, type_: SqlType) -> str:
    """A value without parts that is there."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if type_ is Scalar.DOUBLE and isinstance(value, int | Number):
        return repr(float(value))
    return f"{value:f}" if isinstance(value, Number) else str(value)


def csv_row(types: Sequence[SqlType], row: Sequence[Any]) -> str:
    return ",".join(csv_field(value, type_) for value, type_ in zip(row, types, strict=True))


def csv_field(value: Any, type_: SqlType) -> str:
    """As PostgreSQL writes CSV: NULL is nothing at all, and an empty text a pair of quotes."""
    if value is None:
        return ""
    is_nested = isinstance(type_, Array | Map | Struct)
    return csv_text(json_text(value, type_) if is_nested else scalar_text(value, type_))


def csv_text(text: str) -> str:
    bare = text and not any(sign in text for sign in ',"\r\n') and text == text.strip()
    return text if bare else '"' + text.replace('"', '""') + '"'


def _write_parquet(columns: Sequence[str], types: tuple[SqlType, ...], rows: Sequence[Sequence[Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(Result(tuple(columns), types, [row_of(row, types) for row in rows]).arrow(), sink)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _encode_lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def _members(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {text}" for name, text in pairs) + "}"

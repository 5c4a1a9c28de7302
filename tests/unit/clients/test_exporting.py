"""Rows as files: every value comes back as it was."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orion.clients.exporting import FileFormat, export_rows

COLUMNS = ("NAME", "N", "D", "TAGS", "OK")
TYPES = ("STRING", "BIGINT", "DECIMAL(20, 5)", "ARRAY<STRING>", "BOOLEAN")
ROWS: list[list[Any]] = [
    ['a "quoted", text\n', 2**60, Decimal("123456789012345.12345"), ["x", None], True],
    ["", None, None, [], False],
]


def test_csv_tells_null_from_an_empty_text() -> None:
    text = export_rows(COLUMNS, TYPES, ROWS, FileFormat.CSV).decode()
    assert text.endswith('"",,,[],false\n')
    head, first, _ = csv.reader(io.StringIO(text))
    assert tuple(head) == COLUMNS
    assert first == ['a "quoted", text\n', str(2**60), "123456789012345.12345", '["x", null]', "true"]


def test_json_has_every_digit() -> None:
    lines = export_rows(COLUMNS, TYPES, ROWS, FileFormat.JSON).decode().splitlines()
    first = json.loads(lines[0], parse_float=Decimal)
    assert first == dict(zip(COLUMNS, ROWS[0], strict=True))
    assert json.loads(lines[1])["N"] is None


def test_parquet_has_the_types_of_sql() -> None:
    table = pq.read_table(io.BytesIO(export_rows(COLUMNS, TYPES, ROWS, FileFormat.PARQUET)))
    assert table.schema.field("D").type == pa.decimal128(20, 5)
    assert table.to_pylist() == [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]


def test_no_rows_are_a_file_too() -> None:
    assert export_rows(COLUMNS, TYPES, [], FileFormat.CSV).decode() == "NAME,N,D,TAGS,OK\n"
    assert pq.read_table(io.BytesIO(export_rows(COLUMNS, TYPES, [], FileFormat.PARQUET))).num_rows == 0

"""Records to rows in Python: every format, and what is no row."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal as Number
from typing import Any

import pytest

from orion.formats import protobuf_nosr, schema_format_of
from orion.formats.rows.decoding import GONE, Bad, Side, bounds, decoder
from orion.formats.wire import values
from orion.plan.sources import Kind, Serde, Source, Window, WindowKind, WireSchema
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, Schema, SqlType, Struct

COLUMNS = (
    Column("ID", Scalar.BIGINT, Role.KEY),
    Column("T", Scalar.STRING, spelling="t"),
    Column("N", Scalar.INTEGER, spelling="n"),
    Column("M", Decimal(6, 2), spelling="m"),
    Column("L", Array(Scalar.INTEGER), spelling="l"),
    Column("S", Struct((Field("A", Scalar.BOOLEAN), Field("B", Scalar.DOUBLE))), spelling="s"),
)


def source(value: str, key: str = "KAFKA", columns: tuple[Column, ...] = COLUMNS, **settings: Any) -> Source:
    return Source("T", Kind.TABLE, Schema(columns), "t", Serde(key), Serde(value, **settings))


def read(given: Source, *raws: bytes, role: Role = Role.VALUE, schema: WireSchema | None = None) -> list[Side]:
    known = {schema.id: schema} if schema is not None else {}
    return decoder(given, role, known.get)(raws)


def test_keys_of_kafka_s_own_serialisers() -> None:
    found = read(source("JSON"), struct.pack(">q", -5), b"short", role=Role.KEY)
    assert found == [(-5,), Bad("not 8 bytes")]


def test_json_in_any_case_with_numbers_as_they_come() -> None:
    raw = b'{"T": 1.50, "n": "7", "M": "1.005", "l": [1, null], "S": {"a": true, "B": 2}}'
    assert read(source("JSON"), raw) == [("1.50", 7, Number("1.01"), [1, None], {"A": True, "B": 2.0})]
    assert read(source("JSON"), b"{}") == [(None,) * 5]
    assert read(source("JSON"), b"null") == [GONE]


@pytest.mark.parametrize(
    "raw",
    [b"no json", b"[1]", b'{"N": true}', b'{"N": 3000000000}', b'{"M": 99999}', b'{"L": 1}', b'{"S": []}', b"\xff"],
)
def test_json_that_is_no_row(raw: bytes) -> None:
    (found,) = read(source("JSON"), raw)
    assert isinstance(found, Bad)


def test_one_column_alone() -> None:
    columns = (COLUMNS[0], COLUMNS[1])
    assert read(source("JSON", columns=columns, wrap_single=False), b'"x"') == [("x",)]
    assert read(source("JSON", columns=columns), b'{"t": "x"}') == [("x",)]


def test_delimited_cells() -> None:
    columns = (COLUMNS[0], COLUMNS[1], COLUMNS[2], Column("OK", Scalar.BOOLEAN))
    found = read(source("DELIMITED", columns=columns), b'"a ""b"",c",5,true', b",,", b"a,b")
    assert found[:2] == [('a "b",c', 5, True), (None, None, None)]
    assert isinstance(found[2], Bad)
    assert read(source("DELIMITED", columns=columns, delimiter="|"), b"x|1|no") == [("x", 1, False)]


TIMES: tuple[tuple[str, SqlType, Any, Any], ...] = (
    ("DAY", Scalar.DATE, dt.date(1970, 1, 3), 2),
    ("AT", Scalar.TIME, dt.time(0, 1, 0, 5000), 60_005),
    ("TS", Scalar.TIMESTAMP, dt.datetime(1970, 1, 1, 0, 0, 1, 2000, dt.UTC), 1_002_000),
    ("RAW", Scalar.BYTES, b"\1\2", b"\1\2"),
    ("MP", Map(Scalar.STRING, Scalar.BIGINT), {"a": 1}, [("a", 1)]),
)


def schema_of(given: Source, type_: str) -> WireSchema:
    return WireSchema(7, type_, schema_format_of(given.value).schema_of(given.schema.value, given.value))


def test_avro_by_the_schema_that_the_record_names() -> None:
    columns = (COLUMNS[0], *COLUMNS[1:4], *(Column(name, type_) for name, type_, _, _ in TIMES))
    given = source("AVRO", columns=columns)
    schema = schema_of(given, "AVRO")
    written = values.written(
        schema, {"T": "x", "N": 5, "M": Number("1.25")} | {name: value for name, _, value, _ in TIMES}
    )
    assert read(given, written, schema=schema) == [("x", 5, Number("1.25"), *(wanted for *_, wanted in TIMES))]
    (unknown,) = read(given, written)
    assert isinstance(unknown, Bad)
    (unframed,) = read(given, b"\1\2", schema=schema)
    assert isinstance(unframed, Bad)


def test_json_schema_behind_its_header() -> None:
    given = source("JSON_SR")
    schema = schema_of(given, "JSON")
    raw = b"\0" + (7).to_bytes(4, "big") + b'{"T": "x", "N": 5, "M": 1.25}'
    assert read(given, raw, schema=schema) == [("x", 5, Number("1.25"), None, None)]


def test_protobuf_with_and_without_a_header() -> None:
    columns = (COLUMNS[0], COLUMNS[1], COLUMNS[2], COLUMNS[4])
    given = source("PROTOBUF", columns=columns)
    schema = schema_of(given, "PROTOBUF")
    written = values.written(schema, {"T": "x", "N": 5, "L": [1, 2]})
    found = read(given, written, b"\1", schema=schema)
    assert found == [("x", 5, [1, 2]), Bad("no such message")]
    bare = source("PROTOBUF_NOSR", columns=columns)
    own = WireSchema(0, "PROTOBUF", protobuf_nosr.schema_of(columns[1:], bare.value))
    assert read(bare, values.written(own, {"T": "y", "N": 6, "L": []})[6:]) == [("y", 6, [])]


def test_windows_stand_behind_keys() -> None:
    start, end = struct.pack(">q", 1000), struct.pack(">q", 1700)
    assert bounds(Window(WindowKind.TUMBLING, 500, 500, 0), b"key" + start) == (b"key", 1000, 1500)
    assert bounds(Window(WindowKind.SESSION, 0, 0, 0), b"key" + end + start) == (b"key", 1000, 1700)

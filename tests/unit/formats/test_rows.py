"""JSON to rows of a source, and rows to bytes, without Spark."""

from __future__ import annotations

from decimal import Decimal as Number
from typing import Any

import pytest

from orion.errors import SchemaError
from orion.formats.rows.reading import parsed, row_of
from orion.formats.rows.writing import record_of
from orion.plan.sources import Kind, Serde, Source, Timestamp, WireSchema, Wiring
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, Schema, SqlType, Struct

INNER = Struct((Field("X", Scalar.INTEGER), Field("y", Scalar.STRING)))


def source(type_: SqlType, **more: Any) -> Source:
    columns = (Column("K", Scalar.STRING, Role.KEY), Column("V", type_, spelling="v"))
    return Source("S", Kind.STREAM, Schema(columns), "t", Serde("KAFKA"), Serde("JSON"), **more)


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        (Scalar.BOOLEAN, "true", True),
        (Scalar.INTEGER, "-2147483648", -(1 << 31)),
        (Scalar.DOUBLE, "3", 3.0),
        (Scalar.DOUBLE, "0.1", 0.1),
        (Scalar.STRING, '""', ""),
        (Scalar.BYTES, '"AA=="', b"\0"),
        (Scalar.DATE, '"1970-01-02"', 1),
        (Scalar.DATE, "-1", -1),
        (Scalar.TIME, '"00:00:01"', 1000),
        (Scalar.TIMESTAMP, '"1970-01-01T01:00:00+01:00"', 0),
        (Scalar.TIMESTAMP, '"1970-01-01T00:00:00.001"', 1),
        (Scalar.TIMESTAMP, "5", 5),
        (Scalar.TIMESTAMP, '"+10000-01-01T00:00:00.000Z"', 253402300800000),
        (Scalar.DATE, '"+10000-01-01"', 2932897),
        (Decimal(5, 2), "1.5", Number("1.50")),
        (Decimal(5, 2), '"999.99"', Number("999.99")),
        (Array(Scalar.INTEGER), "[1, null]", [1, None]),
        (Map(Scalar.STRING, INNER), '{"k": {"x": 1}}', {"k": {"X": 1, "y": None}}),
        (INNER, '{"Y": "b", "x": 2}', {"X": 2, "y": "b"}),
        (Scalar.INTEGER, "null", None),
    ],
)
def test_a_value_of_each_type(type_: SqlType, given: str, value: Any) -> None:
    assert row_of(source(type_), parsed(f'{{"v": {given}}}')).values == {"K": None, "V": value}


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (Scalar.BOOLEAN, "1"),
        (Scalar.INTEGER, "true"),
        (Scalar.INTEGER, "1.0"),
        (Scalar.INTEGER, '"1"'),
        (Scalar.INTEGER, "2147483648"),
        (Scalar.BIGINT, "9223372036854775808"),
        (Scalar.DOUBLE, "1e999"),
        (Scalar.DOUBLE, "true"),
        (Scalar.STRING, "1"),
        (Scalar.BYTES, '"*"'),
        (Scalar.DATE, '"31.1.2026"'),
        (Scalar.TIME, "86400000"),
        (Scalar.TIMESTAMP, '"soon"'),
        (Scalar.TIMESTAMP, '"+soon"'),
        (Scalar.TIMESTAMP, "9223372036854775807"),
        (Scalar.DATE, "2147483648"),
        (Scalar.STRING, '"\\ud800"'),
        (Decimal(5, 2), "1.234"),
        (Decimal(5, 2), "1000"),
        (Decimal(5, 2), '"x"'),
        (Array(Scalar.INTEGER), "1"),
        (Array(Scalar.INTEGER), '["x"]'),
        (INNER, '{"z": 1}'),
        (INNER, "[]"),
    ],
)
def test_what_isnt_of_the_type_is_refused(type_: SqlType, given: str) -> None:
    with pytest.raises(SchemaError) as told:
        row_of(source(type_), parsed(f'{{"v": {given}}}'))
    assert told.value.message.startswith("V")


def test_a_field_says_where_it_is() -> None:
    with pytest.raises(SchemaError, match=r"^V\[1\]->X is \"a\", and the column is INTEGER\.$"):
        row_of(source(Array(INNER)), parsed('{"v": [{}, {"x": "a"}]}'))


def test_a_column_that_isnt_there_is_told_with_the_nearest() -> None:
    with pytest.raises(SchemaError) as told:
        row_of(source(INNER), {"vv": 1})
    assert (told.value.code, told.value.hint) == ("UNKNOWN_COLUMN", "Did you mean V?")
    with pytest.raises(SchemaError, match="twice"):
        row_of(source(Scalar.INTEGER), {"v": 1, "V": 2})


def test_a_rows_time() -> None:
    timed = source(Scalar.BIGINT, timestamp=Timestamp("V"))
    assert row_of(timed, {"v": 5}).rowtime == 5
    assert row_of(timed, {"v": 5, "ROWTIME": 7}).rowtime == 7
    with pytest.raises(SchemaError, match="can't be NULL"):
        row_of(timed, {"k": "a"})
    assert row_of(source(Scalar.BIGINT), {"v": 5}).rowtime is None


@pytest.mark.parametrize(
    ("format_", "given", "raw"),
    [
        ("JSON", '{"v": {"x": 1}}', b'{"V":{"X":1,"y":null}}'),
        ("JSON", "{}", b'{"V":null}'),
    ],
)
def test_json_has_the_columns_names(format_: str, given: str, raw: bytes) -> None:
    assert record_of(source(INNER), row_of(source(INNER), parsed(given))) == (None, raw)


@pytest.mark.parametrize(
    ("cells", "line"),
    [
        ('{"a": "x", "b": 1.5, "c": "y z"}', b"x,1.5,y z"),
        ('{"a": "x,y", "c": "say \\"hi\\""}', b'"x,y",,"say ""hi"""'),
        ('{"a": " x", "b": 2, "c": ""}', b'" x",2.0,'),
    ],
)
def test_delimited_quotes_what_needs_it(cells: str, line: bytes) -> None:
    columns = (Column("A", Scalar.STRING), Column("B", Scalar.DOUBLE), Column("C", Scalar.STRING))
    made = Source("S", Kind.STREAM, Schema(columns), "t", Serde("NONE"), Serde("DELIMITED"))
    assert record_of(made, row_of(made, parsed(cells))) == (None, line)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("AVRO", '{"type": "record", "name": "R", "fields": [{"name": "v", "type": "int"}]}'),
        ("JSON", '{"type": "object", "properties": {"v": {"type": "integer", "minimum": 5}}}'),
        ("PROTOBUF", 'syntax = "proto3"; message R { E v = 1; enum E { A = 0; } }'),
    ],
)
def test_a_row_that_the_registrys_schema_refuses(kind: str, text: str) -> None:
    schema = WireSchema(1, kind, text)
    format_ = {"AVRO": "AVRO", "JSON": "JSON_SR", "PROTOBUF": "PROTOBUF"}[kind]
    type_ = Scalar.STRING if kind == "PROTOBUF" else Scalar.BIGINT
    serde = Serde(format_, wiring=Wiring("t-value", (schema,), writes=schema))
    made = Source("S", Kind.STREAM, Schema((Column("V", type_),)), "t", Serde("NONE"), serde)
    given = {"v": "Z"} if kind == "PROTOBUF" else {"v": 1} if kind == "JSON" else {"v": 1 << 40}
    with pytest.raises(SchemaError) as told:
        record_of(made, row_of(made, given))
    assert told.value.code == "VALUE_UNFIT"

"""Rows written without Spark are read by it as what they are, in every format and of every type."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal as Number
from typing import Any

import pytest

from orion.formats import schema_format_of
from orion.formats.rows.reading import parsed, row_of
from orion.formats.rows.writing import record_of
from orion.plan.sources import Kind, Serde, Source, WireSchema, Wiring, subject
from orion.runtime import rows
from orion.runtime.scan import decoded
from orion.runtime.session import Spark
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, Schema, SqlType, Struct, quote

RECORDS = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"
INNER = Struct((Field("X", Scalar.INTEGER), Field("WHEN", Scalar.TIMESTAMP)))
PLAIN: dict[str, tuple[SqlType, str, Any]] = {
    "B": (Scalar.BOOLEAN, "true", True),
    "I": (Scalar.INTEGER, "-7", -7),
    "L": (Scalar.BIGINT, "9007199254740993", 9007199254740993),
    "D": (Scalar.DOUBLE, "1.5", 1.5),
    "S": (Scalar.STRING, '"a, \\"é\\"\\n"', 'a, "é"\n'),
    "Y": (Scalar.BYTES, '"AP8="', b"\x00\xff"),
    "DAY": (Scalar.DATE, '"2026-01-31"', dt.date(2026, 1, 31)),
    "T": (Scalar.TIME, '"12:30:00.250"', 45_000_250),
    "AT": (Scalar.TIMESTAMP, '"2026-01-31T12:00:00.125Z"', dt.datetime(2026, 1, 31, 12, 0, 0, 125000)),
    "N": (Decimal(20, 4), "1234567890123456.7891", Number("1234567890123456.7891")),
}
NESTED: dict[str, tuple[SqlType, str, Any]] = {
    "A": (Array(Scalar.STRING), '["x", "y"]', ["x", "y"]),
    "M": (Map(Scalar.STRING, Scalar.BIGINT), '{"k": 5}', {"k": 5}),
    "O": (INNER, '{"x": 1, "when": 2000}', (1, dt.datetime(1970, 1, 1, 0, 0, 2))),
    "OO": (Array(INNER), '[{"X": 1, "WHEN": 0}]', [(1, dt.datetime(1970, 1, 1))]),
    "E": (Array(Decimal(8, 2)), '["1.10", 2]', [Number("1.10"), Number("2.00")]),
}
KEYS: dict[str, list[SqlType]] = {
    "KAFKA": [Scalar.INTEGER, Scalar.BIGINT, Scalar.DOUBLE, Scalar.STRING, Scalar.BYTES],
    "JSON": [Scalar.STRING, Scalar.BIGINT, Decimal(20, 4)],
    "AVRO": [Scalar.STRING, Scalar.BIGINT],
    "JSON_SR": [Scalar.STRING],
    "PROTOBUF": [Scalar.STRING],
    "DELIMITED": [Scalar.STRING, Scalar.DOUBLE],
}


def wired(source: Source) -> Source:
    """With schemas made of the columns, as the registry would have them."""

    def told(role: Role, number: int) -> Serde:
        serde = source.serde(role)
        if serde.schema_type is None:
            return serde
        text = schema_format_of(serde).schema_of(source.columns(role), serde)
        schema = WireSchema(number, serde.schema_type, text)
        return replace(serde, wiring=Wiring(subject(source.topic, role), (schema,), writes=schema))

    return replace(source, key=told(Role.KEY, 1), value=told(Role.VALUE, 2))


def read(spark: Spark, source: Source, text: str) -> tuple[Any, ...]:
    key, value = record_of(source, row_of(source, parsed(text)))
    raw = spark.createDataFrame([(key, value, "t", 0, 0, dt.datetime(2024, 1, 1))], RECORDS)
    names = [quote(column.name) for column in source.schema]
    found = decoded(raw, source).selectExpr(*names, rows.BAD).collect()[0]
    assert found[rows.BAD] is None, (found[rows.BAD], key, value)
    return tuple(_plain(one) for one in tuple(found)[:-1])


def _plain(value: Any) -> Any:
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


@pytest.mark.parametrize("format_", ["JSON", "JSON_SR", "AVRO", "PROTOBUF", "PROTOBUF_NOSR", "DELIMITED"])
def test_every_type_in_a_value(spark: Spark, format_: str) -> None:
    chosen = PLAIN if format_ == "DELIMITED" else PLAIN | NESTED
    columns = tuple(Column(name, type_) for name, (type_, _, _) in chosen.items())
    source = wired(Source("S", Kind.STREAM, Schema(columns), "t", Serde("NONE"), Serde(format_)))
    text = "{" + ",".join(f'"{name}": {given}' for name, (_, given, _) in chosen.items()) + "}"
    assert read(spark, source, text) == tuple(wanted for _, _, wanted in chosen.values())


@pytest.mark.parametrize("format_", ["JSON", "JSON_SR", "AVRO", "DELIMITED"])
def test_what_isnt_given_is_null(spark: Spark, format_: str) -> None:
    columns = (Column("A", Scalar.INTEGER), Column("B", Scalar.STRING), Column("C", Scalar.DOUBLE))
    source = wired(Source("S", Kind.STREAM, Schema(columns), "t", Serde("NONE"), Serde(format_)))
    assert read(spark, source, '{"b": "x"}') == (None, "x", None)


@pytest.mark.parametrize(("format_", "type_"), [(name, type_) for name, some in KEYS.items() for type_ in some])
def test_keys(spark: Spark, format_: str, type_: SqlType) -> None:
    given, wanted = next((given, wanted) for found, given, wanted in PLAIN.values() if found == type_)
    columns = (Column("K", type_, Role.KEY), Column("V", Scalar.INTEGER))
    source = wired(Source("S", Kind.STREAM, Schema(columns), "t", Serde(format_), Serde("JSON")))
    assert read(spark, source, f'{{"k": {given}, "v": 1}}') == (wanted, 1)


def test_a_schema_of_somebody_elses_is_written_with_its_names_and_units(spark: Spark) -> None:
    fields = [
        {"name": "firstName", "type": "string"},
        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "extra", "type": "int", "default": 9},
    ]
    schema = WireSchema(5, "AVRO", json.dumps({"type": "record", "name": "R", "fields": fields}))
    serde = Serde("AVRO", wiring=Wiring("t-value", (schema,), writes=schema))
    columns = (
        Column("FIRSTNAME", Scalar.STRING),
        Column("SEEN", Scalar.TIMESTAMP),
        Column("KIND", Scalar.STRING),
        Column("EXTRA", Scalar.INTEGER),
    )
    source = Source("S", Kind.STREAM, Schema(columns), "t", Serde("NONE"), serde)
    found = read(spark, source, '{"firstName": "x", "seen": 1500, "kind": "B"}')
    assert found == ("x", dt.datetime(1970, 1, 1, 0, 0, 1, 500000), "B", 9)

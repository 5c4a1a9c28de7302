"""The Spark SQL between Avro's bytes and columns. What Spark makes of it is in tests/conformance."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from orion.errors import InternalError, SchemaError
from orion.formats import Decoded, avro
from orion.formats.records.schema import by_place, tree_of
from orion.formats.wire import ranges
from orion.plan.sources import Serde, WireSchema, Wiring
from orion.schema import Array, Column, Decimal, Field, Map, Scalar, SqlType, Struct
from tests.unit.formats.test_avro_schema import (
    AVRO,
    DAY,
    KEY,
    MILLIS,
    MONEY,
    PLACE,
    columns,
    inferred,
    record,
    schema_of,
    wire,
)

BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP = Scalar


# ---- reading ---------------------------------------------------------------------------------------------------


def decoded(into: tuple[Column, ...], *schemas: Any, serde: Serde = AVRO, unknown: tuple[int, ...] = ()) -> Decoded:
    """Read by schemas whose ids are 1, 2, ..."""
    reads = tuple(s if isinstance(s, WireSchema) else wire(s, number) for number, s in enumerate(schemas, 1))
    return avro.decode(into, replace(serde, wiring=Wiring("t-value", reads, unknown)), "raw", "v")


def parsed(number: int, schema: Any) -> str:
    text = json.dumps(by_place(tree_of(wire(schema))))
    body = f"from_avro(substring(raw, 6), '{text}', map('mode', 'PERMISSIVE'))"
    return f"CASE WHEN substring(raw, 1, 5) = X'{number:010X}' THEN {body} END"


ONE, TWO = record(("a", "int")), record(("b", "string"), ("a", "long"))


def test_without_schemas_it_can_not_read() -> None:
    with pytest.raises(InternalError, match="was not told its schemas"):
        avro.decode(columns(A=INTEGER), AVRO, "raw", "v")


def test_one_schema_needs_no_struct_around_it() -> None:
    made = decoded(columns(A=INTEGER), ONE)
    assert made.struct == parsed(1, ONE)
    assert made.fields == ("v.f0",)


def test_several_schemas_each_read_their_own_records() -> None:
    made = decoded(columns(A=BIGINT), ONE, TWO)
    assert made.struct == f"named_struct('s1', {parsed(1, ONE)}, 's2', {parsed(2, TWO)})"
    first, second = ("substring(raw, 1, 5) = X'0000000001'", "substring(raw, 1, 5) = X'0000000002'")
    assert made.fields == (f"CASE WHEN {first} THEN try_cast(v.s1.f0 AS BIGINT) WHEN {second} THEN v.s2.f1 END",)
    assert f"({first} AND v.s1.f0 IS NULL) OR ({second} AND v.s2.f0 IS NULL)" in made.bad


def test_what_the_registry_does_not_know_is_refused_with_that_reason() -> None:
    made = decoded(columns(A=INTEGER), ONE, unknown=(255,))
    assert made.struct == parsed(1, ONE)
    assert "WHEN substring(raw, 1, 5) IN (X'00000000FF') THEN TRUE" in made.bad
    assert "= X'00000000FF' THEN 'the registry knows no schema 255'" in made.reason


@pytest.mark.parametrize(
    ("unfit", "why"),
    [
        (record(("a", "string")), "A is INTEGER, and the schema has string there"),
        (record(("a", PLACE)), "A is INTEGER, and the schema has Place there"),
        ("int", "it is no record"),
        (record(("r", ["null", "R"])), "the record R holds itself, and columns can\\'t"),
        (WireSchema(2, "JSON", '{"oneOf": [{"type": "null"}, {"type": "object"}]}'), "it is JSON, not AVRO"),
    ],
)
def test_a_schema_that_does_not_fit_the_columns_leaves_the_others_readable(unfit: Any, why: str) -> None:
    made = decoded(columns(A=INTEGER), ONE, unfit)
    assert (made.struct, made.fields) == (parsed(1, ONE), ("v.f0",))
    assert "WHEN substring(raw, 1, 5) IN (X'0000000002') THEN TRUE" in made.bad
    assert f"THEN 'schema 2 can not be read into these columns: {why}'" in made.reason


def test_where_no_schema_fits_all_records_are_refused() -> None:
    made = decoded(columns(A=DATE), TWO)
    assert (made.struct, made.fields) == ("1", ("CAST(NULL AS DATE)",))
    assert "IN (X'0000000001') THEN TRUE" in made.bad


def test_a_field_is_found_whatever_its_case_and_the_same_one_first() -> None:
    schema = record(("Id", "int"), ("ID", "int"), ("name", "string"))
    assert decoded(columns(ID=INTEGER, NAME=STRING, ELSE=DOUBLE), schema).fields == (
        "v.f1",
        "v.f2",
        "CAST(NULL AS DOUBLE)",
    )


def test_a_lone_column_is_the_whole_of_its_schema() -> None:
    assert decoded((KEY,), "string").fields == ("v",)
    assert decoded(columns(V=INTEGER), "int", serde=replace(AVRO, wrap_single=False)).fields == ("v",)


MICROS = {"type": "long", "logicalType": "timestamp-micros"}


@pytest.mark.parametrize(
    ("schema", "type_", "read"),
    [
        ("int", BIGINT, "try_cast(v.f0 AS BIGINT)"),
        ("long", INTEGER, "try_cast(v.f0 AS INT)"),
        ("float", DOUBLE, "try_cast(v.f0 AS DOUBLE)"),
        ("int", STRING, "CAST(v.f0 AS STRING)"),
        ("boolean", STRING, "CAST(v.f0 AS STRING)"),
        ("null", INTEGER, "CAST(NULL AS INT)"),
        (["null", "string"], STRING, "v.f0"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, STRING, "v.f0"),
        ({"type": "fixed", "name": "F", "size": 2}, BYTES, "v.f0"),
        (DAY, DATE, "date_from_unix_date(v.f0)"),
        (MILLIS, TIMESTAMP, ranges.timestamp("v.f0")),
        (MICROS, TIMESTAMP, "timestamp_micros(v.f0)"),
        ("long", TIMESTAMP, ranges.timestamp("v.f0")),
        ({"type": "int", "logicalType": "time-millis"}, TIME, "CAST(v.f0 AS INT)"),
        ({"type": "long", "logicalType": "time-micros"}, TIME, "CAST(v.f0 DIV 1000 AS INT)"),
        (MONEY, Decimal(4, 2), "v.f0"),
        (MONEY, Decimal(9, 3), "try_cast(v.f0 AS DECIMAL(9,3))"),
        (["null", "int", "long"], BIGINT, "v.f0"),
        ({"type": "array", "items": "int"}, Array(INTEGER), "v.f0"),
        ({"type": "array", "items": DAY}, Array(DATE), "transform(v.f0, x0 -> date_from_unix_date(x0))"),
        (
            {"type": "map", "values": {"type": "array", "items": DAY}},
            Map(STRING, Array(DATE)),
            "transform_values(v.f0, (k0, x0) -> transform(x0, x1 -> date_from_unix_date(x1)))",
        ),
        (
            {"type": "array", "items": record(("key", "int"), ("value", MILLIS), name="E")},
            Map(INTEGER, TIMESTAMP),
            f"map_from_entries(transform(v.f0, x0 -> struct(x0.f0, {ranges.timestamp('x0.f1')})))",
        ),
        (PLACE, Struct((Field("CITY", STRING),)), "CAST(v.f0 AS STRUCT<`CITY`:STRING>)"),
        (
            PLACE,
            Struct((Field("X", INTEGER), Field("CITY", STRING))),
            "if(v.f0 IS NULL, NULL, named_struct('X', CAST(NULL AS INT), 'CITY', v.f0.f0))",
        ),
        (
            ["int", "null", "string"],
            Struct((Field("STRING", STRING), Field("OTHER", DATE))),
            "if(v.f0 IS NULL, NULL, named_struct('STRING', CAST(v.f0.member1 AS STRING), 'OTHER', CAST(NULL AS DATE)))",
        ),
    ],
)
def test_what_is_made_of_a_field(schema: Any, type_: SqlType, read: str) -> None:
    assert decoded(columns(A=type_), record(("a", schema))).fields == (read,)


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ("bytes", STRING),
        (MONEY, BYTES),
        ("string", INTEGER),
        ("double", TIMESTAMP),
        ({"type": "array", "items": "int"}, STRING),
        ({"type": "array", "items": "string"}, Array(DATE)),
        ({"type": "map", "values": "int"}, Map(INTEGER, INTEGER)),
        (["int", "string"], INTEGER),
        (["int", "double"], DOUBLE),
        (["int", "long"], Struct((Field("INT", INTEGER), Field("LONG", BIGINT)))),
    ],
)
def test_a_column_that_can_not_be_made_of_its_field_is_refused(schema: Any, type_: SqlType) -> None:
    made = decoded(columns(A=type_), record(("a", schema)))
    assert "schema 1 can not be read into these columns: A is " in made.reason


@pytest.mark.parametrize(
    ("schema", "broken"),
    [
        (record(("a", "int"), ("b", ["null", "int"])), "v.f0 IS NULL"),
        (record(("b", ["null", "int"]), ("a", PLACE)), "v.f1 IS NULL"),
        (
            record(("a", ["null", "int"]), ("n", "null"), ("b", ["int", "null"])),
            "(v.f0 IS NULL AND v.f1 IS NULL AND v.f2 IS NULL AND substring(raw, 6) != X'0002')",
        ),
        (record(), "FALSE"),
    ],
)
def test_bytes_that_do_not_fit_are_told_from_a_record_of_nulls(schema: Any, broken: str) -> None:
    made = decoded(columns(X=INTEGER), schema)
    assert f"IN (X'0000000001') THEN (substring(raw, 1, 5) = X'0000000001' AND {broken})" in made.bad


@pytest.mark.parametrize(
    ("schema", "broken"),
    [
        ("string", "v IS NULL"),
        (["null", "string"], "(v IS NULL AND substring(raw, 6) != X'00')"),
        (["string", "null"], "(v IS NULL AND substring(raw, 6) != X'02')"),
        ([PLACE, record(("n", "int"), name="Size")], "(v.member0 IS NULL AND v.member1 IS NULL)"),
    ],
)
def test_a_lone_value_that_does_not_fit_is_told_from_null(schema: Any, broken: str) -> None:
    (column,) = inferred(schema).columns
    made = decoded((column,), schema, serde=replace(AVRO, wrap_single=False))
    assert f"THEN (substring(raw, 1, 5) = X'0000000001' AND {broken})" in made.bad


# ---- writing ---------------------------------------------------------------------------------------------------


def encoded(given: tuple[Column, ...], schema: Any) -> str:
    return avro.encode(given, replace(AVRO, wiring=Wiring("t-value", writes=wire(schema, 7))))


def written(given: tuple[Column, ...], schema: Any) -> str:
    """What is given to `to_avro`."""
    found = re.search(r"concat\(X'0000000007', to_avro\((.*), '(.*)'\)\)", encoded(given, schema))
    assert found
    assert json.loads(found[2]) == by_place(tree_of(wire(schema)))
    return found[1]


def test_without_a_schema_it_can_not_write() -> None:
    with pytest.raises(InternalError, match="was not told which schema to write"):
        avro.encode(columns(A=INTEGER), replace(AVRO, wiring=Wiring("t-value")))


def test_columns_are_written_where_the_schema_has_them() -> None:
    assert written(columns(A=BIGINT, B=STRING), TWO) == "named_struct('f0', `B`, 'f1', `A`)"


@pytest.mark.parametrize(
    ("schema", "default", "sql"),
    [
        ("string", "we'b", "CAST('we\\'b' AS STRING)"),
        ("int", 5, "CAST('5' AS INT)"),
        ("double", 0.5, "CAST('0.5' AS DOUBLE)"),
        ("boolean", True, "CAST('true' AS BOOLEAN)"),
        ({"type": "enum", "name": "E", "symbols": ["X"]}, "X", "CAST('X' AS STRING)"),
        (["string", "null"], "web", "CAST('web' AS STRING)"),
        (["null", "string"], None, "CAST(NULL AS STRING)"),
        ({"type": "array", "items": "int"}, [], "CAST(array() AS ARRAY<INT>)"),
        ({"type": "map", "values": "int"}, {}, "CAST(map() AS MAP<STRING,INT>)"),
        (DAY, 3, "CAST('3' AS INT)"),
        (MILLIS, 3, "CAST('3' AS BIGINT)"),
        ("bytes", "\u00ff", "X'FF'"),
        (MONEY, "\u0001\u0000", "CAST('2.56' AS DECIMAL(4,2))"),
    ],
)
def test_a_field_without_a_column_gets_its_default(schema: Any, default: Any, sql: str) -> None:
    made = written(columns(A=INTEGER), record(("a", "int"), ("x", schema, default)))
    assert made == f"named_struct('f0', `A`, 'f1', {sql})"


def test_a_field_that_may_be_null_is_so_without_a_column_and_a_default() -> None:
    made = written(columns(A=INTEGER), record(("a", "int"), ("x", ["null", "int"])))
    assert made == "named_struct('f0', `A`, 'f1', CAST(NULL AS INT))"


@pytest.mark.parametrize("default", [(), ([1],)])
def test_a_field_without_a_column_and_a_simple_default_is_refused(default: tuple[Any, ...]) -> None:
    schema = record(("a", "int"), ("x", {"type": "array", "items": "int"}, *default))
    with pytest.raises(SchemaError, match="The field x") as error:
        encoded(columns(A=INTEGER), schema)
    assert error.value.code == "SCHEMA_UNFIT"


def test_columns_without_a_field_are_refused() -> None:
    with pytest.raises(SchemaError, match="The schema R has no field B, C") as error:
        encoded(columns(A=INTEGER, B=INTEGER, C=INTEGER), ONE)
    assert error.value.code == "SCHEMA_UNFIT"
    inner = columns(HOME=Struct((Field("CITY", STRING), Field("ZIP", STRING))))
    with pytest.raises(SchemaError, match="The schema Place has no field ZIP"):
        encoded(inner, record(("home", PLACE)))


def test_several_columns_need_a_record() -> None:
    with pytest.raises(SchemaError, match="The schema is no record: it can't hold 2 columns"):
        encoded(columns(A=INTEGER, B=INTEGER), "int")


def test_a_null_that_stands_alone_is_no_bytes() -> None:
    serde = replace(AVRO, wiring=Wiring("t-key", writes=wire("string")))
    assert avro.encode((KEY,), serde) == (
        "CASE WHEN `K` IS NOT NULL THEN concat(X'0000000001', to_avro(`K`, '{\"type\": \"string\"}')) END"
    )


@pytest.mark.parametrize(
    ("type_", "schema", "sql"),
    [
        (INTEGER, ["null", "int"], "`A`"),
        (INTEGER, "long", "CAST(`A` AS BIGINT)"),
        (BIGINT, "double", "CAST(`A` AS DOUBLE)"),
        (DOUBLE, "float", "CAST(`A` AS FLOAT)"),
        (INTEGER, MONEY, "CAST(`A` AS DECIMAL(4,2))"),
        (Decimal(4, 2), MONEY, "`A`"),
        (STRING, {"type": "enum", "name": "E", "symbols": ["A"]}, "`A`"),
        (BYTES, {"type": "fixed", "name": "F", "size": 2}, "`A`"),
        (DATE, DAY, "unix_date(`A`)"),
        (TIMESTAMP, MILLIS, "unix_millis(`A`)"),
        (TIMESTAMP, MICROS, "unix_micros(`A`)"),
        (TIME, {"type": "int", "logicalType": "time-millis"}, "CAST(`A` AS INT)"),
        (TIME, {"type": "long", "logicalType": "time-micros"}, "`A` * 1000L"),
        (Array(DATE), {"type": "array", "items": DAY}, "transform(`A`, x0 -> unix_date(x0))"),
        (Map(STRING, DATE), {"type": "map", "values": DAY}, "transform_values(`A`, (k0, x0) -> unix_date(x0))"),
        (Struct((Field("CITY", STRING),)), PLACE, "if(`A` IS NULL, NULL, named_struct('f0', `A`.`CITY`))"),
        (
            Struct((Field("STRING", STRING), Field("INT", INTEGER))),
            ["null", "int", "string"],
            "if(`A` IS NULL, NULL, named_struct('member0', `A`.`INT`, 'member1', `A`.`STRING`))",
        ),
    ],
)  # fmt: skip
def test_what_is_written_of_a_column(type_: SqlType, schema: Any, sql: str) -> None:
    assert written(columns(A=type_), record(("a", schema))) == f"named_struct('f0', {sql})"


@pytest.mark.parametrize(
    ("type_", "schema"),
    [
        (BIGINT, "int"),
        (DOUBLE, "long"),
        (STRING, "int"),
        (INTEGER, "string"),
        (TIMESTAMP, DAY),
        (DATE, MILLIS),
        (STRING, PLACE),
        (Array(INTEGER), "int"),
        (INTEGER, ["int", "string"]),
    ],
)
def test_a_column_that_the_field_can_not_hold_is_refused(type_: SqlType, schema: Any) -> None:
    with pytest.raises(SchemaError, match=r"a is .*, and the schema has .* there") as error:
        encoded(columns(A=type_), record(("a", schema)))
    assert error.value.code == "SCHEMA_UNFIT"


@pytest.mark.parametrize(
    ("type_", "schema", "refused"),
    [
        (INTEGER, "int", "`A` IS NULL"),
        (STRING, ["null", {"type": "enum", "name": "E", "symbols": ["X", "Y"]}], "`A` NOT IN ('X', 'Y')"),
        (BYTES, ["null", {"type": "fixed", "name": "F", "size": 2}], "length(`A`) != 2"),
        (Array(INTEGER), ["null", {"type": "array", "items": "int"}], "exists(`A`, r0 -> r0 IS NULL)"),
        (Map(STRING, INTEGER), ["null", {"type": "map", "values": "int"}], "exists(map_values(`A`), r0 -> r0 IS NULL)"),
        (Struct((Field("CITY", STRING),)), ["null", PLACE], "`A`.`CITY` IS NULL"),
    ],
)
def test_a_row_that_the_schema_does_not_take_is_no_bytes(type_: SqlType, schema: Any, refused: str) -> None:
    condition, _, _ = encoded(columns(A=type_), record(("a", schema))).partition(" THEN concat(")
    assert condition.startswith("CASE WHEN NOT (")
    assert refused in condition


def test_a_schema_of_the_columns_takes_every_row() -> None:
    given = columns(A=INTEGER, B=Array(STRING), C=Struct((Field("X", Decimal(4, 2)),)), D=Map(STRING, DATE))
    assert encoded(given, schema_of(given)).startswith("concat(")

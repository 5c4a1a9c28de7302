"""JSON Schema and columns, each made of the other, and the Spark SQL of JSON_SR."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from orion.errors import SchemaError
from orion.formats import json_sr
from orion.formats.json import decode as plain
from orion.formats.wire.json_schema import columns_of, schema_of, sql_type
from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, WireSchema, Wiring
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, SqlType, Struct

JSON_SR = Serde("JSON_SR")
BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP = Scalar
KEY = Column("K", STRING, Role.KEY)
CONNECT = "org.apache.kafka.connect.data."


def columns(**types: SqlType) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name, type_ in types.items())


def wire(schema: Any, **around: Any) -> WireSchema:
    texts = tuple((name, json.dumps(text)) for name, text in around.items())
    return WireSchema(1, "JSON", json.dumps(schema), texts)


def of(schema: Any, **around: Any) -> SqlType:
    return sql_type(wire(schema, **around))


def objects(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


# ---- columns to a schema ---------------------------------------------------------------------------------------


def optional(at: int, **type_: Any) -> dict[str, Any]:
    return {"connect.index": at, "oneOf": [{"type": "null"}, {k.replace("_", "."): v for k, v in type_.items()}]}


def test_every_column_is_a_property_that_may_be_null() -> None:
    types = columns(B=BOOLEAN, I=INTEGER, L=BIGINT, D=DOUBLE, S=STRING, Y=BYTES)
    assert json.loads(schema_of(types, JSON_SR)) == objects(
        B=optional(0, type="boolean", connect_type="boolean"),
        I=optional(1, type="integer", connect_type="int32"),
        L=optional(2, type="integer", connect_type="int64"),
        D=optional(3, type="number", connect_type="float64"),
        S=optional(4, type="string", connect_type="string"),
        Y=optional(5, type="string", connect_type="bytes"),
    )


def test_decimals_and_times_are_connects() -> None:
    types = columns(C=Decimal(4, 2), D=DATE, T=TIME, M=TIMESTAMP)
    digits = {"scale": "2", "connect.decimal.precision": "4"}
    one = {"connect_version": 1}
    assert json.loads(schema_of(types, JSON_SR))["properties"] == {
        "C": optional(
            0, type="number", title=f"{CONNECT}Decimal", connect_type="bytes", connect_parameters=digits, **one
        ),
        "D": optional(1, type="integer", title=f"{CONNECT}Date", connect_type="int32", **one),
        "T": optional(2, type="integer", title=f"{CONNECT}Time", connect_type="int32", **one),
        "M": optional(3, type="integer", title=f"{CONNECT}Timestamp", connect_type="int64", **one),
    }


def test_what_is_inside_may_be_null_too() -> None:
    types = columns(A=Array(STRING), M=Map(STRING, STRING), O=Struct((Field("X", STRING),)))
    text = {"type": "string", "connect.type": "string"}
    inner = {"oneOf": [{"type": "null"}, text]}
    assert json.loads(schema_of(types, JSON_SR))["properties"] == {
        "A": optional(0, type="array", items=inner),
        "M": optional(1, type="object", connect_type="map", additionalProperties=inner),
        "O": optional(2, **objects(X=optional(0, type="string", connect_type="string"))),
    }


def test_a_lone_key_has_no_object_around_it() -> None:
    alone = {"oneOf": [{"type": "null"}, {"type": "string", "connect.type": "string"}]}
    assert json.loads(schema_of((KEY,), JSON_SR)) == alone
    assert json.loads(schema_of(columns(V=STRING), replace(JSON_SR, wrap_single=False))) == alone
    assert list(json.loads(schema_of((KEY, replace(KEY, name="L")), JSON_SR))["properties"]) == ["K", "L"]


# ---- a schema to columns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "boolean"}, BOOLEAN),
        ({"type": "integer"}, BIGINT),
        ({"type": "integer", "connect.type": "int8"}, INTEGER),
        ({"type": "integer", "connect.type": "int16"}, INTEGER),
        ({"type": "integer", "connect.type": "int32"}, INTEGER),
        ({"type": "integer", "connect.type": "int64"}, BIGINT),
        ({"type": "number"}, DOUBLE),
        ({"type": "number", "connect.type": "float32"}, DOUBLE),
        ({"type": "string"}, STRING),
        ({"type": "string", "connect.type": "bytes"}, BYTES),
        ({"type": "string", "format": "date-time"}, STRING),
        ({"type": "integer", "title": f"{CONNECT}Date"}, DATE),
        ({"type": "integer", "title": f"{CONNECT}Time"}, TIME),
        ({"type": "integer", "title": f"{CONNECT}Timestamp"}, TIMESTAMP),
        (
            {
                "type": "number",
                "title": f"{CONNECT}Decimal",
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "4"},
            },
            Decimal(4, 2),
        ),
        (
            {"type": "number", "title": f"{CONNECT}Decimal", "connect.parameters": {"scale": "2"}},
            Decimal(38, 2),
        ),
        ({"type": "array", "items": {"type": "string"}}, Array(STRING)),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, Map(STRING, BIGINT)),
        ({"type": "object", "connect.type": "map", "additionalProperties": {"type": "string"}}, Map(STRING, STRING)),
        (
            {
                "type": "array",
                "connect.type": "map",
                "items": objects(key={"type": "integer", "connect.type": "int32"}, value={"type": "string"}),
            },
            Map(INTEGER, STRING),
        ),
        ({"enum": ["a", "b", None]}, STRING),
        ({"type": "string", "enum": ["a", "b"]}, STRING),
        ({"type": ["integer", "null"]}, BIGINT),
        ({"type": ["null", "string"], "connect.type": "bytes"}, BYTES),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, STRING),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, STRING),
        ({"oneOf": [{"type": "string"}]}, STRING),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, BOOLEAN),
        ({"allOf": [{"type": "string"}]}, STRING),
        (objects(a={"type": "string"}), Struct((Field("a", STRING),))),
        ({"properties": {"a": {"type": "string"}}}, Struct((Field("a", STRING),))),
        (objects(a={"type": "string"}) | {"additionalProperties": {"type": "string"}}, Struct((Field("a", STRING),))),
    ],
)
def test_the_type_of_a_schema(schema: Any, type_: SqlType) -> None:
    assert of(schema) == type_


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "the schema may be one of 2 things"),
        ({"anyOf": [{"type": "null"}]}, "the schema may be one of 0 things"),
        (objects(a={"oneOf": [{"type": "null"}, {"type": "string"}, {"type": "integer"}]}), "a may be one of 2 things"),
        ({"type": ["string", "integer"]}, "the schema has no type"),
        (objects(a={}), "a has no type"),
        (objects(a=True), "a has no type"),
        (True, "the schema has no type"),
        ({"type": "null"}, "the schema has no type"),
        ({"type": "array"}, "the schema has no type"),
        ({"type": "array", "items": [{"type": "string"}]}, "the schema has no type"),
        ({"enum": [1, 2]}, "the schema has no type"),
        ({"type": "object", "additionalProperties": True}, "the schema has no type"),
    ],
)
def test_what_no_column_can_be_is_refused(schema: Any, told: str) -> None:
    with pytest.raises(SchemaError, match=told) as error:
        of(schema)
    assert error.value.code == "SCHEMA_UNFIT"


def test_properties_are_in_connects_order_and_the_others_behind_as_they_stand() -> None:
    number = {"type": "number"}
    found = of(objects(z=number, b=number | {"connect.index": 1}, y=number, a=number | {"connect.index": 0}))
    assert isinstance(found, Struct)
    assert [f.name for f in found.fields] == ["a", "b", "z", "y"]


@pytest.mark.parametrize(
    "reference",
    [
        "#/definitions/place",
        "#/definitions/a~1b",
        "#/definitions/a~0b",
        "place.json",
        "place.json#",
        "all.json#/$defs/place",
        "#/definitions/list/0",
        "#/definitions/a%20b",
    ],
)
def test_references_are_followed_inside_and_by_name(reference: str) -> None:
    place = objects(city={"type": "string"})
    definitions = {"place": place, "a/b": place, "a~b": place, "a b": place, "list": [place]}
    files = {"place.json": place, "all.json": {"$defs": {"place": place}}}
    found = of(objects(home={"$ref": reference}) | {"definitions": definitions}, **files)
    assert found == Struct((Field("home", Struct((Field("city", STRING),))),))


def test_a_reference_inside_another_text_points_into_that_text() -> None:
    town = objects(land={"$ref": "#/definitions/land"}) | {"definitions": {"land": {"type": "string"}}}
    root = objects(home={"$ref": "town.json"}) | {"definitions": {"land": {"type": "integer"}}}
    assert of(root, **{"town.json": town}) == Struct((Field("home", Struct((Field("land", STRING),))),))


@pytest.mark.parametrize("reference", ["#/definitions/none", "none.json", "none.json#/a", "#/definitions/land/deeper"])
def test_a_reference_to_nowhere_is_refused(reference: str) -> None:
    root = objects(home={"$ref": reference}) | {"definitions": {"land": {"type": "string"}}}
    with pytest.raises(SchemaError, match=f"home refers to {reference}, which is nowhere"):
        of(root)


@pytest.mark.parametrize(
    "inside",
    [
        {"$ref": "#"},
        {"oneOf": [{"type": "null"}, {"$ref": "#"}]},
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "object", "additionalProperties": {"$ref": "#"}},
        {"$ref": "other.json"},
    ],
)
def test_a_schema_that_holds_itself_is_refused(inside: Any) -> None:
    with pytest.raises(SchemaError, match="holds itself") as error:
        of(objects(left=inside, right=inside), **{"other.json": objects(back={"$ref": "other.json"})})
    assert error.value.code == "SCHEMA_RECURSIVE"


def test_names_are_in_capitals_and_remember_how_they_are_spelled() -> None:
    schema = wire(objects(userId={"type": "integer"}, home=objects(zipCode={"type": "string"})))
    assert columns_of(schema, JSON_SR, Role.VALUE) == Inferred(
        (
            Column("USERID", BIGINT, spelling="userId"),
            Column("HOME", Struct((Field("ZIPCODE", STRING),)), spelling="home"),
        ),
        alone=False,
    )
    assert columns_of(schema, replace(JSON_SR, schema_id=1), Role.VALUE).columns == (
        Column("userId", BIGINT, spelling="userId"),
        Column("home", Struct((Field("zipCode", STRING),)), spelling="home"),
    )


@pytest.mark.parametrize(
    ("schema", "serde", "role", "column"),
    [
        ({"type": "string"}, JSON_SR, Role.KEY, Column("ROWKEY", STRING, Role.KEY, spelling="ROWKEY")),
        (
            objects(a={"type": "string"}),
            JSON_SR,
            Role.KEY,
            Column("ROWKEY", Struct((Field("A", STRING),)), Role.KEY, spelling="ROWKEY"),
        ),
        ({"type": "string"}, JSON_SR, Role.VALUE, Column("ROWVAL", STRING, spelling="ROWVAL")),
        (
            objects(a={"type": "string"}),
            replace(JSON_SR, wrap_single=False),
            Role.VALUE,
            Column("ROWVAL", Struct((Field("A", STRING),)), spelling="ROWVAL"),
        ),
    ],
)
def test_what_is_no_object_of_columns_is_one_column(schema: Any, serde: Serde, role: Role, column: Column) -> None:
    assert columns_of(wire(schema), serde, role) == Inferred((column,), alone=True)


# ---- records ---------------------------------------------------------------------------------------------------


def test_behind_the_header_it_is_read_as_json() -> None:
    given = columns(A=INTEGER, B=STRING)
    serde = replace(JSON_SR, wiring=Wiring("t-value", (wire(objects(a={"type": "integer"})),), (9,)))
    made = json_sr.decode(given, serde, "raw", "v")
    behind = plain(given, serde, "substring(raw, 6)", "v")
    told = [(one.struct, one.fields, one.empty, one.before) for one in (made, behind)]
    assert told[0] == told[1]
    assert f"WHEN substring(raw, 1, 5) IN (X'0000000001') THEN {behind.bad}" in made.bad
    assert "the registry knows no schema 9" in made.reason


def encoded(given: tuple[Column, ...], schema: Any) -> str:
    return json_sr.encode(given, replace(JSON_SR, wiring=Wiring("t-value", writes=wire(schema))))


def test_columns_are_written_under_the_names_that_the_schema_has() -> None:
    made = encoded(columns(USERID=BIGINT, NEW=STRING), objects(userId={"type": "integer"}))
    assert made.startswith("concat(X'0000000001', CAST(to_json(named_struct('userId', `USERID`, 'NEW', `NEW`)")


def test_fields_inside_are_written_under_the_names_that_the_schema_has() -> None:
    made = encoded(columns(HOME=Struct((Field("ZIP", STRING),))), objects(home=objects(zip={"type": "string"})))
    assert "named_struct('home', CAST(`HOME` AS STRUCT<`zip`:STRING>))" in made


def test_a_null_that_stands_alone_is_no_bytes() -> None:
    assert encoded((KEY,), {"type": "string"}).startswith("CASE WHEN `K` IS NOT NULL THEN concat(X'0000000001', ")

"""Protobuf's schemas and columns, each made of the other."""

from __future__ import annotations

from typing import Any

import pytest

from orion.errors import SchemaError
from orion.formats import protobuf
from orion.formats.messages.schema import schema_of
from orion.plan.sources import Serde, WireSchema
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, SqlType, Struct

PROTOBUF = Serde("PROTOBUF")
BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP = Scalar


def columns(**types: SqlType) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name, type_ in types.items())


def schema(text: str, around: tuple[tuple[str, str], ...] = ()) -> WireSchema:
    return WireSchema(7, "PROTOBUF", f'syntax = "proto3"; {text}', around)


def of(text: str, serde: Serde = PROTOBUF) -> dict[str, SqlType]:
    return {c.name: c.type for c in protobuf.columns_of(schema(text), serde, Role.VALUE).columns}


# ---- columns to a schema ---------------------------------------------------------------------------------------


def test_scalars_are_fields_in_their_order() -> None:
    types = columns(B=BOOLEAN, I=INTEGER, L=BIGINT, D=DOUBLE, S=STRING, Y=BYTES)
    assert schema_of(types, PROTOBUF) == (
        'syntax = "proto3";\n'
        "\n"
        "message ConnectDefault1 {\n"
        "  bool B = 1;\n"
        "  int32 I = 2;\n"
        "  int64 L = 3;\n"
        "  double D = 4;\n"
        "  string S = 5;\n"
        "  bytes Y = 6;\n"
        "}\n"
    )


def test_decimals_and_times_are_messages_that_are_imported() -> None:
    text = schema_of(columns(C=Decimal(4, 2), D=DATE, T=TIME, M=TIMESTAMP), PROTOBUF)
    for name in ("confluent/meta", "confluent/type/decimal", "google/type/date", "google/type/timeofday"):
        assert f'import "{name}.proto";' in text
    meta = '{params: [{key: "precision", value: "4"}, {key: "scale", value: "2"}]}'
    assert f"confluent.type.Decimal C = 1 [(confluent.field_meta) = {meta}];" in text
    assert "google.type.Date D = 2;" in text
    assert "google.type.TimeOfDay T = 3;" in text
    assert "google.protobuf.Timestamp M = 4;" in text


def test_structs_are_messages_inside_and_counted() -> None:
    inner = Struct((Field("X", Struct((Field("Y", INTEGER),))),))
    text = schema_of(columns(A=inner, B=Array(Struct((Field("Z", STRING),))), C=Map(STRING, BIGINT)), PROTOBUF)
    assert text == (
        'syntax = "proto3";\n'
        "\n"
        "message ConnectDefault1 {\n"
        "  ConnectDefault2 A = 1;\n"
        "  repeated ConnectDefault4 B = 2;\n"
        "  map<string, int64> C = 3;\n"
        "  message ConnectDefault2 {\n"
        "    ConnectDefault3 X = 1;\n"
        "    message ConnectDefault3 {\n"
        "      int32 Y = 1;\n"
        "    }\n"
        "  }\n"
        "  message ConnectDefault4 {\n"
        "    string Z = 1;\n"
        "  }\n"
        "}\n"
    )


def test_a_full_name_is_a_package_and_a_message() -> None:
    text = schema_of(columns(A=INTEGER), Serde("PROTOBUF", full_name="com.acme.Row"))
    assert "package com.acme;\n" in text
    assert "message Row {" in text


def test_nulls_are_told_apart_by_optional() -> None:
    text = schema_of(columns(A=INTEGER, B=Array(INTEGER), C=DATE), Serde("PROTOBUF", nullable="OPTIONAL"))
    assert "  optional int32 A = 1;\n  repeated int32 B = 2;\n  google.type.Date C = 3;\n" in text


def test_nulls_are_told_apart_by_wrappers() -> None:
    text = schema_of(columns(A=INTEGER, B=Map(STRING, STRING), C=BYTES), Serde("PROTOBUF", nullable="WRAPPER"))
    assert 'import "google/protobuf/wrappers.proto";' in text
    assert "google.protobuf.Int32Value A = 1;" in text
    assert "map<string, google.protobuf.StringValue> B = 2;" in text
    assert "google.protobuf.BytesValue C = 3;" in text


@pytest.mark.parametrize(
    ("type_", "told"),
    [
        (Array(Array(INTEGER)), "Protobuf has no ARRAY<INTEGER> inside of an ARRAY"),
        (Map(STRING, Array(INTEGER)), "Protobuf has no ARRAY<INTEGER> inside of a MAP"),
        (Array(Map(STRING, INTEGER)), "inside of an ARRAY"),
        (Map(INTEGER, INTEGER), "PROTOBUF format only supports MAP types with STRING keys"),
    ],
)
def test_what_protobuf_has_no_field_for_is_refused(type_: SqlType, told: str) -> None:
    with pytest.raises(SchemaError, match=told):
        schema_of(columns(A=type_), PROTOBUF)


@pytest.mark.parametrize("name", ["a b", "1A", "Ä", "A-B", ""])
def test_a_name_that_protobuf_has_not_is_refused(name: str) -> None:
    with pytest.raises(SchemaError, match="Protobuf has no field"):
        schema_of((Column(name, INTEGER),), PROTOBUF)


# ---- a schema to columns ---------------------------------------------------------------------------------------


def test_scalars_of_a_schema() -> None:
    text = (
        "message M { bool a = 1; int32 b = 2; sint32 c = 3; sfixed32 d = 4; uint32 e = 5; fixed32 f = 6; int64 g = 7; "
    )
    text += "uint64 h = 8; sint64 i = 9; float j = 10; double k = 11; string l = 12; bytes m = 13; }"
    assert of(text) == {
        "A": BOOLEAN,
        "B": INTEGER,
        "C": INTEGER,
        "D": INTEGER,
        "E": BIGINT,
        "F": BIGINT,
        "G": BIGINT,
        "H": BIGINT,
        "I": BIGINT,
        "J": DOUBLE,
        "K": DOUBLE,
        "L": STRING,
        "M": BYTES,
    }


def test_messages_maps_and_enums_of_a_schema() -> None:
    text = """
        import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
        import "google/type/date.proto"; import "google/type/timeofday.proto";
        message M {
          enum Suit { SPADES = 0; HEARTS = 1; }
          message In { int32 x = 1; repeated string y = 2; }
          Suit a = 1; In b = 2; repeated In c = 3; map<string, In> d = 4; map<int64, bool> e = 5;
          google.protobuf.Timestamp f = 6; google.protobuf.StringValue g = 7; google.type.Date h = 8;
          google.type.TimeOfDay i = 9; oneof choice { int32 j = 10; string k = 11; }
        }"""
    inner = Struct((Field("X", INTEGER), Field("Y", Array(STRING))))
    assert of(text) == {
        "A": STRING,
        "B": inner,
        "C": Array(inner),
        "D": Map(STRING, inner),
        "E": Map(BIGINT, BOOLEAN),
        "F": TIMESTAMP,
        "G": STRING,
        "H": DATE,
        "I": TIME,
        "J": INTEGER,
        "K": STRING,
    }


@pytest.mark.parametrize(
    ("meta", "type_"),
    [
        ('[(confluent.field_meta) = {params: [{key: "precision", value: "4"}, {key: "scale", value: "2"}]}]', (4, 2)),
        (
            '[(confluent.field_meta) = { params: [{ value: "4", key: "precision" }, { value: "2", key: "scale" }]}]',
            (4, 2),
        ),
        (
            '[(confluent.field_meta).params = {key: "scale", value: "3"}, '
            '(confluent.field_meta).params = {key: "precision", value: "9"}]',
            (9, 3),
        ),
        ("", (38, 0)),
    ],
)
def test_a_decimal_has_the_digits_of_its_option(meta: str, type_: tuple[int, int]) -> None:
    imports = 'import "confluent/meta.proto"; import "confluent/type/decimal.proto";'
    assert of(f"{imports} message M {{ confluent.type.Decimal d = 1 {meta}; }}") == {"D": Decimal(*type_)}


def test_names_count_as_they_are_where_the_schema_is_named_by_its_id() -> None:
    assert of("message M { int32 aB = 1; }", Serde("PROTOBUF", schema_id=7)) == {"aB": INTEGER}


@pytest.mark.parametrize("name", ["B", "p.B", "B.C", "p.B.C"])
def test_a_message_is_found_by_its_name(name: str) -> None:
    text = "package p; message A { int32 x = 1; } message B { int32 y = 1; message C { int32 y = 1; } }"
    assert of(text) == {"X": INTEGER}
    assert of(text, Serde("PROTOBUF", full_name=name)) == {"Y": INTEGER}


def test_a_message_that_is_not_there_is_refused() -> None:
    with pytest.raises(SchemaError, match="no message Z") as error:
        of("message A { int32 x = 1; }", Serde("PROTOBUF", full_name="Z"))
    assert error.value.hint == "It has A."
    with pytest.raises(SchemaError, match="declares no message"):
        of("enum E { A = 0; }")


def test_a_message_that_holds_itself_is_refused() -> None:
    with pytest.raises(SchemaError, match="The message A holds itself"):
        of("message A { int32 x = 1; B b = 2; } message B { repeated A a = 1; }")


def test_a_schema_over_another_file() -> None:
    files = (("event.proto", 'syntax = "proto3"; message Event { int64 time = 1; }'),)
    found = protobuf.columns_of(schema('import "event.proto"; message L { Event e = 1; }', files), PROTOBUF, Role.VALUE)
    assert [(c.name, c.type) for c in found.columns] == [("E", Struct((Field("TIME", BIGINT),)))]


def test_a_text_that_is_no_schema_is_refused() -> None:
    with pytest.raises(SchemaError, match="can't be read as Protobuf"):
        of("message {")


@pytest.mark.parametrize("nullable", [None, "OPTIONAL", "WRAPPER"])
def test_columns_come_back_from_their_own_schema(nullable: Any) -> None:
    everything = columns(
        B=BOOLEAN, I=INTEGER, L=BIGINT, D=DOUBLE, S=STRING, Y=BYTES, DA=DATE, TI=TIME, TS=TIMESTAMP, DE=Decimal(9, 4),
        A=Array(Decimal(5, 1)), M=Map(STRING, TIMESTAMP), ST=Struct((Field("X", Array(Struct((Field("Z", DATE),)))),)),
    )  # fmt: skip
    serde = Serde("PROTOBUF", nullable=nullable)
    again = protobuf.columns_of(WireSchema(1, "PROTOBUF", schema_of(everything, serde)), serde, Role.VALUE).columns
    assert [(c.name, c.type) for c in again] == [(c.name, c.type) for c in everything]

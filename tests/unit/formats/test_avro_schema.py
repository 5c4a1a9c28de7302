"""Avro's schemas and columns, each made of the other; and the schemas that Spark sees."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import fastavro
import pytest

from orion.errors import SchemaError
from orion.formats import avro
from orion.formats.records.schema import Array as Items
from orion.formats.records.schema import Enum, Leaf, Record, RecordField, Union, by_place, tree_of
from orion.formats.records.schema import Map as Values
from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, WireSchema
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, SqlType, Struct

AVRO = Serde("AVRO")
BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP = Scalar
KEY = Column("K", STRING, Role.KEY)
DAY, MILLIS = {"type": "int", "logicalType": "date"}, {"type": "long", "logicalType": "timestamp-millis"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
CENTS = {"type": "fixed", "name": "Cents", "size": 4, "logicalType": "decimal", "precision": 6, "scale": 2}


def columns(**types: SqlType) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name, type_ in types.items())


def record(*fields: tuple[str, Any] | tuple[str, Any, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    made = [{"name": f[0], "type": f[1], **({"default": f[2]} if len(f) > 2 else {})} for f in fields]
    return {"type": "record", "name": name, "fields": made, **more}


def wire(schema: Any, number: int = 1, around: tuple[tuple[str, str], ...] = ()) -> WireSchema:
    return WireSchema(number, "AVRO", json.dumps(schema), around)


PLACE = record(("city", "string"), name="Place")
PLACE_TREE = Record("Place", (RecordField("city", Leaf("string")),))


# ---- trees -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ['"string"', "string", ' "string" ', '{"type": "string"}', '{"type": {"type": "string"}}']
)
def test_a_type_is_the_same_however_it_is_written(text: str) -> None:
    assert tree_of(WireSchema(1, "AVRO", text)) == Leaf("string")


def test_a_tree_of_everything() -> None:
    suit = {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "SPADES"]}
    given = record(
        ("a", ["null", "int"], None), ("b", {"type": "array", "items": "long"}), ("c", {"type": "map", "values": suit})
    )
    assert tree_of(wire(given)) == Record(
        "R",
        (
            RecordField("a", Union((Leaf("null"), Leaf("int"))), None),
            RecordField("b", Items(Leaf("long"))),
            RecordField("c", Values(Enum("Suit", ("HEARTS", "SPADES")))),
        ),
    )


@pytest.mark.parametrize(
    ("outer", "inner", "word"),
    [
        ({}, {}, "Place"),
        ({"namespace": "a"}, {}, "Place"),
        ({"namespace": "a"}, {}, "a.Place"),
        ({"namespace": "a"}, {"namespace": "b"}, "b.Place"),
        ({"name": "a.b.R"}, {}, "a.b.Place"),
        ({"name": "a.b.R", "namespace": "ignored"}, {}, "Place"),
        ({"namespace": "a"}, {"namespace": ""}, "Place"),
    ],
)
def test_a_name_means_what_it_means_in_its_namespace(outer: Any, inner: Any, word: str) -> None:
    tree = tree_of(wire(record(("home", PLACE | inner), ("work", ["null", word])) | outer))
    assert isinstance(tree, Record)
    home, work = (f.type for f in tree.fields)
    assert isinstance(home, Record)
    assert work == Union((Leaf("null"), home))


def test_the_namespace_goes_before_the_name_alone() -> None:
    near = record(("near", "int"), name="a.Place")
    far = record(("far", "int"), name="Place", namespace="")
    tree = tree_of(wire(record(("x", near), ("y", far), ("z", "Place"), namespace="a")))
    assert isinstance(tree, Record)
    assert tree.fields[2].type == tree.fields[0].type


def test_enums_and_fixed_types_are_named_too() -> None:
    suit = {"type": "enum", "name": "Suit", "symbols": ["HEARTS"]}
    tree = tree_of(wire(record(("a", suit), ("b", "Suit"), ("c", CENTS), ("d", {"type": "Cents"}))))
    assert isinstance(tree, Record)
    a, b, c, d = (f.type for f in tree.fields)
    assert a == b == Enum("Suit", ("HEARTS",))
    assert c == d == Leaf("fixed", "decimal", 6, 2, 4)


def test_names_are_found_in_the_schemas_around() -> None:
    land = json.dumps(record(("code", "string"), name="org.geo.Land"))
    town = json.dumps(record(("land", "Land"), name="org.geo.Town"))
    around = (("org.geo.Land", land), ("org.geo.Town", town))
    land_tree = Record("org.geo.Land", (RecordField("code", Leaf("string")),))
    town_tree = Record("org.geo.Town", (RecordField("land", land_tree),))
    assert tree_of(wire(record(("home", "org.geo.Town")), around=around)) == Record(
        "R", (RecordField("home", town_tree),)
    )
    assert tree_of(wire("org.geo.Town", around=around)) == town_tree


@pytest.mark.parametrize(
    "inside",
    ["Node", "a.Node", ["null", "Node"], {"type": "array", "items": "Node"}, record(("up", "Node"), name="Leaf")],
)
def test_a_record_that_holds_itself_is_refused(inside: Any) -> None:
    with pytest.raises(SchemaError, match=r"the record a\.Node holds itself") as error:
        tree_of(wire(record(("next", inside), name="Node", namespace="a")))
    assert error.value.code == "SCHEMA_RECURSIVE"


def test_a_record_beside_itself_is_none_that_holds_itself() -> None:
    tree = tree_of(wire(record(("from", PLACE), ("to", "Place"))))
    assert tree == Record("R", (RecordField("from", PLACE_TREE), RecordField("to", PLACE_TREE)))


@pytest.mark.parametrize("inside", ["Nowhere", {"type": "Nowhere"}, ["null", "a.Nowhere"]])
def test_a_name_that_is_nowhere_is_refused(inside: Any) -> None:
    with pytest.raises(SchemaError, match="Nowhere"):
        tree_of(wire(record(("a", inside))))


# ---- the schema that Spark sees --------------------------------------------------------------------------------


def test_spark_sees_places_for_names_and_numbers_for_times() -> None:
    given = record(("weird", DAY), ("at", ["null", MILLIS]), ("home", PLACE), ("money", MONEY), namespace="a")
    assert by_place(tree_of(wire(given))) == {
        "type": "record",
        "name": "t0",
        "fields": [
            {"name": "f0", "type": {"type": "int"}},
            {"name": "f1", "type": [{"type": "null"}, {"type": "long"}]},
            {
                "name": "f2",
                "type": {"type": "record", "name": "t1", "fields": [{"name": "f0", "type": {"type": "string"}}]},
            },
            {"name": "f3", "type": MONEY},
        ],
    }


def test_spark_sees_a_type_that_is_used_twice_under_two_names() -> None:
    places = record(("from", PLACE), ("to", "Place"), ("fee", CENTS), ("tax", "Cents"))
    shown = by_place(tree_of(wire(places)))
    assert [f["type"]["name"] for f in shown["fields"]] == ["t1", "t2", "t3", "t4"]
    assert shown["fields"][3]["type"] == CENTS | {"name": "t4"}


def test_a_decimal_without_digits_is_bytes() -> None:
    assert by_place(tree_of(wire({"type": "bytes", "logicalType": "decimal"}))) == {"type": "bytes"}


def test_bytes_mean_the_same_under_both_schemas() -> None:
    suit = {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "SPADES"]}
    given = record(
        ("id", "long"), ("suit", suit), ("other", ["string", "null", "Suit"]), ("home", PLACE),
        ("work", ["null", "Place"]), ("all", {"type": "array", "items": "Place"}),
        ("by", {"type": "map", "values": ["null", "Place"]}), ("raw", {"type": "fixed", "name": "Two", "size": 2}),
        namespace="a.b",
    )  # fmt: skip
    rome, paris = {"city": "Rome"}, {"city": "Paris"}
    value = {"id": -5, "suit": "SPADES", "other": None, "home": rome, "work": paris, "all": [rome, paris],
        "by": {"x": None, "y": rome}, "raw": b"\x01\x02"}  # fmt: skip
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(given), value)
    shown = fastavro.parse_schema(by_place(tree_of(wire(given))))
    read = fastavro.schemaless_reader(io.BytesIO(out.getvalue()), shown, None)
    f_rome, f_paris = {"f0": "Rome"}, {"f0": "Paris"}
    assert read == {"f0": -5, "f1": "SPADES", "f2": None, "f3": f_rome, "f4": f_paris, "f5": [f_rome, f_paris],
        "f6": {"x": None, "y": f_rome}, "f7": b"\x01\x02"}  # fmt: skip


# ---- columns to a schema ---------------------------------------------------------------------------------------


def schema_of(made_of: tuple[Column, ...], serde: Serde = AVRO) -> Any:
    return json.loads(avro.schema_of(made_of, serde))


def optional(name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", type_], "default": None}


def test_every_column_is_a_field_that_may_be_null() -> None:
    types = columns(
        B=BOOLEAN, I=INTEGER, L=BIGINT, D=DOUBLE, S=STRING, Y=BYTES, C=Decimal(4, 2), DA=DATE, TI=TIME, TS=TIMESTAMP,
        A=Array(INTEGER),
    )  # fmt: skip
    assert schema_of(types) == {
        "type": "record",
        "name": "KsqlDataSourceSchema",
        "namespace": "io.confluent.ksql.avro_schemas",
        "fields": [
            optional("B", "boolean"),
            optional("I", "int"),
            optional("L", "long"),
            optional("D", "double"),
            optional("S", "string"),
            optional("Y", "bytes"),
            optional("C", MONEY),
            optional("DA", DAY),
            optional("TI", {"type": "int", "logicalType": "time-millis"}),
            optional("TS", MILLIS),
            optional("A", {"type": "array", "items": ["null", "int"]}),
        ],
    }


@pytest.mark.parametrize(
    ("full_name", "named"),
    [("com.acme.Row", {"name": "Row", "namespace": "com.acme"}), ("Row", {"name": "Row"})],
)
def test_a_full_name_is_a_namespace_and_a_name(full_name: str, named: dict[str, str]) -> None:
    made = schema_of(columns(A=INTEGER), replace(AVRO, full_name=full_name))
    assert made == {"type": "record", "fields": [optional("A", "int")]} | named


def test_records_inside_are_named_by_the_way_to_them() -> None:
    inner = Struct((Field("GEO", Struct((Field("X", DOUBLE),))),))
    made = schema_of(columns(HOME=inner, PAST=Array(inner)))
    home, past = made["fields"][0]["type"][1], made["fields"][1]["type"][1]["items"][1]
    assert (home["name"], past["name"]) == ("KsqlDataSourceSchema_HOME", "KsqlDataSourceSchema_PAST")
    assert home["fields"][0]["type"][1]["name"] == "KsqlDataSourceSchema_HOME_GEO"
    assert past["fields"][0]["type"][1]["name"] == "KsqlDataSourceSchema_PAST_GEO"


def test_records_inside_never_share_a_name() -> None:
    x = Struct((Field("X", INTEGER),))
    fastavro.parse_schema(schema_of(columns(A=Struct((Field("B", x),)), A_B=x)))


def test_a_lone_key_has_no_record_around_it() -> None:
    assert schema_of((KEY,)) == "string"
    assert schema_of((replace(KEY, type=Decimal(4, 2)),)) == MONEY
    assert schema_of((replace(KEY, type=Struct((Field("A", INTEGER),))),))["fields"] == [optional("A", "int")]
    assert schema_of(columns(V=INTEGER), replace(AVRO, wrap_single=False)) == "int"


def test_keys_of_several_columns_are_a_record() -> None:
    made = schema_of((KEY, replace(KEY, name="L", type=INTEGER)))
    assert made["fields"] == [optional("K", "string"), optional("L", "int")]


@pytest.mark.parametrize("name", ["a b", "1A", "Ä", "A-B", ""])
def test_a_name_that_avro_has_not_is_refused(name: str) -> None:
    for given in (columns(**{name: INTEGER}), columns(A=Array(Struct((Field(name, INTEGER),))))):
        with pytest.raises(SchemaError, match="Avro has no field") as error:
            avro.schema_of(given, AVRO)
        assert error.value.code == "INVALID_NAME"


def test_maps_have_text_for_keys() -> None:
    with pytest.raises(SchemaError, match="STRING keys"):
        avro.schema_of(columns(A=Map(INTEGER, INTEGER)), AVRO)


# ---- a schema to columns ---------------------------------------------------------------------------------------


def inferred(schema: Any, serde: Serde = AVRO, role: Role = Role.VALUE) -> Inferred:
    return avro.columns_of(wire(schema), serde, role)


def of(schema: Any) -> SqlType:
    """The type of a field of this schema."""
    (column,) = inferred(record(("x", schema))).columns
    return column.type


def test_names_are_in_capitals_and_remember_how_they_are_spelled() -> None:
    schema = record(("userId", "long"), ("home", record(("zipCode", "int"), name="H")))
    assert inferred(schema).columns == (
        Column("USERID", BIGINT, spelling="userId"),
        Column("HOME", Struct((Field("ZIPCODE", INTEGER),)), spelling="home"),
    )
    assert inferred(schema, replace(AVRO, schema_id=1)).columns == (
        Column("userId", BIGINT, spelling="userId"),
        Column("home", Struct((Field("zipCode", INTEGER),)), spelling="home"),
    )


@pytest.mark.parametrize(
    ("schema", "serde", "role", "column"),
    [
        ("string", AVRO, Role.KEY, Column("ROWKEY", STRING, Role.KEY, spelling="ROWKEY")),
        (PLACE, AVRO, Role.KEY, Column("ROWKEY", Struct((Field("CITY", STRING),)), Role.KEY, spelling="ROWKEY")),
        ("string", AVRO, Role.VALUE, Column("ROWVAL", STRING, spelling="ROWVAL")),
        (["null", "int"], AVRO, Role.VALUE, Column("ROWVAL", INTEGER, spelling="ROWVAL")),
        (
            PLACE,
            replace(AVRO, wrap_single=False),
            Role.VALUE,
            Column("ROWVAL", Struct((Field("CITY", STRING),)), spelling="ROWVAL"),
        ),
        (
            [PLACE, record(("n", "int"), name="a.b.Size")],
            AVRO,
            Role.VALUE,
            Column(
                "ROWVAL",
                Struct(
                    (Field("PLACE", Struct((Field("CITY", STRING),))), Field("SIZE", Struct((Field("N", INTEGER),))))
                ),
                spelling="ROWVAL",
            ),
        ),
    ],
)
def test_what_is_no_record_of_columns_is_one_column(schema: Any, serde: Serde, role: Role, column: Column) -> None:
    assert inferred(schema, serde, role) == Inferred((column,), alone=True)


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ("boolean", BOOLEAN),
        ("int", INTEGER),
        ("long", BIGINT),
        ("float", DOUBLE),
        ("double", DOUBLE),
        ("bytes", BYTES),
        ("string", STRING),
        ("null", STRING),
        ({"type": "fixed", "name": "F", "size": 2}, BYTES),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, STRING),
        ({"type": "array", "items": ["null", "int"]}, Array(INTEGER)),
        ({"type": "map", "values": "long"}, Map(STRING, BIGINT)),
        (DAY, DATE),
        ({"type": "int", "logicalType": "time-millis"}, TIME),
        ({"type": "long", "logicalType": "time-micros"}, TIME),
        (MILLIS, TIMESTAMP),
        ({"type": "long", "logicalType": "timestamp-micros"}, TIMESTAMP),
        ({"type": "string", "logicalType": "uuid"}, STRING),
        ({"type": "long", "logicalType": "date"}, BIGINT),  # a logical type of another type says nothing
        ({"type": "int", "logicalType": "of-ones-own"}, INTEGER),
        (MONEY, Decimal(4, 2)),
        (CENTS, Decimal(6, 2)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4}, Decimal(4, 0)),
        ({"type": "bytes", "logicalType": "decimal"}, BYTES),
        (["null", "int"], INTEGER),
        (["int", "null"], INTEGER),
        (["null", DAY], DATE),
        (["int"], INTEGER),
        (["null", "int", "long"], BIGINT),
        (["float", "double"], DOUBLE),
        (["null", "int", "string"], Struct((Field("INT", INTEGER), Field("STRING", STRING)))),
        (["int", "double"], Struct((Field("INT", INTEGER), Field("DOUBLE", DOUBLE)))),
        (
            [{"type": "array", "items": "int"}, {"type": "map", "values": "int"}],
            Struct((Field("ARRAY", Array(INTEGER)), Field("MAP", Map(STRING, INTEGER)))),
        ),
        (
            ["int", "long", PLACE],
            Struct((Field("INT", INTEGER), Field("LONG", BIGINT), Field("PLACE", Struct((Field("CITY", STRING),)))))
        ),
        (
            {
                "type": "array",
                "items": record(("key", "int"), ("value", "string"), name="E") | {"connect.internal.type": "MapEntry"},
            },
            Map(INTEGER, STRING)
        ),
    ],
)  # fmt: skip
def test_the_type_of_a_field(schema: Any, type_: SqlType) -> None:
    assert of(schema) == type_


def test_a_decimal_has_as_many_digits_as_a_column_can_have_at_most() -> None:
    assert of(MONEY | {"precision": 64}) == Decimal(38, 2)  # Connect's, where it isn't told how many
    with pytest.raises(SchemaError, match="40 digits behind the point"):
        of(MONEY | {"precision": 64, "scale": 40})

"""Protobuf's bytes and columns without Spark, against messages of Google's own library."""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Sequence
from decimal import Decimal as Number
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from orion.arrow import arrow_type
from orion.errors import SchemaError
from orion.formats import protobuf
from orion.formats.messages.numbers import conversion, double_text
from orion.formats.messages.read import Reading, indexes, reader
from orion.formats.messages.schema import linked, schema_of
from orion.formats.messages.types import Files, found
from orion.formats.messages.write import Writing, writer
from orion.plan.sources import Serde
from orion.schema import Array, Column, Decimal, Field, Map, Scalar, SqlType, Struct

PROTOBUF = Serde("PROTOBUF")
BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP = Scalar


def columns(**types: SqlType) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name, type_ in types.items())


def own(serde: Serde, **types: SqlType) -> str:
    """The schema of columns, without its first line."""
    return schema_of(columns(**types), serde).removeprefix('syntax = "proto3";')


@cache
def files_of(text: str) -> Files:
    return linked(f'syntax = "proto3"; {text}')


@cache
def made(text: str, name: str) -> Any:
    """The class of a message, by Google's library alone; the text has no imports but Google's."""
    pool = descriptor_pool.DescriptorPool()
    for file in files_of(text):
        pool.AddSerializedFile(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def read(text: str, raw: Sequence[bytes | None], **types: SqlType) -> list[Any]:
    """Each record's columns, or None for one that can't be read. Without a header."""
    files = files_of(text)
    reading = Reading(((0, files),), tuple(types.values()), tuple(types), framed=False)
    return _rows(reader(reading)(pa.array(raw, pa.binary())))


def _rows(array: pa.Array) -> list[Any]:
    return [None if row is None else tuple(row.values()) for row in array.to_pylist(maps_as_pydicts="strict")]


def written(text: str, rows: list[tuple[Any, ...]], **types: SqlType) -> list[bytes]:
    write = writer(Writing(files_of(text), (0,), tuple(types.values()), tuple(types)))
    given = [pa.array([row[at] for row in rows], arrow_type(t)) for at, t in enumerate(types.values())]
    result: list[bytes] = write(*given).to_pylist()
    return result


# ---- reading ---------------------------------------------------------------------------------------------------


def test_scalars_that_are_absent_are_zeros_and_messages_that_are_absent_null() -> None:
    text = """
        import "google/protobuf/wrappers.proto"; import "google/protobuf/timestamp.proto";
        message M { int32 a = 1; string b = 2; bool c = 3; double d = 4; bytes e = 5; repeated int32 f = 6;
          map<string, int32> g = 7; In h = 8; message In { int32 x = 1; } optional int32 i = 9;
          google.protobuf.Int64Value j = 10; oneof k { int32 l = 11; } google.protobuf.Timestamp m = 12; }"""
    types: dict[str, SqlType] = {
        "A": INTEGER, "B": STRING, "C": BOOLEAN, "D": DOUBLE, "E": BYTES, "F": Array(INTEGER),
        "G": Map(STRING, INTEGER), "H": Struct((Field("X", INTEGER),)), "I": INTEGER, "J": BIGINT, "L": INTEGER,
        "M": TIMESTAMP,
    }  # fmt: skip
    assert read(text, [b""], **types) == [(0, "", False, 0.0, b"", [], {}, None, None, None, None, None)]
    message = made(text, "M")(h={}, i=0, j={}, l=0, m={})
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert read(text, [message.SerializeToString()], **types) == [
        (0, "", False, 0.0, b"", [], {}, {"X": 0}, 0, 0, 0, epoch)
    ]


def test_a_column_without_a_field_is_null() -> None:
    assert read("message M { int32 a = 1; }", [b""], A=INTEGER, B=Array(STRING)) == [(0, None)]


def test_bytes_that_do_not_parse_are_no_row_and_the_others_stay_in_their_places() -> None:
    good = made("message M { int32 a = 1; }", "M")
    raw = [good(a=1).SerializeToString(), b"\xff", None, good(a=2).SerializeToString(), b"\x0a\x05ab"]
    assert read("message M { int32 a = 1; }", raw, A=INTEGER) == [(1,), None, None, (2,), None]
    assert read("message M { int32 a = 1; }", [b"\xff"], A=INTEGER) == [None]
    assert read("message M { string a = 1; }", [b"\x0a\x01\xff"], A=STRING) == [None]


def test_nested_values_are_found_whatever_their_case() -> None:
    text = (
        "message M { repeated In inner = 1; map<string, In> byName = 2; message In { int32 theX = 1; string s = 2; } }"
    )
    type_ = Struct((Field("THEX", INTEGER), Field("NOT_THERE", STRING)))
    message = made(text, "M")(inner=[{"theX": 1}, {}], byName={"k": {"theX": 3}})
    assert read(text, [message.SerializeToString(), b""], INNER=Array(type_), BYNAME=Map(STRING, type_)) == [
        (
            [{"THEX": 1, "NOT_THERE": None}, {"THEX": 0, "NOT_THERE": None}],
            {"k": {"THEX": 3, "NOT_THERE": None}},
        ),
        ([], {}),
    ]


def test_enums_are_their_names() -> None:
    text = "message M { E e = 1; repeated E f = 2; enum E { option allow_alias = true; A = 0; B = 1; C = 1; } }"
    message = made(text, "M")(e=1, f=[0, 5])
    assert read(text, [message.SerializeToString()], E=STRING, F=Array(STRING)) == [
        ("B", ["A", "UNKNOWN_ENUM_VALUE_E_5"])
    ]


def test_numbers_without_a_sign() -> None:
    text = "message M { uint32 a = 1; uint64 b = 2; fixed64 c = 3; }"
    message = made(text, "M")(a=2**32 - 1, b=2**64 - 1, c=2**63)
    assert read(text, [message.SerializeToString()], A=BIGINT, B=BIGINT, C=BIGINT) == [(2**32 - 1, -1, -(2**63))]


def test_dates_times_and_decimals() -> None:
    text = """
        import "google/type/date.proto"; import "google/type/timeofday.proto"; import "google/protobuf/timestamp.proto";
        import "confluent/type/decimal.proto"; import "confluent/meta.proto";
        message M { google.type.Date a = 1; google.type.TimeOfDay b = 2; google.protobuf.Timestamp c = 3;
          confluent.type.Decimal d = 4 [(confluent.field_meta) = {
            params: [{key: "precision", value: "5"}, {key: "scale", value: "2"}]}]; }"""
    types: dict[str, SqlType] = {"A": DATE, "B": TIME, "C": TIMESTAMP, "D": Decimal(5, 2)}
    class_ = made(text, "M")

    def one(**fields: Any) -> Any:
        return read(text, [class_(**fields).SerializeToString()], **types)[0]

    assert one(
        a={"year": 1969, "month": 12, "day": 31},
        b={"hours": 1, "minutes": 2, "seconds": 3, "nanos": 4_000_000},
        c={"seconds": -1, "nanos": 500_000_000},
        d={"value": (-1234).to_bytes(2, "big", signed=True), "precision": 4, "scale": 2},
    ) == (
        dt.date(1969, 12, 31),
        3_723_004,
        dt.datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=dt.UTC),
        Number("-12.34"),
    )
    # The message's own digits count; the schema's where it says none.
    assert one(d={"value": b"\x01", "precision": 1, "scale": 1})[3] == Number("0.10")
    assert one(d={"value": b"\x01"})[3] == Number("0.01")
    assert one(d={})[3] == Number("0.00")
    # What no column can hold is NULL, and never the end of a query.
    assert one(a={"year": 2020}, b={"hours": 2**31 - 1}, c={"seconds": 2**62}, d={"value": b"\x7f" * 99}) == (None,) * 4
    assert one(d={"value": b"\x01", "scale": -(2**31)})[3] is None
    assert one(d={"value": b"\x01", "scale": 2**31 - 1})[3] in (None, Number("0.00"))


@pytest.mark.parametrize(
    ("given", "wanted", "value", "expected"),
    [
        (BIGINT, INTEGER, 2**31 - 1, 2**31 - 1),
        (BIGINT, INTEGER, 2**31, None),
        (DOUBLE, INTEGER, -1.9, -1),
        (DOUBLE, BIGINT, math.nan, None),
        (DOUBLE, BIGINT, 1e300, None),
        (INTEGER, DOUBLE, 3, 3.0),
        (INTEGER, Decimal(4, 2), 12, Number("12.00")),
        (INTEGER, Decimal(4, 2), 100, None),
        (DOUBLE, Decimal(4, 2), 0.125, Number("0.13")),
        (DOUBLE, Decimal(4, 2), math.inf, None),
        (Decimal(4, 2), INTEGER, Number("-1.99"), -1),
        (Decimal(4, 2), STRING, Number("1.50"), "1.50"),
        (BIGINT, STRING, -5, "-5"),
        (BOOLEAN, STRING, True, "true"),
        (BIGINT, TIMESTAMP, 5, 5000),
        (BIGINT, TIMESTAMP, 2**62, None),
        (INTEGER, DATE, -3, -3),
        (BIGINT, TIME, 86_400_001, None),
        (INTEGER, TIME, 7, 7),
    ],
)
def test_a_number_becomes_the_type_of_its_column(given: SqlType, wanted: SqlType, value: Any, expected: Any) -> None:
    convert = conversion(given, wanted)
    assert convert is not None
    assert convert(value) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.5, "1.5"), (100.0, "100.0"), (1e7, "1.0E7"), (12345678.0, "1.2345678E7"),
        (1e-3, "0.001"), (1e-4, "1.0E-4"), (-1.25e-10, "-1.25E-10"), (1e300, "1.0E300"), (math.inf, "Infinity"),
    ],
)  # fmt: skip
def test_a_double_as_text_is_javas(value: float, text: str) -> None:
    assert double_text(value) == text


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("message M { string a = 1; }", INTEGER),
        ("message M { string a = 1; }", Array(STRING)),
        ("message M { repeated string a = 1; }", STRING),
        ("message M { map<string, string> a = 1; }", Array(STRING)),
        ("message M { map<string, string> a = 1; }", Map(INTEGER, STRING)),
        ("message M { In a = 1; message In { int32 x = 1; } }", STRING),
        ("message M { In a = 1; message In { string x = 1; } }", Struct((Field("X", INTEGER),))),
        ("message M { E a = 1; enum E { X = 0; } }", INTEGER),
    ],
)
def test_columns_that_a_schema_can_not_be_read_into(text: str, type_: SqlType) -> None:
    reading = Reading(((1, files_of(text)),), (type_,), ("A",))
    with pytest.raises(SchemaError, match="and the schema has"):
        reading.check()


# ---- headers ---------------------------------------------------------------------------------------------------


TWO = "message A { int32 x = 1; message In { int32 x = 1; map<string, In> m = 2; message Deep { int32 x = 1; } } } "
TWO += "message B { string x = 1; int32 y = 2; }"


def framed(number: int, path: bytes, body: bytes) -> bytes:
    return b"\0" + struct.pack(">I", number) + path + body


@pytest.mark.parametrize(
    ("path", "at", "length"),
    [
        (b"\0", (0,), 1),
        (b"\x02\x00", (0,), 2),  # the long way to say the same
        (b"\x02\x02", (1,), 2),
        (b"\x06\x00\x00\x00", (0, 0, 0), 4),
        (b"\x02\xac\x02", (150,), 3),
    ],
)
def test_which_message_a_record_holds(path: bytes, at: tuple[int, ...], length: int) -> None:
    assert indexes(framed(1, path, b"rest")) == (at, 5 + length)


def test_each_record_is_read_by_the_schema_and_the_message_it_names() -> None:
    schemas = ((1, files_of("message A { int32 x = 1; }")), (2, files_of(TWO)))
    read = reader(Reading(schemas, (INTEGER, INTEGER), ("X", "Y")))
    x = made(TWO, "A")(x=5).SerializeToString()
    y = made(TWO, "B")(y=6).SerializeToString()
    records = [
        framed(2, b"\0", x),
        framed(1, b"\0", x),
        framed(2, b"\x02\x02", y),  # there X is a text, which no number is made of
        framed(2, b"\x04\x00\x00", x),
        framed(2, b"\x06\x00\x00\x00", x),
        framed(2, b"\x02\x00", x),
        framed(2, b"\x02\x0a", x),  # no such message
        framed(2, b"\x02\x01", x),  # below zero
        framed(3, b"\0", x),
        framed(2, b"\x04\x00", b""),  # cut off in the middle
        framed(2, b"", b""),
        b"\0\0",
        b"",
        framed(2, b"\0", b""),
    ]
    five = (5, None)
    expected = [five, five, None, five, five, five, None, None, None, None, None, None, None, (0, None)]
    assert _rows(read(pa.array(records, pa.binary()))) == expected


def test_a_schema_is_refused_only_if_none_of_its_messages_fits() -> None:
    files = files_of(TWO)
    Reading(((1, files),), (INTEGER,), ("X",)).check()
    with pytest.raises(SchemaError):
        Reading(((1, files),), (Array(INTEGER),), ("X",)).check()


@pytest.mark.parametrize(("path", "raw"), [((0,), "00"), ((1,), "0202"), ((0, 2), "040004"), ((150,), "02ac02")])
def test_the_indexes_of_a_header(path: tuple[int, ...], raw: str) -> None:
    assert protobuf.message_indexes(path).hex() == raw
    assert indexes(framed(1, bytes.fromhex(raw), b"")) == (path, 5 + len(raw) // 2)


# ---- writing ---------------------------------------------------------------------------------------------------


def test_rows_are_messages_that_googles_library_reads() -> None:
    text = """
        import "google/protobuf/wrappers.proto"; import "google/protobuf/timestamp.proto";
        import "google/type/date.proto"; import "google/type/timeofday.proto"; import "confluent/type/decimal.proto";
        message M { int32 i = 1; repeated string r = 2; map<string, int64> m = 3; In s = 4; message In { int32 x = 1; }
          google.protobuf.BoolValue w = 5; google.protobuf.Timestamp t = 6; google.type.Date d = 7;
          google.type.TimeOfDay o = 8; confluent.type.Decimal c = 9; E e = 10; enum E { A = 0; B = 3; }
          int32 other = 11; }"""
    types: dict[str, SqlType] = {
        "I": INTEGER, "R": Array(STRING), "M": Map(STRING, BIGINT), "S": Struct((Field("X", INTEGER),)),
        "W": BOOLEAN, "T": TIMESTAMP, "D": DATE, "O": TIME, "C": Decimal(6, 2), "E": STRING,
    }  # fmt: skip
    moment = dt.datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=dt.UTC)
    row = (7, ["a", "b"], {"k": 9}, {"X": 3}, False, moment, dt.date(2024, 2, 29), 3_723_004, Number("-1.28"), "B")
    raw = written(text, [row, (None,) * len(row)], **types)
    class_ = made(text, "M")
    assert class_.FromString(raw[0]) == class_(
        i=7, r=["a", "b"], m={"k": 9}, s={"x": 3}, w={"value": False}, t={"seconds": -1, "nanos": 500_000_000},
        d={"year": 2024, "month": 2, "day": 29}, o={"hours": 1, "minutes": 2, "seconds": 3, "nanos": 4_000_000},
        c={"value": b"\x80", "precision": 3, "scale": 2}, e=3,
    )  # fmt: skip
    assert raw[1] == b""


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("0.00", b"\0"),
        ("1.27", b"\x7f"),
        ("1.28", b"\0\x80"),
        ("-1.28", b"\x80"),
        ("-1.29", b"\xff\x7f"),
        ("-0.01", b"\xff"),
    ],
)
def test_a_decimal_is_as_many_bytes_as_java_writes(number: str, value: bytes) -> None:
    text = 'import "confluent/type/decimal.proto"; message M { confluent.type.Decimal c = 1; }'
    (raw,) = written(text, [(Number(number),)], C=Decimal(6, 2))
    assert made(text, "M").FromString(raw).c.value == value


def test_a_null_inside_of_an_array_or_a_map_is_its_types_zero() -> None:
    text = (
        "message M { repeated string r = 1; map<string, int32> m = 2; repeated In s = 3; message In { int32 x = 1; } "
    )
    text += "repeated E e = 4; enum E { A = 0; } }"
    types: dict[str, SqlType] = {
        "R": Array(STRING),
        "M": Map(STRING, INTEGER),
        "S": Array(Struct((Field("X", INTEGER),))),
        "E": Array(STRING),
    }
    raw = written(text, [(["a", None], {"k": None}, [None, {"X": None}], [None])], **types)
    assert made(text, "M").FromString(raw[0]) == made(text, "M")(r=["a", ""], m={"k": 0}, s=[{}, {}], e=[0])


def test_optional_zeros_are_written_and_nulls_are_not() -> None:
    text = "message M { optional int32 a = 1; optional string b = 2; int32 c = 3; }"
    raw = written(text, [(0, "", 0), (None, None, None)], A=INTEGER, B=STRING, C=INTEGER)
    assert raw == [b"\x08\x00\x12\x00", b""]


def test_a_map_is_the_same_bytes_in_any_order() -> None:
    text = "message M { map<string, int32> m = 1; }"
    one, two = written(text, [([("a", 1), ("b", 2)],), ([("b", 2), ("a", 1)],)], M=Map(STRING, INTEGER))
    assert one == two


def test_numbers_are_written_as_wider_ones() -> None:
    text = "message M { int64 a = 1; double b = 2; uint32 c = 3; float d = 4; int64 e = 5; int32 f = 6; }"
    types = {"A": INTEGER, "B": BIGINT, "C": BIGINT, "D": DOUBLE, "E": TIMESTAMP, "F": DATE}
    (raw,) = written(text, [(1, 2, 3, 0.5, 4000, 5)], **types)
    assert made(text, "M").FromString(raw) == made(text, "M")(a=1, b=2.0, c=3, d=0.5, e=4, f=5)


@pytest.mark.parametrize(
    ("field", "type_"),
    [
        ("int32 a", BIGINT),
        ("int32 a", DOUBLE),
        ("string a", INTEGER),
        ("repeated int32 a", INTEGER),
        ("int32 a", Array(INTEGER)),
    ],
)
def test_columns_that_do_not_fit_a_schema_are_refused(field: str, type_: SqlType) -> None:
    with pytest.raises(SchemaError, match=r"A is .*, and the schema has"):
        written(f"message M {{ {field} = 1; }}", [], A=type_)


def test_a_column_without_a_field_is_refused() -> None:
    with pytest.raises(SchemaError, match="The message M of the schema has no field B, C"):
        written("message M { int32 a = 1; }", [], A=INTEGER, B=INTEGER, C=INTEGER)


def test_a_row_with_a_value_that_its_field_can_not_hold_has_no_bytes_and_the_others_have() -> None:
    text = "message M { E e = 1; uint32 u = 2; enum E { A = 0; B = 1; } }"
    rows = written(text, [("B", 1), ("Z", 1), ("A", -1), ("A", 2)], E=STRING, U=BIGINT)
    assert rows == [b"\x08\x01\x10\x01", None, None, b"\x10\x02"]


def test_the_named_message_is_written() -> None:
    files = files_of(TWO)
    write = writer(Writing(files, found(files, "B"), (INTEGER, STRING), ("Y", "X")))
    (raw,) = write(pa.array([2], pa.int32()), pa.array(["b"])).to_pylist()
    assert made(TWO, "B").FromString(raw) == made(TWO, "B")(x="b", y=2)


# ---- both ways -------------------------------------------------------------------------------------------------

_INT, _LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
_TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
_VALUES: dict[SqlType, st.SearchStrategy[Any]] = {
    BOOLEAN: st.booleans(),
    INTEGER: _INT,
    BIGINT: _LONG,
    DOUBLE: st.floats(allow_nan=False),
    STRING: _TEXT,
    BYTES: st.binary(max_size=20),
    DATE: st.dates(),
    TIME: st.integers(0, 86_399_999),
    TIMESTAMP: st.datetimes(timezones=st.just(dt.UTC)),
    Decimal(12, 3): st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: Number(n).scaleb(-3)),
}
_ALL: dict[str, SqlType] = {f"F{at}": type_ for at, type_ in enumerate(_VALUES)}


def _maybe(some: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | some


@pytest.mark.parametrize("nullable", ["OPTIONAL", "WRAPPER"])
@given(rows=st.lists(st.tuples(*(_maybe(v) for v in _VALUES.values())), max_size=5))
def test_rows_come_back_with_their_nulls(nullable: Any, rows: list[tuple[Any, ...]]) -> None:
    text = own(Serde("PROTOBUF", nullable=nullable), **_ALL)
    assert read(text, written(text, rows, **_ALL), **_ALL) == rows


_NESTED: dict[str, SqlType] = {
    **{f"A{at}": Array(type_) for at, type_ in enumerate(_VALUES)},
    **{f"M{at}": Map(STRING, type_) for at, type_ in enumerate(_VALUES)},
    "S": Struct((Field("X", INTEGER), Field("Y", Array(Struct((Field("Z", STRING),)))))),
}
_INNER = st.fixed_dictionaries({"X": _INT, "Y": st.lists(st.fixed_dictionaries({"Z": _TEXT}), max_size=3)})


@given(
    rows=st.lists(
        st.tuples(
            *(st.lists(v, max_size=3) for v in _VALUES.values()),
            *(st.dictionaries(_TEXT, v, max_size=3) for v in _VALUES.values()),
            _maybe(_INNER),
        ),
        max_size=4,
    )
)
def test_nested_rows_come_back(rows: list[tuple[Any, ...]]) -> None:
    text = own(PROTOBUF, **_NESTED)
    assert read(text, written(text, rows, **_NESTED), **_NESTED) == rows


@given(raw=st.lists(st.binary(max_size=40), max_size=20))
def test_no_bytes_are_an_error(raw: list[bytes]) -> None:
    """Whatever a topic holds, the worker goes on."""
    types = {**_ALL, **_NESTED}
    files = files_of(own(PROTOBUF, **types))
    plain = Reading(((0, files),), tuple(types.values()), tuple(types), framed=False)
    assert len(reader(plain)(pa.array(raw, pa.binary()))) == len(raw)
    heads = [b"\0\0\0\0\1" + one for one in raw]
    named = Reading(((1, files),), tuple(types.values()), tuple(types))
    assert len(reader(named)(pa.array(heads, pa.binary()))) == len(raw)


def test_proto2_lets_any_bytes_be_a_text() -> None:
    files = linked("message M { optional string a = 1; }")
    assert descriptor_pb2.FileDescriptorProto.FromString(files[-1]).syntax == ""
    read = reader(Reading(((0, files),), (STRING,), ("A",), framed=False))
    assert _rows(read(pa.array([b"\x0a\x02a\xff", b"\x0a\x01b", b""], pa.binary()))) == [("a\ufffd",), ("b",), (None,)]


def test_two_names_that_are_one_in_json_are_two_fields() -> None:
    types = {"A_B": INTEGER, "AB": INTEGER}
    text = own(PROTOBUF, **types)
    assert read(text, written(text, [(1, 2)], **types), **types) == [(1, 2)]

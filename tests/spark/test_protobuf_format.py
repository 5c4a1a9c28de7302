"""PROTOBUF and PROTOBUF_NOSR in Spark: records to rows as a scan reads them, rows to records as a sink writes them."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal as Number
from functools import cache
from typing import Any

import pytest
from google.protobuf import descriptor_pool, message_factory
from pyspark.errors import PySparkException

from orion.errors import SchemaError
from orion.formats import protobuf
from orion.formats.messages.schema import linked
from orion.formats.wire import framing
from orion.plan.sources import Kind, Serde, Source, WireSchema, Wiring
from orion.runtime import emit, rows
from orion.runtime.scan import decoded
from orion.runtime.session import Frame, Spark
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, Schema, SqlType, Struct, quote, spark_type

BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP = Scalar
RECORDS = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"
KEY = "message K { string k = 1; }"
OLD = "message V { int32 a = 1; string b = 2; }"
NEW = "message Other { bool z = 1; } message V { int64 a = 1; repeated In c = 2; message In { int32 x = 1; } }"
IN = Struct((Field("X", INTEGER),))


@cache
def made(text: str, name: str) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for file in linked(f'syntax = "proto3"; {text}'):
        pool.AddSerializedFile(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def wire(number: int, text: str) -> WireSchema:
    return WireSchema(number, "PROTOBUF", f'syntax = "proto3"; {text}')


def framed(number: int, message: Any, path: bytes = b"\0") -> bytes:
    return b"\0" + struct.pack(">I", number) + path + bytes(message.SerializeToString())


def source(key: Serde, value: Serde, **columns: SqlType) -> Source:
    """A stream whose columns in small letters are the key's."""
    fields = [Column(n.upper(), t, Role.KEY if n.islower() else Role.VALUE) for n, t in columns.items()]
    return Source("S", Kind.STREAM, Schema(tuple(fields)), "t", key, value)


def read(spark: Spark, of: Source, *records: tuple[bytes | None, bytes | None]) -> list[tuple[Any, ...]]:
    """The columns of each record, and what is wrong with it."""
    now = dt.datetime(2024, 1, 1)
    raw = spark.createDataFrame([(k, v, "t", 0, at, now) for at, (k, v) in enumerate(records)], RECORDS)
    names = [quote(c.name) for c in of.schema]
    return [tuple(row) for row in decoded(raw, of).selectExpr(*names, rows.BAD).collect()]


def frame(spark: Spark, of: Source, *values: tuple[Any, ...]) -> Frame:
    fields = ", ".join(f"{quote(c.name)} {spark_type(c.type)}" for c in of.schema)
    given = spark.createDataFrame(list(values), fields)
    return given.selectExpr("*", "1L AS ROWTIME", f"FALSE AS {rows.DELETED}")


def write(spark: Spark, of: Source, *values: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    return [(row.key, row.value) for row in emit.records(frame(spark, of, *values), of).collect()]


def serde(*reads: WireSchema, writes: WireSchema | None = None, unknown: tuple[int, ...] = (), **more: Any) -> Serde:
    return Serde("PROTOBUF", wiring=Wiring("t-value", reads, unknown, writes), **more)


# ---- reading ---------------------------------------------------------------------------------------------------


def test_a_record_is_read_by_the_schema_and_message_it_names(spark: Spark) -> None:
    stream = source(serde(wire(1, KEY)), serde(wire(2, OLD), wire(3, NEW)), k=STRING, A=BIGINT, B=STRING, C=Array(IN))
    key = framed(1, made(KEY, "K")(k="one"))
    old, new, other = made(OLD, "V"), made(NEW, "V"), made(NEW, "Other")
    assert read(
        spark,
        stream,
        (key, framed(2, old(a=1, b="x"))),
        (key, framed(3, new(a=2**40, c=[{"x": 5}, {}]), b"\x02\x02")),
        (key, framed(3, other(z=True))),
        (None, framed(2, old())),
        (key, None),
    ) == [
        ("one", 1, "x", None, None),
        ("one", 2**40, None, [(5,), (0,)], None),
        ("one", None, None, None, None),
        (None, 0, "", None, None),
        ("one", None, None, None, None),
    ]


def test_what_can_not_be_read_says_why(spark: Spark) -> None:
    stream = source(Serde("NONE"), serde(wire(2, OLD), wire(3, "message V { bytes a = 1; }"), unknown=(9,)), A=INTEGER)
    good = made(OLD, "V")(a=1)
    found = read(
        spark,
        stream,
        (None, framed(2, good)),
        (None, b"\0\0\0\0\2\0\xff"),
        (None, b"\0\0\0\0\2\x02\x0a" + good.SerializeToString()),
        (None, framed(9, good)),
        (None, framed(3, good)),
        (None, b"{}"),
    )
    assert [row[0] for row in found] == [1, None, None, None, None, None]
    assert [row[1] for row in found] == [
        None,
        "VALUE_UNREADABLE: the bytes do not fit schema 2",
        "VALUE_UNREADABLE: the bytes do not fit schema 2",
        "VALUE_UNREADABLE: the registry knows no schema 9",
        "VALUE_UNREADABLE: schema 3 can not be read into these columns: A is INTEGER, and the schema has bytes there",
        "VALUE_UNREADABLE: no schema is named: there is no zero byte with an id of four behind it",
    ]


def test_a_schema_that_is_not_known_yet_stops_the_batch_and_is_asked_for(spark: Spark) -> None:
    with pytest.raises(PySparkException) as error:
        read(spark, source(Serde("NONE"), serde(wire(2, OLD)), A=INTEGER), (None, framed(258, made(OLD, "V")(a=1))))
    assert framing.unknown_id(str(error.value)) == ("t-value", 258)


def test_a_filter_above_does_not_read_twice(spark: Spark) -> None:
    stream = source(serde(wire(1, KEY)), serde(wire(2, OLD)), k=STRING, A=INTEGER, B=STRING)
    raw = spark.createDataFrame([], RECORDS)
    filtered = decoded(raw, stream).where(f"{rows.BAD} IS NULL AND A > 1").selectExpr("K", "B", "A")
    plan = filtered._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("ArrowEvalPython") == 1


# ---- writing ---------------------------------------------------------------------------------------------------


def test_a_row_is_written_by_the_schema_of_its_topic(spark: Spark) -> None:
    keys, values = serde(writes=wire(1, KEY)), serde(writes=wire(3, NEW), full_name="V")
    sink = source(keys, values, k=STRING, A=BIGINT, C=Array(IN))
    written = write(spark, sink, ("one", 7, [(1,), (None,)]), ("", None, None), (None, 1, []))
    v = made(NEW, "V")
    assert written == [
        (framed(1, made(KEY, "K")(k="one")), framed(3, v(a=7, c=[{"x": 1}, {}]), b"\x02\x02")),
        (framed(1, made(KEY, "K")()), framed(3, v(), b"\x02\x02")),
        (None, framed(3, v(a=1), b"\x02\x02")),
    ]


def test_a_row_that_is_gone_has_no_value(spark: Spark) -> None:
    sink = source(serde(writes=wire(1, KEY)), serde(writes=wire(2, OLD)), k=STRING, A=INTEGER)
    gone = frame(spark, sink, ("k", 1)).withColumnRenamed(rows.DELETED, "x").selectExpr("*", f"TRUE AS {rows.DELETED}")
    (row,) = emit.records(gone, sink).collect()
    assert row.value is None
    assert row.key == framed(1, made(KEY, "K")(k="k"))


def test_columns_that_the_schema_has_no_field_for_are_refused(spark: Spark) -> None:
    sink = source(Serde("NONE"), serde(writes=wire(2, OLD)), A=INTEGER, NEW_ONE=STRING)
    with pytest.raises(SchemaError, match="The message V of the schema has no field NEW_ONE"):
        emit.records(frame(spark, sink), sink)


# ---- both ways -------------------------------------------------------------------------------------------------

EVERYTHING: dict[str, SqlType] = {
    "BO": BOOLEAN,
    "I": INTEGER,
    "L": BIGINT,
    "D": DOUBLE,
    "S": STRING,
    "BY": BYTES,
    "DA": DATE,
    "TI": TIME,
    "TS": TIMESTAMP,
    "DE": Decimal(21, 19),
    "A": Array(TIMESTAMP),
    "M": Map(STRING, Decimal(4, 2)),
    "ST": Struct((Field("X", DATE), Field("Y", Array(Struct((Field("Z", TIME),)))))),
}
FULL = (
    True, -5, 2**62, 0.1, "ü", b"\0\xff", dt.date(1969, 12, 22), 86_399_999, dt.datetime(2024, 2, 29, 1, 2, 3, 456_789),
    Number("10.1234512345123450000"), [dt.datetime(1970, 1, 1), dt.datetime(1969, 1, 1)],
    {"a": Number("12.34"), "b": Number("-0.01")}, (dt.date(2000, 1, 1), [(1,), (0,)]),
)  # fmt: skip
ZEROS: tuple[Any, ...] = (False, 0, 0, 0.0, "", b"", None, None, None, None, [], {}, None)
NULLS = (None,) * len(FULL)
LOST: tuple[Any, ...] = (*NULLS[:10], [], {}, None)  # no Protobuf has a NULL for an ARRAY or a MAP


@pytest.mark.parametrize("nullable", [None, "OPTIONAL", "WRAPPER"])
@pytest.mark.parametrize("name", ["PROTOBUF", "PROTOBUF_NOSR"])
def test_rows_of_every_type_come_back(spark: Spark, name: str, nullable: Any) -> None:
    plain = Serde(name, nullable=nullable)
    value = plain
    if name == "PROTOBUF":
        columns = tuple(Column(n, t) for n, t in EVERYTHING.items())
        schema = WireSchema(300, "PROTOBUF", protobuf.schema_of(columns, plain))
        value = serde(schema, writes=schema, nullable=nullable)
    stream = source(Serde("NONE"), value, **EVERYTHING)
    written = write(spark, stream, FULL, NULLS)
    assert [value[:6] for _, value in written] == (
        [b"\0\0\0\1\x2c\0"] * 2 if name == "PROTOBUF" else [written[0][1][:6], b""]
    )
    first, second = read(spark, stream, *written)
    assert first == (*FULL, None)
    assert second == (*(LOST if nullable else ZEROS), None)


def test_a_key_without_a_registry_is_a_message(spark: Spark) -> None:
    stream = source(Serde("PROTOBUF_NOSR"), Serde("PROTOBUF_NOSR"), k=BIGINT, V=DOUBLE)
    written = write(spark, stream, (5, None), (None, 0.5))
    assert written == [(b"\x08\x05", b""), (None, b"\x09" + struct.pack("<d", 0.5))]
    assert read(spark, stream, *written) == [(5, 0.0, None), (None, 0.5, None)]


def test_bytes_that_are_no_message_are_dead_letters(spark: Spark) -> None:
    stream = source(Serde("PROTOBUF_NOSR"), Serde("PROTOBUF_NOSR"), k=BIGINT, V=DOUBLE)
    assert read(spark, stream, (b"\xff", b""), (b"", b"\xff")) == [
        (None, 0.0, "KEY_UNREADABLE: the bytes are no such message"),
        (0, None, "VALUE_UNREADABLE: the bytes are no such message"),
    ]

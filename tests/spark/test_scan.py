"""Records as rows: times from headers and from the far future, and repeats of the fast lane."""

from __future__ import annotations

from typing import Any

import pytest

from orion.plan.sources import Kind, Serde, Source, Timestamp
from orion.runtime import rows
from orion.runtime.scan import LATEST, decoded
from orion.runtime.session import Frame, Spark
from orion.schema import Column, Role, Scalar, Schema

SCHEMA = Schema((Column("K", Scalar.STRING, Role.KEY), Column("V", Scalar.BIGINT)))
FAST = Source("S", Kind.STREAM, SCHEMA, "s", Serde("KAFKA"), Serde("JSON"), headed=True)
RAW = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)


def raw(spark: Spark, *records: tuple[int, int, dict[str, str]]) -> Frame:
    """Records by their value, their partition and their headers; all of the same Kafka time."""
    found = [
        (b"k", b'{"V": %d}' % value, "s", partition, value, 5, [(n, t.encode()) for n, t in headers.items()] or None)
        for value, partition, headers in records
    ]
    frame = spark.createDataFrame(found, RAW.replace("TIMESTAMP", "BIGINT"))
    return frame.withColumn("timestamp", frame.timestamp.cast("timestamp"))


def told(frame: Frame, *columns: str) -> list[Any]:
    return sorted(tuple(row) if len(columns) > 1 else row[0] for row in frame.select(*columns).collect())


def test_rowtime_is_the_headers_where_there_is_one(spark: Spark) -> None:
    records = raw(spark, (1, 0, {"orion.rowtime": "77"}), (2, 0, {}), (3, 0, {"orion.rowtime": "x"}))
    assert told(decoded(records, FAST), "V", "ROWTIME") == [(1, 77), (2, 5000), (3, 5000)]


@pytest.mark.parametrize(
    ("id_", "partition", "is_repeat"),
    [
        ("Q/in/0/9/0", 0, True),
        ("Q/in/0/10/1", 0, True),
        ("Q/in/0/10/2", 0, False),
        ("Q/in/0/11/0", 0, False),
        ("Q/in/0/9/0", 1, False),  # of that partition only 4 was written
        ("Q/in/0/4/0", 1, True),
        ("Q/in/0/4/0", 2, False),  # nothing was written there
    ],
)
def test_repeats_are_no_rows(spark: Spark, id_: str, partition: int, is_repeat: bool) -> None:
    repeated = (1, partition, {"orion.id": id_, "orion.seen": "0:10.1,1:4.0"})
    fresh = (2, partition, {"orion.id": id_})
    assert told(decoded(raw(spark, repeated, fresh), FAST), "V") == ([2] if is_repeat else [1, 2])


def test_headers_of_the_lane_do_not_go_along(spark: Spark) -> None:
    columns = (*SCHEMA.columns, Column("H", Scalar.BYTES, Role.HEADERS, "mine"))
    source = Source("S", Kind.STREAM, Schema(columns), "s", Serde("KAFKA"), Serde("JSON"), headed=True)
    record = (1, 0, {"orion.id": "Q/in/0/9/0", "mine": "m", "orion.rowtime": "7"})
    (row,) = decoded(raw(spark, record), source).select("H", rows.HEADERS).collect()
    assert (bytes(row["H"]), [h["key"] for h in row[rows.HEADERS]]) == (b"m", ["mine"])


def test_a_record_from_the_far_future_is_bad(spark: Spark) -> None:
    by_value = Source("S", Kind.STREAM, SCHEMA, "s", Serde("KAFKA"), Serde("JSON"), Timestamp("V"))
    records = raw(spark, (100, 0, {}), (101, 0, {})).selectExpr("*", f"100L AS {LATEST}")
    bad = "TIMESTAMP_IN_FUTURE: 101 is later than 100"
    assert told(decoded(records, by_value), "V", rows.BAD) == [(100, None), (101, bad)]
    by_record = Source("S", Kind.STREAM, SCHEMA, "s", Serde("KAFKA"), Serde("JSON"))
    records = raw(spark, (1, 0, {})).selectExpr("*", f"4999L AS {LATEST}")
    assert told(decoded(records, by_record), rows.BAD) == ["TIMESTAMP_IN_FUTURE: 5000 is later than 4999"]


WIDE = Schema(
    (
        Column("K", Scalar.STRING, Role.KEY),
        Column("V", Scalar.BIGINT, spelling="v"),
        Column("NOTE", Scalar.STRING, spelling="note"),
        Column("N", Scalar.BIGINT, spelling="n"),
    )
)


def test_of_what_nobody_reads_only_text_is_left_out(spark: Spark) -> None:
    """A record is as good or bad as it was: any value is a text, and not any value a number."""
    source = Source("S", Kind.STREAM, WIDE, "s", Serde("KAFKA"), Serde("JSON"))
    values = [
        '{"v": 1, "note": "x", "n": 2}',
        '{"v": 1, "note": {"a": [1]}, "n": 2}',
        '{"v": 1, "NOTE": true, "N": 2}',
        '{"v": 1, "note": "x", "n": "two"}',
        '{"v": 1, "note": "\\ud800", "n": 2}',
        '{"v": 1, "note": "x',
    ]
    found = [(b"k", value.encode(), "s", 0, at, 5, None) for at, value in enumerate(values)]
    frame = spark.createDataFrame(found, RAW.replace("TIMESTAMP", "BIGINT"))
    records = frame.withColumn("timestamp", frame.timestamp.cast("timestamp"))
    whole, part = (
        decoded(records, source, unread).select("ROWOFFSET", "V", rows.BAD).orderBy("ROWOFFSET").collect()
        for unread in (frozenset[str](), frozenset({"NOTE", "N"}))
    )
    assert whole == part
    assert [row[rows.BAD] is None for row in whole] == [True, True, True, False, False, False]


def test_text_that_nobody_reads_is_not_in_what_is_decoded(spark: Spark) -> None:
    source = Source("S", Kind.STREAM, WIDE, "s", Serde("KAFKA"), Serde("JSON"))
    records = raw(spark, (1, 0, {}))
    plans = [
        decoded(records, source, unread)._jdf.queryExecution().analyzed().toString()
        for unread in (frozenset[str](), frozenset({"NOTE", "N"}), frozenset({"V", "NOTE", "N"}))
    ]
    assert ["StructField(note" in plan for plan in plans] == [True, False, False]
    assert all("StructField(n," in plan for plan in plans)

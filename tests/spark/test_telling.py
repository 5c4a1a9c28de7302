"""A dead letter tells the same whoever writes it: SQL in the fast lane and in tests, Python in the exact lane."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from orion.hub.dead_letters import telling
from orion.hub.transactions import Permit
from orion.runtime import emit, rows
from orion.runtime.lanes import exact

OWN = [
    ("a", b"1"),
    ("orion.attempt", b"2"),
    ("orion.replayed.from", b"dlq.X/0/1"),
    ("orion.id", b"Q/t/0/1/0"),
    ("n", None),
]


@pytest.mark.parametrize("own", [[], OWN, [("orion.attempt", b"many")]], ids=["none", "sent-before", "no-number"])
@pytest.mark.parametrize("place", [(1, 7), (None, None)], ids=["read", "made"])
def test_both_say_the_same(
    spark: SparkSession, own: list[tuple[str, bytes | None]], place: tuple[int | None, int | None]
) -> None:
    source = {"topic": "in", "partition": place[0], "offset": place[1], "stamp": 1000}
    bad = "VALUE_UNREADABLE: not JSON: at all"
    letter = (bad, *source.values())
    made = [("dlq.X", b"k", b"v", 1000, own or None, 0, letter), ("X", b"k", b"v", 1000, own or None, 0, None)]
    told, plain = emit.told(spark.createDataFrame(made, rows.OUTGOING)).collect()
    assert [(h.key, None if h.value is None else bytes(h.value)) for h in told.headers] == telling(bad, source, own)
    assert [h.key for h in plain.headers or []] == [name for name, _ in own]


def test_a_worker_gets_plain_columns_and_finds_all_in_them(spark: SparkSession) -> None:
    place = {"topic": "in", "partition": 1, "offset": None, "stamp": 1000}
    letter = ("CODE: why", *place.values())
    made = [
        (*("X", b"k", b"v", 7, OWN, 3), None),
        (*("X", None, None, 0, None, 3), None),
        (*("dlq.X", b"k", b"bad", 9, OWN, 3), letter),
        (*("dlq.X", b"k", b"bad", 9, None, 3), letter),
    ]
    frame = exact.pack_outgoing(spark.createDataFrame(made, rows.OUTGOING))
    assert {field.dataType.typeName() for field in frame.schema} == {"binary", "long", "integer", "string"}
    permit = Permit("", "", b"", "", Path(), "X", "dlq.X")
    [chunk] = exact.chunks(iter(frame.toArrow().combine_chunks().to_batches()), permit)
    assert (chunk.topics, chunk.keys) == (["X", "X", "dlq.X", "dlq.X"], [b"k", None, b"k", b"k"])
    assert (chunk.values, chunk.times) == ([b"v", None, b"bad", b"bad"], [7, 1, 9, 9])
    assert (chunk.newest, chunk.origin) == (7, 3)
    assert chunk.headers == [OWN, None, telling("CODE: why", place, OWN), telling("CODE: why", place, [])]


def test_a_letter_counts_on_from_the_attempt_before() -> None:
    said = dict(telling("CODE: why", {"topic": "in", "partition": 0, "offset": 3, "stamp": 9}, OWN))
    assert (said["orion.attempt"], said["orion.error.code"], said["orion.source.offset"]) == (b"3", b"CODE", b"3")
    assert (said["a"], said["orion.id"]) == (b"1", b"Q/t/0/1/0")
    assert "orion.replayed.from" not in said

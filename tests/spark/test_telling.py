"""A dead letter tells the same whoever writes it: SQL in the fast lane and in tests, Python in the exact lane."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from orion.hub.dead_letters import telling
from orion.runtime import emit, rows

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


def test_a_letter_counts_on_from_the_attempt_before() -> None:
    said = dict(telling("CODE: why", {"topic": "in", "partition": 0, "offset": 3, "stamp": 9}, OWN))
    assert (said["orion.attempt"], said["orion.error.code"], said["orion.source.offset"]) == (b"3", b"CODE", b"3")
    assert (said["a"], said["orion.id"]) == (b"1", b"Q/t/0/1/0")
    assert "orion.replayed.from" not in said

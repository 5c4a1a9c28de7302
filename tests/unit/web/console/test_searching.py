"""How a search goes through a partition, and where it looks for a key first."""

from __future__ import annotations

from typing import Any

import pytest

from orion import ksql
from orion.hub.partitioning import partition_of
from orion.plan.catalog import Catalog
from orion.plan.sources import Source
from orion.plan.steps import DefineSource
from orion.web.console.questions.filtering import Wish, wanted_key
from orion.web.console.questions.searching import Extent, Found, Way, own_partition
from orion.web.console.record_browser import looked_html, progress


def walk(way: Way, step: int) -> None:
    """Look through a whole window."""
    start, end = way.window(step)
    for offset in range(start, end):
        assert way.note_record(offset, offset * 10)


def test_backwards_windows_grow_from_the_end_to_the_beginning() -> None:
    way = Way(0, (5, 100), backwards=True)
    walk(way, 10)
    assert (way.looked, way.stamp, way.is_done) == (((90, 100),), 900, False)
    walk(way, 10)
    assert (way.looked, way.stamp) == (((60, 100),), 600)
    walk(way, 10)
    assert (way.looked, way.is_done) == (((5, 100),), True)


def test_a_window_that_was_left_in_the_middle_is_gone_on_with() -> None:
    way = Way(0, (0, 100), backwards=True)
    walk(way, 10)
    assert way.window(10) == (60, 90)
    assert way.note_record(60, 600)
    assert way.looked == ((60, 61), (90, 100))
    assert way.could_have(950)  # what is left of the window is later than its beginning
    assert way.window(10) == (61, 90)
    way.end_window()  # marks of transactions
    assert list(way.looked) == [(60, 100)]
    assert not way.could_have(950)


def test_forwards_windows_end_at_the_end_that_was_there() -> None:
    way = Way(0, (3, 20), backwards=False)
    walk(way, 10)
    assert (way.looked, way.stamp) == (((3, 13),), 120)
    assert way.could_have(500)
    assert not way.could_have(100)
    way.window(10)
    assert way.note_record(19, 190)
    assert (way.looked, way.is_done) == (((3, 20),), True)
    assert not Way(1, (7, 2), backwards=False).could_have(None)  # a place behind the end has nothing


def test_a_record_behind_the_window_ends_it() -> None:
    way = Way(0, (0, 50), backwards=True)
    way.window(10)
    assert not way.note_record(50, 1)
    assert (way.rest, way.looked) == (None, ((40, 50),))


def test_what_was_looked_through_is_told() -> None:
    extents = (Extent(0, (0, 1000), ((900, 1000),), True), Extent(1, (0, 1000), ()))
    found = Found((), 100, extents, False)
    assert progress(found) == "0 shown, 100 of 2\N{NARROW NO-BREAK SPACE}000 offsets of 2 partitions looked through"
    told = looked_html(found)
    assert "partition 0: 900 to 999 of 0 to 999 · where records of this key go" in told
    assert "partition 1: none of 0 to 999" in told


@pytest.mark.parametrize(
    ("where", "key"),
    [
        ("KEY = 'u1'", "u1"),
        ("seconds > 5 AND 'u1' = ROWKEY", "u1"),
        ("id = 7 AND seconds > 5", 7),
        ("KEY = 'u1' OR seconds > 5", None),
        ("NOT KEY = 'u1'", None),
        ("KEY <> 'u1'", None),
        ("seconds = 7", None),
        ("", None),
    ],
)
def test_a_key_is_wanted_where_nothing_else_would_do(where: str, key: Any) -> None:
    assert wanted_key(Wish.of(where).where, {"KEY", "ROWKEY", "ID"}) == key


def source(columns: str, form: str) -> Source:
    text = f"CREATE STREAM s {columns} WITH (KAFKA_TOPIC='t', PARTITIONS=1, KEY_FORMAT='{form}', VALUE_FORMAT='JSON');"
    return next(s for s in ksql.compile(text, Catalog()).steps if isinstance(s, DefineSource)).source


def test_a_key_s_partition_follows_from_its_bytes() -> None:
    wish = Wish.of("KEY = 'u1'")
    assert own_partition(wish, None, 12) == partition_of(b"u1", 12)
    assert own_partition(wish, source("(id STRING KEY, a INT)", "KAFKA"), 12) == partition_of(b"u1", 12)
    assert own_partition(wish, source("(id STRING KEY, a INT)", "JSON"), 12) == partition_of(b'"u1"', 12)
    seven = Wish.of("id = 7")
    big = partition_of((7).to_bytes(8, "big"), 12)
    assert own_partition(seven, source("(id BIGINT KEY, a INT)", "KAFKA"), 12) == big
    assert own_partition(seven, source("(a INT)", "KAFKA"), 12) is None
    assert own_partition(wish, source("(id BIGINT KEY, a INT)", "KAFKA"), 12) is None  # no number
    assert own_partition(Wish.of("a = 5"), source("(id STRING KEY, a INT)", "KAFKA"), 12) is None

"""How far a query has written, by the ids in its output; and what readers are told of it."""

from __future__ import annotations

from orion.hub.records import Record
from orion.runtime.headers import Own, seen_in


def record(partition: int, id_: str | None) -> Record:
    headers = () if id_ is None else (("orion.id", id_.encode()),)
    return Record("out", partition, 0, 0, None, None, headers)


def test_the_furthest_id_counts_for_each_pair_of_partitions() -> None:
    written = [record(0, "Q/in/0/9/0"), record(0, "Q/in/0/10/1"), record(0, "Q/in/0/10/0"), record(1, "Q/in/0/4/0")]
    assert seen_in([*written, record(0, "Q/in/1/3/0")], "Q") == {
        ("in", 0): {0: (10, 1), 1: (4, 0)},
        ("in", 1): {0: (3, 0)},
    }


def test_records_of_others_and_without_an_id_tell_nothing() -> None:
    others = (None, "P/in/0/9/0", "Q/in/0/9", "Q/in/0/x/0", "Q2/in/0/1/0")
    assert seen_in([record(0, id_) for id_ in others], "Q") == {}


def test_only_a_run_that_may_repeat_has_the_header() -> None:
    assert "orion.seen" not in Own("Q").column
    column = Own("Q", {("in", 0): {0: (10, 1), 1: (4, 0)}}).column
    assert "'0:10.1,1:4.0'" in column
    assert "ROWPARTITION = 0 AND ROWOFFSET <= 10L" in column

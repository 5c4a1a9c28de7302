from __future__ import annotations

import pytest

from orion.clients.distinct import Distinct, Id
from orion.clients.message import Message
from orion.hub.records import Record

HERE, THERE = ("out", 0), ("out", 1)


def id_of(offset: int, index: int = 0, query: str = "Q_1", partition: int = 0) -> str:
    return f"{query}/plays/{partition}/{offset}/{index}"


def shown(distinct: Distinct, *ids: str) -> list[str]:
    return [one for one in ids if distinct.new(HERE, one)]


def test_what_a_query_writes_again_after_a_crash_is_dropped() -> None:
    first = [id_of(1), id_of(2, 0), id_of(2, 1), id_of(5)]
    again = [id_of(2, 0), id_of(2, 1), id_of(5), id_of(6)]
    assert shown(Distinct(), *first, *again) == [*first, id_of(6)]


def test_queries_and_source_partitions_count_for_themselves() -> None:
    ids = [id_of(9), id_of(1, query="Q_2"), id_of(1, partition=1)]
    assert shown(Distinct(), *ids) == ids


def test_output_partitions_count_for_themselves() -> None:
    """They are read at different speeds: that one is at 9 says nothing about the other's 5."""
    distinct = Distinct()
    assert distinct.new(HERE, id_of(9))
    assert distinct.new(THERE, id_of(5))
    assert not distinct.new(THERE, id_of(5))


def test_a_gap_is_filled_from_behind() -> None:
    """A request failed while the one behind it was under way."""
    assert shown(Distinct(), id_of(1), id_of(3), id_of(1), id_of(2), id_of(3)) == [id_of(1), id_of(3), id_of(2)]


def test_memory_is_bounded_and_what_it_has_lost_is_judged_by_order() -> None:
    distinct = Distinct(most=10)
    assert shown(distinct, *map(id_of, range(1000))) == [id_of(n) for n in range(1000)]
    assert shown(distinct, *map(id_of, range(1000))) == []
    assert len(distinct._seen[HERE]["Q_1", "plays", 0].known) == 10


def test_a_partition_that_is_read_from_elsewhere_is_read_without_memory() -> None:
    distinct = Distinct()
    assert distinct.new(HERE, id_of(9))
    distinct.forget(HERE)
    assert distinct.new(HERE, id_of(1))


@pytest.mark.parametrize("text", [None, "", "a/b", "q/t/0/1", "q/t/0/-1/0", "q/t/x/1/0", "q/t/0/1/²"])
def test_what_is_no_id_is_never_a_repeat(text: str | None) -> None:
    distinct = Distinct()
    assert distinct.new(HERE, text)
    assert distinct.new(HERE, text)


def test_a_querys_name_may_hold_a_slash() -> None:
    assert Id.parse("team/Q_1/plays/3/4/5") == Id("team/Q_1", "plays", 3, 4, 5)


@pytest.mark.parametrize(
    ("headers", "rowtime"),
    [
        ((), 50),
        ((("orion.rowtime", b"7"),), 7),
        ((("orion.rowtime", b"-7"),), -7),
        ((("orion.rowtime", b"7"), ("orion.rowtime", b"8")), 8),
        ((("orion.rowtime", b"soon"),), 50),
        ((("orion.rowtime", b""),), 50),
        ((("orion.rowtime", None),), 50),
    ],
)
def test_the_rows_time_is_the_headers_or_the_records(
    headers: tuple[tuple[str, bytes | None], ...], rowtime: int
) -> None:
    assert Message(Record("out", 0, 0, 50, None, None, headers)).rowtime == rowtime

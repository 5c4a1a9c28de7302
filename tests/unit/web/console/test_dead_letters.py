"""Repairs of dead letters, as the console offers them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orion import ksql
from orion.errors import UserError
from orion.formats.rows.checking import Fault, checker
from orion.hub.dead_letters import Letter, Repaired
from orion.hub.records import Record
from orion.plan.catalog import Catalog
from orion.runtime.letter_checks import faults_of, readers
from orion.web.console.questions.dead_letters import (
    KEPT,
    Choice,
    Repair,
    Review,
    box_of,
    difference,
)
from orion.web.console.replaying import review_html


def letter(code: str, offset: int) -> Letter:
    return Letter(Record("dlq.S", 0, offset, 1, None, b"{}", (("orion.error.code", code.encode()),)))


def test_letters_are_chosen_by_code_or_by_themselves() -> None:
    letters = [letter("A", 1), letter("B", 2)]
    assert [one.record.offset for one in letters if Choice("B").takes(one)] == [2]
    assert [one.record.offset for one in letters if Choice(id="dlq.S/0/1").takes(one)] == [1]
    assert all(Choice().takes(one) for one in letters)


def test_fields_are_set_one_a_line() -> None:
    assert Repair("total=7\n\nzip=10115x\n")(b'{"total": "a lot"}') == b'{"total":7,"zip":"10115x"}'
    assert Repair()(b"as it is") == b"as it is"
    assert Repair(value='{"new": 1}')(b"old") == b'{"new": 1}'
    with pytest.raises(UserError, match="sets no field"):
        Repair("oops")(b"{}")


def at(partition: int, offset: int, ms: int, source: str = "") -> Letter:
    names = ("topic", "partition", "offset")
    told = {f"orion.source.{name}": value for name, value in zip(names, source.split("/"), strict=False)}
    said = {"orion.error.code": "VALUE_UNREADABLE", **told}
    headers = tuple((name, value.encode()) for name, value in said.items())
    return Letter(Record("dlq.S", partition, offset, ms, b"k", b'{"total": "a lot"}', headers))


def test_the_newest_letters_are_newest_whichever_partition_they_are_in() -> None:
    """As they come out of several partitions: each in its order, one behind the other."""
    letters = [at(0, n, 1000 + n) for n in range(400)] + [at(1, n, 10 + n) for n in range(300)]
    found = box_of("S", letters)
    assert len(found.letters) == KEPT
    assert [(one.record.partition, one.record.offset) for one in found.letters[:2]] == [(0, 399), (0, 398)]
    times = [one.record.timestamp or 0 for one in found.letters]
    assert times == sorted(times, reverse=True)
    assert (found.total, found.waiting) == (700, 700)


def test_only_what_can_go_back_is_offered_to_be_sent() -> None:
    late = Letter(Record("dlq.S", 0, 3, 5, None, b"{}", (("orion.error.code", b"LATE_ROW"),)))
    letters = [at(0, 1, 1, "t/0/7"), replace(at(0, 2, 2, "t/0/7"), replayed=True), late]
    assert box_of("S", letters).sendable == 1
    assert box_of("S", letters).waiting == 2
    assert box_of("S", letters, "LATE_ROW").sendable == 0


SCRIPT = """
CREATE STREAM orders (id STRING KEY, total DOUBLE) WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM texts (id STRING KEY, total STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE STREAM s AS SELECT * FROM orders EMIT CHANGES;
"""


def test_values_are_held_against_what_the_query_reads() -> None:
    catalog = Catalog()
    for text in ksql.split(SCRIPT):
        for step in ksql.compile(text, catalog).steps:
            catalog = catalog.after(step)
    assert [source.name for source in readers(catalog, "S", "t")] == ["ORDERS"]
    assert [source.name for source in readers(catalog, "GONE", "t")] == ["ORDERS", "TEXTS"]
    assert readers(catalog, "S", "elsewhere") == []
    letter = at(0, 1, 1, "t/0/7")
    checks = {"t": [checker(source, lambda _: None) for source in readers(catalog, "S", "t")]}
    assert set(faults_of([Repaired(letter, b'{"total": "much"}')], checks)) == {letter.id}
    assert faults_of([Repaired(letter, b'{"total": 7}')], checks) == {}


def test_what_differs_is_shown_before_it_goes() -> None:
    letter = at(0, 1, 1, "t/0/7")
    lines = difference(Repaired(letter, b'{"total": 7}'))
    assert [line for line in lines if line[0] != " "] == [("-", '  "total": "a lot"'), ("+", '  "total": 7')]
    shown = review_html(Review((Repaired(letter, b'{"total": 7}'),), {}))
    assert "<ins>" in shown
    assert "dead letters again" not in shown
    warned = review_html(Review((Repaired(letter, letter.record.value),), {letter.id: Fault("C", "why")}, ("t",)))
    assert "1 of 1 would become dead letters again" in warned
    assert "No stream or table is declared" in warned
    assert "unchanged" in warned

"""What a relation tells of how it runs: its operators, how they take rows, and who writes what they make."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.relations import (
    Aggregate,
    Relation,
    Scan,
    Union,
    has_own_slots,
    inputs,
    is_stateful,
    operator_count,
    why_row_by_row,
)
from orion.plan.steps import DefineSource, StartQuery

SOURCES = """
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM r (k STRING KEY, c INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE t (k STRING PRIMARY KEY, d INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE u (d INT PRIMARY KEY, e INT) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON', PARTITIONS=2);
"""
STREAM, TABLE = "CREATE STREAM o AS", "CREATE TABLE o AS"
COUNT = f"{TABLE} SELECT b, COUNT(*) AS n FROM s"


def get_relation(statement: str, properties: Mapping[str, str] | None = None) -> Relation:
    catalog = Catalog()
    for text in ksql.split(SOURCES):
        for step in ksql.compile(text, catalog).steps:
            if isinstance(step, DefineSource):
                catalog = catalog.put(step.source)
    steps = ksql.compile(statement, catalog, properties or {}).steps
    [query] = [step.query for step in steps if isinstance(step, StartQuery)]
    return query.relation


def find_aggregate(relation: Relation) -> Aggregate:
    while not isinstance(relation, Aggregate):
        (relation,) = inputs(relation)
    return relation


# Each statement, how many operators it has, and whether each task of them writes by itself.
OPERATORS = [
    (f"{STREAM} SELECT k, a + 1 AS c FROM s WHERE a > 1", 0, False),
    (f"{STREAM} SELECT k, EXPLODE(ARRAY[a, 1]) AS x FROM s", 0, False),
    (f"{COUNT} GROUP BY b", 1, True),
    (f"{COUNT} WINDOW SESSION (1 MINUTE) GROUP BY b HAVING COUNT(*) > 1", 1, True),
    (f"{STREAM} SELECT DISTINCT k, a FROM s WINDOW TUMBLING (SIZE 1 MINUTE)", 1, True),
    (f"{TABLE} SELECT k, d FROM t WHERE d > 1", 1, True),
    (f"{STREAM} SELECT s.k, a, c FROM s JOIN r WITHIN 1 MINUTE ON s.k = r.k", 1, True),
    (f"{STREAM} SELECT s.k, a, d FROM s JOIN t ON s.k = t.k WHERE a > 1", 1, True),
    # A table's rows are remembered by the table's key, and folded by the group's.
    (f"{TABLE} SELECT d, COUNT(*) AS n FROM t GROUP BY d", 2, False),
    # A row is subscribed where it points to, and served there.
    (f"{TABLE} SELECT t.k, e FROM t JOIN u ON t.d = u.d", 2, False),
    (f"{TABLE} SELECT s.k, COUNT(*) AS n FROM s JOIN t ON s.k = t.k GROUP BY s.k", 2, False),
    (f"{STREAM} SELECT s.k, a, c, d FROM s JOIN r WITHIN 1 MINUTE ON s.k = r.k JOIN t ON s.k = t.k", 2, False),
]


@pytest.mark.parametrize(("statement", "count", "own_slots"), OPERATORS)
def test_operators_are_counted_and_a_single_one_writes_by_itself(statement: str, count: int, own_slots: bool) -> None:
    relation = get_relation(statement)
    assert operator_count(relation) == count
    assert has_own_slots(relation) is own_slots
    assert is_stateful(relation) is (count > 0)


def test_what_brings_an_operators_rows_together_with_others_writes_for_it() -> None:
    counted = get_relation(f"{COUNT} GROUP BY b")
    (scan,) = inputs(counted)
    assert isinstance(scan, Scan)
    assert operator_count(Union((counted, scan))) == 1
    assert not has_own_slots(Union((counted, scan)))
    assert operator_count(Union((counted, counted))) == 2


@pytest.mark.parametrize(
    ("statement", "properties", "why"),
    [
        (f"{COUNT} GROUP BY b", {}, None),
        (f"{COUNT} GROUP BY b HAVING COUNT(*) > 1", {}, None),
        (f"{COUNT} WINDOW HOPPING (SIZE 2 MINUTES, ADVANCE BY 1 MINUTE) GROUP BY b", {}, None),
        (f"{COUNT} WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY b EMIT FINAL", {}, None),
        (f"{COUNT} WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY b", {"orion.late.rows": "keep"}, None),
        (f"{TABLE} SELECT b, COLLECT_LIST(a) AS n FROM s GROUP BY b", {}, None),
        (f"{COUNT} WINDOW SESSION (1 MINUTE) GROUP BY b", {}, "sessions merge"),
        (f"{COUNT} GROUP BY b", {"cache.max.bytes.buffering": "0"}, "the cache is off"),
        (f"{TABLE} SELECT d, COUNT(*) AS n FROM t GROUP BY d", {}, "takes back"),
        (f"{COUNT} GROUP BY b".replace(" AS", " WITH (TTL='1 minute') AS", 1), {}, "TTL"),
    ],
)
def test_rows_are_folded_together_unless_one_by_one_is_something_else(
    statement: str, properties: dict[str, str], why: str | None
) -> None:
    found = why_row_by_row(find_aggregate(get_relation(statement, properties)))
    if why is None:
        assert found is None
    else:
        assert why in (found or "")

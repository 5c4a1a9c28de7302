"""Which queries mind that a topic gets partitions, and how much."""

from __future__ import annotations

import pytest

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.partitions import Bond, bonds
from orion.plan.relations import Scan
from orion.plan.steps import DefineSource, StartQuery

SOURCES = """
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM r (k STRING KEY, c INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE t (k STRING PRIMARY KEY, d INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE u (d INT PRIMARY KEY, e INT) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON', PARTITIONS=2);
"""


def known() -> Catalog:
    catalog = Catalog()
    for text in ksql.split(SOURCES):
        for step in ksql.compile(text, catalog).steps:
            if isinstance(step, DefineSource):
                catalog = catalog.put(step.source)
    return catalog


def bonds_of(select: str, kind: str) -> dict[str, Bond]:
    steps = ksql.compile(f"CREATE {kind} o AS {select} EMIT CHANGES", known()).steps
    [query] = [step.query for step in steps if isinstance(step, StartQuery)]
    return bonds(query.relation)


@pytest.mark.parametrize(
    ("select", "bond"),
    [
        ("SELECT k, a + 1 AS c FROM s WHERE a > 1", Bond.NONE),
        ("SELECT k, EXPLODE(ARRAY[a, 1]) AS x FROM s", Bond.NONE),
        ("SELECT * FROM s PARTITION BY b", Bond.NONE),
        ("SELECT DISTINCT k, a FROM s WINDOW TUMBLING (SIZE 1 MINUTE)", Bond.ORDER),
    ],
)
def test_streams(select: str, bond: Bond) -> None:
    assert bonds_of(select, "STREAM") == {"s": bond}


@pytest.mark.parametrize(
    ("select", "bond"),
    [
        ("SELECT b, COUNT(*) AS n, SUM(a) AS x FROM s GROUP BY b", Bond.KEY),
        ("SELECT b, MAX(a) AS n FROM s GROUP BY b HAVING MAX(a) > 1", Bond.KEY),
        # A row that a window takes for late is left out of it.
        ("SELECT b, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY b", Bond.ORDER),
        ("SELECT b, COUNT(*) AS n FROM s WINDOW SESSION (1 MINUTE) GROUP BY b", Bond.ORDER),
        # What comes first or last, or stands in the order of arrival, hangs on it; by the key as by anything else.
        ("SELECT b, LATEST_BY_OFFSET(a) AS n FROM s GROUP BY b", Bond.ORDER),
        ("SELECT b, COLLECT_LIST(a) AS n FROM s GROUP BY b", Bond.ORDER),
        ("SELECT k, LATEST_BY_OFFSET(a) AS n FROM s GROUP BY k", Bond.ORDER),
        ("SELECT k, COUNT(*) AS m, EARLIEST_BY_OFFSET(a) AS n FROM s WHERE a > 1 GROUP BY k", Bond.ORDER),
        ("SELECT b, TOPK_FREQUENT(a, 2) AS n FROM s GROUP BY b", Bond.ORDER),
        ("SELECT b, TOPK(a, k, 2) AS n FROM s GROUP BY b", Bond.ORDER),
        ("SELECT b, TOPK(a, 2) AS n, TOPKDISTINCT(a, 2) AS m, ATTR(a) AS o FROM s GROUP BY b", Bond.KEY),
    ],
)
def test_aggregates(select: str, bond: Bond) -> None:
    assert bonds_of(select, "TABLE") == {"s": bond}


def test_a_tables_last_row_counts_whatever_is_made_of_it() -> None:
    assert bonds_of("SELECT k, d FROM t WHERE d > 1", "TABLE") == {"t": Bond.ORDER}
    assert bonds_of("SELECT d, COUNT(*) AS n FROM t GROUP BY d", "TABLE") == {"t": Bond.ORDER}
    assert bonds(Scan(known().sources["T"])) == {"t": Bond.ORDER}
    assert bonds(Scan(known().sources["S"])) == {"s": Bond.NONE}


def test_joins() -> None:
    looked_up = "SELECT s.k, a, d FROM s LEFT JOIN t ON s.k = t.k"
    assert bonds_of(looked_up, "STREAM") == {"s": Bond.KEY, "t": Bond.ORDER}
    near = "SELECT s.k, a, c FROM s JOIN r WITHIN 1 MINUTE ON s.k = r.k"
    assert bonds_of(near, "STREAM") == {"s": Bond.ORDER, "r": Bond.ORDER}
    foreign = "SELECT t.k, e FROM t JOIN u ON t.d = u.d"
    assert bonds_of(foreign, "TABLE") == {"t": Bond.ORDER, "u": Bond.ORDER}
    last = "SELECT s.k, LATEST_BY_OFFSET(a) AS n FROM s JOIN t ON s.k = t.k GROUP BY s.k"
    assert bonds_of(last, "TABLE") == {"s": Bond.ORDER, "t": Bond.ORDER}

"""Which statements can run as one stream, and what is said of one that can't."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.relations import Guarantee, Query
from orion.plan.sharing import SharedWork, describe_stream, why_alone
from orion.plan.steps import StartQuery

SOURCES = """
CREATE STREAM s (k STRING KEY, v INT, l ARRAY<INT>) WITH (kafka_topic='s', value_format='JSON');
CREATE STREAM t (k STRING KEY, v INT, l ARRAY<INT>) WITH (kafka_topic='t', value_format='JSON');
CREATE TABLE u (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='u', value_format='JSON');
"""


def compiled(statement: str) -> Query:
    catalog, queries = Catalog(), []
    for text in ksql.split(f"{SOURCES} CREATE {statement};"):
        for step in ksql.compile(text, catalog).steps:
            catalog = catalog.after(step)
            queries += [step.query] if isinstance(step, StartQuery) else []
    return queries[0]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("STREAM o AS SELECT k, v + 1 AS w FROM s WHERE v > 3", None),
        ("STREAM o AS SELECT v, k FROM s PARTITION BY v", None),
        ("TABLE o AS SELECT k, COUNT(*) AS n FROM s GROUP BY k", None),
        ("STREAM o AS SELECT DISTINCT k, v FROM s WINDOW TUMBLING (SIZE 1 HOUR)", None),
        ("TABLE o AS SELECT v, COUNT(*) AS n FROM u GROUP BY v", "it has several keyed operators"),
        (
            "STREAM o AS SELECT a.k AS k, b.v AS v FROM s a JOIN t b WITHIN 1 HOUR ON a.k = b.k",
            "it reads several sources",
        ),
        ("STREAM o AS SELECT k, EXPLODE(l) AS each FROM s", "it makes several rows of one"),
        ("STREAM o WITH (guarantee='fast') AS SELECT k, v FROM s", "it runs in real-time mode"),
        ("STREAM o WITH (value_format='PROTOBUF_NOSR') AS SELECT k, v FROM s", "O is written in Python"),
    ],
)
def test_why_one_runs_by_itself(statement: str, why: str | None) -> None:
    assert why_alone(compiled(statement)) == why


def test_one_that_was_fast_once_runs_by_itself() -> None:
    query = compiled("STREAM o WITH (guarantee='fast') AS SELECT k, v FROM s")
    assert why_alone(replace(query, guarantee=Guarantee.EXACT)) == "its records tell repeats"


def test_those_over_one_source_do_the_same_work() -> None:
    one, other = compiled("STREAM o AS SELECT k, v FROM s WHERE v > 3"), compiled("STREAM p AS SELECT * FROM s")
    assert SharedWork.of(one, 300) == SharedWork.of(other, 300)
    assert SharedWork.of(one, 300) != SharedWork.of(one, 500)
    assert SharedWork.of(one, 300) != SharedWork.of(compiled("STREAM o AS SELECT k, v FROM t"), 300)
    assert SharedWork.of(one, 300) != SharedWork.of(replace(other, profile="throughput"), 300)


def test_those_that_keep_state_share_among_themselves() -> None:
    plain, counting = (
        compiled("STREAM o AS SELECT k, v FROM s"),
        compiled("TABLE o AS SELECT k, MAX(v) FROM s GROUP BY k"),
    )
    distinct = compiled("STREAM o AS SELECT DISTINCT k, v FROM s WINDOW TUMBLING (SIZE 1 HOUR)")
    assert SharedWork.of(plain, 300) != SharedWork.of(counting, 300)
    assert SharedWork.of(distinct, 300) == SharedWork.of(counting, 300)


def test_what_is_said_of_a_stream() -> None:
    query = compiled("STREAM o AS SELECT k, v FROM s")
    assert describe_stream(query, ["B", "A"], shares=True) == "runs in one stream with A, B"
    alone = "has a stream of its own: "
    assert describe_stream(query, [], shares=True) == f"{alone}no other statement over S runs beside it"
    assert describe_stream(query, [], shares=False) == f"{alone}engine.share_statements is off"
    fast = compiled("STREAM o WITH (guarantee='fast') AS SELECT k, v FROM s")
    assert describe_stream(fast, [], shares=True) == f"{alone}it runs in real-time mode"

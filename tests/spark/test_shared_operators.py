"""What statements with a keyed operator make is the same to the byte, whether each runs by itself or all in one
stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from orion.plan.relations import Query
from orion.plan.sharing import why_alone
from orion.runtime import rows
from orion.runtime.dataframe import outgoing
from orion.runtime.lanes.exact import SENT, pack_outgoing
from orion.runtime.operators.pooled import MEMBER
from orion.runtime.operators.spread import Spread
from orion.runtime.shared_operators import KeyedBranch, operate_all
from orion.runtime.shared_projection import Branch
from orion.runtime.simplified import simplified
from tests.spark.test_shared_projection import STREAM, TABLE, Row, compile_all, kafka_records

OVER_STREAM = (
    "TABLE o{n} AS SELECT k, COUNT(*) AS n FROM s GROUP BY k",
    "TABLE o{n} AS SELECT k, SUM(v) AS total, MAX(v) AS most, AVG(v) AS mean FROM s WHERE v > {n} GROUP BY k",
    "TABLE o{n} AS SELECT k, COUNT(*) AS n FROM s GROUP BY k HAVING COUNT(*) > 1",
    "TABLE o{n} AS SELECT v, LATEST_BY_OFFSET(t) AS t, COLLECT_LIST(id) AS ids FROM s GROUP BY v",
    "TABLE o{n} AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 2 SECONDS) GROUP BY k",
    "TABLE o{n} AS SELECT k, COUNT(*) AS n FROM s WINDOW HOPPING (SIZE 4 SECONDS, ADVANCE BY 2 SECONDS) GROUP BY k",
    "TABLE o{n} AS SELECT k, COUNT(*) AS n FROM s WINDOW SESSION (1 SECONDS) GROUP BY k",
    "TABLE o{n} AS SELECT k, SUM(v) AS v FROM s WINDOW TUMBLING (SIZE 1 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k"
    " EMIT FINAL",
    "TABLE o{n} WITH (key_format='JSON') AS SELECT k, t, COUNT_DISTINCT(id) AS n FROM s GROUP BY k, t",
    "TABLE o{n} AS SELECT UCASE(k) AS up, HISTOGRAM(t) AS h, EARLIEST_BY_OFFSET(u->b) AS b FROM s GROUP BY UCASE(k)",
    "STREAM o{n} AS SELECT DISTINCT k, v FROM s WINDOW TUMBLING (SIZE 2 SECONDS)",
    "STREAM o{n} AS SELECT DISTINCT k, t FROM s WINDOW TUMBLING (SIZE 1 SECONDS, GRACE PERIOD 0 SECONDS)",
)
OVER_TABLE = (
    "TABLE o{n} AS SELECT * FROM s WHERE v > {n}",
    "TABLE o{n} AS SELECT k, v * 2 AS twice, u FROM s WHERE t LIKE '%a%'",
    "TABLE o{n} AS SELECT k, l FROM s WHERE v IS NOT NULL",
)


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    """As Spark's Kafka source gives them; some are late for windows without grace."""
    return kafka_records(spark, lambda at: [0, 6_000, 500, 2_300, 900, 4_000, 4_100, 3_900, 9_000, 8_500][at])


def run_alone(query: Query, records: DataFrame, tasks: int) -> list[Row]:
    return _rows(pack_outgoing(outgoing(query, lambda _: records, spread=_spread(query, tasks))))


def run_together(queries: Sequence[Query], records: DataFrame, tasks: Sequence[int]) -> list[list[Row]]:
    branches = [
        KeyedBranch(Branch(query), _spread(query, count), f"orion.{query.id}")
        for query, count in zip(queries, tasks, strict=True)
    ]
    frame = simplified(operate_all(branches, records)).cache()
    try:
        return [_rows(frame.where(f"{MEMBER} = {n}")) for n in range(len(queries))]
    finally:
        frame.unpersist()


def _spread(query: Query, tasks: int) -> Spread:
    return Spread(tasks, by_partitioner=query.by_partitioner)


def _rows(frame: DataFrame) -> list[Row]:
    """Tasks end in any order: only rows of one key have an order."""
    found = frame.select(*SENT, rows.STATE).collect()
    made = [tuple(bytes(v) if isinstance(v, bytearray) else v for v in row) for row in found]
    return sorted(made, key=lambda row: msgpack.packb(row[0]))


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize(
    ("source", "statements"), [(STREAM, OVER_STREAM), (TABLE, OVER_TABLE)], ids=["stream", "table"]
)
def test_all_of_them(records: DataFrame, source: str, statements: tuple[str, ...], tasks: int) -> None:
    queries = compile_all(source, statements)
    assert [why_alone(query) for query in queries] == [None] * len(queries)
    alone = [run_alone(query, records, tasks) for query in queries]
    together = run_together(queries, records, [tasks] * len(queries))
    for query, one, other in zip(queries, together, alone, strict=True):
        assert one == other, query.statement
    assert all(len(made) > 1 for made in alone)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(OVER_STREAM), st.integers(1, 4)), min_size=2, max_size=4))
def test_any_of_them_with_tasks_of_their_own(records: DataFrame, chosen: list[tuple[str, int]]) -> None:
    queries, tasks = compile_all(STREAM, [statement for statement, _ in chosen]), [count for _, count in chosen]
    alone = [run_alone(query, records, count) for query, count in zip(queries, tasks, strict=True)]
    assert run_together(queries, records, tasks) == alone


def test_late_rows_are_letters_of_the_one_that_keeps_them(records: DataFrame) -> None:
    queries = compile_all(STREAM, [OVER_STREAM[7], OVER_STREAM[11], *OVER_STREAM[7:8]])
    queries = [replace(query, keeps_late=at < 2) for at, query in enumerate(queries)]
    alone = [run_alone(query, records, 1) for query in queries]
    assert run_together(queries, records, [1] * 3) == alone
    told = [sum(b"LATE_ROW" in str(row[3]).encode() for row in made) for made in alone]
    assert told[0] > 0
    assert told[1] > 0
    assert told[2] == 0


def test_one_that_has_read_further_gets_nothing_twice(records: DataFrame) -> None:
    queries = compile_all(STREAM, OVER_STREAM[:1] * 2)
    branches = [
        KeyedBranch(Branch(queries[0]), Spread(1), "orion.a"),
        KeyedBranch(Branch(queries[1], {0: 4, 2: 100}), Spread(1), "orion.b"),
    ]
    frame = operate_all(branches, records)
    seen = records.where("(partition = 0 AND offset >= 4) OR partition = 1")
    assert _rows(frame.where(f"{MEMBER} = 1")) == run_alone(queries[1], seen, 1)

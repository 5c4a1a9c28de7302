"""Plans simplified before their stream starts: the same rows, less to plan, and the batch's own time."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import DataFrame, SparkSession

from orion.runtime.dataframe import outgoing
from orion.runtime.lanes.exact import pack_outgoing
from orion.runtime.operators.spread import Spread
from orion.runtime.simplified import EXCLUDED_RULES, FOLDING, simplified
from tests.spark.test_shared_operators import OVER_STREAM as KEYED
from tests.spark.test_shared_projection import OVER_STREAM, STREAM, compile_all, kafka_records


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    return kafka_records(spark, lambda at: at)


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().analyzed().toString())


def test_the_same_rows_come_of_a_smaller_plan(spark: SparkSession) -> None:
    frame = (
        spark.range(10)
        .selectExpr("id AS a", "CASE WHEN TRUE THEN id * 2 END AS b", "id AS unused")
        .selectExpr("a", "IF(isnull(NULL), b + 1, 0) AS c", "b", "unused")
        .where("c > 5 OR FALSE")
        .selectExpr("a", "c AS d")
    )
    small = simplified(frame)
    assert small.collect() == frame.collect() == [(a, 2 * a + 1) for a in range(3, 10)]
    assert (plan(frame).count("Project"), plan(small).count("Project")) == (3, 1)
    assert "CASE WHEN" in plan(frame)
    assert "CASE WHEN" not in plan(small)


def test_a_batchs_time_is_left_to_the_batch(spark: SparkSession) -> None:
    timed = spark.range(1).selectExpr("current_date() AS day", "current_timestamp() AS now", "unix_timestamp() AS s")
    told = plan(simplified(timed))
    assert "current_date(" in told
    assert told.count("current_timestamp(") == 2
    assert "3 AS n" in plan(simplified(spark.range(1).selectExpr("1 + 2 AS n")))


def list_optional_rules(spark: SparkSession) -> set[str]:
    """Those that Spark's optimizer has, and lets a setting leave out."""
    optimizer = spark._jsparkSession.sessionState().optimizer()
    found, each = set(), optimizer.defaultBatches().iterator()
    while each.hasNext():
        rules = each.next().rules().iterator()
        while rules.hasNext():
            found.add(str(rules.next().ruleName()))
    return found - set(optimizer.nonExcludableRules().mkString("|").split("|"))


def test_rules_that_are_left_out_are_there_to_be_left_out(spark: SparkSession) -> None:
    """Spark says nothing to a name that it doesn't know."""
    assert set(EXCLUDED_RULES) | {FOLDING} <= list_optional_rules(spark)


@pytest.mark.parametrize("is_folded", [False, True])
@pytest.mark.parametrize(
    "statement", [*OVER_STREAM, *KEYED, "STREAM o{n} AS SELECT k, v FROM s WHERE v BETWEEN 1 AND 5 AND t IN ('a', 'b')"]
)
def test_they_would_find_nothing_to_do(
    spark: SparkSession, records: DataFrame, statement: str, is_folded: bool
) -> None:
    [query] = compile_all(STREAM, [statement])
    frame = simplified(pack_outgoing(outgoing(query, lambda _: records, spread=Spread(2))))
    name = "spark.sql.optimizer.excludedRules"
    try:
        spark.conf.set(name, "")
        wanted = optimize(spark, frame)
        spark.conf.set(name, ",".join((*EXCLUDED_RULES, FOLDING) if is_folded else EXCLUDED_RULES))
        assert optimize(spark, frame) == wanted
    finally:
        spark.conf.unset(name)


def optimize(spark: SparkSession, frame: DataFrame) -> str:
    """The plan as a batch has it, without the numbers of its columns."""
    jvm = spark._jvm
    assert jvm is not None
    again = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, frame._jdf.queryExecution().logical())
    return re.sub(r"#\d+L?", "#", str(again.queryExecution().optimizedPlan().toString()))

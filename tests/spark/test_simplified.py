"""Plans simplified before their stream starts: the same rows, less to plan, and the batch's own time."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from orion.runtime.simplified import simplified


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

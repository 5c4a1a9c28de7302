"""Orion's own reckoning of Spark's `hash`, by which state records are sent to the tasks that rows are sent to."""

from __future__ import annotations

from random import Random

import pytest
from pyspark.sql import functions as F

from orion.runtime.operators.key_hash import find_tasks
from orion.runtime.session import Spark


@pytest.mark.parametrize("tasks", [1, 2, 3, 7, 64])
def test_a_key_has_the_task_that_spark_sends_its_rows_to(spark: Spark, tasks: int) -> None:
    chance = Random(tasks)
    keys = [chance.randbytes(length) for length in range(70) for _ in range(6)]
    keys += [b"\xff" * length for length in range(9)] + [b"\x80\x7f" * length for length in range(9)]
    keys += [chance.randbytes(100_003)]
    frame = spark.createDataFrame([(at, key) for at, key in enumerate(keys)], "at INT, key BINARY")
    asked = frame.orderBy("at").select(F.expr(f"pmod(hash(key), {tasks})"))
    assert find_tasks(keys, tasks).tolist() == [row[0] for row in asked.collect()]


def test_rows_are_spread_to_the_task_of_their_key(spark: Spark) -> None:
    keys = [f"s{number}".encode() for number in range(100)]
    frame = spark.createDataFrame([(key,) for key in keys], "key BINARY")
    spread = frame.repartitionById(5, F.expr("pmod(hash(key), 5)")).select("key", F.spark_partition_id())
    assert dict(zip(keys, find_tasks(keys, 5).tolist(), strict=True)) == {bytes(k): at for k, at in spread.collect()}

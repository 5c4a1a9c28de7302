"""Keys go to the tasks that have the numbers of their partitions."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from orion.hub.partitioning import partition_of
from orion.plan.relations import Expr
from orion.runtime import packing
from orion.runtime.operators.placing import find_placed_task, kafka_bytes, kafka_hash, placed_type
from orion.runtime.operators.spread import KEY, Spread
from orion.schema import Scalar, spark_type

TEXTS = [
    "",
    "a",
    "song",
    "s\u00f6ng",
    "a longer one, of more than sixty-three bytes, so that its length takes two of them",
]
NUMBERS = [0, 1, -1, 42, -65, 2_147_483_647, -2_147_483_648]
KEYS = [
    (Scalar.STRING, TEXTS, [text.encode() for text in TEXTS]),
    (Scalar.BYTES, [text.encode() for text in TEXTS], [text.encode() for text in TEXTS]),
    (Scalar.INTEGER, NUMBERS, [number.to_bytes(4, "big", signed=True) for number in NUMBERS]),
    (Scalar.BIGINT, NUMBERS, [number.to_bytes(8, "big", signed=True) for number in NUMBERS]),
]


def pack_keys(spark: SparkSession, type_: Scalar, values: list[Any]) -> DataFrame:
    frame = spark.createDataFrame([(v,) for v in values], f"k {spark_type(type_)}")
    return frame.selectExpr(f"{packing.pack([('k', type_)])} AS {KEY}")


@pytest.mark.parametrize(("type_", "values", "written"), KEYS)
def test_a_key_goes_where_a_producer_puts_it(
    spark: SparkSession, type_: Scalar, values: list[Any], written: list[bytes]
) -> None:
    assert placed_type([Expr("k", type_, "k")]) is type_
    place = kafka_hash(spark, F.expr(kafka_bytes(KEY, type_)))
    found = pack_keys(spark, type_, values).select(KEY, F.pmod(place, F.lit(7)).alias("task")).collect()
    wanted = [partition_of(key, 7) for key in written]
    assert [row.task for row in found] == wanted
    assert [find_placed_task(bytes(row[KEY]), type_, 7) for row in found] == wanted


def test_keys_without_one_form_in_kafka_have_no_place() -> None:
    text, number = Expr("k", Scalar.STRING, "k"), Expr("d", Scalar.DOUBLE, "d")
    assert placed_type([text, text]) is None
    assert placed_type([number]) is None


@pytest.mark.parametrize("placed", [Scalar.STRING, None])
def test_rows_come_to_the_tasks_of_their_keys(spark: SparkSession, placed: Scalar | None) -> None:
    songs = [f"song{number}" for number in range(20)]
    tasks = Spread(4, placed=[placed])
    spread = tasks._spread(pack_keys(spark, Scalar.STRING, songs))
    hashed = F.expr(f"pmod(hash({KEY}), 4)").alias("hashed")
    found = spread.select(F.spark_partition_id().alias("task"), KEY, hashed).collect()
    by_hash = {bytes(row[KEY])[1:]: row.hashed for row in found}
    by_partition = {song.encode(): partition_of(song.encode(), 4) for song in songs}
    assert by_hash != by_partition
    assert {bytes(row[KEY])[1:]: row.task for row in found} == (by_hash if placed is None else by_partition)

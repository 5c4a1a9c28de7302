"""Plays and seconds by user since the beginning: GROUP BY without a window.

By hand it is groupBy in update mode. What Orion does beside: dead letters, exactly-once writes with the changes of its
state among them, and the rows' times on the records.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.contest import Contest, adds_up_to
from benchmarks.counted_plays import MANY
from benchmarks.stage import Measured, Stage


def measure(stage: Stage) -> Measured:
    MANY.fill(stage)
    what = "count and sum by key, without a window"
    return Contest(
        "running_count",
        what,
        {MANY.topic: MANY.records},
        MANY.batch,
        _script,
        _by_hand,
        "update",
        adds_up_to("PLAYS", MANY.records),
    ).measure(stage)


def _script(out: str) -> str:
    return f"""{MANY.declared}
        CREATE TABLE counts WITH (kafka_topic='{out}') AS
            SELECT user_id, COUNT(*) AS plays, SUM(seconds) AS seconds FROM plays GROUP BY user_id EMIT CHANGES;
    """


def _by_hand(stage: Stage, out: str) -> DataFrame:
    counts = MANY.streamed(stage).groupBy("key").agg(F.count("*").alias("PLAYS"), F.sum("v.seconds").alias("SECONDS"))
    return counts.selectExpr("key", "to_json(struct(PLAYS, SECONDS)) AS value")

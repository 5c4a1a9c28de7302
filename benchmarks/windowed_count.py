"""Plays and seconds by user in tumbling windows of a minute, with a minute of grace.

By hand it is groupBy over a window in update mode. What Orion does beside: lateness judged row by row, dead letters,
exactly-once writes with the changes of its state among them, and the rows' times on the records.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.contest import Contest, adds_up_to
from benchmarks.counted_plays import MANY, Plays
from benchmarks.stage import Measured, Stage


def measure(stage: Stage) -> Measured:
    return contest(stage).measure(stage)


def contest(stage: Stage, plays: Plays = MANY) -> Contest:
    """The contest over these plays, which are filled in here."""
    plays.fill(stage)
    what = "count and sum by key in 1-minute windows"
    return Contest(
        "windowed_count",
        what,
        {plays.topic: plays.records},
        plays.batch,
        partial(_script, plays=plays),
        partial(_by_hand, plays=plays),
        "update",
        adds_up_to("PLAYS", plays.records),
    )


def _script(out: str, plays: Plays = MANY) -> str:
    return f"""{plays.declared}
        CREATE TABLE counts WITH (kafka_topic='{out}') AS
            SELECT user_id, COUNT(*) AS plays, SUM(seconds) AS seconds FROM plays
            WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 1 MINUTE) GROUP BY user_id EMIT CHANGES;
    """


def _by_hand(stage: Stage, out: str, plays: Plays) -> DataFrame:
    streamed = plays.streamed(stage).withWatermark("at", "1 minute")
    counts = streamed.groupBy("key", F.window("at", "1 minute")).agg(
        F.count("*").alias("PLAYS"), F.sum("v.seconds").alias("SECONDS")
    )
    return counts.selectExpr("concat(key, '@', window.start) AS key", "to_json(struct(PLAYS, SECONDS)) AS value")

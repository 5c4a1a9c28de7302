"""Users with fifteen plays or more in a minute: a windowed count with HAVING, which Orion folds in Python.

By hand it is groupBy with a filter behind it. That is less: it never takes a row back that stops fulfilling the
condition, and its windows close once a batch. With a count that only grows, both end with the same rows.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.contest import Contest, has_keys
from benchmarks.counted_plays import FEWER, Plays
from benchmarks.stage import Measured, Stage

LEAST = 15


def measure(stage: Stage) -> Measured:
    return contest(stage).measure(stage)


def contest(stage: Stage, plays: Plays = FEWER) -> Contest:
    """The contest over these plays, which are filled in here."""
    plays.fill(stage)
    what = "count by key in 1-minute windows, HAVING"
    return Contest(
        "windowed_having",
        what,
        {plays.topic: plays.records},
        plays.batch,
        partial(_script, plays=plays),
        partial(_by_hand, plays=plays),
        "update",
        has_keys(plays.busy(LEAST)),
    )


def _script(out: str, plays: Plays = FEWER) -> str:
    return f"""{plays.declared}
        CREATE TABLE counts WITH (kafka_topic='{out}') AS
            SELECT user_id, COUNT(*) AS plays FROM plays
            WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 1 MINUTE) GROUP BY user_id
            HAVING COUNT(*) >= {LEAST} EMIT CHANGES;
    """


def _by_hand(stage: Stage, out: str, plays: Plays) -> DataFrame:
    streamed = plays.streamed(stage).withWatermark("at", "1 minute")
    counts = streamed.groupBy("key", F.window("at", "1 minute")).agg(F.count("*").alias("PLAYS"))
    busy = counts.where(f"PLAYS >= {LEAST}")
    return busy.selectExpr("concat(key, '@', window.start) AS key", "to_json(struct(PLAYS)) AS value")

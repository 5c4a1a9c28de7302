"""Clicks, each with its user's name and type: a stream LEFT JOIN a table.

Spark has no join of a stream with a table that changes. The nearest by hand is a stream-static join whose static side
is the table's topic, read anew in every batch, the last record of each key. So a click sees its user as of the batch
and not as of its moment, no state is kept, and the whole topic is read for every batch, however few clicks it has.
Orion keeps the table as state and takes clicks and changes in the order of arrival.
"""

from __future__ import annotations

import json
import random

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.contest import START_MS, Contest, has_records, streamed, write
from benchmarks.stage import Measured, Stage
from orion.hub.records import Outgoing

CLICKS, USERS = "bench_clicks", "bench_users"
RECORDS, BATCH, KNOWN, EVERYBODY = 60_000, 15_000, 10_000, 11_000


def measure(stage: Stage) -> Measured:
    return contest(stage).measure(stage)


def contest(stage: Stage, records: int = RECORDS) -> Contest:
    """The contest over topics that are filled here."""
    chance = random.Random(7)
    users = ({"name": f"Name {n}", "user_type": chance.choice(["basic", "gold"])} for n in range(KNOWN))
    write(
        stage,
        USERS,
        (
            Outgoing(json.dumps(user).encode(), f"u{n}".encode(), timestamp=START_MS - KNOWN + n)
            for n, user in enumerate(users)
        ),
    )
    write(
        stage,
        CLICKS,
        (
            Outgoing(
                json.dumps({"page": f"/p/{chance.randrange(500)}", "at": START_MS + n}).encode(),
                f"u{chance.randrange(EVERYBODY)}".encode(),
                timestamp=START_MS + n,
            )
            for n in range(records)
        ),
    )
    # The users are all in the first batch, and known to be read when the clicks are.
    return Contest(
        "stream_table_join",
        "stream LEFT JOIN table (by hand: stream-static)",
        {CLICKS: records},
        BATCH,
        _script,
        _by_hand,
        "append",
        has_records(records),
    )


def _script(out: str) -> str:
    return f"""
        CREATE TABLE users (user_id STRING PRIMARY KEY, name STRING, user_type STRING)
            WITH (kafka_topic='{USERS}', value_format='JSON');
        CREATE STREAM clicks (user_id STRING KEY, page STRING, at BIGINT)
            WITH (kafka_topic='{CLICKS}', value_format='JSON', timestamp='at');
        CREATE STREAM enriched WITH (kafka_topic='{out}') AS
            SELECT c.user_id AS user_id, c.page AS page, u.name AS name, u.user_type AS user_type
            FROM clicks c LEFT JOIN users u ON c.user_id = u.user_id EMIT CHANGES;
    """


def _by_hand(stage: Stage, out: str) -> DataFrame:
    table = (
        stage.spark.read.format("kafka")
        .option("kafka.bootstrap.servers", stage.kafka.bootstrap)
        .option("subscribe", USERS)
        .load()
        .groupBy("key")
        .agg(F.max_by("value", "offset").alias("value"))  # a key's records are in one partition
        .where("value IS NOT NULL")
        .selectExpr(
            "CAST(key AS STRING) AS key",
            "from_json(CAST(value AS STRING), 'name STRING, user_type STRING') AS u",
        )
    )
    joined = streamed(stage, CLICKS, BATCH, "page STRING, at BIGINT").join(table, "key", "left")
    return joined.selectExpr("key", "to_json(struct(v.page, u.name, u.user_type)) AS value")

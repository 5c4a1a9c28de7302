"""Records a second through the demo's first query: JSON in, a filter, JSON out, malformed records set aside.

The side by hand is at-least-once and loses the records' times. Orion's is exactly once, with times kept.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.contest import START_MS, Contest, has_records, raw, write
from benchmarks.stage import Measured, Stage
from orion.hub.records import Outgoing

TOPIC = "bench_plays"
RECORDS, BATCH = 800_000, 100_000
SEED, SHORTEST_MS, BAD_EVERY = 7, 5_000, 100
SCHEMA = (
    "play_id STRING, track_id STRING, title STRING, country STRING, ms_played BIGINT, played_at BIGINT, _corrupt STRING"
)


def measure(stage: Stage) -> Measured:
    return contest(stage).measure(stage)


def contest(stage: Stage, records: int = RECORDS) -> Contest:
    """The contest over a topic that is filled here."""
    plays = list(_plays(records))
    write(stage, TOPIC, (record for record, _ in plays))
    kept = sum(good for _, good in plays)
    what = "clean plays: JSON in, filter, JSON out, dead letters"
    return Contest("clean_plays", what, {TOPIC: records}, BATCH, _script, _by_hand, "append", has_records(kept))


def _plays(records: int) -> Iterator[tuple[Outgoing, bool]]:
    """Plays, and whether each comes through."""
    chance = random.Random(SEED)
    for n in range(records):
        played, at = chance.randrange(0, 240_000), START_MS + n
        play = {
            "play_id": f"p{n}",
            "track_id": f"t{chance.randrange(5000)}",
            "title": "A title of usual length",
            "country": chance.choice(["de", "br", "jp", "us"]),
            "ms_played": played,
            "played_at": at,
        }
        text, bad = json.dumps(play), n % BAD_EVERY == 0
        record = Outgoing((text[:20] if bad else text).encode(), f"u{n % 1000}".encode(), timestamp=at)
        yield record, not bad and played >= SHORTEST_MS


def _script(out: str) -> str:
    return f"""
        CREATE STREAM plays (user_id STRING KEY, play_id STRING, track_id STRING, title STRING, country STRING,
            ms_played BIGINT, played_at BIGINT) WITH (kafka_topic='{TOPIC}', value_format='JSON');
        CREATE STREAM clean WITH (kafka_topic='{out}') AS
            SELECT user_id, play_id, track_id, title, UCASE(country) AS country, ms_played / 1000 AS seconds
            FROM plays WHERE ms_played >= {SHORTEST_MS} EMIT CHANGES;
    """


def _by_hand(stage: Stage, out: str) -> DataFrame:
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_corrupt"}
    parsed = raw(stage, TOPIC, BATCH).select(
        "key", "value", F.from_json(F.col("value").cast("string"), SCHEMA, options).alias("v")
    )
    bad = F.col("v._corrupt").isNotNull()
    kept = parsed.where(bad | (F.col("v.ms_played") >= SHORTEST_MS))
    cleaned = F.to_json(
        F.struct(
            "v.play_id",
            "v.track_id",
            "v.title",
            F.upper("v.country").alias("country"),
            F.expr("v.ms_played div 1000").alias("seconds"),
        )
    )
    letters = f"{out}-dlq"
    stage.kafka.create_topic(letters, 1)
    return kept.select(
        F.when(bad, F.lit(letters)).otherwise(F.lit(out)).alias("topic"),
        "key",
        F.when(bad, F.col("value").cast("string")).otherwise(cleaned).alias("value"),
    )

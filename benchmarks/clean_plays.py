"""Records a second through the demo's first query: JSON in, a filter, JSON out, malformed records set aside.

Both sides read the same topic from its beginning in batches of the same size, on the same session. The baseline is the
job as one writes it by hand in PySpark, with Spark's own Kafka sink and a tuned producer: at-least-once, record times
lost. Orion's side is exactly once, with record times kept.
"""

from __future__ import annotations

import json
import random
from collections import Counter

from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.stage import Measured, Stage, seconds_until
from orion import ksql
from orion.hub.records import Outgoing
from orion.hub.transactions import LEDGER
from orion.hub.writer import Writer
from orion.plan.catalog import Catalog
from orion.plan.steps import DefineSource, StartQuery
from orion.runtime.jobs import QueryJob, Surroundings
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.progress import Progress

RECORDS = 400_000
BATCH = 100_000
SCRIPT = """
CREATE STREAM plays (user_id STRING KEY, play_id STRING, track_id STRING, title STRING, country STRING,
    ms_played BIGINT, played_at BIGINT) WITH (kafka_topic='bench_plays', value_format='JSON');
CREATE STREAM clean_{n} WITH (kafka_topic='bench_orion') AS
    SELECT user_id, play_id, track_id, title, UCASE(country) AS country, ms_played / 1000 AS seconds
    FROM plays WHERE ms_played >= 5000 EMIT CHANGES;
"""
SCHEMA = (
    "play_id STRING, track_id STRING, title STRING, country STRING, ms_played BIGINT, played_at BIGINT, _corrupt STRING"
)


def measure(stage: Stage) -> Measured:
    for topic in ("bench_plays", "bench_orion", "bench_baseline"):
        stage.kafka.create_topic(topic, 2)
    stage.kafka.create_topic(LEDGER, 1)
    stage.say(f"writing {RECORDS:,} plays")
    wanted = _feed(stage)
    return stage.take_turns(
        "clean_plays",
        lambda n: RECORDS / _orion(stage, n + 2, wanted),
        lambda n: RECORDS / _baseline(stage, n + 2),
        "records/s",
        "clean plays: JSON in, filter, JSON out, dead letters",
    )


def _feed(stage: Stage) -> int:
    chance = random.Random(7)
    writer = Writer(stage.kafka, "bench_plays", settings={"linger.ms": 50, "compression.type": "lz4"})
    kept = 0
    for n in range(RECORDS):
        played, at = chance.randrange(0, 240_000), 1_790_000_000_000 + n
        play = {
            "play_id": f"p{n}",
            "track_id": f"t{chance.randrange(5000)}",
            "title": "A title of usual length",
            "country": chance.choice(["de", "br", "jp", "us"]),
            "ms_played": played,
            "played_at": at,
        }
        text = json.dumps(play)
        bad = n % 100 == 0
        kept += bad or played >= 5000
        writer.send(Outgoing((text[:20] if bad else text).encode(), f"u{n % 1000}".encode(), timestamp=at))
    writer.close()
    return kept


def _orion(stage: Stage, number: int, wanted: int) -> float:
    catalog = Catalog()
    query = None
    for text in ksql.split(SCRIPT.format(n=number)):
        for step in ksql.compile(text, catalog).steps:
            if isinstance(step, DefineSource):
                catalog = catalog.put(step.source)
            if isinstance(step, StartQuery):
                query = step.query
    assert query is not None
    stage.kafka.create_topic(query.dead_letters, 1)
    source = KafkaSource(stage.spark, stage.kafka.bootstrap, "earliest", BATCH)
    job = QueryJob(query, Surroundings(source, stage.folder / "checkpoints", f"bench{number}", 0))
    written: Counter[str] = Counter()
    taken = _seconds(job.start(written.update))
    if sum(written.values()) != wanted:
        raise RuntimeError(f"Orion wrote {sum(written.values())} records, not {wanted}")
    return taken


def _baseline(stage: Stage, number: int) -> float:
    server = stage.kafka.bootstrap
    raw = (
        stage.spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", server)
        .option("subscribe", "bench_plays")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", BATCH)
        .load()
    )
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_corrupt"}
    parsed = raw.select("key", "value", F.from_json(F.col("value").cast("string"), SCHEMA, options).alias("v"))
    bad = F.col("v._corrupt").isNotNull()
    kept = parsed.where(bad | (F.col("v.ms_played") >= 5000))
    cleaned = F.to_json(
        F.struct(
            "v.play_id",
            "v.track_id",
            "v.title",
            F.upper("v.country").alias("country"),
            F.expr("v.ms_played div 1000").alias("seconds"),
        )
    )
    out = kept.select(
        F.when(bad, F.lit(f"bench_baseline_dlq_{number}")).otherwise(F.lit("bench_baseline")).alias("topic"),
        "key",
        F.when(bad, F.col("value").cast("string")).otherwise(cleaned).alias("value"),
    )
    stage.kafka.create_topic(f"bench_baseline_dlq_{number}", 1)
    return _seconds(
        out.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", server)
        .option("kafka.linger.ms", "20")
        .option("kafka.batch.size", "262144")
        .option("kafka.compression.type", "lz4")
        .option("checkpointLocation", str(stage.folder / f"baseline-{number}"))
        .trigger(processingTime="0 seconds")
        .start()
    )


def _seconds(stream: StreamingQuery) -> float:
    """From the start of a stream until it has committed a batch with the last record."""
    try:
        taken = seconds_until(lambda: _read(stream.lastProgress) >= RECORDS or not stream.isActive)
    finally:
        stream.stop()
    if stream.exception() is not None:
        raise RuntimeError(str(stream.exception()))
    return taken


def _read(progress: StreamingQueryProgress | None) -> int:
    """How many records finished batches have read."""
    found = Progress()
    if progress is not None:
        found.take(json.loads(progress.json))
    return sum(found.offsets.get("bench_plays", {}).values())

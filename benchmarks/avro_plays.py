"""Records a second through Avro: decoded, filtered, encoded again, by Spark alone: the results are thrown away.

Both sides read the same topic as one batch and hand their records to Spark's `noop` sink, so that how results are
delivered, which other benchmarks measure, doesn't count here. The side by hand knows the one schema there is, cuts the
header off and lets bytes that don't fit pass as NULLs; Orion asks a registry, checks every header, and sets aside what
doesn't fit.
"""

from __future__ import annotations

import io
import json
import random
import time
from collections.abc import Iterator

import fastavro
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from benchmarks.contest import START_MS, compiled, write
from benchmarks.stage import Measured, Stage
from orion.hub.records import Outgoing
from orion.plan.relations import Query
from orion.plan.sources import Source
from orion.registry.access import Local
from orion.registry.log import MemoryLog
from orion.registry.store import Registry
from orion.runtime.dataframe import outgoing
from orion.runtime.schemas import Schemas

TOPIC = "bench_avro_plays"
RECORDS = 400_000
SEED, SHORTEST_MS = 7, 5_000
PLAY = {
    "type": "record",
    "name": "Play",
    "fields": [
        {"name": "play_id", "type": "string"},
        {"name": "track_id", "type": "string"},
        {"name": "title", "type": ["null", "string"], "default": None},
        {"name": "country", "type": "string"},
        {"name": "ms_played", "type": "long"},
        {"name": "played_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


def measure(stage: Stage) -> Measured:
    registry = Local(Registry(MemoryLog()))
    known = registry.register(f"{TOPIC}-value", "AVRO", json.dumps(PLAY))
    write(stage, TOPIC, _plays(known.id))
    schemas = Schemas(registry)
    query = schemas.bound(compiled(_script("clean_plays")))
    written = query.sink.value.wiring.writes if query.sink.value.wiring else None
    assert written is not None

    def by_orion() -> DataFrame:
        return _orion(stage, query)

    def by_hand() -> DataFrame:
        return _by_hand(stage, written.id, written.text)

    _check(by_orion(), by_hand())
    what = "Avro plays: decoded by the schema they name, filter, encoded; results thrown away"
    return stage.take_turns(
        "avro_plays",
        lambda _: RECORDS / _seconds(by_orion()),
        lambda _: RECORDS / _seconds(by_hand()),
        "records/s",
        what,
    )


def _plays(schema_id: int) -> Iterator[Outgoing]:
    chance = random.Random(SEED)
    parsed = fastavro.parse_schema(PLAY)
    for n in range(RECORDS):
        play = {
            "play_id": f"p{n}",
            "track_id": f"t{chance.randrange(5000)}",
            "title": "A title of usual length",
            "country": chance.choice(["de", "br", "jp", "us"]),
            "ms_played": chance.randrange(0, 240_000),
            "played_at": START_MS + n,
        }
        body = io.BytesIO()
        fastavro.schemaless_writer(body, parsed, play)
        value = b"\x00" + schema_id.to_bytes(4, "big") + body.getvalue()
        yield Outgoing(value, f"u{n % 1000}".encode(), timestamp=START_MS + n)


def _script(out: str) -> str:
    return f"""
        CREATE STREAM plays (user_id STRING KEY, play_id STRING, track_id STRING, title STRING, country STRING,
            ms_played BIGINT, played_at TIMESTAMP) WITH (kafka_topic='{TOPIC}', value_format='AVRO');
        CREATE STREAM clean WITH (kafka_topic='{out}') AS
            SELECT user_id, play_id, track_id, title, UCASE(country) AS country, ms_played / 1000 AS seconds, played_at
            FROM plays WHERE ms_played >= {SHORTEST_MS} EMIT CHANGES;
    """


def _topic(stage: Stage) -> DataFrame:
    reader = stage.spark.read.format("kafka").option("kafka.bootstrap.servers", stage.kafka.bootstrap)
    return reader.option("subscribe", TOPIC).load()


def _orion(stage: Stage, query: Query) -> DataFrame:
    def read(_: Source) -> DataFrame:
        return _topic(stage)

    return outgoing(query, read).select("key", "value")


def _by_hand(stage: Stage, schema_id: int, schema: str) -> DataFrame:
    played = from_avro(F.expr("substring(value, 6)"), json.dumps(PLAY), {"mode": "PERMISSIVE"})
    kept = _topic(stage).select("key", played.alias("v")).where(F.col("v.ms_played") >= SHORTEST_MS)
    cleaned = F.struct(
        F.col("v.play_id").alias("PLAY_ID"),
        F.col("v.track_id").alias("TRACK_ID"),
        F.col("v.title").alias("TITLE"),
        F.upper("v.country").alias("COUNTRY"),
        F.expr("v.ms_played div 1000").alias("SECONDS"),
        F.col("v.played_at").alias("PLAYED_AT"),
    )
    header = F.lit(b"\x00" + schema_id.to_bytes(4, "big"))
    return kept.select("key", F.concat(header, to_avro(cleaned, schema)).alias("value"))


def _check(ours: DataFrame, theirs: DataFrame) -> None:
    """The same records come out of both, byte for byte."""
    other = ours.exceptAll(theirs).count() + theirs.exceptAll(ours).count()
    if other or ours.count() < RECORDS * 0.9:
        raise ValueError(f"{other} records of {ours.count()} are not the same on both sides")


def _seconds(frame: DataFrame) -> float:
    started = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started

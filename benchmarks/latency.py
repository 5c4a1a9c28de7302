"""How long a record takes through a statement: from when it is written until its result is read.

One thread writes 1,000 records a second, each with the time it was written; another reads the results, committed ones
only, and looks at the clock. The statement and the same query by hand (Spark's default trigger and its own Kafka sink,
at least once) take turns on one session. What runs for days is measured, so both run for most of a minute first, until
the JVM has compiled what they do; and for some seconds before each turn, as the first batches of a stream are slow.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from pyspark.sql import functions as F

from benchmarks.contest import PARTITIONS, compiled, open_plain_session, raw, surroundings, unheard
from benchmarks.stage import Measured, Stage, seconds_until
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Outgoing, Position
from orion.hub.writer import Writer
from orion.runtime.jobs import QueryJob
from orion.runtime.kafka_source import KafkaSource

RATE, KEYS, COLD_S, WARM_S, MEASURED_S = 1_000, 10_000, 40.0, 6.0, 15.0
_FEWEST, _LONGEST_S = 100, 60.0  # a cold start on a busy machine may take longer than a warm-up
_SPARKS_OWN = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
_SCHEMA = "id BIGINT, amount INT, sent DOUBLE"


@dataclass(frozen=True)
class Latencies:
    """In milliseconds."""

    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, found: list[float]) -> Latencies:
        cuts = statistics.quantiles((seconds * 1000 for seconds in found), n=100)
        return cls(cuts[49], cuts[94], cuts[98])

    def __str__(self) -> str:
        return f"p50 {self.p50:,.0f}, p95 {self.p95:,.0f}, p99 {self.p99:,.0f} ms"


# A side of a contest: the name of its run, how long it is measured, and what it came to.
Side = Callable[[str, float], Latencies]


def contest(stage: Stage, name: str, what: str, orion: Side, baseline: Side, against: str = "by hand") -> Measured:
    """A statement's latency beside another's; the ratio is of the medians, above 1 where the statement is quicker."""
    sides = {"orion": orion, "baseline": baseline}
    found: dict[str, list[Latencies]] = {side: [] for side in sides}
    stage.say(f"{name}: warming up")
    for side, measure in sides.items():
        measure(f"{name}-{side}-warm", COLD_S)
    for number in range(stage.rounds):
        for side, measure in sides.items() if number % 2 == 0 else reversed(sides.items()):
            found[side].append(measure(f"{name}-{side}-{number}", MEASURED_S))
        stage.say(
            f"{name}: round {number + 1}/{stage.rounds}: orion {found['orion'][-1]}; {against} {found['baseline'][-1]}"
        )
    ratio = statistics.median(t.p50 / o.p50 for o, t in zip(found["orion"], found["baseline"], strict=True))
    ours, theirs = median_of(found["orion"]), median_of(found["baseline"])
    return Measured(name, ours.p50, theirs.p50, ratio, "ms p50", f"{what}: {ours} ({against} {theirs})")


def median_of(of: Sequence[Latencies]) -> Latencies:
    return Latencies(*(statistics.median(getattr(one, part) for one in of) for part in ("p50", "p95", "p99")))


def stateless(stage: Stage, guarantee: str) -> Side:
    """A filter and a projection."""
    return _orion(
        stage,
        f"STREAM large WITH (kafka_topic='{{out}}', guarantee='{guarantee}') AS"
        " SELECT k, id, amount * 2 AS twice, sent FROM orders WHERE amount >= 0 EMIT CHANGES",
    )


def keyed(stage: Stage) -> Side:
    """A count by key. Keys come again after many batches: each record has its own result."""
    return _orion(
        stage,
        "TABLE counts WITH (kafka_topic='{out}') AS SELECT k, COUNT(*) AS orders, LATEST_BY_OFFSET(sent) AS sent"
        " FROM orders GROUP BY k EMIT CHANGES",
    )


def by_hand(stage: Stage) -> Side:
    return lambda name, seconds: _measure_by_hand(stage, name, seconds)


def _orion(stage: Stage, statement: str) -> Side:
    return lambda name, seconds: _measure_orion(stage, statement, name, seconds)


def _measure_orion(stage: Stage, statement: str, name: str, seconds: float) -> Latencies:
    topic, out = make_topics(stage, name)
    query = compiled(f"""
        CREATE STREAM orders (k STRING KEY, id BIGINT, amount INT, sent DOUBLE)
            WITH (kafka_topic='{topic}', value_format='JSON');
        CREATE {statement.format(out=out)};
    """)
    stage.kafka.create_topic(query.dead_letters, 1, exist_ok=True)
    source = KafkaSource(stage.spark, stage.kafka.bootstrap, "earliest", 100_000)
    run = QueryJob(query, surroundings(stage, source, out)).start(unheard, new=True, accept=False)
    try:
        return measure_through(stage.kafka, topic, out, "SENT", seconds)
    finally:
        if run.stream is not None:
            run.stream.stop()
        run.close()


def _measure_by_hand(stage: Stage, name: str, seconds: float) -> Latencies:
    topic, out = make_topics(stage, name)
    # Orion's session has a quicker way to write checkpoints. A plain query has Spark's own.
    plain = open_plain_session(stage.spark)
    plain.conf.set("spark.sql.streaming.checkpointFileManagerClass", _SPARKS_OWN)
    value = F.from_json(F.col("value").cast("string"), _SCHEMA)
    frame = raw(replace(stage, spark=plain), topic, 100_000).select("key", value.alias("v")).where("v.amount >= 0")
    made = F.to_json(F.struct("v.id", F.expr("v.amount * 2").alias("twice"), "v.sent"))
    stream = (
        frame.select("key", made.alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", stage.kafka.bootstrap)
        .option("topic", out)
        .option("checkpointLocation", str(stage.folder / out))
        .start()
    )
    try:
        return measure_through(stage.kafka, topic, out, "sent", seconds)
    finally:
        stream.stop()


def make_topics(stage: Stage, name: str) -> tuple[str, str]:
    """Where a run reads and writes."""
    for topic in (f"{name}-in", f"{name}-out"):
        stage.kafka.create_topic(topic, PARTITIONS)
    return f"{name}-in", f"{name}-out"


def measure_through(kafka: Kafka, topic: str, out: str, field: str, seconds: float) -> Latencies:
    """Feed a topic, and look how old the results are when they are read; `field` has the time of writing."""
    found: list[float] = []
    stopping = threading.Event()
    with ExitStack() as stack:
        reader = stack.enter_context(Reader(kafka, out, Position("earliest")))
        feeding = threading.Thread(target=_feed, args=(kafka, topic, stopping))
        feeding.start()
        stack.callback(feeding.join)
        stack.callback(stopping.set)
        arrived = seconds_until(lambda: bool(reader.read(10_000, 0.005)), 120)
        warm = time.time() + max(0.0, WARM_S - arrived)
        while time.time() < warm + seconds or (len(found) < _FEWEST and time.time() < warm + _LONGEST_S):
            for record in reader.read(10_000, 0.005):
                now, sent = time.time(), json.loads(record.value or b"{}")[field]
                if sent >= warm:
                    found.append(now - sent)
    return Latencies.of(found)


def _feed(kafka: Kafka, topic: str, stopping: threading.Event) -> None:
    """Records at an even pace: one that is late is made up for."""
    writer = Writer(kafka, topic, settings={"linger.ms": 0})
    begun, number = time.time(), 0
    while not stopping.is_set():
        now = time.time()
        while number < (now - begun) * RATE:
            value = {"id": number, "amount": number % 97, "sent": time.time()}
            writer.send(Outgoing(json.dumps(value).encode(), f"k{number % KEYS}".encode()))
            number += 1
        stopping.wait(0.002)
    writer.close()

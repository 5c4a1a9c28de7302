"""One job done twice: by Orion from SQL, and by hand in PySpark with Spark's own Kafka sink and a tuned producer.

Both sides read the same topics from their beginning in batches of the same size, on the same session, and write to a
topic of their own for each round. The side by hand keeps its state in Spark's default state store, Orion in changelog
topics that it writes with its results. The clock runs from the start of the stream until it has
committed a batch with the last record. After that the result is read back and checked, on both sides.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.stage import Measured, Stage, seconds_until
from orion import ksql
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Outgoing, Position, Record
from orion.hub.writer import Writer
from orion.plan.catalog import Catalog
from orion.plan.relations import Query
from orion.plan.steps import StartQuery
from orion.runtime.inputs import Watch
from orion.runtime.jobs import QueryJob, Surroundings
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.progress import Progress
from orion.runtime.schemas import Schemas
from orion.runtime.starting import Grounds

PARTITIONS = 2
START_MS = 1_790_000_000_000
_READ_S = 120.0
# Spark shares a batch's records out among partitions and rounds down: without slack a last batch reads what is left.
_SLACK = 10


@dataclass(frozen=True)
class Contest:
    """`script` and `by_hand` write to the topic they are told; `check` raises when what is there then isn't right.

    `by_hand` gives the records to write: `key` and `value`, and `topic` where they go to several.
    """

    name: str
    what: str
    inputs: Mapping[str, int]  # the streams' topics with their records
    batch: int  # most records a batch reads of each topic
    script: Callable[[str], str]
    by_hand: Callable[[Stage, str], DataFrame]
    mode: str  # Spark's output mode of the side by hand
    check: Callable[[Kafka, str], None]

    @property
    def records(self) -> int:
        return sum(self.inputs.values())

    def measure(self, stage: Stage) -> Measured:
        return stage.take_turns(
            self.name,
            lambda number: self.records / self._orion(stage, number),
            lambda number: self.records / self._by_hand(stage, number),
            "records/s",
            self.what,
            self.records,
        )

    def _orion(self, stage: Stage, number: int) -> float:
        out = self._topic(stage, "orion", number)
        with self.orion_runs(stage, out) as stream:
            taken = await_records(stream, self.inputs)
        self.check(stage.kafka, out)
        return taken

    @contextmanager
    def orion_runs(self, stage: Stage, out: str) -> Iterator[StreamingQuery]:
        """Orion's side, while it runs."""
        query = compiled(self.script(out))
        stage.kafka.create_topic(query.dead_letters, 1, exist_ok=True)
        source = open_source(stage, self.batch)
        run = QueryJob(query, surroundings(stage, source, out)).start(unheard, new=True, accept=False)
        assert isinstance(run.stream, StreamingQuery)
        try:
            yield run.stream
        finally:
            run.stream.stop()
            run.close()

    def _by_hand(self, stage: Stage, number: int) -> float:
        out = self._topic(stage, "by-hand", number)
        frame = self.by_hand(replace(stage, spark=open_plain_session(stage.spark)), out)
        writer = (
            frame.writeStream.format("kafka")
            .outputMode(self.mode)
            .option("kafka.bootstrap.servers", stage.kafka.bootstrap)
            .option("kafka.linger.ms", "20")
            .option("kafka.batch.size", "262144")
            .option("kafka.compression.type", "lz4")
            .option("checkpointLocation", str(stage.folder / out))
            .trigger(processingTime="0 seconds")
        )
        stream = (writer if "topic" in frame.columns else writer.option("topic", out)).start()
        taken = await_records(stream, self.inputs)
        self.check(stage.kafka, out)
        return taken

    def _topic(self, stage: Stage, side: str, number: int) -> str:
        """A topic for each round, so that a check sees that round alone."""
        name = f"{self.name}-{side}-{number + 10}"
        stage.kafka.create_topic(name, PARTITIONS)
        return name


def await_records(stream: StreamingQuery, topics: Mapping[str, int]) -> float:
    """Seconds from the start of a stream until it has committed a batch with the last record; it is stopped then.
    `topics` has how many there are in each."""
    wanted = sum(topics.values())
    try:
        taken = seconds_until(lambda: _count_read(stream.lastProgress, topics) >= wanted or not stream.isActive)
    finally:
        stream.stop()
    if stream.exception() is not None:
        raise RuntimeError(str(stream.exception()))
    return taken


def _count_read(progress: StreamingQueryProgress | None, topics: Iterable[str]) -> int:
    """How many records finished batches have read."""
    found = Progress()
    if progress is not None:
        found.take(json.loads(progress.json))
    return sum(sum(found.offsets.get(topic, {}).values()) for topic in topics)


def open_plain_session(spark: SparkSession) -> SparkSession:
    """A session that compiles plans as Spark does by itself."""
    plain = spark.newSession()
    for name in ("spark.sql.codegen.wholeStage", "spark.sql.constraintPropagation.enabled"):
        plain.conf.set(name, "true")
    return plain


def surroundings(stage: Stage, source: KafkaSource, name: str) -> Surroundings:
    """What a statement that stands alone needs; its service has the name of its output."""
    grounds = Grounds(stage.kafka, Watch(stage.kafka), name, stage.folder / "writers")
    return Surroundings(grounds, source, stage.folder / name, 0, Schemas(None))


def open_source(stage: Stage, batch: int) -> KafkaSource:
    return KafkaSource(stage.spark, stage.kafka.bootstrap, "earliest", batch + _SLACK)


def unheard(_: Counter[str]) -> None:
    pass


def compiled(script: str) -> Query:
    """The last query that a script starts."""
    return compile_all(script)[-1]


def compile_all(script: str) -> list[Query]:
    """The queries that a script starts."""
    catalog, queries = Catalog(), list[Query]()
    for text in ksql.split(script):
        for step in ksql.compile(text, catalog).steps:
            catalog = catalog.after(step)
            queries += [step.query] if isinstance(step, StartQuery) else []
    if not queries:
        raise ValueError("the script starts no query")
    return queries


def write(stage: Stage, topic: str, records: Iterable[Outgoing]) -> None:
    """Fill a new topic."""
    stage.kafka.create_topic(topic, PARTITIONS)
    stage.say(f"writing {topic}")
    writer = Writer(stage.kafka, topic, settings={"linger.ms": 50, "compression.type": "lz4"})
    for record in records:
        writer.send(record)
    writer.close()


def raw(stage: Stage, topic: str, batch: int) -> DataFrame:
    """The topic as Spark's source gives it."""
    return (
        stage.spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", stage.kafka.bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", batch + _SLACK)
        .load()
    )


def streamed(stage: Stage, topic: str, batch: int, schema: str) -> DataFrame:
    """The topic as one reads it by hand: the key as text, the value from JSON as `v`, and the time it says as `at`."""
    parsed = raw(stage, topic, batch).selectExpr(
        "CAST(key AS STRING) AS key", f"from_json(CAST(value AS STRING), '{schema}') AS v"
    )
    return parsed.selectExpr("key", "v", "timestamp_millis(v.at) AS at")


def written(kafka: Kafka, topic: str) -> list[Record]:
    """Every committed record of a topic."""
    found: list[Record] = []
    with Reader(kafka, topic, Position("earliest")) as reader:

        def read_on() -> bool:
            found.extend(reader.read(20_000, 0.2))
            return reader.at_end

        seconds_until(read_on, _READ_S)
    return found


def has_records(wanted: int) -> Callable[[Kafka, str], None]:
    """A check that a topic has so many records."""

    def check(kafka: Kafka, topic: str) -> None:
        found = len(written(kafka, topic))
        if found != wanted:
            raise RuntimeError(f"{topic} has {found:,} records, not {wanted:,}")

    return check


def has_keys(wanted: int) -> Callable[[Kafka, str], None]:
    """A check that so many keys have a row at last."""

    def check(kafka: Kafka, topic: str) -> None:
        rows = {record.key: record.value for record in written(kafka, topic)}
        found = sum(value is not None for value in rows.values())
        if found != wanted:
            raise RuntimeError(f"{topic} has {found:,} keys, not {wanted:,}")

    return check


def adds_up_to(column: str, wanted: int) -> Callable[[Kafka, str], None]:
    """A check that the last records of all keys add up: every record was counted once."""

    def check(kafka: Kafka, topic: str) -> None:
        rows = {record.key: record.value for record in written(kafka, topic)}
        found = sum(json.loads(value)[column] for value in rows.values() if value is not None)
        if found != wanted:
            raise RuntimeError(f"{topic} counts {found:,}, not {wanted:,}")

    return check

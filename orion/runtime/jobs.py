"""The two kinds of job: a query that writes a topic, and a connector that feeds another system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from orion import profiles
from orion.hub import claims
from orion.hub.kafka import Kafka
from orion.hub.transactions import Permit, Written
from orion.plan.fingerprint import fingerprint
from orion.plan.relations import Guarantee, Query, is_stateful, scans
from orion.plan.sources import Connector
from orion.runtime import emit, rows
from orion.runtime.checkpoint import sweep
from orion.runtime.dataframe import outgoing
from orion.runtime.headers import Seen
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.lanes.exact import ExactLane
from orion.runtime.lanes.fast import FastLane, written
from orion.runtime.runs import Run
from orion.runtime.scan import decoded
from orion.runtime.schemas import Schemas
from orion.schema import quote
from orion.sinks import open_sink


@dataclass(frozen=True)
class Surroundings:
    """What every job needs of the server."""

    kafka: Kafka
    source: KafkaSource
    checkpoints: Path
    service_id: str
    trigger_ms: int
    schemas: Schemas
    fast_batch_ms: int = 60_000

    def join(self, job: str, topics: Sequence[str]) -> Run:
        """A new run of a job: a member of its group, over whatever an earlier one left open."""
        claims.settle(self.kafka, self.writers)
        partitions = sum(self.kafka.describe_topic(topic).topic.partitions for topic in topics)
        shuffled = int(self.source.spark.conf.get("spark.sql.shuffle.partitions") or 1)
        # A batch has a slot for each partition of its last stage: of what it reads, or of its shuffles.
        slots = max(partitions, shuffled * len(topics)) + len(topics)
        return Run.join(self.kafka, f"{self.service_id}.{job}", topics, slots)

    def permit(self, run: Run, letters: str, topics: Sequence[str] = ()) -> Permit:
        limits = tuple((topic, self.kafka.record_limit(topic)) for topic in topics)
        group = run.membership.group
        return Permit(self.kafka.bootstrap, group, b"", self.service_id, self.writers, letters, limits)

    @property
    def writers(self) -> Path:
        """Where the writers of this machine note their names."""
        return self.checkpoints.parent / "writers"

    def launch(
        self, frame: DataFrame, name: str, checkpoint: Path, write: Callable[[DataFrame, int], None]
    ) -> StreamingQuery:
        sweep(checkpoint)
        # A scheduler pool for each query: a long batch of one doesn't hold up the others.
        frame.sparkSession.sparkContext.setLocalProperty("spark.scheduler.pool", name)
        return (
            frame.writeStream.queryName(name)
            .outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime=f"{self.trigger_ms} milliseconds")
            .foreachBatch(write)
            .start()
        )


@dataclass(frozen=True)
class QueryJob:
    query: Query
    around: Surroundings

    @property
    def id(self) -> str:
        return self.query.id

    @property
    def sink(self) -> str:
        return self.query.sink.name

    @property
    def dead_letters(self) -> str:
        return self.query.dead_letters

    @property
    def scans(self) -> int:
        return 2 if is_stateful(self.query.relation) else 1

    @property
    def checkpoint(self) -> Path:
        return self.around.checkpoints / f"{self.query.id}-{fingerprint(self.query)}"

    def start(self, on_written: Callable[[Written], None]) -> Run:
        around = self.around
        query = around.schemas.bound(self.query)
        topics = list(dict.fromkeys(source.topic for source in scans(query.relation)))
        run = around.join(self.id, topics)
        try:
            if query.guarantee is Guarantee.FAST:
                run.stream, run.endless = self._start_fast(query), True
                return run
            lane = ExactLane(run, around.permit(run, self.dead_letters, [query.sink.topic]), on_written)
            frame = outgoing(query, around.source.reader_of(query.relation), self._seen(query))
            run.stream = around.launch(frame, self.id, self.checkpoint, lane)
        except BaseException:
            run.close()
            raise
        return run

    def _start_fast(self, query: Query) -> StreamingQuery:
        """The run is a member of the query's group, as an exact one is, and shows there how far it is."""
        around, batch_ms = self.around, self.around.fast_batch_ms
        source = replace(around.source, most_records=0)  # a batch has an end by time alone
        if source.most_ahead_ms:  # records come until then, and a batch's time is that of its beginning
            source = replace(source, most_ahead_ms=source.most_ahead_ms + batch_ms)
        frame = outgoing(query, source.reader_of(query.relation), self._seen(query))
        read = [around.kafka.describe_topic(s.topic).topic.partitions for s in scans(query.relation)]
        lane = FastLane(
            source.bootstrap,
            query.sink.topic,
            around.kafka.describe_topic(query.sink.topic).topic.partitions,
            query.dead_letters,
            batch_ms,
            sum(read),
            profiles.of(query.profile).lane_settings() if query.profile else {},
        )
        sweep(self.checkpoint)
        return lane.start(frame, self.id, self.checkpoint)

    def _seen(self, query: Query) -> Seen | None:
        """How far earlier runs have written a topic whose records tell repeats; None: none are told."""
        if not query.sink.headed or is_stateful(query.relation):
            return None
        return written(self.around.kafka, query.id, query.sink.topic, self.checkpoint)

    def learn(self, error: str) -> bool:
        return self.around.schemas.learn(error)


@dataclass(frozen=True)
class SinkJob:
    """Feeds a sink. Rows it can't decode go to the connector's dead letters, in the exact lane like any other."""

    connector: Connector
    around: Surroundings

    @property
    def id(self) -> str:
        return self.connector.name

    @property
    def sink(self) -> str:
        return self.connector.plugin

    @property
    def dead_letters(self) -> str:
        return f"dlq.{self.connector.name}"

    @property
    def scans(self) -> int:
        return 1

    @property
    def checkpoint(self) -> Path:
        return self.around.checkpoints / f"connector-{self.connector.identity}"

    def start(self, on_written: Callable[[Written], None]) -> Run:
        source = self.around.schemas.read(self.connector.sources[0])
        plugin = open_sink(self.connector)
        run = self.around.join(f"connector.{self.connector.identity}", [source.topic])
        lane = ExactLane(run, self.around.permit(run, self.dead_letters), on_written)
        columns = [quote(c.name) for c in source.row]

        def write(batch: DataFrame, number: int) -> None:
            leave = run.admit(number)
            batch.persist()
            try:
                good = batch.where(f"{rows.BAD} IS NULL AND NOT {rows.DELETED}")  # no value is no row
                written = plugin.write(good.selectExpr(*columns), number)
                on_written(Written(Counter({self.sink: written})))
                lane.write(emit.letters(batch, self.dead_letters), number, leave)
                run.went_through()
            finally:
                batch.unpersist()

        try:
            frame = decoded(self.around.source.stream(source), source)
            run.stream = self.around.launch(frame, self.id, self.checkpoint, write)
        except BaseException:
            run.close()
            raise
        return run

    def learn(self, error: str) -> bool:
        return self.around.schemas.learn(error)

"""Topics as Spark sees them: streams for queries, with the settings every reader of Orion's topics needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from orion.plan.relations import Relation, looked_up
from orion.plan.sources import Source
from orion.runtime.inputs import Inputs
from orion.runtime.scan import DAY_END, LATEST

# Consumers of tasks that read a range of offsets and end.
IN_BATCHES = {
    # How long a broker may keep a reader waiting at a topic's end. While it does, it answers nothing else on that
    # connection, and a task that has read its last record asks where its partition ends: it would wait half a second,
    # which is Kafka's own. Nobody reads between batches, so there are no more requests for it.
    "kafka.fetch.max.wait.ms": "5",
    # How many records Spark takes at a time of those that are fetched: it looks the partition's ends up each time.
    "kafka.max.poll.records": "5000",
}


@dataclass(frozen=True)
class KafkaSource:
    """`starting` is where a query without a checkpoint begins: earliest or latest.

    A batch reads `most_records`; one whose time is more than `most_ahead_ms` beyond the batch's is no row. 0: any.
    """

    spark: SparkSession
    bootstrap: str
    starting: str
    most_records: int
    most_ahead_ms: int = 0
    over_gaps: bool = False  # records that are gone are known to be, and passed over
    least_records: int = 0  # a batch waits until there are so many, but no longer than `longest_wait_ms`
    longest_wait_ms: int = 0
    positions: Mapping[str, Mapping[int, int]] = field(default_factory=dict)  # by topic, instead of `starting`
    waits: bool = False  # tasks stay at a topic's end, and wait for records there

    def over(self, inputs: Inputs) -> KafkaSource:
        """The source for a query whose lost records somebody has accepted, or one that has none."""
        return replace(self, over_gaps=any(topic.skipped for topic in inputs.topics))

    def reader_of(self, relation: Relation) -> Callable[[Source], DataFrame]:
        """How a relation's sources are read: tables that it looks things up in from their beginning, and at once."""
        whole = looked_up(relation)
        return lambda source: self._whole(source) if source.name in whole else self.stream(source)

    def stream(self, source: Source) -> DataFrame:
        started = self._topic(source).option("startingOffsets", self._beginning(source.topic))
        if self.most_records:
            started = started.option("maxOffsetsPerTrigger", max(self.most_records, self.least_records))
        if self.least_records and self.longest_wait_ms:
            started = started.option("minOffsetsPerTrigger", self.least_records)
            started = started.option("maxTriggerDelay", f"{self.longest_wait_ms}ms")
        return self._bounded(started.load())

    def _beginning(self, topic: str) -> str:
        offsets = self.positions.get(topic)
        return self.starting if offsets is None else json.dumps({topic: {str(p): n for p, n in offsets.items()}})

    def _whole(self, source: Source) -> DataFrame:
        return self._bounded(self._topic(source).option("startingOffsets", "earliest").load())

    def _bounded(self, raw: DataFrame) -> DataFrame:
        """With the latest time that a record may have. The day of a stream is its batch's own: one that runs again
        judges as it did before."""
        if not self.most_ahead_ms:
            return raw
        return raw.selectExpr("*", f"{DAY_END} + {self.most_ahead_ms}L AS {LATEST}")

    def _topic(self, source: Source) -> DataStreamReader:
        reader = (
            self.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", source.topic)
            # What a transaction has not committed has not happened.
            .option("kafka.isolation.level", "read_committed")
            .option("failOnDataLoss", "false" if self.over_gaps else "true")
            # A dead letter keeps them, and counts on from the attempt that they tell. Of a record without any Spark
            # makes nothing.
            .option("includeHeaders", "true")
        )
        return reader if self.waits else reader.options(**IN_BATCHES)

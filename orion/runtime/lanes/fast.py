"""The fast lane: Spark's real-time mode, where a record is written milliseconds after it was read. At least once.

A stream in this mode is one long batch after the other. Its tasks run all the time, one for each partition it reads,
and hold a task slot each. Only the end of a batch is a checkpoint: after a stop it writes again what it wrote since.
The new run tells in headers which of its records may be such repeats (see orion.runtime.headers).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from orion.errors import Conflict, ExternalError
from orion.hub.kafka import Kafka
from orion.hub.ledger import FastEnd
from orion.hub.reader import Isolation, Reader
from orion.hub.records import Position, Record
from orion.runtime.headers import Seen, partition, seen_in
from orion.runtime.lanes.streams import writer
from orion.runtime.progress import WRITTEN
from orion.runtime.spark_process import SLOTS
from orion.schema import literal

# Order within a partition is what `orion.seen` counts on, and only an idempotent producer keeps it when it tries again.
_PRODUCER = {"linger.ms": "0", "acks": "all", "enable.idempotence": "true", "compression.type": "none"}

_QUIET_S, _LONGEST_S = 0.5, 120.0
_CLOCKS_APART_MS = 10_000


@dataclass(frozen=True)
class FastLane:
    """Writes the records of one run of a query."""

    bootstrap: str
    topic: str
    partitions: int  # of the topic
    dead_letters: str
    batch_ms: int  # from one checkpoint to the next
    slots: int  # partitions of all that it reads
    producer: dict[str, str] = field(default_factory=dict)  # over the lane's own settings

    def start(self, frame: DataFrame, name: str, checkpoint: Path) -> StreamingQuery:
        """Start writing a frame of rows.OUTGOING."""
        with _lock:
            _check_slots(frame.sparkSession, name, self.slots)
            stream = self._start(frame, name, checkpoint)
            _held[stream.runId] = (name, self.slots)
        return stream

    def _start(self, frame: DataFrame, name: str, checkpoint: Path) -> StreamingQuery:
        letters = F.count_if(F.col("topic") == F.lit(self.dead_letters)).alias("letters")
        counted = frame.observe(WRITTEN, F.count(F.lit(1)).alias("records"), letters)
        place = f"CASE WHEN topic = {literal(self.topic)} THEN {partition(self.partitions)} END AS partition"
        written = counted.selectExpr("topic", "key", "value", "headers", place)
        sink = writer(written, name, checkpoint).format("kafka").option("includeHeaders", "true")
        for setting, value in (_PRODUCER | self.producer | {"bootstrap.servers": self.bootstrap}).items():
            sink = sink.option(f"kafka.{setting}", value)
        trigger: dict[str, Any] = {"realTime": f"{self.batch_ms} milliseconds"}  # PySpark's own types don't know it
        return sink.trigger(**trigger).start()


_lock = threading.Lock()
_held: dict[object, tuple[str, int]] = {}  # by run: whose it is, and how many slots


def _check_slots(spark: SparkSession, name: str, wanted: int) -> None:
    """Refuse what would find no slot: it would wait without a word, and exact statements with it."""
    most = int(spark.conf.get(SLOTS, "0") or "0")
    if most == 0:  # a session of somebody else's, who knows what they do
        return
    active = {stream.runId for stream in spark.streams.active}
    for run in [run for run in _held if run not in active]:
        del _held[run]
    taken = sum(slots for _, slots in _held.values())
    if taken + wanted > most:
        raise Conflict(
            "NO_TASK_SLOTS",
            f"{name} needs {wanted} task slots, one for each partition it reads; "
            f"{taken} of {most} for fast statements are taken.",
            hint=f"Set engine.fast_slots to {taken + wanted} or more, or write guarantee='exact'.",
        )


def find_written(kafka: Kafka, query: str, topic: str, last: FastEnd | None, *, committed: bool = False) -> Seen:
    """How far earlier runs have written beyond the end of the last batch, by what is in the topic.

    `committed`: what a transaction has not committed is not there. The fast lane has no transactions, and reads what
    stands behind those of others.
    """
    # With other partitions a row may go elsewhere than it went: it rather comes twice than is taken for a repeat.
    if last is None or last.partitions != kafka.describe_topic(topic).topic.partitions:
        return {}
    isolation: Isolation = "read_committed" if committed else "read_uncommitted"
    return seen_in(_tail(kafka, topic, last.ended_ms - _CLOCKS_APART_MS, isolation), query)


def _tail(kafka: Kafka, topic: str, since_ms: int, isolation: Isolation) -> Iterator[Record]:
    """A topic's records from a time on, to its end and until nothing more comes.

    What a producer that is gone sent last may still be on its way.
    """
    started = quiet = time.monotonic()
    with Reader(kafka, topic, Position("time", since_ms), isolation=isolation) as reader:
        while not reader.at_end or time.monotonic() - quiet < _QUIET_S:
            found = reader.read(10_000, 0.1)
            if found:
                quiet = time.monotonic()
                yield from found
            elif time.monotonic() - started > _LONGEST_S:
                raise ExternalError("TOPIC_UNREADABLE", f"The end of {topic} wasn't reached in {_LONGEST_S:.0f} s.")

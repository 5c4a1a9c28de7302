"""The exact lane: each batch's records go to Kafka once, whatever is killed when.

Spark's own Kafka sink repeats a batch after a crash and can't set a record's timestamp. Here the last operator of a
query's own plan hands its rows as Arrow to Python workers that write them in transactions (see
orion.hub.transactions), and nothing is left for a sink to do. A batch is one job, as with Spark's sink.
"""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import LongType, StringType, StructField, StructType

from orion.hub import transactions
from orion.hub.dead_letters import telling
from orion.hub.transactions import Chunk, Permit, Slot
from orion.runtime import rows
from orion.runtime.checkpoint_planting import read_feed_offset, read_ranges
from orion.runtime.lanes.streams import writer
from orion.runtime.progress import WRITTEN
from orion.runtime.simplified import simplified, skip_optimizer_rules
from orion.runtime.state.packed_changes import unpack_changes
from orion.runtime.streaming_batch import batch_number
from orion.runtime.workers import settled

# What a slot comes to. The dead letters are among the records; of those that are good the time of the newest is told.
TALLY = StructType(
    [
        StructField("records", LongType()),
        StructField("letters", LongType()),
        StructField("errors", LongType()),
        StructField("example", StringType()),
        StructField("newest", LongType()),
        StructField("late", LongType()),
    ]
)


@dataclass(frozen=True)
class ExactLane:
    """Writes the batches of one run of a query."""

    permit: Permit
    trigger_ms: int

    def start(self, frame: DataFrame, name: str, checkpoint: Path) -> StreamingQuery:
        """Start writing a frame of rows.OUTGOING."""
        trigger = f"{self.trigger_ms} milliseconds"
        stream = self._writer(frame, name, checkpoint).trigger(processingTime=trigger).start()
        skip_optimizer_rules(stream)
        return stream

    def finish(self, frame: DataFrame, name: str, checkpoint: Path) -> StreamingQuery:
        """Start doing the batch that was planned and isn't done, and no other: the stream then ends by itself."""
        return self._writer(frame, name, checkpoint).trigger(once=True).start()

    def _writer(self, frame: DataFrame, name: str, checkpoint: Path) -> DataStreamWriter:
        tally = _tallied(simplified(pack_outgoing(frame)), self.permit, None)
        return writer(counted(tally), name, checkpoint).format("noop")


def counted(tally: DataFrame) -> DataFrame:
    """The tallies of a batch's slots, with Spark told to report what they come to."""
    sums = [F.sum(name).alias(name) for name in ("records", "letters", "errors", "late")]
    latest = [F.max(name).alias(name) for name in ("example", "newest")]
    return tally.observe(WRITTEN, *sums, *latest)


def tallies(frame: DataFrame, permit: Permit, batch: int) -> DataFrame:
    """A batch of rows.OUTGOING written, as what each slot comes to; for those whom Spark doesn't tell its number."""
    return _tallied(pack_outgoing(frame), permit, batch)


def _tallied(sent: DataFrame, permit: Permit, batch: int | None) -> DataFrame:
    return sent.mapInArrow(_writing(permit, batch), TALLY)


# What goes to the workers, and behind it either where the record comes from or a change of state: a query has only one
# of them. Spark measures an Arrow batch at each row that it adds, column by column, and lists and structs the longer
# the more rows there are: so what few records have goes as text, all of it in one column.
SENT = ("key", "value", "timestamp", "aside")
ORIGIN = "origin"


def aside(headers: str, letter: str) -> str:
    """The Spark SQL of a record's headers and of what its dead letter tells."""
    return f"to_json(named_struct('headers', {headers}, 'letter', {letter}), map('ignoreNullFields', 'false'))"


def pack_outgoing(frame: DataFrame) -> DataFrame:
    told = f"CASE WHEN headers IS NOT NULL OR letter IS NOT NULL THEN {aside('headers', 'letter')} END AS aside"
    behind = rows.STATE if rows.STATE in frame.columns else ORIGIN
    return frame.selectExpr("key", "value", "timestamp", told, behind)


def _writing(permit: Permit, batch: int | None) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        slot = find_slot(permit.checkpoint, batch, has_topics=bool(permit.topic_ids))
        written = transactions.write(permit, slot, chunks(batches, permit))
        settled()
        yield tally_of(written, permit)

    return write


def find_slot(checkpoint: Path | None, batch: int | None, *, has_topics: bool) -> Slot:
    """The slot that this worker's task is, with what its batch reads by the checkpoint."""
    number = batch_number(batch)
    context = TaskContext.get()
    assert context is not None
    sources = read_ranges(checkpoint, number) if checkpoint else ()
    feed = read_feed_offset(checkpoint, number) if checkpoint and not has_topics else None
    return Slot(context.partitionId(), number, sources, feed)


def tally_of(written: transactions.Written, permit: Permit) -> pa.RecordBatch:
    """What a slot comes to, as the row that Spark is given of it."""
    letters = written.counts[permit.letters]
    counts = (written.counts[permit.topic] + letters, letters, written.errors)
    tally = (*counts, written.example or None, written.newest or None, written.late)
    return pa.RecordBatch.from_arrays(
        [pa.array([told], type_) for told, type_ in zip(tally, _TYPES, strict=True)], TALLY.names
    )


_TYPES = (pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.int64(), pa.int64())


def chunks(batches: Iterator[pa.RecordBatch], permit: Permit) -> Iterator[Chunk]:
    """Batches of SENT's columns, and of rows.STATE or ORIGIN, as records for the client."""
    for batch in batches:
        if rows.STATE in batch.schema.names:
            states = batch.column(rows.STATE)
            for at in _filled(states):
                yield _changelog_chunk(states[at].as_py(), permit)
            batch = batch.filter(states.is_null()) if states.null_count < len(states) else batch
        if batch.num_rows:
            yield records_chunk(batch, permit)


def records_chunk(batch: pa.RecordBatch, permit: Permit) -> Chunk:
    keys, values, times, asides = batch.columns[: len(SENT)]
    # librdkafka reads 0 as "now": a row at the epoch's first millisecond is stamped one later.
    stamped = pc.max_element_wise(times, 1).to_numpy()
    stamps = stamped.tolist()
    topics, now = [permit.topic] * batch.num_rows, time.time_ns() // 1_000_000
    good = np.ones(batch.num_rows, bool)
    headers: dict[int, transactions.Headers] = {}
    for at in _filled(asides):
        told = json.loads(asides[at].as_py())
        own = [_header(header) for header in told["headers"] or ()]
        if own:
            headers[at] = [*own]
        letter = told["letter"]
        if letter is None:
            continue
        good[at] = False
        if letter["bad"] == rows.NOTE:
            topics[at] = letter["topic"]
            continue
        topics[at] = permit.letters
        # One from the future has the present time: brokers may refuse its own, and a topic would keep it too long.
        stamps[at] = min(stamps[at], now)
        headers[at] = list(telling(letter["bad"], letter, own))
    return Chunk(
        topics,
        _listed(keys),
        _listed(values),
        stamps,
        [headers.get(at) for at in range(batch.num_rows)] if headers else None,
        _longest(keys) + _longest(values),
        int(np.max(stamped[good], initial=0)),
        batch.column(ORIGIN)[0].as_py() if ORIGIN in batch.schema.names else None,
    )


def _changelog_chunk(packed: bytes, permit: Permit) -> Chunk:
    """Changes of state as records of their changelog, in their task's partition."""
    operator, task, places, blobs, late = unpack_changes(packed)
    now = time.time_ns() // 1_000_000
    count = len(places)
    topics = [permit.changelogs[operator]] * count
    return Chunk(topics, list(places), blobs, [now] * count, None, partition=task, late=late)


def _filled(column: pa.Array) -> list[int]:
    """Where the column has something."""
    if column.null_count == len(column):
        return []
    found: list[int] = pc.indices_nonzero(column.is_valid()).to_pylist()
    return found


def _header(told: dict[str, str | None]) -> tuple[str, bytes | None]:
    name, value = told["key"], told.get("value")
    assert name is not None
    return name, None if value is None else b64decode(value)


def _longest(column: pa.Array) -> int:
    return pc.max(pc.binary_length(column)).as_py() or 0


def _listed(column: pa.Array) -> list[Any]:
    """A column as Python values, by way of numpy, which makes them in C: `to_pylist` makes each in Python."""
    listed: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return listed

"""The exact lane: each batch's records go to Kafka once, whatever is killed when.

Spark's own Kafka sink repeats a batch after a crash and can't set a record's timestamp. Here the last operator of a
query's own plan hands its rows as Arrow to Python workers that write them in transactions (see
orion.hub.transactions), and nothing is left for a sink to do. A batch is one job, as with Spark's sink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import LongType, StringType, StructField, StructType

from orion.hub import transactions
from orion.hub.dead_letters import telling
from orion.hub.transactions import Chunk, Permit, Slot
from orion.runtime.workers import settled

# The name of what a batch counts, in Spark's reports.
WRITTEN = "written"
# Where Spark tells a task which batch it is of.
_BATCH = "streaming.sql.batchId"
# What a slot comes to. The dead letters are among the records; of those that are good the time of the newest is told.
TALLY = StructType(
    [
        StructField("records", LongType()),
        StructField("letters", LongType()),
        StructField("errors", LongType()),
        StructField("example", StringType()),
        StructField("newest", LongType()),
    ]
)

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class ExactLane:
    """Writes the batches of one run of a query."""

    permit: Permit
    trigger_ms: int

    def start(self, frame: DataFrame, name: str, checkpoint: Path) -> StreamingQuery:
        """Start writing a frame of rows.OUTGOING."""
        # A scheduler pool for each query: a long batch of one doesn't hold up the others.
        frame.sparkSession.sparkContext.setLocalProperty("spark.scheduler.pool", name)
        tallies = frame.mapInArrow(writing(self.permit), TALLY)
        sums = [F.sum(name).alias(name) for name in ("records", "letters", "errors")]
        latest = [F.max(name).alias(name) for name in ("example", "newest")]
        return (
            tallies.observe(WRITTEN, *sums, *latest)
            .writeStream.format("noop")
            .queryName(name)
            .outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime=f"{self.trigger_ms} milliseconds")
            .start()
        )


def writing(permit: Permit, batch: int | None = None) -> Work:
    """What a worker does with its partition of a batch; `batch` is for those that Spark doesn't tell their number."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() > 0:
            # An earlier attempt may still be at it somewhere. A new run shuts it out, a second attempt doesn't.
            raise RuntimeError("a slot is written once a run: the query starts again instead")
        number = int(context.getLocalProperty(_BATCH) or -1) if batch is None else batch
        written = transactions.write(permit, Slot(context.partitionId(), number), _chunks(batches))
        settled()
        counts = (sum(written.counts.values()), written.counts[permit.letters], written.errors)
        tally = (*counts, written.example or None, written.newest or None)
        yield pa.RecordBatch.from_arrays(
            [pa.array([told], type_) for told, type_ in zip(tally, _TYPES, strict=True)], TALLY.names
        )

    return write


_TYPES = (pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.int64())


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[Chunk]:
    for batch in batches:
        if batch.num_rows == 0:
            continue
        topics, keys, values, times, headers, origins, letters = batch.columns
        # librdkafka reads 0 as "now": a row at the epoch's first millisecond is stamped one later.
        stamped = pc.max_element_wise(times, 1)
        yield Chunk(
            _listed(topics),
            _listed(keys),
            _listed(values),
            stamped.to_numpy().tolist(),
            _headers(headers, letters),
            _longest(keys) + _longest(values),
            pc.max(stamped.filter(letters.is_null())).as_py() or 0,
            origins[0].as_py(),
        )


def _longest(column: pa.Array) -> int:
    return pc.max(pc.binary_length(column)).as_py() or 0


def _listed(column: pa.Array) -> list[Any]:
    """A column as Python values, by way of numpy, which makes them in C: `to_pylist` makes each in Python."""
    listed: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return listed


def _headers(headers: pa.Array, letters: pa.Array) -> list[transactions.Headers] | None:
    """The headers of each record, those of dead letters with what they tell; None: no record has any."""
    if headers.null_count == len(headers) and letters.null_count == len(letters):
        return None
    made: list[transactions.Headers] = [_pairs(h) for h in headers.to_pylist()]
    for at in pc.indices_nonzero(letters.is_valid()).to_pylist():
        letter = letters[at].as_py()
        made[at] = list(telling(letter["bad"], letter, made[at] or []))
    return made


def _pairs(headers: list[dict[str, Any]] | None) -> transactions.Headers:
    return [(h["key"], h["value"]) for h in headers] if headers else None

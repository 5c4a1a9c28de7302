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

from orion.hub import transactions
from orion.hub.dead_letters import telling
from orion.hub.transactions import Chunk, Permit, Slot
from orion.plan.tolerance import LATE_ROW

# The name of what a batch counts, in Spark's reports.
WRITTEN = "written"
# Where Spark tells a task which batch it is of.
_BATCH = "streaming.sql.batchId"
# What a slot comes to; only sinks look at it.
TALLY = "letters BIGINT, errors BIGINT, example STRING"

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
        return (
            _counted(frame)
            .mapInArrow(writing(self.permit), TALLY)
            .writeStream.format("noop")
            .queryName(name)
            .outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime=f"{self.trigger_ms} milliseconds")
            .start()
        )


def _counted(frame: DataFrame) -> DataFrame:
    """With what is told of each batch: its records, the dead letters among them, and the time of the newest row."""
    return frame.observe(
        WRITTEN,
        F.count(F.lit(1)).alias("records"),
        F.count_if(F.expr("letter IS NOT NULL")).alias("letters"),
        F.count_if(F.expr(f"NOT startswith(letter.bad, '{LATE_ROW}')")).alias("errors"),
        F.max(F.expr("if(letter IS NULL, timestamp, NULL)")).alias("newest"),
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
        tally = {"letters": [written.counts[permit.letters]], "errors": [written.errors], "example": [written.example]}
        yield pa.RecordBatch.from_pydict(tally, _TALLY)

    return write


_TALLY = pa.schema([("letters", pa.int64()), ("errors", pa.int64()), ("example", pa.string())])


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[Chunk]:
    for batch in batches:
        if batch.num_rows == 0:
            continue
        topics, keys, values, times, headers, origins, letters = batch.columns
        yield Chunk(
            _listed(topics),
            _listed(keys),
            _listed(values),
            # librdkafka reads 0 as "now": a row at the epoch's first millisecond is stamped one later.
            pc.max_element_wise(times, 1).to_numpy().tolist(),
            _headers(headers, letters),
            _longest(keys) + _longest(values),
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

"""The exact lane: each batch's records go to Kafka once, whatever is killed when.

Spark's own Kafka sink repeats a batch after a crash and can't set a record's timestamp. Here the batch's partitions are
handed as Arrow to Python workers that write them in transactions (see orion.hub.transactions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StringType, StructField, StructType

from orion.hub import transactions
from orion.hub.dead_letters import telling
from orion.hub.transactions import Chunk, Permit, Slot, Written
from orion.plan.tolerance import Recent
from orion.runtime.runs import Admission, Run, not_tolerated

# As Spark's own type: a text would be parsed by the JVM, batch by batch.
_WRITTEN = StructType(
    [
        StructField("topic", StringType()),
        StructField("records", LongType()),
        StructField("newest", LongType()),
        StructField("errors", LongType()),
        StructField("example", StringType()),
    ]
)


@dataclass
class ExactLane:
    """Writes the batches of one run of a job."""

    run: Run
    permit: Permit  # of all its batches, but for the membership
    on_written: Callable[[Written], None]
    recent: Recent = field(default_factory=Recent)  # how many of the last records were dead letters

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Called by foreachBatch, once for each batch, and again for one that a crash cut off."""
        written = self.write(batch, number, self.run.admit(number))
        self.run.went_through()
        self.judge(written)

    def judge(self, written: Written) -> None:
        """Stop at too many dead letters. They stand, and so does the rest of the batch."""
        tolerance = self.permit.tolerance
        if not tolerance.bounded:
            return
        good = sum(written.counts.values()) - written.counts[self.permit.letters]
        self.recent = self.recent.after(good, written.errors)
        why = self.recent.exceeds(tolerance)
        if why is not None:
            raise self.run.stopped_by(not_tolerated(why, written.example))

    def write(self, batch: DataFrame, number: int, leave: Admission) -> Written:
        work = _writer(replace(self.permit, membership=leave.membership, done=leave.done), number)
        written = Written()
        for row in batch.mapInArrow(work, _WRITTEN).collect():
            written.counts[row.topic] += row.records
            written.newest = max(written.newest, row.newest)
            written.errors += row.errors if row.topic == self.permit.letters else 0
            written.example = written.example or row.example
        self.on_written(written)
        return written


def _writer(permit: Permit, number: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() > 0:
            # An earlier attempt may still be at it somewhere. A new run shuts it out, a second attempt doesn't.
            raise RuntimeError("a slot is written once a run: the query starts again instead")
        written = transactions.write(permit, Slot(context.partitionId(), number), _chunks(batches))
        counts = written.counts
        if not counts:
            return
        columns: dict[str, list[Any]] = {"topic": list(counts), "records": list(counts.values())}
        for name in ("newest", "errors", "example"):
            columns[name] = [getattr(written, name)] * len(counts)
        yield pa.RecordBatch.from_pydict(columns, _SCHEMA)

    return write


_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("records", pa.int64()),
        ("newest", pa.int64()),
        ("errors", pa.int64()),
        ("example", pa.string()),
    ]
)


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
            pc.max(stamped).as_py(),
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

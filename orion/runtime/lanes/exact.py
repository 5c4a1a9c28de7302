"""The exact lane: each batch's records go to Kafka once, whatever is killed when.

Spark's own Kafka sink repeats a batch after a crash and can't set a record's timestamp. Here the batch's partitions are
handed as Arrow to Python workers that write them in transactions (see orion.hub.transactions).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame

from orion.hub import transactions

_COUNTS = "topic STRING, records BIGINT"


@dataclass
class ExactLane:
    """Writes the batches of one run of a query."""

    bootstrap: str
    query: str
    on_written: Callable[[Counter[str]], None]
    resumed: bool  # the run goes on from a checkpoint, so its first batch may have been written before

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Called by foreachBatch, once for each batch, and again for one that a crash cut off."""
        work = _writer(self.bootstrap, self.query, number, self.resumed)
        counts: Counter[str] = Counter()
        for row in batch.mapInArrow(work, _COUNTS).collect():
            counts[row.topic] += row.records
        self.resumed = False
        self.on_written(counts)


def _writer(
    bootstrap: str, query: str, number: int, again: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        slot = transactions.Slot(bootstrap, query, context.partitionId(), number)
        repeated = again or context.attemptNumber() > 0
        counts = transactions.write(slot, _chunks(batches), again=repeated)
        yield pa.RecordBatch.from_pydict({"topic": list(counts), "records": list(counts.values())}, _SCHEMA)

    return write


_SCHEMA = pa.schema([("topic", pa.string()), ("records", pa.int64())])


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[transactions.Chunk]:
    for batch in batches:
        topics, keys, values, times, headers = batch.columns
        yield transactions.Chunk(
            _listed(topics),
            _listed(keys),
            _listed(values),
            # librdkafka reads 0 as "now": a row at the epoch's first millisecond is stamped one later.
            pc.max_element_wise(times, 1).to_numpy().tolist(),
            None if headers.null_count == len(headers) else [_pairs(h) for h in headers.to_pylist()],
        )


def _listed(column: pa.Array) -> list[Any]:
    """A column as Python values, by way of numpy, which makes them in C: `to_pylist` makes each in Python."""
    listed: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return listed


def _pairs(headers: list[dict[str, Any]] | None) -> transactions.Headers:
    return [(h["key"], h["value"]) for h in headers] if headers else None

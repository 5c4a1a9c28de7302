"""Rows for the benchmarks of the jdbc sink, as workers hand them over, and moving them into a store."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal as Exact

import pyarrow as pa

from orion.plan.sources import Connector, Kind
from orion.schema import Column, Decimal, Role, Scalar
from orion.sinks.jdbc import JdbcStore, open_sink
from orion.sinks.store import DELETED, OFFSET, PARTITION, ROUTE, TIME, Layout, Slot

ROWS = 200_000
BATCH = 10_000  # as many as Spark hands over at once
START = datetime(2026, 9, 21, tzinfo=UTC)
COLUMNS = (
    Column("ID", Scalar.BIGINT, Role.KEY),
    Column("LISTENER", Scalar.STRING),
    Column("TITLE", Scalar.STRING),
    Column("STARTED", Scalar.TIMESTAMP),
    Column("SECONDS", Scalar.INTEGER),
    Column("PRICE", Decimal(10, 2)),
    Column("LIKED", Scalar.BOOLEAN),
    Column("SCORE", Scalar.DOUBLE),
)
TABLE = (
    "CREATE TABLE {name} (id BIGINT PRIMARY KEY, listener {text}, title {text}, started {instant}, seconds INTEGER, "
    "price DECIMAL(10,2), liked BOOLEAN, score DOUBLE PRECISION)"
)


def batches() -> list[pa.RecordBatch]:
    return [_batch(first) for first in range(0, ROWS, BATCH)]


def _batch(first: int) -> pa.RecordBatch:
    numbers = range(first, first + BATCH)
    return pa.record_batch(
        {
            "ID": pa.array(numbers, pa.int64()),
            "LISTENER": [f"listener-{n % 5000}" for n in numbers],
            "TITLE": [None if n % 50 == 0 else f'It\'s song {n % 900}, "part" {n % 7}' for n in numbers],
            "STARTED": pa.array([START + timedelta(milliseconds=n * 37) for n in numbers], pa.timestamp("us", "UTC")),
            "SECONDS": pa.array([n % 400 for n in numbers], pa.int32()),
            "PRICE": pa.array([Exact(n % 10_000) / 100 for n in numbers], pa.decimal128(10, 2)),
            "LIKED": [n % 3 == 0 for n in numbers],
            "SCORE": [n / 7 for n in numbers],
            DELETED: pa.repeat(False, BATCH),
            PARTITION: pa.array([0] * BATCH, pa.int32()),
            OFFSET: pa.array(numbers, pa.int64()),
            TIME: pa.repeat(1_790_000_000_000, BATCH),
            ROUTE: pa.nulls(BATCH, pa.string()),
        }
    )


def opened(table: str, options: dict[str, str]) -> JdbcStore:
    """A store that inserts into a table of its own."""
    layout = Layout(table, Kind.STREAM, COLUMNS)
    store = open_sink(Connector("BENCH", "jdbc", (), tuple(options.items())), layout)
    store.prepare()
    return store


def rows_per_second(store: JdbcStore, rows: list[pa.RecordBatch]) -> float:
    """All rows as one slot, from Arrow to the commit."""
    session = store.open()
    start = time.perf_counter()
    transfer = session.begin(Slot(store.layout.topic, 0, 1))
    if transfer is None:
        raise RuntimeError("the slot is there already")
    refused = [refusal for batch in rows for refusal in transfer.write(batch)]
    transfer.finish()
    transfer.commit()
    taken = time.perf_counter() - start
    session.close()
    if refused:
        raise RuntimeError(f"a row was refused: {refused[0].reason}")
    return ROWS / taken

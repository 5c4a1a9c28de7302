"""The lane of stores: each slot of a batch is one transfer, made by a Python worker (see orion.sinks.store).

As in the exact lane, the last operator of the stream's own plan hands its rows as Arrow to the workers, and nothing is
left for Spark's sink to do. Dead letters of a slot, of records that can't be decoded and of rows that the store
refuses, are committed to Kafka before the transfer is: whatever is killed when, both are there in the end, once. Before
all that the slot notes in Kafka which offsets the batch reads.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from orion.hub import transactions
from orion.hub.kafka import Kafka
from orion.hub.ledger import Ranges
from orion.hub.lookup import records_at
from orion.hub.records import Record
from orion.hub.transactions import Permit, Written
from orion.runtime import rows
from orion.runtime.checkpoint_planting import read_ranges
from orion.runtime.lanes.exact import TALLY, aside, chunks, counted, tally_of
from orion.runtime.lanes.streams import writer
from orion.runtime.simplified import simplified, skip_optimizer_rules
from orion.runtime.streaming_batch import batch_number
from orion.runtime.workers import settled
from orion.sinks.store import TIME, Refusal, Session, Slot, Store, StoreAway, Transfer

# What goes along for dead letters, behind the store's own columns: the record itself only where it is one already. Of
# those that the store refuses it is read from Kafka once more, so that all others needn't carry their bytes.
_BAD = f"{rows.BAD} IS NOT NULL"
_LETTER = (
    f"named_struct('bad', {rows.BAD}, 'topic', {rows.TOPIC}, 'partition', ROWPARTITION, 'offset', ROWOFFSET, "
    f"'stamp', {rows.STAMP})"
)
_LETTERS = {
    "key": f"CASE WHEN {_BAD} THEN {rows.RAW_KEY} END",
    "value": f"CASE WHEN {_BAD} THEN {rows.RAW_VALUE} END",
    "timestamp": rows.STAMP,
    "aside": f"CASE WHEN {_BAD} THEN {aside(rows.RECORD_HEADERS, _LETTER)} END",
    "origin": rows.ORIGIN,
}
_SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("timestamp", pa.int64()), ("aside", pa.string())])
_KEPT_SESSIONS = 4  # of a worker; each is a connection that the server has to bear


@dataclass(frozen=True)
class StoresLane:
    """Moves the batches of one run of a connector's task."""

    permit: Permit
    trigger_ms: int
    store: Store
    task: str

    def start(self, frame: DataFrame, columns: Sequence[str], name: str, checkpoint: Path) -> StreamingQuery:
        """Start moving a decoded frame; `columns` are the expressions of what the store takes."""
        letters = [f"{spark} AS __letter_{name}" for name, spark in _LETTERS.items()]
        sent = simplified(frame.selectExpr(*columns, *letters))
        tally = sent.mapInArrow(_moving(self.permit, self.store, self.task), TALLY)
        trigger = f"{self.trigger_ms} milliseconds"
        stream = writer(counted(tally), name, checkpoint).format("noop").trigger(processingTime=trigger).start()
        skip_optimizer_rules(stream)
        return stream


Batches = Iterator[pa.RecordBatch]


def _moving(permit: Permit, store: Store, task: str) -> Callable[[Batches], Batches]:
    def move(batches: Batches) -> Batches:
        number = batch_number()
        filled = (batch for batch in batches if batch.num_rows)
        head = next(filled, None)
        if head is not None:
            sources = read_ranges(permit.checkpoint, number) if permit.checkpoint else ()
            slot = Slot(task, head.column(head.num_columns - 1)[0].as_py(), number)
            yield tally_of(_moved(permit, store, slot, sources, _chained(head, filled)), permit)
        settled()

    return move


def _chained(head: pa.RecordBatch, rest: Batches) -> Batches:
    yield head
    yield from rest


def _moved(permit: Permit, store: Store, slot: Slot, sources: tuple[Ranges, ...], batches: Batches) -> Written:
    """The batch is noted before the store has any of it: by the note it runs again over the same rows, and by its epoch
    the store knows that it has them."""
    noted = transactions.Slot(slot.number, slot.epoch, sources)
    transactions.begin_slot(permit, noted)
    session, transfer = _begun(store, slot)
    if transfer is None:
        return Written()
    moving = _Moving(permit, noted, transfer, store.layout.topic)
    try:
        written = moving.all(batches)
        transfer.commit()
    except BaseException:
        with suppress(Exception):
            transfer.abort()
        _drop(store, session)
        raise
    return written


@dataclass
class _Moving:
    """One slot on its way."""

    permit: Permit
    slot: transactions.Slot
    transfer: Transfer
    topic: str
    taken: int = 0
    newest: int = 0

    def all(self, batches: Batches) -> Written:
        """All rows to the store and, before it commits, all dead letters to Kafka."""
        unreadable: list[pa.RecordBatch] = []
        refused: list[Refusal] = []
        for batch in batches:
            own = batch.num_columns - len(_LETTERS)
            letters = pa.RecordBatch.from_arrays(batch.columns[own:-1], schema=_SCHEMA)
            is_bad = letters.column("aside").is_valid()
            good = batch.select(range(own))
            if letters.column("aside").null_count < batch.num_rows:
                unreadable.append(letters.filter(is_bad))
                good = good.filter(pc.invert(is_bad))
            if good.num_rows:
                refused += self.transfer.write(good)
                self.taken += good.num_rows
                self.newest = max(self.newest, pc.max(good.column(TIME)).as_py() or 0)
        refused += self.transfer.finish()
        if refused:
            unreadable.append(self._letters(refused))
        written = transactions.write(self.permit, self.slot, chunks(iter(unreadable), self.permit))
        good_rows = self.taken - len({one.offset for one in refused})
        written.counts[self.permit.topic] += good_rows
        written.newest = max(written.newest, self.newest)
        return written

    def _letters(self, refused: Sequence[Refusal]) -> pa.RecordBatch:
        reasons = {one.offset: one.reason for one in refused}
        place = (self.topic, self.slot.number)
        there = records_at(Kafka(self.permit.bootstrap), place, reasons)
        made = [self._letter(offset, reasons[offset], there.get(offset)) for offset in sorted(reasons)]
        return pa.RecordBatch.from_pylist(made, schema=_SCHEMA)

    def _letter(self, offset: int, reason: str, record: Record | None) -> dict[str, Any]:
        """A dead letter's row, as Spark makes them of records that can't be decoded."""
        stamp = (record.timestamp if record else None) or 0
        told = {"bad": f"ROW_REFUSED: {reason}", "topic": self.topic, "partition": self.slot.number}
        headers = [
            {"key": name, "value": None if value is None else b64encode(value).decode()}
            for name, value in (record.headers if record else ())
        ]
        letter = {**told, "offset": offset, "stamp": stamp}
        return {
            "key": record.key if record else None,
            "value": record.value if record else None,
            "timestamp": stamp,
            "aside": json.dumps({"headers": headers, "letter": letter}),
        }


# ---- sessions of this worker -------------------------------------------------------------------------------------

_open: dict[Store, Session] = {}


def _begun(store: Store, slot: Slot) -> tuple[Session, Transfer | None]:
    """A transfer in this worker's session. One that was kept may have lost its server meanwhile: then a new one."""
    kept = _open.pop(store, None)
    if kept is not None:
        try:
            transfer = kept.begin(slot)
            _open[store] = kept  # last used, last to go
            return kept, transfer
        except StoreAway:
            _drop(store, kept)
    session = store.open()
    _open[store] = session
    while len(_open) > _KEPT_SESSIONS:
        _drop(oldest := next(iter(_open)), _open[oldest])
    return session, session.begin(slot)


def _drop(store: Store, session: Session) -> None:
    _open.pop(store, None)
    with suppress(Exception):
        session.close()

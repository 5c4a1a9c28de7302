"""The exact lane of statements that share a stream: the records of all of them in one transaction a slot.

Each has its own note in it, in its own group: so each goes on from there by itself, whoever else was in the stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from orion.hub import transactions
from orion.hub.ledger import Ranges
from orion.hub.transactions import Chunk, Permit, Slot, Written
from orion.runtime.lanes.exact import chunks, find_slot
from orion.runtime.lanes.streams import writer
from orion.runtime.operators.pooled import MEMBER
from orion.runtime.progress import WRITTEN
from orion.runtime.simplified import simplified, skip_optimizer_rules
from orion.runtime.workers import settled

_SLOT, _TALLIES = "slot", "tallies"
# What a slot comes to, as text: for Spark it is one value, however many statements there are.
_TOLD = StructType([StructField(_SLOT, IntegerType()), StructField(_TALLIES, StringType())])
_NAMES = ("records", "letters", "errors", "example", "newest", "late")
_SUMMED = ("records", "letters", "errors", "late")


@dataclass(frozen=True)
class StreamMember:
    """A statement of a shared stream: what it may write, and from where on it reads."""

    permit: Permit
    starts: Mapping[str, Mapping[int, int]]  # by topic and partition


@dataclass(frozen=True)
class SharedLane:
    """Writes the batches of one stream. `slots`: as many as there are partitions that it reads, or tasks."""

    members: tuple[StreamMember, ...]
    slots: int
    trigger_ms: int

    def start(self, frame: DataFrame, name: str, checkpoint: Path) -> StreamingQuery:
        """Start writing a frame of SENT, of ORIGIN or rows.STATE, and of MEMBER."""
        told = simplified(frame).mapInArrow(_write_slots(self.members, checkpoint), _TOLD)
        # A text for each slot: Spark reports no lists, and sums for each statement would be hundreds of columns.
        slots = [F.max(F.when(F.col(_SLOT) == slot, F.col(_TALLIES))).alias(f"{slot}") for slot in range(self.slots)]
        trigger = f"{self.trigger_ms} milliseconds"
        stream = writer(told.observe(WRITTEN, *slots), name, checkpoint).format("noop")
        started = stream.trigger(processingTime=trigger).start()
        skip_optimizer_rules(started, is_folded=True)
        return started


def read_tallies(observed: Mapping[str, Any] | None, member: int) -> dict[str, Any]:
    """What the batch of a stream comes to for one of its statements, as the exact lane tells it."""
    found: dict[str, Any] = {}
    for told in (observed or {}).values():
        tally = json.loads(told).get(str(member)) if told else None
        for name, value in zip(_NAMES, tally or (), strict=False):
            if name in _SUMMED:
                found[name] = found.get(name, 0) + value
            elif value is not None:
                found[name] = max(value, found.get(name, value))
    return found


def narrow_to_starts(sources: Sequence[Ranges], starts: Mapping[str, Mapping[int, int]]) -> tuple[Ranges, ...]:
    """What a statement reads of a batch, of which it may have read a part before it came to the stream."""
    return tuple(
        {topic: {part: _behind(both, starts.get(topic, {}).get(part, 0)) for part, both in ranges.items()}}
        for source in sources
        for topic, ranges in source.items()
    )


def _behind(both: tuple[int, int], start: int) -> tuple[int, int]:
    return max(both[0], start), max(both[1], start)


def _write_slots(
    members: tuple[StreamMember, ...], checkpoint: Path
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        slot = find_slot(checkpoint, None, has_topics=True)
        slots = [_slot_of(member, slot) for member in members]
        written = transactions.write_shared(slots, _cut_by_member(batches, members))
        settled()
        tallies = {n: _tally(one, members[n].permit) for n, one in enumerate(written) if one.counts or one.late}
        # The slot's number is told by those who have written: of an empty one there is nothing to tell.
        yield pa.RecordBatch.from_arrays(
            [pa.array([slot.number], pa.int32()), pa.array([json.dumps(tallies)], pa.string())], _TOLD.names
        )

    return write


def _slot_of(member: StreamMember, slot: Slot) -> tuple[Permit, Slot]:
    return member.permit, replace(slot, sources=narrow_to_starts(slot.sources, member.starts))


def _cut_by_member(batches: Iterator[pa.RecordBatch], members: Sequence[StreamMember]) -> Iterator[Chunk]:
    for batch in batches:
        column = batch.column(MEMBER)
        for number in pc.unique(column).to_pylist():
            for chunk in chunks(iter((batch.filter(pc.equal(column, number)),)), members[number].permit):
                yield replace(chunk, member=number)


def _tally(written: Written, permit: Permit) -> list[object]:
    letters = written.counts[permit.letters]
    good = written.counts[permit.topic]
    return [good + letters, letters, written.errors, written.example or None, written.newest or None, written.late]

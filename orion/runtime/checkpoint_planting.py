"""Checkpoint folders made anew, from what stands in Kafka: notes of the last batch (orion.hub.ledger), and the offsets
of the job's group.

Spark goes by what a checkpoint says, whoever wrote it: one that ends with batch 7 planned, from where batch 6 ended,
has it run batch 7 over exactly that range. Slots that have written it find their note, or their epoch in the store, and
write nothing. So the folder is scratch.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orion.hub.ledger import LedgerNote, Ranges

_VERSION = "v1"
# A sink goes on behind a batch whose number isn't known with one that no batch before it has had: stores take nothing
# under a number that they know.
_NUMBERS_APART = 1_000_000_000
Offsets = dict[str, dict[int, int]]
Notes = Mapping[int, LedgerNote]
Reached = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True)
class BatchPlan:
    """A batch as a checkpoint has it: from where to where each scan of the query reads in it."""

    batch: int
    sources: tuple[Ranges, ...]
    is_done: bool  # the group says that it was, in all its slots
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    feed: Mapping[str, Any] | None = None  # of a feed, in place of topics: up to where it has read
    files: tuple[str, ...] = ()  # of a feed that follows a folder: what it has read, as entries of Spark's own log


# How a job's next batch is found: by the notes, how far its group is, and the topic of each scan. None: the job begins
# where it begins by itself. Raises LookupError where that isn't told.
Replan = Callable[[Notes, Reached, Sequence[str]], BatchPlan | None]


def read_ranges(folder: Path, batch: int) -> tuple[Ranges, ...]:
    """What a batch reads by Spark's own plan; nothing where the folder isn't on this machine, or tells less.

    For workers, once a slot: Spark has written the plan before the batch runs.
    """
    try:
        ends = _read_plan(folder / "offsets" / str(batch))
        if batch > 0:
            starts = _read_plan(folder / "offsets" / str(batch - 1))
        else:
            starts = [read_beginning(folder / "sources" / str(source) / "0") for source in range(len(ends))]
        return tuple(_range_of(*both) for both in zip(starts, ends, strict=True))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ()


def read_feed_offset(folder: Path, batch: int) -> Mapping[str, Any] | None:
    """Up to where a feed's batch reads by Spark's own plan; None where that can't be read."""
    try:
        lines = (folder / "offsets" / str(batch)).read_text(encoding="utf-8").split("\n")[2:]
        told = json.loads(lines[0])
    except (OSError, ValueError, LookupError):
        return None
    return told if isinstance(told, dict) else None


def _range_of(start: Offsets, end: Offsets) -> Ranges:
    """A partition that came with this batch is read from its first record on."""
    return {
        topic: {part: (start.get(topic, {}).get(part, 0), to) for part, to in ends.items()}
        for topic, ends in end.items()
    }


def _read_plan(file: Path) -> list[Offsets]:
    return [_parse_offsets(line) for line in file.read_text(encoding="utf-8").split("\n")[2:] if line]


def read_beginning(file: Path) -> Offsets:
    """Where a source begins."""
    # A zero byte stands in front, for Spark 2.1.
    return _parse_offsets(file.read_text(encoding="utf-8").split("\n", 1)[1])


def _parse_offsets(line: str) -> Offsets:
    return {topic: {int(part): int(to) for part, to in ends.items()} for topic, ends in json.loads(line).items()}


def plan_anew(notes: Notes, reached: Reached, scans: Sequence[str]) -> BatchPlan:
    """The batch to begin with, by what the slots have noted and how far the group is.

    `scans` has the topic of each scan in the order of the plan. The group is behind the last batch that was done in all
    slots, or at it. What it is ahead by made no results, and need not be read again. Raises LookupError where the
    notes don't tell enough.
    """
    last = _last_of(notes)
    if last is None or last.fast is not None:
        return plan_at_group(notes, reached, scans)
    if sorted(topic for source in last.sources for topic in source) != sorted(scans):
        raise LookupError("which offsets the last batch read isn't known")
    ahead = [_ahead_of(source, reached) for source in last.sources]
    if any(there is None for there in ahead):
        return BatchPlan(last.batch, last.sources, is_done=False, topic_ids=last.topic_ids)
    return BatchPlan(last.batch + 1, tuple(there or {} for there in ahead), is_done=True, topic_ids=last.topic_ids)


def plan_at_group(notes: Notes, reached: Reached, scans: Sequence[str]) -> BatchPlan:
    """A batch that is done, up to where the group is. What was written behind that is written again."""
    last = _last_of(notes)
    number, ids = (0, {}) if last is None else (max(0, last.batch), last.topic_ids)
    if any(topic not in reached for topic in scans):
        raise LookupError("the group has no offsets")
    return BatchPlan(number, tuple(_standing_at(topic, reached) for topic in scans), is_done=True, topic_ids=ids)


def find_slot_positions(notes: Notes, reached: Reached, begun: Reached, topic: str) -> Offsets:
    """From where on each partition is read, of a job whose slots are the partitions of its one topic.

    What a slot has noted is written, and nothing of it behind that. The group may be further: what lies between made no
    records. `begun` is where a job without either has begun. Raises LookupError where notes don't tell.
    """
    stands = dict(begun.get(topic, {})) | dict(reached.get(topic, {}))
    for slot, note in notes.items():
        if note.fast is not None or not note.sources:
            raise LookupError("which offsets the last batch read isn't known")
        for source in note.sources:
            if slot in source.get(topic, {}):
                stands[slot] = max(source[topic][slot][1], stands.get(slot, 0))
    if not stands:
        raise LookupError("how far it is isn't known")
    return {topic: stands}


class BatchUnfinished(LookupError):
    """The job's last batch may have been written by some of its slots and not by all: it has to be done first."""


def find_batch_end(notes: Notes, reached: Reached, begun: Reached, topic: str, slots: int) -> Offsets:
    """Where the last batch has ended, of a job over one topic whose slots are tasks: each has rows of every partition.

    Raises BatchUnfinished where it may not have, and LookupError where nothing tells.
    """
    last = _last_of(notes)
    at = dict(begun.get(topic, {})) | dict(reached.get(topic, {}))
    if last is not None:
        if last.fast is not None or [set(source) for source in last.sources] != [{topic}]:
            raise LookupError("which offsets the last batch read isn't known")
        ends = {part: end for part, (_, end) in last.sources[0][topic].items()}
        # The group is told a moment later than the slots are.
        is_written = all(slot in notes and notes[slot].batch == last.batch for slot in range(slots))
        if not is_written and any(at.get(part, -1) < end for part, end in ends.items()):
            raise BatchUnfinished("whether its last batch was done isn't known")
        at |= {part: max(end, at.get(part, 0)) for part, end in ends.items()}
    if not at:
        raise LookupError("how far it is isn't known")
    return {topic: at}


def plan_fast(notes: Notes, reached: Reached, scans: Sequence[str]) -> BatchPlan | None:
    """Where the group is; before the end of its first batch a query of the fast lane begins again."""
    if not reached and any(note.fast is not None for note in notes.values()):
        return None
    return plan_at_group(notes, reached, scans)


def plan_for_sink(notes: Notes, reached: Reached, scans: Sequence[str]) -> BatchPlan:
    """As `plan_anew`, and at least once where ranges are not known: earlier versions noted none."""
    try:
        if notes:
            return plan_anew(_merge_notes(notes, reached, scans[0]), reached, scans)
    except LookupError:
        pass
    behind = plan_at_group(notes, reached, scans)
    return replace(behind, batch=behind.batch + _NUMBERS_APART)


def _merge_notes(notes: Notes, reached: Reached, topic: str) -> Notes:
    """One note of the last batch of a sink, where its slots have noted a part each: those that have noted nothing have
    written nothing of it, and need not read anything in it."""
    last = max(note.batch for note in notes.values())
    there = [note for note in notes.values() if note.batch == last]
    if not all(note.sources for note in there):
        raise LookupError("which offsets the last batch read isn't known")
    stands = dict(reached.get(topic, {}))
    for source in (source for note in notes.values() for source in note.sources):
        for part, (_, end) in source.get(topic, {}).items():
            stands[part] = max(end, stands.get(part, 0))
    ranges = {part: (at, at) for part, at in stands.items()}
    for source in (source for note in there for source in note.sources):
        ranges |= source.get(topic, {})
    return {0: replace(there[0], sources=({topic: ranges},))}


def _last_of(notes: Notes) -> LedgerNote | None:
    return max(notes.values(), key=lambda note: (note.batch, bool(note.sources)), default=None)


def _standing_at(topic: str, reached: Reached) -> Ranges:
    return {topic: {part: (offset, offset) for part, offset in reached[topic].items()}}


def _ahead_of(source: Ranges, reached: Reached) -> Ranges | None:
    """Where the group stands, if that is at or behind the end of the batch in every partition, and past it in one."""
    past = False
    for topic, ranges in source.items():
        for part, (_, end) in ranges.items():
            stands = reached.get(topic, {}).get(part, -1)
            if stands < end:
                return None
            past = past or stands > end
    topic = next(iter(source))
    return _standing_at(topic, reached) if past else None


def plant_checkpoint(folder: Path, plan: BatchPlan, shuffle_partitions: int) -> None:
    """Replace what Spark keeps in a folder by a checkpoint that goes on with this plan.

    `shuffle_partitions` is the session's setting: Spark asks for it where a batch was planned and isn't done.
    """
    for name in ("metadata", ".metadata.crc", "offsets", "commits", "sources", "orion.json"):
        there = folder / name
        shutil.rmtree(there, ignore_errors=True) if there.is_dir() else there.unlink(missing_ok=True)
    starts: list[Mapping[Any, Any]] = [_pick(source, 0) for source in plan.sources]
    ends: list[Mapping[Any, Any]] = [_pick(source, 1) for source in plan.sources]
    if plan.feed is not None:
        starts, ends = [plan.feed], [plan.feed]
    if plan.batch > 0:
        _write(folder / "offsets" / str(plan.batch - 1), _write_plan_text(starts, shuffle_partitions))
        _write(folder / "commits" / str(plan.batch - 1), _DONE)
    for number, start in enumerate(starts if plan.feed is None else ()):
        _write(folder / "sources" / str(number) / "0", f"\0{_VERSION}\n{_to_json(start)}")
    if plan.files:
        _write(folder / "sources" / "0" / "0", "\n".join((_VERSION, *plan.files)))
    _write(folder / "offsets" / str(plan.batch), _write_plan_text(ends, shuffle_partitions))
    if plan.is_done:
        _write(folder / "commits" / str(plan.batch), _DONE)
    # Last: a folder without it isn't believed.
    _write(folder / "metadata", _to_json({"id": str(uuid.uuid4())}))


_DONE = f'{_VERSION}\n{{"nextBatchWatermarkMs":0}}'


def _write_plan_text(offsets: Sequence[Mapping[Any, Any]], shuffle_partitions: int) -> str:
    conf = {"spark.sql.shuffle.partitions": str(shuffle_partitions)}
    now = {"batchWatermarkMs": 0, "batchTimestampMs": time.time_ns() // 1_000_000, "conf": conf}
    return "\n".join((_VERSION, _to_json(now), *map(_to_json, offsets)))


def _pick(source: Ranges, at: int) -> Offsets:
    return {topic: {part: both[at] for part, both in ranges.items()} for topic, ranges in source.items()}


def _to_json(told: object) -> str:
    return json.dumps(told, separators=(",", ":"))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")

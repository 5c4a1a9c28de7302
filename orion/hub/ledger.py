"""What is noted of batches in Kafka: which one was begun or written, and from where to where it reads.

The ledger is a topic that stays empty. A note is the text of an offset that the job's group commits for one of its
partitions, the first for the run, one behind it for each slot. In the exact lane a slot notes the batch in its
transaction: note and records stand together or not at all. So the ranges of a batch that has written anything are known
even when every disk is lost.

    {"v":1,"batch":7,"sources":[{"PLAYS":{"0":[5,9]}}],"ids":{"PLAYS":"Ju7mQzXqT3mhoWl0rP0GQw"}}

A source is one scan of the statement, in the order of its plan: for each partition the first offset that the batch
reads, and the first that it doesn't. A bare number is a note of earlier versions. Beside these a note may have

    "edition":"..."          which changelogs the batch was written with (orion.hub.changelog), unless it is the first
                             ones; that of slot 0 is what counts
    "begun":true             a sink's: the batch may have reached the other side from here on. Its slots know there, by
                             the batch's number, what they have written. A slot is a partition, and may note the
                             range of that alone
    "feed":{"row":120}       a source connector's, in place of `sources`: up to where it has read, as Spark knows it
    "fast":{"ended":1789000000000,"partitions":3}
                             the fast lane's: when the batch was done, and how many partitions its output had
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import TopicPartition

from orion.hub.kafka import Kafka

LEDGER = "_orion_batches"
RUN_PARTITION, FIRST_SLOT = 0, 1
_LEAST_PARTITIONS = 16
_FORMAT = 1
# Brokers take 4,096 bytes (offset.metadata.max.bytes).
_MOST_BYTES = 4000
_PACKED = "z:"
# As many ranges as fit into a note in any case.
_MOST_RANGES = 150

# By topic and partition: the first offset that is read, and the first that isn't.
Ranges = Mapping[str, Mapping[int, tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class FastEnd:
    """The end of a batch of the fast lane: when that was, and how many partitions the output had then."""

    ended_ms: int
    partitions: int


@dataclass(frozen=True, slots=True)
class LedgerNote:
    """A batch that a slot has written, or begun. Without `sources` and `feed` its ranges are not known."""

    batch: int
    sources: tuple[Ranges, ...] = ()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    is_begun: bool = False  # it isn't known whether it was written as well
    feed: Mapping[str, Any] | None = None
    fast: FastEnd | None = None
    edition: str = ""

    def encode(self) -> str:
        """The note as text; one that would be too long leaves the ranges out."""
        told: dict[str, object] = {"v": _FORMAT, "batch": self.batch}
        told |= {"edition": self.edition} if self.edition else {}
        if self.is_begun:
            told["begun"] = True
        if self.fast is not None:
            told["fast"] = {"ended": self.fast.ended_ms, "partitions": self.fast.partitions}
        whole = dict(told)
        if self.sources:
            whole |= {"sources": self.sources, "ids": self.topic_ids}
        if self.feed is not None:
            whole["feed"] = self.feed
        text = _to_json(whole)
        if len(text) > _MOST_BYTES:
            text = _PACKED + base64.b85encode(zlib.compress(text.encode())).decode()
        return text if len(text) <= _MOST_BYTES else _to_json(told)


def parse_note(text: str) -> LedgerNote:
    """The note that a text is. What this Orion doesn't know of it is left out, but for the batch."""
    if text.startswith(_PACKED):
        text = zlib.decompress(base64.b85decode(text.removeprefix(_PACKED))).decode()
    told = json.loads(text)
    if isinstance(told, int):
        return LedgerNote(told)
    edition = told.get("edition", "")
    if told["v"] != _FORMAT:
        return LedgerNote(told["batch"], edition=edition)
    sources = tuple(
        {topic: {int(part): (first, end) for part, (first, end) in ranges.items()} for topic, ranges in source.items()}
        for source in told.get("sources", ())
    )
    fast = FastEnd(told["fast"]["ended"], told["fast"]["partitions"]) if "fast" in told else None
    is_begun, feed = told.get("begun", False), told.get("feed")
    return LedgerNote(told["batch"], sources, told.get("ids", {}), is_begun, feed, fast, edition)


def list_written_batches(notes: Mapping[int, LedgerNote]) -> dict[int, int]:
    """The number of the last batch of each slot that is known to be written. One that was only begun may have to be."""
    return {slot: note.batch for slot, note in notes.items() if not note.is_begun}


def narrow_ranges(sources: tuple[Ranges, ...], slot: int) -> tuple[Ranges, ...]:
    """What a sink's slot notes, which is a partition of its topic: of more ranges than a note has room for its own."""
    if sum(len(ranges) for source in sources for ranges in source.values()) <= _MOST_RANGES:
        return sources
    return tuple({topic: {slot: ranges[slot]} for topic, ranges in source.items()} for source in sources)


def _to_json(told: object) -> str:
    return json.dumps(told, separators=(",", ":"))


def slot_place(slot: int, text: str = "") -> TopicPartition:
    """Where a slot's note stands, with a text to be noted."""
    return TopicPartition(LEDGER, slot + FIRST_SLOT, 0, text)


def prepare_ledger(kafka: Kafka, slots: int) -> int:
    """The ledger with room for so many slots; how many it has room for."""
    wanted = _LEAST_PARTITIONS
    while wanted < slots + FIRST_SLOT:
        wanted *= 2
    if not kafka.create_topic(LEDGER, wanted, config={"cleanup.policy": "compact"}, exist_ok=True):
        there = kafka.describe_topic(LEDGER).topic.partitions
        if there < wanted:
            kafka.alter_topic(LEDGER, partitions=wanted)
        wanted = max(there, wanted)
    return wanted - FIRST_SLOT

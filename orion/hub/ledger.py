"""What a slot notes in its transaction: which batch it has written, and from where to where that batch reads.

The ledger is a topic that stays empty. A note is the text of an offset that the query's group commits for one of its
partitions, the first for the run, one behind it for each slot. So a note stands together with the slot's records or
not at all, and the ranges of a batch that has written anything are known even when every disk is lost.

    {"v":1,"batch":7,"sources":[{"PLAYS":{"0":[5,9]}}],"ids":{"PLAYS":"Ju7mQzXqT3mhoWl0rP0GQw"}}

A source is one scan of the statement, in the order of its plan: for each partition the first offset that the batch
reads, and the first that it doesn't. A bare number is a note of earlier versions. `edition` says which changelogs the
batch was written with (orion.hub.changelog), unless it is the first ones; that of slot 0 is what counts.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from confluent_kafka import TopicPartition

from orion.hub.kafka import Kafka

LEDGER = "_orion_batches"
RUN_PARTITION, FIRST_SLOT = 0, 1
_LEAST_PARTITIONS = 16
_FORMAT = 1
# Brokers take 4,096 bytes (offset.metadata.max.bytes).
_MOST_BYTES = 4000
_PACKED = "z:"

# By topic and partition: the first offset that is read, and the first that isn't.
Ranges = Mapping[str, Mapping[int, tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class LedgerNote:
    """A batch that a slot has written. Without `sources` its ranges are not known."""

    batch: int
    sources: tuple[Ranges, ...] = ()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    edition: str = ""

    def encode(self) -> str:
        """The note as text; one that would be too long leaves the ranges out."""
        told: dict[str, object] = {"v": _FORMAT, "batch": self.batch}
        told |= {"edition": self.edition} if self.edition else {}
        if not self.sources:
            return _to_json(told)
        text = _to_json({**told, "sources": self.sources, "ids": self.topic_ids})
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
    if told["v"] != _FORMAT or "sources" not in told:
        return LedgerNote(told["batch"], edition=edition)
    sources = tuple(
        {topic: {int(part): (first, end) for part, (first, end) in ranges.items()} for topic, ranges in source.items()}
        for source in told["sources"]
    )
    return LedgerNote(told["batch"], sources, told["ids"], edition)


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

"""Changelog topics: compacted, a partition for each task of an operator; the fold of a partition is the task's state.

They are written by the slots' own transactions (orion.hub.transactions) and read when a local copy is to be made anew.
Those of all operators of a query are an *edition*. A query begins with one that has no name; each time its state is
spread over another number of tasks, it gets another. Names of editions are random: one that a dead or frozen server has
left behind unfinished is never gone on with by mistake.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, TopicPartition

from orion.errors import ExternalError
from orion.hub import topics
from orion.hub.broker_settings import ANY_TIME
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import Subject, translate, translated

# How long the broker keeps a tombstone: a copy that has not been read on for longer may have missed one.
TOMBSTONES_MS = 7 * 86_400_000
_CONFIG = {
    "cleanup.policy": "compact",
    "delete.retention.ms": str(TOMBSTONES_MS),
    # The segment that is written to is never compacted.
    "segment.bytes": str(64 << 20),
    # A record may be as large as a state is.
    "max.message.bytes": str(128 << 20),
    "message.timestamp.after.max.ms": ANY_TIME,
}
_BEHIND_SERVICE = re.compile(r"(?P<query>.+)-[0-9a-f]+(?:_(?P<edition>[0-9a-f]+))?-(?P<operator>\d+)-changelog")
FIRST_EDITION = ""
_UNFIT = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST = 128  # of the 249 characters that a topic's name may have
_CHUNK = 10_000
_SILENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Changelog:
    """A topic, by its id too: one that was made anew under the same name is another."""

    topic: str
    topic_id: str
    partitions: int


# By the edition's name: the changelogs of its operators that there are, by topic.
Editions = Mapping[str, Mapping[str, Changelog]]


def changelog_name(service: str, query: str, incarnation: str, operator: int, edition: str = FIRST_EDITION) -> str:
    """The topic of one operator's state. The incarnation makes it the query's own, whatever is left of the id."""
    which = f"{incarnation}_{edition}" if edition else incarnation
    return f"_{service}-{write_query(query)}-{which}-{operator}-changelog"


def name_edition() -> str:
    """A name that no edition has, nor ever had."""
    return secrets.token_hex(4)


def write_query(query: str) -> str:
    """A query's id as a topic's name can hold it: a quoted name may have any character, and be long."""
    return _UNFIT.sub("_", query)[:_LONGEST]


@dataclass(frozen=True, slots=True)
class ChangelogName:
    """What a changelog's name says."""

    topic: str
    query: str
    operator: int
    edition: str = FIRST_EDITION


def parse_changelog_name(service: str, topic: str) -> ChangelogName | None:
    """What a topic's name says, if it is a changelog of this service's."""
    told = _BEHIND_SERVICE.fullmatch(topic.removeprefix(f"_{service}-")) if topic.startswith(f"_{service}-") else None
    if told is None:
        return None
    return ChangelogName(topic, told["query"], int(told["operator"]), told["edition"] or FIRST_EDITION)


def find_changelogs(kafka: Kafka, names: Sequence[str]) -> dict[str, Changelog]:
    """Those of the topics that there are."""
    found = kafka.present(names)
    return {name: Changelog(name, topic.topic_id, topic.partitions) for name, topic in found.items()}


def find_editions(kafka: Kafka, service: str, query: str, incarnation: str) -> Editions:
    """All changelogs that there are of a query."""
    start = f"_{service}-{write_query(query)}-{incarnation}"
    named = (parse_changelog_name(service, one.name) for one in kafka.outlines() if one.name.startswith(start))
    editions = {name.topic: name.edition for name in named if name is not None}
    found: dict[str, dict[str, Changelog]] = {}
    for topic, changelog in find_changelogs(kafka, sorted(editions)).items():
        found.setdefault(editions[topic], {})[topic] = changelog
    return found


def create_changelogs(kafka: Kafka, names: Sequence[str], partitions: int) -> dict[str, Changelog]:
    for name in names:
        kafka.create_topic(name, partitions, config=_CONFIG, exist_ok=True)
    return find_changelogs(kafka, names)


def delete_changelogs(kafka: Kafka, names: Sequence[str]) -> None:
    for name in find_changelogs(kafka, names):
        kafka.delete_topic(name, missing_ok=True)


class ChangelogWriter:
    """Fills a changelog that nobody else writes, or reads yet: without transactions."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self._subject = Subject(kafka.bootstrap, topic)
        self._topic = topic
        self._failure: KafkaError | None = None
        self._producer = kafka.producer(
            **{
                "acks": "all",
                "enable.idempotence": True,  # in order, too: the last record of a place is what counts
                "message.timeout.ms": round(_SILENCE_S * 1000),
                "message.max.bytes": 128 << 20,
                "queue.buffering.max.messages": 1_000_000,
                "linger.ms": 5,
                "batch.size": 262_144,
                "compression.type": "lz4",
                "delivery.report.only.error": True,
                "on_delivery": self._note_failure,
            }
        )

    def _note_failure(self, error: KafkaError | None, _: Message) -> None:
        self._failure = self._failure or error

    def write(self, records: Iterable[tuple[int, bytes, bytes | None]]) -> None:
        """Hand over records with their partitions; raises where one that was handed over before was not taken."""
        produce, topic = self._producer.produce, self._topic
        with translated(self._subject):
            for partition, place, blob in records:
                while True:
                    try:
                        produce(topic, blob, place, partition)
                        break
                    except BufferError:
                        self._producer.poll(0.05)  # the queue is full: let it drain
                        self._raise_failure()
            self._producer.poll(0)
        self._raise_failure()

    def flush(self, seconds: float) -> bool:
        """Wait for the brokers; whether they have all of it."""
        with translated(self._subject):
            left = self._producer.flush(seconds)
        self._raise_failure()
        return not left

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise translate(self._failure, self._subject)

    def abandon(self) -> None:
        """Drop what is still on its way."""
        self._producer.purge()


def committed_end(kafka: Kafka, topic: str, partition: int, patience_s: float = 0.0) -> int | None:
    """Where a partition ends once no transaction is open on it; None while one is.

    A commit is answered before its marks stand in every partition, so this may take a moment.
    """
    until = time.monotonic() + patience_s
    while True:
        with translated(Subject(kafka.bootstrap, topic)):
            end = topics.offsets(kafka.admin, topic, topics.END, [partition])[partition]
            committed = topics.offsets(kafka.admin, topic, topics.END, [partition], committed=True)[partition]
        if end == committed:
            return end
        if time.monotonic() > until:
            return None
        time.sleep(0.005)


def read_changelog(
    kafka: Kafka, topic: str, partition: int, start: int, end: int
) -> Iterator[tuple[int, list[tuple[bytes, bytes | None]]]]:
    """The records of a partition from an offset to another, in chunks, each with where it ends."""
    if start >= end:
        return
    subject = Subject(kafka.bootstrap, topic)
    # Room for large chunks: a restore is as quick as the broker is.
    settings = {"enable.partition.eof": True, "fetch.wait.max.ms": 20, "queued.max.messages.kbytes": 65_536}
    consumer = kafka.consumer(None, **settings)
    try:
        with translated(subject):
            consumer.assign([TopicPartition(topic, partition, start)])
            heard = time.monotonic()
            while start < end:
                records: list[tuple[bytes, bytes | None]] = []
                at_end = False
                for message in consumer.consume(_CHUNK, 0.2):
                    error, offset = message.error(), message.offset() or 0
                    if error is None:
                        records.append((message.key() or b"", message.value()))
                        start = offset + 1
                    elif error.code() == KafkaError._PARTITION_EOF:
                        at_end, start = True, max(start, offset)
                    elif not error.retriable():
                        raise translate(error, subject)
                if records or at_end:
                    heard = time.monotonic()
                    yield start, records
                elif time.monotonic() - heard > _SILENCE_S:
                    raise ExternalError("CHANGELOG_UNREADABLE", f"{topic}/{partition} can't be read on from {start}.")
    finally:
        consumer.close()

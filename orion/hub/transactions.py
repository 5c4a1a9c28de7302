"""Exactly once into Kafka: the records of one slot of one batch, and the batch's number, in one transaction.

A slot is one partition of a batch. A worker writes it under the membership of the query's run (see
orion.hub.membership): the batch's number stands in the query's group when the records can be read, and not before.
Readers that read committed records see each result once. Queries that share a stream share the transaction, too: each
has its note in it, in its own group.

Runs inside Spark's Python workers. A worker serves the slots of many queries, one after the other, with one producer:
opening one takes longer than the transaction.
"""

from __future__ import annotations

import faulthandler
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, Producer

from orion.hub.claims import Claim, opened
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import Subject, translated
from orion.hub.ledger import LedgerNote, Ranges, narrow_ranges, slot_place
from orion.hub.membership import TRANSACTION_S, taken_over
from orion.plan.tolerance import LATE_ROW, Tolerance

# Noting the batch takes milliseconds, unless the group's coordinator is being looked for.
_NOTE_S = 10.0
_COMMIT_S = 60.0
_ABORT_S = 10.0
# How long after its own time limit a call of the client is taken to hang.
_HANGS_S = 5.0
# What a record needs beside its key and value, at most.
_FRAME_BYTES = 512
_SHUT_OUT = frozenset({KafkaError.FENCED_INSTANCE_ID, KafkaError.UNKNOWN_MEMBER_ID})

T = TypeVar("T")
Headers = list[tuple[str, str | bytes | None]] | None
Settings = tuple[tuple[str, str | int], ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some records, column by column."""

    topics: list[str]
    keys: list[bytes | None]
    values: list[bytes | None]
    times: list[int]
    headers: Sequence[Headers] | None  # None: no record has any
    largest: int = 0  # bytes of the largest value and the largest key
    newest: int = 0  # the latest time among those that are no dead letters
    origin: int | None = None  # which partition of all that is read they come from, if from one
    partition: int = -1  # where they go; -1: by their keys
    member: int = 0  # which of the queries that share a slot they are of
    late: int = 0  # rows that came too late, of which an operator tells with its changes


@dataclass(frozen=True, slots=True)
class Permit:
    """What a run of a query gives its workers: where and as whom they may write."""

    bootstrap: str
    group: str
    membership: bytes
    service: str
    claims: Path  # where this machine's writers note their names
    topic: str  # where results go; none of a sink's, whose slots are partitions of its topic
    letters: str  # where dead letters go
    changelogs: tuple[str, ...] = ()  # where changes of state go, by operator
    edition: str = ""  # of those
    checkpoint: Path | None = None  # where batches are planned, if that tells which offsets they read
    topic_ids: tuple[tuple[str, str], ...] = ()  # of the topics that are read
    limit: int = 0  # the largest record that the results' topic takes; 0: any
    settings: Settings = ()
    kind: str = ""  # of producer; those of one kind have the same settings
    done: tuple[tuple[int, int], ...] = ()  # slots, and the last batch that an earlier run has written of each
    tolerance: Tolerance = field(
        default_factory=Tolerance
    )  # how many dead letters are borne; none: the first one ends the batch


@dataclass(frozen=True, slots=True)
class Slot:
    """One partition of one batch, by Spark's number; where all its records have one origin, that is its number."""

    number: int
    batch: int
    sources: tuple[Ranges, ...] = ()  # what the batch reads, as far as that is known
    feed: Mapping[str, Any] | None = None  # up to where it reads, where that isn't topics


@dataclass(slots=True)
class Written:
    """How many records went to each topic, and the latest time among the good ones."""

    counts: Counter[str] = field(default_factory=Counter)
    newest: int = 0
    errors: int = 0  # dead letters that tell of something wrong; counted only where it matters how many
    example: str = ""  # what the first of them says
    late: int = 0  # rows that came too late


class Intolerable(Exception):
    """A dead letter where none may be. Its text reaches the supervisor through Spark, so it marks itself."""

    @staticmethod
    def mark_of(group: str) -> str:
        """What stands before the letter, in the text: whose it is."""
        return f"DEAD_LETTER_REFUSED by {group}"


_open: dict[str, Producer] = {}
_claims: dict[Path, Claim] = {}


def write(permit: Permit, slot: Slot, chunks: Iterable[Chunk]) -> Written:
    """Write a slot's records. A slot without any has nothing to note either: when it runs again it has none again."""
    return write_shared([(permit, slot)], chunks)[0]


def write_shared(members: Sequence[tuple[Permit, Slot]], chunks: Iterable[Chunk]) -> list[Written]:
    """Write the records that several queries make of one slot; what each of them comes to. Their producers have the
    same settings."""
    written = [Written() for _ in members]
    filled = _take_late_counts(chunks, written)
    head = next(filled, None)
    if head is None:
        return written
    if head.origin is not None:
        members = [(permit, replace(slot, number=head.origin)) for permit, slot in members]
    if all(_is_done(*member) for member in members):
        return written
    _as_member(members[0][0], lambda producer: _transaction(producer, members, chain((head,), filled), written))
    return written


def _take_late_counts(chunks: Iterable[Chunk], written: Sequence[Written]) -> Iterator[Chunk]:
    """The chunks that have records."""
    for chunk in chunks:
        written[chunk.member].late += chunk.late
        if chunk.values:
            yield chunk


def _is_done(permit: Permit, slot: Slot) -> bool:
    """Whether an earlier run has written the slot."""
    return dict(permit.done).get(slot.number, -1) >= slot.batch


def begin_slot(permit: Permit, slot: Slot) -> None:
    """Note that a slot's batch may reach another system from here on. Its dead letters note it once more: where these
    stand the note is there."""
    if _is_done(permit, slot):
        return

    def note(producer: Producer) -> None:
        producer.begin_transaction()
        _note(producer, permit, slot, is_begun=True)
        with _ending(_COMMIT_S + _HANGS_S):
            producer.commit_transaction(_COMMIT_S)

    _as_member(permit, note)


def _as_member(permit: Permit, act: Callable[[Producer], T]) -> T:
    """Have this worker's producer do something; raises Conflict where the run has been shut out."""
    with translated(Subject(permit.bootstrap, group=permit.group)):
        name, producer = _producer(permit)
        try:
            return act(producer)
        except BaseException:
            _undo(permit, name, producer)
            raise


def _transaction(
    producer: Producer,
    members: Sequence[tuple[Permit, Slot]],
    chunks: Iterable[Chunk],
    written: Sequence[Written],
) -> None:
    producer.begin_transaction()
    # Looked up at once, not chunk by chunk.
    done = {number for number, member in enumerate(members) if _is_done(*member)}
    noted: set[int] = set()
    for chunk in chunks:
        if chunk.member in done:
            continue
        permit, slot = members[chunk.member]
        _write_chunk(producer, permit, chunk, written[chunk.member])
        if chunk.member not in noted:
            # While the first records are on their way, and before there are many: a run that has been shut out is told.
            _note(producer, permit, slot)
            noted.add(chunk.member)
    with _ending(_COMMIT_S + _HANGS_S):
        producer.commit_transaction(_COMMIT_S)


def _write_chunk(producer: Producer, permit: Permit, chunk: Chunk, written: Written) -> None:
    fitting = [chunk]
    if permit.limit and chunk.partition < 0 and chunk.largest + _FRAME_BYTES > permit.limit:
        fitting = list(_parted(chunk, permit))
    for part in fitting:
        _produce(producer, part)
        written.counts.update(part.topics)
        written.newest = max(written.newest, part.newest)
        if permit.tolerance.bounded:
            _judge(part, permit, written)


def _note(producer: Producer, permit: Permit, slot: Slot, *, is_begun: bool = False) -> None:
    sources = slot.sources if permit.topic else narrow_ranges(slot.sources, slot.number)
    note = LedgerNote(
        slot.batch, sources, dict(permit.topic_ids), is_begun=is_begun, feed=slot.feed, edition=permit.edition
    )
    try:
        with _ending(_NOTE_S + _HANGS_S):
            producer.send_offsets_to_transaction([slot_place(slot.number, note.encode())], permit.membership, _NOTE_S)
    except KafkaException as error:
        if error.args[0].code() in _SHUT_OUT:
            raise taken_over(permit.group) from error
        with translated(Subject(permit.bootstrap, group=permit.group)):
            raise


@contextmanager
def _ending(seconds: float) -> Iterator[None]:
    """End this worker, and with it the run, when a call takes longer.

    librdkafka looks for a coordinator without any limit (its issues 5456 and 5511, in 2.16): one that was on a broker
    that died may never be found again by the producers that knew it, whatever timeout they are called with.
    """
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _produce(producer: Producer, chunk: Chunk) -> None:
    """Hand a chunk's records to the client. No other Python of Orion's runs as often: nothing here that needn't be."""
    produce, partition = producer.produce, chunk.partition
    headers = repeat(None) if chunk.headers is None else chunk.headers
    records = zip(chunk.topics, chunk.values, chunk.keys, chunk.times, headers, strict=False)
    for topic, value, key, time, header in records:
        while True:
            try:
                # By position: topic, value, key, partition, two callbacks, timestamp, headers.
                produce(topic, value, key, partition, None, None, time, header)
                break
            except BufferError:
                producer.poll(0.05)  # the queue is full: let it drain


def _parted(chunk: Chunk, permit: Permit) -> Iterator[Chunk]:
    """The chunk record by record, those that their topic wouldn't take as dead letters: one of them would keep the
    whole transaction from committing, again and again."""
    headers = chunk.headers or [None] * len(chunk.values)
    for topic, key, value, time, header in zip(
        chunk.topics, chunk.keys, chunk.values, chunk.times, headers, strict=True
    ):
        size = len(key or b"") + len(value or b"") + _FRAME_BYTES
        if size <= permit.limit or topic == permit.letters:
            yield Chunk([topic], [key], [value], [time], [header], newest=0 if topic == permit.letters else time)
            continue
        told: Headers = [
            ("orion.error.code", b"RECORD_TOO_LARGE"),
            ("orion.error.reason", f"a record of {size} bytes, where {topic} takes {permit.limit}".encode()),
            ("orion.source.topic", topic.encode()),
            ("orion.source.timestamp", str(time).encode()),
            ("orion.attempt", b"1"),
        ]
        yield Chunk([permit.letters], [key], [value], [time], [told])


def _judge(chunk: Chunk, permit: Permit, written: Written) -> None:
    """Count the dead letters that tell of something wrong; the first one ends a batch that bears none."""
    for topic, header in zip(chunk.topics, chunk.headers or [], strict=False):
        if topic != permit.letters:
            continue
        told = {name: bytes(value).decode() for name, value in header or [] if isinstance(value, bytes)}
        code = told.get("orion.error.code")
        if code == LATE_ROW:
            continue
        written.errors += 1
        if not written.example:
            place = "/".join(told.get(f"orion.source.{part}", "?") for part in ("topic", "partition", "offset"))
            written.example = f"{code} at {place}: {told.get('orion.error.reason')}"
        if not permit.tolerance.share:
            raise Intolerable(f"{Intolerable.mark_of(permit.group)}: {written.example}")


def _producer(permit: Permit) -> tuple[str, Producer]:
    if permit.claims not in _claims:
        _claims[permit.claims] = Claim(permit.claims, permit.service)
    name = _claims[permit.claims].transactional_id(permit.kind)
    key = f"{permit.bootstrap}/{name}"
    if key not in _open:
        _open[key] = opened(
            Kafka(permit.bootstrap),
            {
                "transaction.timeout.ms": round(TRANSACTION_S * 1000),
                "queue.buffering.max.messages": 1_000_000,
                # What a topic takes is the topic's to say, and is looked at before a record is handed over.
                "message.max.bytes": 128 << 20,
                "linger.ms": 5,
                "batch.size": 262_144,
                "compression.type": "lz4",
                **dict(permit.settings),
                "transactional.id": name,
            },
        )
    return key, _open[key]


def _undo(permit: Permit, name: str, producer: Producer) -> None:
    """End the transaction. One that can't be ended now is abandoned with this worker's names: the next run ends it. It
    would wait for a worker that lives, and may have nothing more to write."""
    try:
        producer.abort_transaction(_ABORT_S)
    except KafkaException:
        _abandon(permit)
    except BaseException:
        with suppress(KeyError):
            del _open[name]
        raise


def _abandon(permit: Permit) -> None:
    """Let go of every producer, whose names are this worker's no longer."""
    _open.clear()
    claim = _claims.pop(permit.claims, None)
    if claim is not None:
        claim.release()

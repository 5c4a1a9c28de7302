"""Exactly once into Kafka: the records of one slot of one batch, and the batch's number, in one transaction.

A slot is one partition of a batch. It writes under a transactional id of its own, and in the same transaction commits
the batch's number as the offset of a group of its own. A batch that runs again asks that group first: a slot that has
written it already writes nothing. Readers that read committed records see each result once.

Runs inside Spark's Python workers. A worker serves many slots, one after the other, and keeps their producers open:
opening one takes longer than the transaction.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, repeat

from confluent_kafka import KafkaException, Producer, TopicPartition

from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import Subject, translated

# Where batch numbers are committed. Only the groups' offsets are used: the topic itself stays empty.
LEDGER = "_orion_batches"
_TIMEOUT_S = 30.0
_MOST_OPEN = 16

Headers = list[tuple[str, str | bytes | None]] | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some records, column by column."""

    topics: list[str]
    keys: list[bytes | None]
    values: list[bytes | None]
    times: list[int]
    headers: list[Headers] | None  # None: no record has any


@dataclass(frozen=True, slots=True)
class Slot:
    """One partition of one batch of a query."""

    bootstrap: str
    query: str
    number: int
    batch: int

    @property
    def transactional_id(self) -> str:
        return f"{self.query}-{self.number}"


_open: OrderedDict[str, Producer] = OrderedDict()


def write(slot: Slot, chunks: Iterable[Chunk], *, again: bool) -> Counter[str]:
    """Write a slot's records; how many went to each topic.

    `again`: the batch may have been written before, by a run that was cut off, so the ledger is asked.
    A slot without records has nothing to end either: a batch that runs again has its records in the same slots.
    """
    filled = (chunk for chunk in chunks if chunk.values)
    head = next(filled, None)
    if head is None:
        return Counter()
    with translated(Subject(slot.bootstrap)):
        if again:
            _producer(slot, fresh=True)  # ends the transaction that the run before may have left open
            if _written(slot):
                return Counter()
        producer = _begun(slot)
        try:
            sent: Counter[str] = Counter()
            for chunk in chain((head,), filled):
                _produce(producer, chunk)
                sent.update(chunk.topics)
            producer.commit_transaction(_TIMEOUT_S)
        except BaseException:
            # A new producer of the same id ends what is left of this transaction.
            _open.pop(slot.transactional_id, None)
            raise
    return sent


def _begun(slot: Slot) -> Producer:
    """A producer inside a transaction that holds the batch's number already.

    Sending that first tells at once whether another worker has served the slot since, and so taken over its
    transactional id: then the id is taken back. The number counts only when the transaction commits.
    """
    for fresh in (False, True):
        producer = _producer(slot, fresh=fresh)
        try:
            producer.begin_transaction()
            ledger = [TopicPartition(LEDGER, 0, slot.batch + 1)]
            producer.send_offsets_to_transaction(ledger, _group(slot), _TIMEOUT_S)
            return producer
        except KafkaException as error:
            if fresh or not error.args[0].fatal():
                raise
    raise AssertionError


def _produce(producer: Producer, chunk: Chunk) -> None:
    """Hand a chunk's records to the client. No other Python of Orion's runs as often: nothing here that needn't be."""
    produce = producer.produce
    headers = repeat(None) if chunk.headers is None else chunk.headers
    records = zip(chunk.topics, chunk.values, chunk.keys, chunk.times, headers, strict=False)
    for topic, value, key, time, header in records:
        while True:
            try:
                # By position: topic, value, key, partition, two callbacks, timestamp, headers.
                produce(topic, value, key, -1, None, None, time, header)
                break
            except BufferError:
                producer.poll(0.05)  # the queue is full: let it drain


def _producer(slot: Slot, *, fresh: bool = False) -> Producer:
    name = slot.transactional_id
    found = _open.get(name)
    if found is not None and not fresh:
        _open.move_to_end(name)
        return found
    _open.pop(name, None)
    made = Kafka(slot.bootstrap).producer(
        **{
            "transactional.id": name,
            "linger.ms": 20,
            "batch.size": 262_144,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    # Knowing the cluster first: else the producer waits about half a second before it asks for its coordinator.
    made.list_topics(LEDGER, _TIMEOUT_S)
    made.init_transactions(_TIMEOUT_S)
    _open[name] = made
    while len(_open) > _MOST_OPEN:
        _open.popitem(last=False)
    return made


_groups: dict[str, bytes] = {}


def _group(slot: Slot) -> bytes:
    """What a transaction has to say about the slot's group. A consumer makes it, and isn't needed after."""
    name = slot.transactional_id
    if name not in _groups:
        consumer = Kafka(slot.bootstrap).consumer(name)
        _groups[name] = consumer.consumer_group_metadata()
        consumer.close()
    return _groups[name]


def _written(slot: Slot) -> bool:
    consumer = Kafka(slot.bootstrap).consumer(slot.transactional_id)
    try:
        committed = consumer.committed([TopicPartition(LEDGER, 0)], timeout=_TIMEOUT_S)
    finally:
        consumer.close()
    return bool(committed[0].offset > slot.batch)

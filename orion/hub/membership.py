"""A run of a query as a member of the query's own consumer group.

The group is what Kafka's tools see: which topics the query reads, how far it is, that it lives. And it is what keeps
two runs apart. There is one member, under one static name: whoever joins under it shuts the one before out, at the
broker. Each transaction that a run's workers write carries the run's membership; one of a run that has been shut out
is refused, whatever its workers still hold in their hands.

In the same transaction a worker notes the batch, as the text of an offset of the ledger (orion.hub.ledger). Whoever
asks for that offset while a transaction over it is open waits until it has ended: so a new run knows for certain what
the run before has written. The ledger's first partition has the name of the run itself: one that is shut out sees there
whether another has come, or the group has only lost it. The member subscribes to the ledger, too, and reads it as
little as the others: so notes stay for as long as the group lives.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from orion.errors import Conflict, ExternalError
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import translated
from orion.hub.leaving import leave
from orion.hub.ledger import FIRST_SLOT, LEDGER, RUN_PARTITION, LedgerNote, parse_note, slot_place

# How long another run may take from joining to giving its name.
_NAMED_S = 3.0
_JOIN_S = 60.0
# As long as a transaction may stay open: after that the broker ends it, and the question is answered.
TRANSACTION_S = 300.0
# How long the group's offsets are asked for, and how long at a time.
_STABLE_S, _ASKED_S = 90.0, 10.0
_SHUT_OUT = (KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID)
_REFUSED = (*_SHUT_OUT, KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION)
_SETTINGS = {
    "session.timeout.ms": 45_000,
    # There may be hundreds of statements, each with a member: at rest their heartbeats are most of what brokers do. A
    # run that has been shut out hears of it here only where it writes nothing.
    "heartbeat.interval.ms": 9_000,
    # It reads nothing, so it needn't come by to show that it reads.
    "max.poll.interval.ms": 86_400_000,
    "reconnect.backoff.ms": 20,
    # A topic that gets partitions, as the ledger does, would have it join anew for them, and fail the batch under way.
    "topic.metadata.refresh.interval.ms": -1,
}


class Membership:
    """Joins at once, in the background. May be used by several threads."""

    def __init__(
        self, kafka: Kafka, group: str, topics: Sequence[str], end_abandoned: Callable[[], object] | None = None
    ) -> None:
        """`end_abandoned` ends transactions that nobody does any more; it is called while one is waited for."""
        self.group = group
        self._end_abandoned = end_abandoned
        self._kafka = kafka
        self.name = uuid.uuid4().hex
        self._named = False
        self._subject = kafka.subject(group=group)
        self._lock = threading.RLock()
        self._joined = False
        self._settled = False  # it knows all that the group has told it
        self._lost: Conflict | ExternalError | None = None
        self._closed = False
        self._consumer = kafka.consumer(group, **{**_SETTINGS, "group.instance.id": group})
        # Of a group that lives, brokers keep an offset for good only where a member subscribes to its topic. What a
        # slot that writes seldom has noted, and the run's name, would go after offsets.retention.minutes.
        subscribed = sorted({*topics, LEDGER})
        self._consumer.subscribe(subscribed, on_assign=self._assigned, on_revoke=self._revoked)

    def credentials(self) -> bytes:
        """What a transaction has to show, once the group is joined; raises when another run has taken over."""
        end = time.monotonic() + _JOIN_S
        while True:
            self.look(0.05 if not self._joined else 0.0)
            if self._joined:
                with translated(self._subject):
                    self._give_name()
                    return bytes(self._consumer.consumer_group_metadata())
            if time.monotonic() > end:
                raise ExternalError("GROUP_NOT_JOINED", f"The group {self.group} could not be joined.", retry_after=1.0)

    def look(self, patience: float = 0.0) -> None:
        """Serve the group; raises Conflict when another run has taken over, ExternalError when a new run would do."""
        with self._lock:
            if self._lost is None and not self._closed:
                message = self._consumer.poll(patience)
                error = None if message is None else message.error()
                if error is not None and error.code() in _SHUT_OUT:
                    self._lost = self._shut_out()
            if self._lost is not None:
                raise self._lost

    def _give_name(self) -> None:
        if not self._named:
            self._consumer.commit(offsets=[TopicPartition(LEDGER, RUN_PARTITION, 0, self.name)], asynchronous=False)
            self._named = True

    def _shut_out(self) -> Conflict | ExternalError:
        """By another run, or by this one: it joins again when the broker that let it in has died before it said so."""
        end = time.monotonic() + _NAMED_S
        while time.monotonic() < end:
            with suppress(KafkaException):
                if read_run_name(self._kafka, self.group) != self.name:
                    return taken_over(self.group)
            time.sleep(0.2)
        return ExternalError("MEMBERSHIP_LOST", f"The group {self.group} has lost this run.", retry_after=1.0)

    def has_earlier_run(self) -> bool:
        """Whether the group remembers a run before this one. A group that nobody is in is forgotten after a while
        (offsets.retention.minutes)."""
        return any(place.metadata for place in self._read_committed([TopicPartition(LEDGER, RUN_PARTITION)]))

    def read_notes(self, slots: int) -> dict[int, LedgerNote]:
        """What each slot has noted of the last batch that it has written or begun, where there is any.

        Waits for transactions of an earlier run that are still open.
        """
        found = self._read_committed([slot_place(slot) for slot in range(slots)])
        return {place.partition - FIRST_SLOT: parse_note(place.metadata) for place in found if place.metadata}

    def read_offsets(self, partitions: Mapping[str, int]) -> dict[str, dict[int, int]]:
        """How far the group is, by its own offsets, in topics that have so many partitions."""
        wanted = [TopicPartition(topic, part) for topic, count in partitions.items() for part in range(count)]
        found: dict[str, dict[int, int]] = {}
        for place in self._read_committed(wanted) if wanted else []:
            found.setdefault(place.topic, {})[place.partition] = place.offset
        return found

    def _read_committed(self, places: list[TopicPartition]) -> list[TopicPartition]:
        """The group's offsets where it has any, once no transaction over them is open."""
        end = time.monotonic() + _STABLE_S
        while True:
            try:
                return [place for place in self._consumer.committed(places, timeout=_ASKED_S) if place.offset >= 0]
            except KafkaException as error:
                if error.args[0].code() != KafkaError._TIMED_OUT:
                    with translated(self._subject):
                        raise
            self.look()
            if time.monotonic() > end:
                # By another client, next time: this one may have lost the broker that knows.
                raise ExternalError(
                    "OFFSETS_NOT_STABLE",
                    f"A transaction over the offsets of {self.group} is open, or its coordinator doesn't answer.",
                    hint=f"It is tried again. Brokers end a transaction {TRANSACTION_S:.0f} s after it began.",
                    retry_after=1.0,
                )
            if self._end_abandoned is not None:
                with suppress(ExternalError):
                    self._end_abandoned()

    def forget(self, slots: Iterable[int], offsets: Mapping[str, Mapping[int, int]] | None = None) -> None:
        """The ledger says nothing of these slots any more, and the group is at these offsets: another query had the
        name before."""
        self.credentials()
        places = [slot_place(slot) for slot in slots]
        with translated(self._subject):
            self._consumer.commit(offsets=places + _places_of(offsets or {}), asynchronous=False)

    def commit_offsets(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Show how far the query is, for good: it stands when this returns."""
        with translated(self._subject):
            self._consumer.commit(offsets=_places_of(offsets), asynchronous=False)

    def leave_notes(self, notes: Mapping[int, LedgerNote]) -> None:
        """Note something for slots, all at once and without any records. It stands when this returns. Where the group
        doesn't know this member any more it doesn't: raises Conflict when another run has taken over, ExternalError
        when a new run would do."""
        self.credentials()
        try:
            places = [slot_place(slot, note.encode()) for slot, note in notes.items()]
            told = self._consumer.commit(offsets=places, asynchronous=False)
            # What is wrong with a partition is told beside it.
            error = next((place.error for place in told or () if place.error is not None), None)
            if error is not None:
                raise KafkaException(error)
        except KafkaException as error:
            if error.args[0].code() in _REFUSED:
                with self._lock:
                    self._lost = self._shut_out()
                raise self._lost from error
            with translated(self._subject):
                raise

    def reached(self, offsets: Mapping[str, Mapping[int, int]], note: LedgerNote | None = None) -> None:
        """Show how far the query is: for people, and for a run that finds no checkpoint. A note goes with it."""
        places = _places_of(offsets)
        if note is not None:
            places.append(slot_place(0, note.encode()))
        if places and self._joined:
            with suppress(KafkaException):
                self._consumer.commit(offsets=places, asynchronous=True)

    def close(self) -> None:
        """Let go. A static member doesn't leave: the next run takes its place, or the group forgets it."""
        with self._lock:
            if not self._closed:
                self._closed = True
                # Without a broker the client takes its time to say goodbye: nobody has to wait for it.
                parting = partial(leave, self._consumer, lambda: self._settled)
                threading.Thread(target=parting, name="orion-leave", daemon=True).start()

    def _assigned(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        consumer.assign([])  # Spark reads; the member only stands for it
        self._joined = self._settled = True

    def _revoked(self, consumer: Consumer, _: list[TopicPartition]) -> None:
        consumer.unassign()
        self._settled = False


def read_run_name(kafka: Kafka, group: str) -> str | None:
    """The name of the last run of a group; raises KafkaException where that isn't told."""
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(LEDGER, RUN_PARTITION)])
    found = kafka.admin.list_consumer_group_offsets([asked], request_timeout=_NAMED_S)[group].result()
    name: str | None = found.topic_partitions[0].metadata
    return name


def _places_of(offsets: Mapping[str, Mapping[int, int]]) -> list[TopicPartition]:
    return [TopicPartition(topic, part, offset) for topic, at in offsets.items() for part, offset in at.items()]


def taken_over(group: str) -> Conflict:
    return Conflict(
        "TAKEN_OVER",
        f"Another server has taken over {group}.",
        hint="It runs there. RESUME takes it back; better stop one of the two servers.",
    )

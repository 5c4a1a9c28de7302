"""A run of a query as a member of the query's own consumer group.

The group is what Kafka's tools see: which topics the query reads, how far it is, that it lives. And it is what keeps
two runs apart. There is one member, under one static name: whoever joins under it shuts the one before out, at the
broker. Each transaction that a run's workers write carries the run's membership; one of a run that has been shut out
is refused, whatever its workers still hold in their hands.

In the same transaction a worker notes the batch's number, as the text of an offset of the ledger, a topic that stays
empty. Whoever asks for that offset while a transaction over it is open waits until it has ended: so a new run knows
for certain what the run before has written. The ledger's first partition has the name of the run itself: one that is
shut out sees there whether another has come, or the group has only lost it.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from orion.errors import Conflict, ExternalError
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import translated
from orion.hub.leaving import leave

# Where batch numbers are noted, a partition for each slot, behind one for the run. Only the groups' offsets are used,
# and it stays empty.
LEDGER = "_orion_batches"
_LEAST_PARTITIONS = 16
_RUN, _FIRST_SLOT = 0, 1
# How long another run may take from joining to giving its name.
_NAMED_S = 3.0
_JOIN_S = 60.0
# As long as a transaction may stay open: after that the broker ends it, and the question is answered.
TRANSACTION_S = 300.0
_SHUT_OUT = (KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID)
_SETTINGS = {
    "session.timeout.ms": 45_000,
    # It reads nothing, so it needn't come by to show that it reads.
    "max.poll.interval.ms": 86_400_000,
    "reconnect.backoff.ms": 20,
}


class Membership:
    """Joins at once, in the background. May be used by several threads."""

    def __init__(self, kafka: Kafka, group: str, topics: Sequence[str]) -> None:
        self.group = group
        self._kafka = kafka
        self._name = uuid.uuid4().hex
        self._named = False
        self._subject = kafka.subject(group=group)
        self._lock = threading.RLock()
        self._joined = False
        self._settled = False  # it knows all that the group has told it
        self._lost: Conflict | ExternalError | None = None
        self._closed = False
        self._consumer = kafka.consumer(group, **{**_SETTINGS, "group.instance.id": group})
        # What reads no topic is a member all the same, and stands for the ledger: a group has to be about something.
        subscribed = sorted(set(topics)) or [LEDGER]
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
            self._consumer.commit(offsets=[TopicPartition(LEDGER, _RUN, 0, self._name)], asynchronous=False)
            self._named = True

    def _shut_out(self) -> Conflict | ExternalError:
        """By another run, or by this one: it joins again when the broker that let it in has died before it said so."""
        end = time.monotonic() + _NAMED_S
        while time.monotonic() < end:
            with suppress(KafkaException):
                if self._last_name() != self._name:
                    return taken_over(self.group)
            time.sleep(0.2)
        return ExternalError("MEMBERSHIP_LOST", f"The group {self.group} has lost this run.", retry_after=1.0)

    def _last_name(self) -> str | None:
        asked = ConsumerGroupTopicPartitions(self.group, [TopicPartition(LEDGER, _RUN)])
        found = self._kafka.admin.list_consumer_group_offsets([asked], request_timeout=_NAMED_S)[self.group].result()
        name: str | None = found.topic_partitions[0].metadata
        return name

    def written(self, slots: int) -> dict[int, int]:
        """The number of the last batch that each slot has written, where it has written any.

        Waits for transactions of an earlier run that are still open.
        """
        places = [TopicPartition(LEDGER, slot + _FIRST_SLOT) for slot in range(slots)]
        end = time.monotonic() + TRANSACTION_S + 30.0
        while True:
            try:
                found = self._consumer.committed(places, timeout=10.0)
                break
            except KafkaException as error:
                if time.monotonic() > end or error.args[0].code() != KafkaError._TIMED_OUT:
                    with translated(self._subject):
                        raise
            self.look()
        there = {place.partition: place.metadata for place in found if place.offset >= 0}
        return {partition - _FIRST_SLOT: int(batch) for partition, batch in there.items() if batch}

    def forget(self, slots: Iterable[int]) -> None:
        """The ledger says nothing of these slots any more: another query had the name before."""
        self.credentials()
        places = [TopicPartition(LEDGER, slot + _FIRST_SLOT, 0, "") for slot in slots]
        with translated(self._subject):
            self._consumer.commit(offsets=places, asynchronous=False)

    def reached(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        """Show how far the query is. Nothing hangs on it but what people see."""
        places = [TopicPartition(topic, part, offset) for topic, at in offsets.items() for part, offset in at.items()]
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


def taken_over(group: str) -> Conflict:
    return Conflict(
        "TAKEN_OVER",
        f"Another server has taken over {group}.",
        hint="It runs there. RESUME takes it back; better stop one of the two servers.",
    )


def entry(slot: int, batch: int) -> TopicPartition:
    """What says in the ledger that a slot has written a batch."""
    return TopicPartition(LEDGER, slot + _FIRST_SLOT, 0, str(batch))


def prepare_ledger(kafka: Kafka, slots: int) -> int:
    """The ledger with room for so many slots; how many it has room for."""
    wanted = _LEAST_PARTITIONS
    while wanted < slots + _FIRST_SLOT:
        wanted *= 2
    if not kafka.create_topic(LEDGER, wanted, config={"cleanup.policy": "compact"}, exist_ok=True):
        there = kafka.describe_topic(LEDGER).topic.partitions
        if there < wanted:
            kafka.alter_topic(LEDGER, partitions=wanted)
        wanted = max(there, wanted)
    return wanted - _FIRST_SLOT

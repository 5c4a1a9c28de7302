"""A consumer that is told step by step what to read, and is left alone in between, as one behind a web address is.

`Reader` is for a program that reads in a loop. This one may lie idle for minutes: the client itself takes part in its
group's rebalances meanwhile, since nothing of ours has to be told of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException, TopicPartition

from orion.errors import Conflict
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import translate, translated
from orion.hub.records import Place, Record
from orion.security.names import check_pattern, check_place, check_topics

BEGINNING: int = OFFSET_BEGINNING
END: int = OFFSET_END
_TIMEOUT_S = 15.0
_AGAIN_S = 0.05
# A topic may come yet. Who lay idle for too long joins again, with what the group has committed. A coordinator that is
# new, or moves, answers soon: the client itself asks again.
_PASSING = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._MAX_POLL_EXCEEDED,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
)
_MIXED = "Subscription to topics, partitions and pattern are mutually exclusive"


class Subscription:
    """One consumer of a group. Not for several threads at a time."""

    def __init__(self, kafka: Kafka, group: str, settings: Mapping[str, Any]) -> None:
        self._subject = kafka.subject(group=group)
        self._way: str | None = None  # topics, pattern or partitions
        self._topics: tuple[str, ...] = ()
        self._ended: set[Place] = set()
        fixed = {"enable.partition.eof": True, "enable.auto.offset.store": False}
        self._consumer = kafka.consumer(group, **{**settings, **fixed})

    # -- what is read

    def subscribe(self, topics: Sequence[str]) -> None:
        """Share topics with the other members of the group; what was subscribed before is left."""
        check_topics(topics)
        self._choose("topics")
        self._subscribed(topics)

    def subscribe_pattern(self, pattern: str) -> None:
        """The same with all topics whose whole name fits the pattern, those that come later included."""
        check_pattern(pattern)
        self._choose("pattern")
        # Extended expressions of POSIX know no \\d.
        self._subscribed([f"^({pattern.replace(chr(92) + 'd', '[0-9]')})$"])

    def assign(self, places: Sequence[Place]) -> None:
        """Read these partitions, whatever others read: from where the group is, or from its end of the topic."""
        for place in places:
            check_place(place)
        self._choose("partitions")
        with translated(self._subject):
            self._consumer.assign([TopicPartition(*place) for place in places])
        self._ended.clear()

    def unsubscribe(self) -> None:
        with translated(self._subject):
            (self._consumer.unassign if self._way == "partitions" else self._consumer.unsubscribe)()
        self._way, self._topics = None, ()
        self._ended.clear()

    @property
    def topics(self) -> tuple[str, ...]:
        """What is subscribed; of a pattern the topics that are read now."""
        if self._way == "pattern":
            return tuple(sorted({topic for topic, _ in self.assignment}))
        return self._topics

    @property
    def assignment(self) -> list[Place]:
        """The partitions it has now."""
        with translated(self._subject):
            return sorted((place.topic, place.partition) for place in self._consumer.assignment())

    def _choose(self, way: str) -> None:
        if self._way not in (None, way):
            raise Conflict("SUBSCRIPTION_MIXED", f"{_MIXED}.", hint="Unsubscribe first.")
        self._way = way

    def _subscribed(self, topics: Sequence[str]) -> None:
        with translated(self._subject):
            self._consumer.subscribe(list(topics))
        self._topics = tuple(topics)
        self._ended.clear()

    # -- reading

    @property
    def at_end(self) -> bool:
        """Whether it has met the end of every partition it has."""
        mine = self.assignment
        return bool(mine) and set(mine) <= self._ended

    def read(self, timeout: float) -> Record | None:
        """The next record, if one comes within `timeout` seconds; ends of partitions count as none."""
        with translated(self._subject):
            message = self._consumer.poll(timeout)
        if message is None:
            return None
        error = message.error()
        if error is None:
            record = Record.of(message)
            self._ended.discard((record.topic, record.partition))
            return record
        if error.code() == KafkaError._PARTITION_EOF:
            self._ended.add((message.topic() or "", message.partition() or 0))
        elif error.code() not in _PASSING:
            raise translate(error, self._subject)
        return None

    def seek(self, place: Place, offset: int) -> None:
        """Go on from an offset of a partition it has; BEGINNING and END are offsets, too."""
        check_place(place, offset)
        if place not in self.assignment:
            raise Conflict("NOT_ASSIGNED", f"No current assignment for partition {place[0]}-{place[1]}.")
        if offset in (BEGINNING, END):
            # Now, and not when the client comes to it: what is written after this request is behind the end.
            with translated(self._subject):
                first, last = self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=_TIMEOUT_S)
            offset = first if offset == BEGINNING else last
        self._go_to(TopicPartition(*place, offset))
        self._ended.discard(place)

    def _go_to(self, target: TopicPartition) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                self._consumer.seek(target)
                return
            except KafkaException as error:
                # One that was just assigned isn't read yet: its group's coordinator is still to say from where.
                if error.args[0].code() != KafkaError._STATE or time.monotonic() > deadline:
                    raise translate(error.args[0], self._subject) from error
            if self._way == "partitions":  # no need to wait for that word: it is known now from where
                with translated(self._subject):
                    self._consumer.incremental_unassign([TopicPartition(target.topic, target.partition)])
                    self._consumer.incremental_assign([target])
                return
            time.sleep(_AGAIN_S)

    # -- committing

    def commit(self, offsets: Mapping[Place, tuple[int, str | None]]) -> None:
        """Commit the next offset of each partition, with a word about it if there is one; waits for the broker."""
        if not offsets:
            return
        for place, (offset, note) in offsets.items():
            check_place(place, offset, note)
        with translated(self._subject):
            for done in self._consumer.commit(offsets=_places(offsets), asynchronous=False):
                if done.error is not None:
                    raise KafkaException(done.error)

    def store(self, offsets: Mapping[Place, int]) -> None:
        """Leave next offsets to the client's own commits; those of a partition it has no more belong to another."""
        try:
            held = set(self.assignment)
            mine = {place: (offset, None) for place, offset in offsets.items() if place in held}
            if mine:
                self._consumer.store_offsets(offsets=_places(mine))
        except KafkaException as error:
            if error.args[0].code() != KafkaError._STATE:
                raise translate(error.args[0], self._subject) from error

    def committed(self, places: Sequence[Place]) -> dict[Place, tuple[int, str | None]]:
        """What the group has committed, and the word about it, of those that it has committed at all."""
        for place in places:
            check_place(place)
        wanted = [TopicPartition(*place) for place in places]
        with translated(self._subject):
            found = self._consumer.committed(wanted, timeout=_TIMEOUT_S) if wanted else []
        return {
            (place.topic, place.partition): (place.offset, place.metadata)
            for place in found
            if place.error is None and place.offset >= 0
        }

    def close(self) -> None:
        """Leave the group; what is stored is committed."""
        self._consumer.close()


def _places(offsets: Mapping[Place, tuple[int, str | None]]) -> list[TopicPartition]:
    return [
        TopicPartition(*place, offset) if word is None else TopicPartition(*place, offset, word)
        for place, (offset, word) in offsets.items()
    ]

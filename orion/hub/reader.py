"""Reading topics record by record, with or without a group, committing in one of the four ways Kafka's users know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from orion.errors import OrionError, UserError
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import translate, translated
from orion.hub.leaving import leave
from orion.hub.records import Place, Position, Record
from orion.security.names import check_topics

Commit = Literal["auto", "sync", "async", "async-sync"]
Isolation = Literal["read_committed", "read_uncommitted"]
Rebalanced = Callable[[list[Place]], None]
_TIMEOUT_S = 30.0


class Reader:
    """Topics being read. The caller says what it has `shown`, and only that is ever committed.

    - auto: the client commits in the background, and once more on close
    - sync: `commit` waits for the broker
    - async: `commit` doesn't wait, so the last one may be lost
    - async-sync: as async, and one that waits on close and before partitions go to another member
    """

    def __init__(
        self,
        kafka: Kafka,
        topic: str | Sequence[str],
        start: Position,
        *,
        group: str | None = None,
        partitions: Sequence[int] = (),
        commit: Commit = "auto",
        isolation: Isolation = "read_committed",
        settings: Mapping[str, Any] | None = None,
        on_assign: Rebalanced | None = None,
        on_revoke: Rebalanced | None = None,
    ) -> None:
        self.trouble: OrionError | None = None
        self.failed_commits = 0
        self._commit_mode: Commit = commit
        self._group = group
        self._topics = [topic] if isinstance(topic, str) else list(topic)
        check_topics(self._topics)
        self._subject = kafka.subject(topic=", ".join(self._topics))
        self._told_assigned, self._told_revoked = on_assign, on_revoke
        self._settled = group is None  # it knows all that its group has told it
        self._assigned: set[Place] = set()
        self._ended: set[Place] = set()
        self._ends: dict[Place, int] = {}
        self._shown: dict[Place, int] = {}
        # Offsets first: a topic that isn't there fails here, before a consumer waits for it.
        offsets = {} if group else {name: kafka.offsets(name, start) for name in self._topics}
        self._consumer = kafka.consumer(group, **self._settings(start, isolation, settings or {}))
        if group:
            self._consumer.subscribe(self._topics, on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose)
        else:
            places = {(name, part): offset for name, found in offsets.items() for part, offset in found.items()}
            chosen = {place: offset for place, offset in places.items() if not partitions or place[1] in partitions}
            self._assigned = set(chosen)
            self._consumer.assign(_places(chosen))

    def _settings(self, start: Position, isolation: Isolation, given: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "isolation.level": isolation,
            # How long a broker waits for more before it answers, and so before it says that this is the end.
            "fetch.wait.max.ms": 50,
            "auto.offset.reset": start.kind if start.kind in ("earliest", "latest") else "earliest",
            "auto.commit.interval.ms": 1000,
            **given,
            "enable.partition.eof": True,
            "enable.auto.commit": self._group is not None and self._commit_mode == "auto",
            "enable.auto.offset.store": False,
            "error_cb": self._notice,
            "on_commit": self._committed,
        }

    # -- where it is

    @property
    def at_end(self) -> bool:
        """Whether every partition it has is read to its end."""
        return bool(self._assigned) and self._assigned <= self._ended

    @property
    def assignment(self) -> list[Place]:
        """The partitions it has now, by name and number."""
        return sorted(self._assigned)

    def end(self, partition: int) -> int:
        """Where a partition of the first topic ended when its end was last met, transactions' own marks included.

        0 before that.
        """
        return self._ends.get((self._topics[0], partition), 0)

    def committed(self) -> dict[Place, int]:
        """What the group has committed of the partitions it has, where it has."""
        with translated(self._subject):
            wanted = [TopicPartition(*place) for place in self.assignment]
            found = self._consumer.committed(wanted, timeout=_TIMEOUT_S) if wanted else []
        return {(place.topic, place.partition): place.offset for place in found if place.offset >= 0}

    def seek(self, place: Place, offset: int) -> None:
        """Read on from an offset of a partition it has."""
        if place not in self._assigned:
            raise UserError("NOT_ASSIGNED", f"This reader doesn't have partition {place[1]} of {place[0]}.")
        with translated(self._subject):
            self._consumer.seek(TopicPartition(*place, offset))
        self._ended.discard(place)
        self._shown.pop(place, None)

    def membership(self) -> object:
        """What a transaction has to know of the group to commit its offsets."""
        with translated(self._subject):
            return self._consumer.consumer_group_metadata()

    # -- reading

    def read(self, limit: int, timeout: float) -> list[Record]:
        """What has arrived, at most `limit`; waits up to `timeout` seconds for the first record only."""
        with translated(self._subject):
            first = self._consumer.poll(timeout)
            messages = [] if first is None else [first]
            if messages and limit > 1:
                messages += self._consumer.consume(limit - 1, 0)
        records = [record for message in messages if (record := self._record(message)) is not None]
        if records:
            self.trouble = None
        # Partitions may have gone to another member between two of these; who has them now reads them.
        return [record for record in records if (record.topic, record.partition) in self._assigned]

    def shown(self, records: Iterable[Record]) -> None:
        """Remember that records have reached their reader."""
        self.reached({(record.topic, record.partition): record.offset + 1 for record in records})

    def reached(self, places: Mapping[Place, int]) -> None:
        """Remember how far the reader has come: the next offset of each partition."""
        self._shown.update(places)

    def commit(self) -> None:
        """Commit what has been shown, in this reader's way; nothing without a group."""
        if self._group is None or not self._shown:
            return
        if self._commit_mode == "auto":
            self._store()
        elif self._commit_mode == "sync":
            self._commit_now(self._shown)
        else:
            with translated(self._subject):
                self._consumer.commit(offsets=_places(self._shown), asynchronous=True)

    def close(self) -> None:
        """Leave the group, after a last commit where the way of committing has one."""
        try:
            if self._group is not None and self._shown:
                if self._commit_mode == "auto":
                    self._store()
                elif self._commit_mode in ("sync", "async-sync"):
                    self._commit_now(self._shown)
        finally:
            leave(self._consumer, lambda: self._settled)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _record(self, message: Message) -> Record | None:
        error = message.error()
        if error is None:
            record = Record.of(message)
            self._ended.discard((record.topic, record.partition))
            return record
        if error.code() != KafkaError._PARTITION_EOF:
            raise translate(error, self._subject)
        place = (message.topic() or "", message.partition() or 0)
        self._ended.add(place)
        self._ends[place] = message.offset() or 0
        return None

    def _store(self) -> None:
        """Hand offsets to the background commit; those of a partition lost meanwhile belong to its new reader."""
        try:
            self._consumer.store_offsets(offsets=_places(self._shown))
        except KafkaException as error:
            if error.args[0].code() != KafkaError._STATE:
                raise translate(error.args[0], self._subject) from error

    def _commit_now(self, offsets: Mapping[Place, int]) -> None:
        with translated(self._subject):
            for place in self._consumer.commit(offsets=_places(offsets), asynchronous=False):
                if place.error is not None:
                    raise KafkaException(place.error)

    # -- called by the client, from inside poll

    def _assign(self, _: Consumer, places: list[TopicPartition]) -> None:
        come = _named(places)
        self._settled = True
        self._assigned |= set(come)
        self._ended.clear()
        if self._told_assigned is not None:
            self._told_assigned(come)

    def _revoke(self, _: Consumer, places: list[TopicPartition]) -> None:
        gone = _named(places)
        if self._told_revoked is not None:
            self._told_revoked(gone)
        mine = {place: offset for place, offset in self._shown.items() if place in gone}
        if self._commit_mode == "async-sync" and mine:
            self._commit_now(mine)
        self._forget(gone)

    def _lose(self, _: Consumer, places: list[TopicPartition]) -> None:
        gone = _named(places)
        self._forget(gone)
        if self._told_revoked is not None:
            self._told_revoked(gone)

    def _forget(self, gone: Iterable[Place]) -> None:
        self._settled = False
        for place in gone:
            self._assigned.discard(place)
            self._ended.discard(place)
            self._shown.pop(place, None)

    def _notice(self, error: KafkaError) -> None:
        # The client mends single connections by itself; only with every broker gone is there something to say.
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self.trouble = translate(error, self._subject)

    def _committed(self, error: KafkaError | None, _: list[TopicPartition]) -> None:
        if error is not None and error.code() != KafkaError._NO_OFFSET:
            self.failed_commits += 1


def _places(offsets: Mapping[Place, int]) -> list[TopicPartition]:
    return [TopicPartition(*place, offset) for place, offset in offsets.items()]


def _named(places: list[TopicPartition]) -> list[Place]:
    return sorted((place.topic, place.partition) for place in places)

"""Reading a topic record by record, with or without a group, committing in one of the four ways Kafka's users know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from orion.errors import OrionError
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import translate, translated
from orion.hub.records import Position, Record

Commit = Literal["auto", "sync", "async", "async-sync"]
Isolation = Literal["read_committed", "read_uncommitted"]


class Reader:
    """A topic being read. The caller says what it has `shown`, and only that is ever committed.

    - auto: the client commits in the background, and once more on close
    - sync: `commit` waits for the broker
    - async: `commit` doesn't wait, so the last one may be lost
    - async-sync: as async, and one that waits on close and before partitions go to another member
    """

    def __init__(
        self,
        kafka: Kafka,
        topic: str,
        start: Position,
        *,
        group: str | None = None,
        partitions: Sequence[int] = (),
        commit: Commit = "auto",
        isolation: Isolation = "read_committed",
    ) -> None:
        self.trouble: OrionError | None = None
        self.failed_commits = 0
        self._commit_mode: Commit = commit
        self._group = group
        self._topic = topic
        self._subject = kafka.subject(topic=topic)
        self._assigned: set[int] = set()
        self._ended: set[int] = set()
        self._ends: dict[int, int] = {}
        self._shown: dict[int, int] = {}
        # Offsets first: a topic that isn't there fails here, before a consumer waits for it.
        offsets = {} if group else kafka.offsets(topic, start)
        self._consumer = kafka.consumer(group, **self._settings(start, isolation))
        if group:
            self._consumer.subscribe([topic], on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose)
        else:
            chosen = {part: offset for part, offset in offsets.items() if not partitions or part in partitions}
            self._assigned = set(chosen)
            self._consumer.assign([TopicPartition(topic, part, offset) for part, offset in chosen.items()])

    def _settings(self, start: Position, isolation: Isolation) -> dict[str, Any]:
        return {
            "isolation.level": isolation,
            "enable.partition.eof": True,
            # How long a broker waits for more before it answers, and so before it says that this is the end.
            "fetch.wait.max.ms": 50,
            "auto.offset.reset": start.kind if start.kind in ("earliest", "latest") else "earliest",
            "enable.auto.commit": self._group is not None and self._commit_mode == "auto",
            "auto.commit.interval.ms": 1000,
            "enable.auto.offset.store": False,
            "error_cb": self._notice,
            "on_commit": self._committed,
        }

    @property
    def at_end(self) -> bool:
        """Whether every partition it has is read to its end."""
        return bool(self._assigned) and self._assigned <= self._ended

    def end(self, partition: int) -> int:
        """Where the partition ended when its end was last met, transactions' own marks included; 0 before that."""
        return self._ends.get(partition, 0)

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
        return records

    def shown(self, records: Iterable[Record]) -> None:
        """Remember that records have reached their reader."""
        for record in records:
            self._shown[record.partition] = record.offset + 1

    def commit(self) -> None:
        """Commit what has been shown, in this reader's way; nothing without a group."""
        if self._group is None or not self._shown:
            return
        if self._commit_mode == "auto":
            self._store()
        elif self._commit_mode == "sync":
            self._commit_now(self._places())
        else:
            with translated(self._subject):
                self._consumer.commit(offsets=self._places(), asynchronous=True)

    def close(self) -> None:
        """Leave the group, after a last commit where the way of committing has one."""
        try:
            if self._group is not None and self._shown:
                if self._commit_mode == "auto":
                    self._store()
                elif self._commit_mode in ("sync", "async-sync"):
                    self._commit_now(self._places())
        finally:
            self._consumer.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _record(self, message: Message) -> Record | None:
        error = message.error()
        if error is None:
            record = Record.of(message)
            self._ended.discard(record.partition)
            return record
        if error.code() != KafkaError._PARTITION_EOF:
            raise translate(error, self._subject)
        partition = message.partition() or 0
        self._ended.add(partition)
        self._ends[partition] = message.offset() or 0
        return None

    def _places(self, only: set[int] | None = None) -> list[TopicPartition]:
        return [
            TopicPartition(self._topic, partition, offset)
            for partition, offset in self._shown.items()
            if only is None or partition in only
        ]

    def _store(self) -> None:
        """Hand offsets to the background commit; those of a partition lost meanwhile belong to its new reader."""
        try:
            self._consumer.store_offsets(offsets=self._places())
        except KafkaException as error:
            if error.args[0].code() != KafkaError._STATE:
                raise translate(error.args[0], self._subject) from error

    def _commit_now(self, places: list[TopicPartition]) -> None:
        with translated(self._subject):
            for place in self._consumer.commit(offsets=places, asynchronous=False):
                if place.error is not None:
                    raise KafkaException(place.error)

    # -- called by the client, from inside poll

    def _assign(self, _: Consumer, places: list[TopicPartition]) -> None:
        self._assigned |= {place.partition for place in places}
        self._ended.clear()

    def _revoke(self, _: Consumer, places: list[TopicPartition]) -> None:
        gone = {place.partition for place in places}
        if self._commit_mode == "async-sync" and (mine := self._places(gone)):
            self._commit_now(mine)
        self._forget(gone)

    def _lose(self, _: Consumer, places: list[TopicPartition]) -> None:
        self._forget({place.partition for place in places})

    def _forget(self, gone: set[int]) -> None:
        self._assigned -= gone
        self._ended -= gone
        for partition in gone:
            self._shown.pop(partition, None)

    def _notice(self, error: KafkaError) -> None:
        # The client mends single connections by itself; only with every broker gone is there something to say.
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self.trouble = translate(error, self._subject)

    def _committed(self, error: KafkaError | None, _: list[TopicPartition]) -> None:
        if error is not None and error.code() != KafkaError._NO_OFFSET:
            self.failed_commits += 1

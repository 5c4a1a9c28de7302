"""A producer that speaks Orion's language: records out, receipts or errors back, transactions around them.

`Writer` and `orion.Producer` are made of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from orion.errors import ExternalError, OrionError
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import Subject, translate, translated
from orion.hub.records import Outgoing, Place, Receipt
from orion.security.names import check_header, check_topic

Report = Callable[[Receipt | OrionError], None]
# Asked for so that the client knows the cluster: it exists, or will with the first transaction.
_TRANSACTIONS = "__transaction_state"


class Sender:
    """Records to any topic. Settings are librdkafka's. Reports arrive from inside `send`, `poll` and `flush`."""

    def __init__(
        self,
        kafka: Kafka,
        settings: Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._bootstrap = kafka.bootstrap
        self._id = transactional_id
        self._timeout = timeout
        self._ended: OrionError | None = None  # why it can write no more
        named = {} if transactional_id is None else {"transactional.id": transactional_id}
        self._producer = kafka.producer(**{**settings, **named, "error_cb": self._notice})
        if transactional_id is not None:
            with translated(self._subject()):
                # Knowing the cluster first: else the producer waits half a second before it asks for its coordinator.
                self._producer.list_topics(_TRANSACTIONS, timeout)
            self._insist(self._producer.init_transactions)

    def partitions(self, topic: str, patience: float = 0.0) -> int:
        """How many the topic has; 0 when it isn't there, or isn't known to all brokers within `patience` seconds.

        Also makes the client know the cluster: it asks for its producer id before it has a connection, and then waits
        half a second or a whole one to ask again. With this in hand the first record is answered at once.
        """
        check_topic(topic)
        deadline = time.monotonic() + patience
        with translated(self._subject(topic)):
            while True:
                found = len(self._producer.list_topics(topic, self._timeout).topics[topic].partitions)
                if found or time.monotonic() >= deadline:
                    return found
                self._producer.poll(0.05)

    def send(self, topic: str, record: Outgoing, report: Report | None = None) -> None:
        """Hand a record over, waiting for room when the queue is full. Raises when it isn't even queued."""
        check_topic(topic)
        for name, _ in record.headers:
            check_header(name)
        arguments: dict[str, Any] = {"value": record.value, "key": record.key, "headers": list(record.headers)}
        if record.timestamp is not None:
            arguments["timestamp"] = record.timestamp
        if record.partition is not None:
            arguments["partition"] = record.partition
        if report is not None:
            arguments["on_delivery"] = self._reporter(topic, report)
        while True:
            try:
                self._producer.produce(topic, **arguments)
                break
            except BufferError:
                self.poll(0.1)
            except KafkaException as error:
                raise self._failure(error.args[0], topic) from error
        self.poll(0)

    def poll(self, seconds: float) -> bool:
        """Let reports in; false when the producer can write no more, which is told to whoever writes next."""
        try:
            self._producer.poll(seconds)
        except KafkaException as error:
            self._notice(error.args[0])
        return self._ended is None

    def flush(self, timeout: float | None = None) -> int:
        """Wait until each record has its report, or for `timeout` seconds; how many have none yet."""
        # In slices: the client doesn't let Ctrl-C in while it waits.
        deadline = None if timeout is None else time.monotonic() + timeout
        while (left := self._flushed()) and (deadline is None or time.monotonic() < deadline):
            pass
        return left

    def _flushed(self) -> int:
        try:
            return int(self._producer.flush(0.2))
        except KafkaException as error:
            self._notice(error.args[0])
            return 0  # none of them will be written

    # -- transactions

    def begin(self) -> None:
        if self._ended is not None:
            raise self._ended
        with translated(self._subject()):
            self._producer.begin_transaction()

    def send_offsets(self, offsets: Mapping[Place, int], group: object) -> None:
        """Put a group's next offsets into the transaction; `group` is what its reader says of itself."""
        places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        self._insist(self._producer.send_offsets_to_transaction, places, group)

    def commit(self) -> None:
        """Commit what has been sent, after waiting for it."""
        try:
            self._insist(self._producer.commit_transaction)
        except ExternalError as error:
            # Whether the broker has it is unknown after a time-out; only a new producer of this id can settle it.
            if error.code == "BROKER_UNREACHABLE":
                self._ended = ExternalError(
                    "TRANSACTION_IN_DOUBT",
                    f"No broker said whether the transaction of {self._id} is committed: {error.message}",
                    hint="Open a new producer with the same id, which ends it, and look at what was written.",
                )
                raise self._ended from error
            raise

    def abort(self) -> None:
        """Take back what has been sent; nothing to do for one that can write no more, whose broker does it."""
        if self._ended is None:
            self._insist(self._producer.abort_transaction)

    def _insist(self, call: Callable[..., object], *arguments: object) -> None:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                call(*arguments, max(0.1, deadline - time.monotonic()))
                return
            except KafkaException as error:
                cause = error.args[0]
                if not cause.retriable() or time.monotonic() >= deadline:
                    raise self._failure(cause) from error
            self.poll(0.1)

    # -- errors

    def _subject(self, topic: str | None = None) -> Subject:
        # Without the names of other topics: a report must not ask the cluster for them, record by record.
        return Subject(self._bootstrap, topic, transactional_id=self._id)

    def _failure(self, error: KafkaError, topic: str | None = None, *, inside: bool = False) -> OrionError:
        """`inside`: from inside of a poll, which may not be called again from there."""
        if error.code() == KafkaError._FATAL:
            if not inside:
                self.poll(0)  # lets the notice in that says why
            if self._ended is not None:
                return self._ended
        failure = translate(error, self._subject(topic))
        if error.fatal():
            self._ended = failure
        return failure

    def _notice(self, error: KafkaError) -> None:
        if error.fatal() and self._ended is None:
            self._ended = translate(error, self._subject())

    def _reporter(self, topic: str, report: Report) -> Callable[[KafkaError | None, Message], None]:
        def told(error: KafkaError | None, message: Message) -> None:
            report(Receipt.of(message) if error is None else self._failure(error, topic, inside=True))

        return told

"""Writing records to one topic in the three ways a producer can wait: not at all, for each, or for all at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import KafkaError, KafkaException, Message

from orion.errors import OrionError
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import Subject, translate, translated
from orion.hub.records import Outgoing

Mode = Literal["fire-and-forget", "sync", "async"]
Acks = Literal["0", "1", "all"]


@dataclass(slots=True)
class Tally:
    """How many records were handed over, confirmed by the broker, and refused."""

    sent: int = 0
    acknowledged: int = 0
    failed: int = 0


class Writer:
    """A topic being written. Records that fail are counted and told to `on_failure` with the caller's tag.

    Fire-and-forget asks for no reports, so nothing is counted as acknowledged or failed. With acks 0 a report only says
    that a record has left this machine.
    """

    def __init__(
        self,
        kafka: Kafka,
        topic: str,
        *,
        mode: Mode = "async",
        acks: Acks = "all",
        timeout: float = 30.0,
        settings: Mapping[str, Any] | None = None,
        on_failure: Callable[[int, OrionError], None] | None = None,
    ) -> None:
        self.tally = Tally()
        self._topic = topic
        self._mode: Mode = mode
        # Without the names of other topics: a report must not ask the cluster for them, record by record.
        self._subject = Subject(kafka.bootstrap, topic)
        self._on_failure = on_failure
        self._producer = kafka.producer(
            **{
                "acks": acks,
                # With acks all, a retry neither repeats nor reorders.
                "enable.idempotence": acks == "all",
                "message.timeout.ms": round(timeout * 1000),
                "linger.ms": 0 if mode == "sync" else 20,
                **(settings or {}),
            }
        )
        # The client asks for its producer id before it has a connection, and then waits half a second or a whole one
        # to ask again. With the topic's metadata in hand the first record is answered at once.
        with translated(self._subject):
            self._producer.list_topics(topic, timeout)

    def send(self, record: Outgoing, tag: int = 0) -> None:
        """Hand a record over; waits for the broker in sync mode, and for room when the client's queue is full."""
        arguments: dict[str, Any] = {"value": record.value, "key": record.key, "headers": list(record.headers)}
        if record.timestamp is not None:
            arguments["timestamp"] = record.timestamp
        if record.partition is not None:
            arguments["partition"] = record.partition
        if self._mode != "fire-and-forget":
            arguments["on_delivery"] = self._reporter(tag)
        self.tally.sent += 1
        if self._enqueue(arguments, tag) and self._mode == "sync":
            self._drain(None)

    def wait(self, seconds: float) -> None:
        """Let time pass and reports in."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._producer.poll(min(left, 0.2))

    def close(self, timeout: float | None = None) -> None:
        """Wait for what is under way: until each record has its report, or for `timeout` seconds."""
        self._drain(timeout)

    def _enqueue(self, arguments: dict[str, Any], tag: int) -> bool:
        while True:
            try:
                self._producer.produce(self._topic, **arguments)
            except BufferError:
                self._producer.poll(0.1)
                continue
            except KafkaException as error:
                # Refused before it was queued, such as a record over message.max.bytes.
                self._failed(tag, error.args[0])
                return False
            self._producer.poll(0)
            return True

    def _drain(self, timeout: float | None) -> None:
        # In slices: the client doesn't let Ctrl-C in while it waits.
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._producer.flush(0.2) and (deadline is None or time.monotonic() < deadline):
            pass

    def _reporter(self, tag: int) -> Callable[[KafkaError | None, Message], None]:
        def report(error: KafkaError | None, _: Message) -> None:
            if error is None:
                self.tally.acknowledged += 1
            else:
                self._failed(tag, error)

        return report

    def _failed(self, tag: int, error: KafkaError) -> None:
        self.tally.failed += 1
        if self._on_failure is not None:
            self._on_failure(tag, translate(error, self._subject))


def send_all(kafka: Kafka, topic: str, records: Iterable[Outgoing]) -> None:
    """Write records durably and wait for all of them; the first that fails is raised."""
    failures: list[OrionError] = []
    writer = Writer(kafka, topic, on_failure=lambda _, error: failures.append(error), settings={"linger.ms": 0})
    for record in records:
        writer.send(record)
    writer.close()
    if failures:
        raise failures[0]

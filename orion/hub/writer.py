"""Writing records to one topic in the three ways a producer can wait: not at all, for each, or for all at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from orion.errors import OrionError
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing, Receipt
from orion.hub.sending import Report, Sender

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
        self._on_failure = on_failure
        defaults = {
            "acks": acks,
            # With acks all, a retry neither repeats nor reorders.
            "enable.idempotence": acks == "all",
            "message.timeout.ms": round(timeout * 1000),
            "linger.ms": 0 if mode == "sync" else 20,
        }
        self._sender = Sender(kafka, {**defaults, **(settings or {})}, timeout=timeout)
        self._sender.partitions(topic)

    def send(self, record: Outgoing, tag: int = 0) -> None:
        """Hand a record over; waits for the broker in sync mode, and for room when the client's queue is full."""
        self.tally.sent += 1
        try:
            self._sender.send(self._topic, record, None if self._mode == "fire-and-forget" else self._reporter(tag))
        except OrionError as error:
            # Refused before it was queued, such as a record over message.max.bytes.
            self._failed(tag, error)
            return
        if self._mode == "sync":
            self._sender.flush()

    def wait(self, seconds: float) -> None:
        """Let time pass and reports in."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._sender.poll(min(left, 0.2))

    def close(self, timeout: float | None = None) -> None:
        """Wait for what is under way: until each record has its report, or for `timeout` seconds."""
        self._sender.flush(timeout)

    def _reporter(self, tag: int) -> Report:
        def report(told: Receipt | OrionError) -> None:
            if isinstance(told, Receipt):
                self.tally.acknowledged += 1
            else:
                self._failed(tag, told)

        return report

    def _failed(self, tag: int, error: OrionError) -> None:
        self.tally.failed += 1
        if self._on_failure is not None:
            self._on_failure(tag, error)


def send_all(kafka: Kafka, topic: str, records: Iterable[Outgoing]) -> None:
    """Write records durably and wait for all of them; the first that fails is raised."""
    failures: list[OrionError] = []
    writer = Writer(kafka, topic, on_failure=lambda _, error: failures.append(error), settings={"linger.ms": 0})
    for record in records:
        writer.send(record)
    writer.close()
    if failures:
        raise failures[0]

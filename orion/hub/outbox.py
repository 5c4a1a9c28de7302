"""Records of many callers to any topic, by one client that is kept, with a bound on what waits for the brokers.

What `DurableWriter` is for single records, this is for many at a time: nobody waits in line, and who brings more than
there is room for is told so at once, before anything is sent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from orion.errors import ExternalError, NotFound, OrionError
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing, Receipt
from orion.hub.sending import Sender

_KNOWN_S = 10.0  # how long a topic's partitions are taken for granted
_PATIENCE_S = 1.0  # for a topic that was just made
_IDLE_S = 0.2
_OVERHEAD = 64  # bytes that a record costs beside its own
_RETRY_S = 1.0


class Outbox:
    """To any topic, from any thread. `limit` is how many bytes may wait; a single caller's may exceed it alone."""

    def __init__(self, kafka: Kafka, limit: int, timeout: float = 30.0) -> None:
        self._kafka = kafka
        self._limit = limit
        self._timeout = timeout
        self._room = threading.Condition()
        self._opening = threading.Lock()
        self._waiting = 0
        self._sender: Sender | None = None
        self._known: dict[str, tuple[float, int]] = {}
        self._stopped = threading.Event()

    @property
    def waiting(self) -> int:
        """Bytes that the brokers haven't answered for."""
        return self._waiting

    def partitions(self, topic: str) -> int:
        """How many the topic has; raises where there is none. Asks the cluster, but for a topic that is known."""
        checked, count = self._known.get(topic, (0.0, 0))
        if time.monotonic() - checked < _KNOWN_S:
            return count
        count = self._open().partitions(topic, _PATIENCE_S)
        if count == 0:
            self._known.pop(topic, None)
            hint = f"Make it: `orion topics create {topic}`."
            raise NotFound("TOPIC_NOT_FOUND", f"There is no topic {topic}.", hint=hint)
        self._known[topic] = (time.monotonic(), count)
        return count

    def send(self, topic: str, records: Iterable[Outgoing], patience: float = 0.0) -> list[Future[Receipt]]:
        """Hand all of them over, or raise and hand over none: there was no room within `patience` seconds.

        Each future has what became of one.
        """
        given = list(records)
        sender = self._open()
        self._reserve(sum(_size(one) for one in given), patience)
        return [self._sent(sender, topic, one) for one in given]

    def close(self) -> None:
        """Wait for what is under way, and send no more."""
        self._stopped.set()
        with self._opening:
            sender, self._sender = self._sender, None
        if sender is not None:
            sender.flush(self._timeout)

    # -- inside

    def _reserve(self, size: int, patience: float) -> None:
        def fits() -> bool:
            return not self._waiting or self._waiting + size <= self._limit

        with self._room:
            if not self._room.wait_for(fits, patience):
                raise ExternalError(
                    "QUEUE_FULL",
                    f"{self._waiting} bytes wait for the brokers already, and {self._limit} may.",
                    hint="Try again when they have taken some.",
                    retry_after=_RETRY_S,
                )
            self._waiting += size

    def _sent(self, sender: Sender, topic: str, record: Outgoing) -> Future[Receipt]:
        future: Future[Receipt] = Future()
        future.set_running_or_notify_cancel()
        report = self._reporter(future, _size(record))
        try:
            sender.send(topic, record, report)
        except OrionError as error:
            report(error)
        return future

    def _reporter(self, future: Future[Receipt], size: int) -> Callable[[Receipt | OrionError], None]:
        def report(told: Receipt | OrionError) -> None:
            with self._room:
                self._waiting -= size
                self._room.notify_all()
            if isinstance(told, Receipt):
                future.set_result(told)
            else:
                future.set_exception(told)

        return report

    def _open(self) -> Sender:
        with self._opening:
            if self._sender is None:
                self._sender = Sender(self._kafka, _settings(self._timeout), timeout=self._timeout)
                threading.Thread(target=self._let_in, args=(self._sender,), name="orion-outbox", daemon=True).start()
            return self._sender

    def _let_in(self, sender: Sender) -> None:
        """Reports only arrive while somebody asks. A client that can write no more makes room for another."""
        while not self._stopped.is_set():
            if not sender.poll(_IDLE_S):
                with self._opening:
                    if self._sender is sender:
                        self._sender = None
                sender.flush(self._timeout)
                return


class Transactions:
    """Records of one caller at a time, written together or not at all, by one client that is kept."""

    def __init__(self, kafka: Kafka, name: str, timeout: float = 30.0) -> None:
        self._kafka = kafka
        self._name = name  # no two writers have the same
        self._timeout = timeout
        self._lock = threading.Lock()
        self._sender: Sender | None = None

    def write(self, topic: str, records: Iterable[Outgoing]) -> list[Receipt]:
        """All of them, or none and the reason is raised."""
        with self._lock:
            sender, self._sender = self._sender, None  # one that fails is not used again
            if sender is None:
                sender = Sender(
                    self._kafka, _settings(self._timeout), transactional_id=self._name, timeout=self._timeout
                )
            told: list[Receipt | OrionError] = []
            sender.begin()
            try:
                for record in records:
                    sender.send(topic, record, told.append)
                sender.flush(self._timeout)
                failed = next((one for one in told if isinstance(one, OrionError)), None)
                if failed is not None:
                    raise failed
                sender.commit()
            except OrionError:
                with suppress(OrionError):
                    sender.abort()
                raise
            self._sender = sender
            return [one for one in told if isinstance(one, Receipt)]


def _settings(timeout: float) -> dict[str, Any]:
    return {
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": 5,
        "message.timeout.ms": round(timeout * 1000),
    }


def _size(record: Outgoing) -> int:
    return len(record.value or b"") + len(record.key or b"") + _OVERHEAD

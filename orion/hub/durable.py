"""Single records written durably, one client for all of them: making one takes far longer than a record does."""

from __future__ import annotations

import threading
import time

from orion.errors import OrionError
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import unreachable
from orion.hub.records import Outgoing, Receipt
from orion.hub.sending import Sender

_TIMEOUT_S = 30.0
_GRACE_S = 5.0  # for the client to say that the time is over
_SETTINGS = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,
    "message.timeout.ms": round(_TIMEOUT_S * 1000),
}


class DurableWriter:
    """To any topic, from any thread."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._lock = threading.Lock()
        self._sender: Sender | None = None
        self._known: set[str] = set()

    def write(self, topic: str, record: Outgoing) -> Receipt:
        """Write a record, and return when the brokers have it; what keeps them from it is raised."""
        sender = self._open(topic)
        told: list[Receipt | OrionError] = []
        sender.send(topic, record, told.append)
        end = time.monotonic() + _TIMEOUT_S + _GRACE_S
        while not told:
            if not sender.poll(0.1):
                self._forget(sender)
            if time.monotonic() > end:
                raise unreachable(self._kafka.bootstrap, f"It didn't say whether it has a record of {topic}.")
        if isinstance(told[0], OrionError):
            raise told[0]
        return told[0]

    def close(self) -> None:
        with self._lock:
            self._sender = None

    def _open(self, topic: str) -> Sender:
        with self._lock:
            if self._sender is None:
                self._sender, self._known = Sender(self._kafka, _SETTINGS, timeout=_TIMEOUT_S), set()
            if topic not in self._known:
                self._sender.partitions(topic)
                self._known.add(topic)
            return self._sender

    def _forget(self, sender: Sender) -> None:
        """It can write no more: what it has under way is told to fail, and the next record has a new one."""
        with self._lock:
            if self._sender is sender:
                self._sender = None

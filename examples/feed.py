"""A steady feed: a thread that makes an event whenever one is due and sends it so that nothing is lost or doubled.

`acks=all` with an idempotent producer means that a record the broker has acknowledged is in the log exactly once. Only
acknowledged events are counted, in the delivery callback, so the counts are a statement about the log and not a hope.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Generic, Protocol, TypeVar

from confluent_kafka import KafkaError, Message, Producer

TICK_S = 0.02
FLUSH_S = 30.0
# Settings of the producer every feed sends with; the linger fills batches without being felt.
PRODUCER: Mapping[str, str | int | bool] = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 20,
    "compression.type": "lz4",
}


class Event(Protocol):
    """What a feed can send."""

    @property
    def topic(self) -> str: ...
    @property
    def key(self) -> bytes: ...
    @property
    def value(self) -> bytes | None: ...


E = TypeVar("E", bound=Event)


def send(producer: Producer, event: Event, report: Callable[[KafkaError | None, Message], None]) -> None:
    """Hand one event to the producer; wait for room when its queue is full."""
    while True:
        try:
            producer.produce(event.topic, value=event.value, key=event.key, on_delivery=report)
            return
        except BufferError:
            producer.poll(0.1)


def send_all(producer: Producer, events: Iterable[Event]) -> int:
    """Send events as fast as they go and wait for the broker; how many it did not acknowledge."""
    failed = 0

    def report(error: KafkaError | None, message: Message) -> None:
        nonlocal failed
        failed += error is not None

    for event in events:
        send(producer, event, report)
        producer.poll(0)
    return producer.flush(FLUSH_S) + failed


class Feed(Generic[E]):
    """Sends `rate` events a second, made by `make(now in milliseconds)`, until it is stopped.

    `failed` counts the events that the broker refused or, once stopped, never answered for.
    """

    def __init__(
        self, producer: Producer, make: Callable[[int], E], acknowledged: Callable[[E], None], rate: float
    ) -> None:
        self.failed = 0
        self._producer = producer
        self._make = make
        self._acknowledged = acknowledged
        self._rate = rate
        self._stop = threading.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="feed")
        self._running: Future[None] | None = None

    def start(self) -> None:
        self._running = self._thread.submit(self._run)

    def stop(self) -> None:
        """End the thread and wait for every acknowledgement; raises what went wrong in the thread."""
        self._stop.set()
        self._thread.shutdown(wait=True)
        self.failed += self._producer.flush(FLUSH_S)
        if self._running is not None:
            self._running.result()

    def _run(self) -> None:
        begin, made = time.monotonic(), 0
        while not self._stop.wait(TICK_S):
            due = int((time.monotonic() - begin) * self._rate)
            now = time.time_ns() // 1_000_000
            while made < due and not self._stop.is_set():
                event = self._make(now)
                send(self._producer, event, partial(self._delivered, event))
                made += 1
            self._producer.poll(0)

    def _delivered(self, event: E, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed += 1
        else:
            self._acknowledged(event)

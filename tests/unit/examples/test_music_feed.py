"""The ledger of acknowledged plays, and the feed's counting by delivery reports."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, Producer

from examples.feed import Feed
from examples.music.catalogue import Catalogue
from examples.music.feed import Ledger, Sent
from examples.music.plays import Kind, Play


def play(number: int, kind: Kind) -> Play:
    return Play(number, kind, b"u000001", b"{}")


def test_ledger_counts_by_kind_in_any_order() -> None:
    ledger = Ledger()
    for number, kind in [(5, Kind.LATE), (0, Kind.ON_TIME), (3, Kind.SKIPPED), (1, Kind.MALFORMED), (2, Kind.ON_TIME)]:
        ledger.add(play(number, kind))
    assert [ledger.count(kind) for kind in Kind] == [2, 1, 1, 1]
    assert [number for number in range(-1, 8) if ledger.is_good(number)] == [0, 2, 5]


def test_good_plays_are_those_on_time_and_the_late_ones() -> None:
    sent = Sent(on_time=10, late=2, skipped=3, malformed=4, failed=1)
    assert (sent.good, sent.total) == (12, 19)


def test_catalogue_rows_leave_the_key_out() -> None:
    catalogue = Catalogue.generate(seed=2, listeners=3, tracks=2)
    assert catalogue == Catalogue.generate(seed=2, listeners=3, tracks=2)
    assert b"user_id" not in catalogue.listeners[0].profile
    assert b"track_id" not in catalogue.tracks[0].entry


@dataclass(frozen=True)
class Numbered:
    number: int
    topic: str = "t"
    key: bytes = b"k"
    value: bytes = b"v"


class Broker:
    """Stands in for the producer: refuses every tenth event, answers the others at once, then falls silent."""

    def __init__(self, enough: int) -> None:
        self.enough = enough
        self.done = threading.Event()
        self.seen = 0
        self.full = True

    def produce(self, topic: str, *, value: bytes, key: bytes, on_delivery: Callable[..., Any]) -> None:
        if self.full:
            self.full = False
            raise BufferError
        self.seen += 1
        if self.seen <= self.enough:
            on_delivery(KafkaError(KafkaError._MSG_TIMED_OUT) if self.seen % 10 == 0 else None, None)
        if self.seen == self.enough:
            self.done.set()

    def poll(self, timeout: float) -> int:
        return 0

    def flush(self, timeout: float) -> int:
        return self.seen - self.enough


def test_only_acknowledged_events_are_counted() -> None:
    broker, counted, made = Broker(enough=50), list[Numbered](), iter(range(1_000_000))
    feed = Feed(cast(Producer, broker), lambda now: Numbered(next(made)), counted.append, rate=5_000)
    feed.start()
    assert broker.done.wait(10)
    feed.stop()
    assert len(counted) == 45
    assert feed.failed == 5 + broker.seen - 50
    assert [event.number for event in counted[:9]] == list(range(9))


def test_an_error_in_the_thread_comes_out_of_stop() -> None:
    failed = threading.Event()

    def make(now: int) -> Numbered:
        failed.set()
        raise ZeroDivisionError

    feed = Feed(cast(Producer, Broker(enough=1)), make, lambda event: None, rate=1_000)
    feed.start()
    assert failed.wait(10)
    with pytest.raises(ZeroDivisionError):
        feed.stop()

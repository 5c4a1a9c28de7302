"""A whole Orion for scenarios: engine and HTTP door over the run's own broker and Spark session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orion.app import Orion
from orion.config import load
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Position, Record
from orion.runtime.engine import Engine
from orion.runtime.session import Spark
from orion.web.server import Server
from orion.web.sockets import bound

Await = Callable[[Callable[[], bool], float], None]


@pytest.fixture(scope="session")
def orion(kafka: Kafka, spark: Spark, scratch: Path) -> Iterator[Orion]:
    config = load(flags={"data": scratch / "orion", "hub.bootstrap": kafka.bootstrap, "engine.trigger_ms": 50})
    engine = Engine(config, kafka, spark)
    with Orion.over(engine) as started:
        yield started


@pytest.fixture(scope="session")
def door(orion: Orion) -> Iterator[str]:
    """The platform's address over HTTP."""
    with bound("127.0.0.1", 0) as sock:
        server = Server.start(orion, sock)
        yield server.url
        server.stop()


@pytest.fixture
def until() -> Await:
    """Wait for a condition, with a deadline."""

    def wait(condition: Callable[[], bool], deadline_s: float = 180.0) -> None:
        end = time.monotonic() + deadline_s
        while not condition():
            if time.monotonic() > end:
                pytest.fail(f"not within {deadline_s:.0f} s")
            time.sleep(0.05)

    return wait


def everything(kafka: Kafka, topic: str) -> list[Record]:
    """All committed records of a topic, by partition and offset; those of a transaction that is just ending too."""
    end = time.monotonic() + 3.0
    while kafka.end_offsets(topic) != kafka.end_offsets(topic, committed=True) and time.monotonic() < end:
        time.sleep(0.02)
    found: list[Record] = []
    with Reader(kafka, topic, Position("earliest")) as reader:
        while not reader.at_end:
            found += reader.read(1000, 0.5)
    return sorted(found, key=lambda r: (r.partition, r.offset))

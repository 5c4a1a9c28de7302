"""Many statements over one topic, on a platform as a user starts it, and what they take: freshness, time, memory.

The other side is the same platform with `engine.share_statements` off: each statement has a stream of its own.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.latency import Latencies
from benchmarks.platform import Platform, start_platform
from benchmarks.stage import seconds_until
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import Writer

APART = {"ORION_ENGINE__SHARE_STATEMENTS": "false"}
_KEYS = 500
_SETTLED_S = 600.0


@dataclass(frozen=True)
class Load:
    """So many statements, and what they are given."""

    stateless: int
    keyed: int
    rate: int  # records a second
    warm_s: float
    measured_s: float

    @property
    def outputs(self) -> list[str]:
        return [f"MADE_{n}" for n in range(self.stateless)] + [f"COUNTED_{n}" for n in range(self.keyed)]

    def script(self) -> str:
        made = (
            f"CREATE STREAM made_{n} AS SELECT k, id, amount + {n} AS more, sent FROM orders WHERE id % 20 = {n % 20};"
            for n in range(self.stateless)
        )
        counted = (
            f"CREATE TABLE counted_{n} AS SELECT k, COUNT(*) AS n, LATEST_BY_OFFSET(sent) AS sent FROM orders"
            f" WHERE id % 20 = {n % 20} GROUP BY k;"
            for n in range(self.keyed)
        )
        source = (
            "CREATE STREAM orders (k STRING KEY, id BIGINT, amount INT, sent DOUBLE)"
            " WITH (kafka_topic='orders', value_format='JSON', partitions=1);"
        )
        return "\n".join((source, *made, *counted))


@dataclass(frozen=True)
class Taken:
    """What a platform took: freshness of results, percent of a core, memory, and how long until all ran."""

    freshness: Latencies | None
    core: float
    memory_mb: float
    made_s: float

    def __str__(self) -> str:
        fresh = "" if self.freshness is None else f"{self.freshness}, "
        return f"{fresh}{self.core:,.0f} % of a core, {self.memory_mb:,.0f} MB"


def measure_load(load: Load, settings: Mapping[str, str]) -> Taken:
    with start_platform(settings) as platform:
        begun = time.monotonic()
        platform.sql(load.script())
        kafka, stopping = Kafka(platform.bootstrap), threading.Event()
        feeding = threading.Thread(target=_feed, args=(kafka, load.rate, stopping))
        if load.rate:
            feeding.start()
        try:
            _await_running(platform, len(load.outputs))
            made_s = time.monotonic() - begun
            _idle(load.warm_s)
            before, at = platform.processor_seconds(), time.monotonic()
            freshness = _measure_freshness(kafka, load) if load.rate else None
            _idle(at + load.measured_s - time.monotonic())
            core = 100 * (platform.processor_seconds() - before) / (time.monotonic() - at)
            return Taken(freshness, core, platform.memory_mb(), made_s)
        finally:
            stopping.set()
            if load.rate:
                feeding.join()


def _await_running(platform: Platform, count: int) -> None:
    def all_run() -> bool:
        found = platform.statuses()
        return len(found) == count and all(one["state"] == "RUNNING" for one in found)

    seconds_until(all_run, _SETTLED_S)


def _idle(seconds: float) -> None:
    threading.Event().wait(max(0.0, seconds))


def _measure_freshness(kafka: Kafka, load: Load) -> Latencies:
    """How long it takes from when a record is written until its result is read, over all outputs."""
    found: list[float] = []
    consumer = kafka.consumer("bench-freshness", **{"auto.offset.reset": "latest"})
    consumer.subscribe(load.outputs)
    try:
        begun = time.time()
        while time.time() < begun + load.measured_s:
            for message in consumer.consume(1_000, 0.02):
                value = message.value()
                if message.error() is None and value is not None:
                    sent = json.loads(value)["SENT"]
                    if sent >= begun:
                        found.append(time.time() - sent)
    finally:
        consumer.close()
    if len(found) < 100:
        raise RuntimeError(f"only {len(found)} results came within {load.measured_s:.0f} s")
    return Latencies.of(found)


def _feed(kafka: Kafka, rate: int, stopping: threading.Event) -> None:
    writer = Writer(kafka, "orders", settings={"linger.ms": 0})
    begun, number = time.time(), 0
    while not stopping.is_set():
        while number < (time.time() - begun) * rate:
            value = {"id": number, "amount": number % 97, "sent": time.time()}
            writer.send(Outgoing(json.dumps(value).encode(), f"k{number % _KEYS}".encode()))
            number += 1
        stopping.wait(0.005)
    writer.close()

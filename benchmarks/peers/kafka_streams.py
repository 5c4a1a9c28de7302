"""Kafka Streams, as `java/StreamsDriver.java` runs it: a program of its own for each job, all in one warm JVM.

Exactly once (`exactly_once_v2`) unless a row says otherwise, two threads, state in RocksDB with a changelog, its
record cache as it is by default. Values are read and written by Jackson; what can't be read goes to a topic of dead
letters. The producer's settings are those of the side by hand. A job has reached the end of its topics when its group
has committed that, which it does in the transaction of its results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from benchmarks.peers.driver import Driver, start_driver
from benchmarks.peers.jars import bring_jars
from benchmarks.stage import Stage, seconds_until
from orion.errors import NotFound
from orion.hub.kafka import Kafka

_MAIN = "StreamsDriver"
_OPTIONS = ("-Xmx1g", "-Xms1g")
# In milliseconds. Kafka Streams has 100 by default; each commit writes what the cache holds, so that fewer are cheaper.
COMMIT_MS, QUICK_COMMIT_MS = 1_000, 100
_POLL_S, _ALIVE_S = 0.05, 1.0
_SETTINGS = {
    "processing.guarantee": "exactly_once_v2",
    "num.stream.threads": "2",
    "producer.linger.ms": "20",
    "producer.batch.size": "262144",
    "producer.compression.type": "lz4",
}
BULK = {**_SETTINGS, "commit.interval.ms": str(COMMIT_MS)}
QUICK = {**_SETTINGS, "commit.interval.ms": str(QUICK_COMMIT_MS), "producer.linger.ms": "0"}


@dataclass(frozen=True)
class Job:
    """What the driver knows under a name, and what it reads and writes."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass
class KafkaStreams:
    kafka: Kafka
    driver: Driver
    started: int = field(default=0)

    def run(self, jobs: Sequence[Job]) -> float:
        """Seconds from the start of jobs, side by side, until all have committed the end of what they read."""
        ends = [self.kafka.ends_of(job.inputs) for job in jobs]
        begun = time.perf_counter()
        with ExitStack() as stack:
            names = [stack.enter_context(self.runs(job, BULK)) for job in jobs]
            for name, wanted in zip(names, ends, strict=True):
                self._await_end(name, wanted)
            return time.perf_counter() - begun

    @contextmanager
    def runs(self, job: Job, settings: Mapping[str, str]) -> Iterator[str]:
        """A job while it runs; the name of its group."""
        self.started += 1
        name, letters = f"{job.name}-{self.started}", f"{job.outputs[0]}-letters"
        self.kafka.create_topic(letters, 1, exist_ok=True)
        words = [f"{key}={value}" for key, value in settings.items()]
        words.append(f"errors.dead.letter.queue.topic.name={letters}")
        self.driver.ask("start", name, job.name, ",".join(job.inputs), ",".join(job.outputs), *words)
        try:
            yield name
        finally:
            self.driver.ask("stop", name)

    def _await_end(self, name: str, ends: Mapping[str, Mapping[int, int]]) -> None:
        looked = time.monotonic()

        def has_committed() -> bool:
            nonlocal looked
            if time.monotonic() - looked > _ALIVE_S:
                self.driver.ask("status", name)
                looked = time.monotonic()
            time.sleep(_POLL_S)
            return covers(self._committed(name), ends)

        seconds_until(has_committed)

    def _committed(self, group: str) -> dict[tuple[str, int], int]:
        try:
            progress = self.kafka.describe_group(group).progress
        except NotFound:  # it has no member yet
            return {}
        return {(one.topic, one.partition): one.committed or 0 for one in progress}


def covers(committed: Mapping[tuple[str, int], int], ends: Mapping[str, Mapping[int, int]]) -> bool:
    """Whether a group has committed the ends of its topics."""
    return all(committed.get((topic, part), 0) >= end for topic, parts in ends.items() for part, end in parts.items())


@contextmanager
def start_kafka_streams(stage: Stage) -> Iterator[KafkaStreams]:
    jars, folder = bring_jars("kafka-streams", stage.say), stage.folder / "kafka-streams"
    given = [stage.kafka.bootstrap, str(folder / "state")]
    with start_driver(_MAIN, jars, _OPTIONS, given, folder, stage.say) as driver:
        yield KafkaStreams(stage.kafka, driver)

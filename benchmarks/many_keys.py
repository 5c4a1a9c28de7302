"""A statement that counts by key, with so many keys in its state: one task, whose state is one changelog partition."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from benchmarks.contest import compiled, surroundings, unheard
from benchmarks.stage import Stage, seconds_until
from orion.hub.changelog import Changelog
from orion.hub.records import Outgoing
from orion.hub.writer import Writer
from orion.runtime.jobs import QueryJob
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.runs import Run

_BATCH = 100_000
_FILLED_S = 300.0


@dataclass(frozen=True)
class ManyKeys:
    """The statement goes on from round to round, as after a restart of the server."""

    stage: Stage
    keys: int

    @property
    def topic(self) -> str:
        return f"bench_keys_{self.keys}"

    @property
    def out(self) -> str:
        return f"{self.topic}_counts"

    @cached_property
    def job(self) -> QueryJob:
        query = compiled(script(self.out, self.topic))
        source = KafkaSource(self.stage.spark, self.stage.kafka.bootstrap, "earliest", _BATCH)
        return QueryJob(query, surroundings(self.stage, source, self.out))

    @property
    def changelog(self) -> Changelog:
        (edition,) = self.job.state.find().values()
        (found,) = edition.values()
        return found

    def fill(self) -> None:
        """A record of each key, counted; once, whichever benchmark comes first."""
        if all(topic.name != self.topic for topic in self.stage.kafka.topics()):
            for name in (self.topic, self.out, self.job.dead_letters):
                self.stage.kafka.create_topic(name, 1, exist_ok=True)  # both sizes have one for dead letters
            self.stage.say(f"counting {self.keys:,} keys")
            self.send(range(self.keys))
            with self.running(new=True) as run:
                seconds_until(lambda: read_rows(run) >= self.keys, _FILLED_S)

    def send(self, numbers: Iterable[int]) -> None:
        """A record of each of these keys; back when all are in the topic."""
        writer = Writer(self.stage.kafka, self.topic, settings={"linger.ms": 5})
        for number in numbers:
            value = {"amount": number % 97, "sent": time.time()}
            writer.send(Outgoing(json.dumps(value).encode(), b"key-%d" % number))
        writer.close()

    def choose(self, count: int) -> list[int]:
        return random.sample(range(self.keys), count)

    @contextmanager
    def running(self, *, new: bool = False) -> Iterator[Run]:
        run = self.job.start(unheard, new=new, accept=False)
        assert run.stream is not None
        try:
            yield run
            if run.stream.exception() is not None:
                raise RuntimeError(str(run.stream.exception()))
        finally:
            run.stream.stop()
            run.close()


def read_rows(run: Run) -> int:
    """How many records of its topic a run's batches have read up to their end, since the topic began."""
    stream = run.stream
    if stream is None or not stream.isActive:
        raise RuntimeError(f"the statement has ended: {stream.exception() if stream else None}")
    last = stream.lastProgress
    if last is None:
        return 0
    (ends,) = json.loads(last.sources[0].endOffset).values()
    return sum(ends.values())


def script(out: str, topic: str) -> str:
    return f"""
        CREATE STREAM keys (k STRING KEY, amount INT, sent DOUBLE) WITH (kafka_topic='{topic}', value_format='JSON');
        CREATE TABLE counts WITH (kafka_topic='{out}') AS
            SELECT k, COUNT(*) AS n, SUM(amount) AS s, MAX(sent) AS sent FROM keys GROUP BY k EMIT CHANGES;
    """

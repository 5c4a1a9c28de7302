"""What the counts are counted over: plays by many users, a millisecond apart, each with its time."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame

from benchmarks.contest import START_MS, streamed, write
from benchmarks.stage import Stage
from orion.hub.records import Outgoing

USERS = 5_000
WINDOW_MS = 60_000
SCHEMA = "track_id STRING, seconds INT, at BIGINT"


@dataclass(frozen=True)
class Plays:
    """A topic of plays, and how many of them a batch reads."""

    topic: str
    records: int
    batch: int

    @property
    def declared(self) -> str:
        return f"""
            CREATE STREAM plays (user_id STRING KEY, track_id STRING, seconds INT, at BIGINT)
                WITH (kafka_topic='{self.topic}', value_format='JSON', timestamp='at');
        """

    def fill(self, stage: Stage) -> None:
        """Fill the topic, unless another benchmark has."""
        if all(topic.name != self.topic for topic in stage.kafka.topics()):
            rows = _plays(self.records)
            write(stage, self.topic, (Outgoing(v.encode(), u.encode(), timestamp=at) for u, at, v in rows))

    def streamed(self, stage: Stage) -> DataFrame:
        return streamed(stage, self.topic, self.batch, SCHEMA)

    def busy(self, least: int) -> int:
        """How many users have so many plays in a minute, over all minutes."""
        counts = Counter((user, at // WINDOW_MS) for user, at, _ in _plays(self.records))
        return sum(count >= least for count in counts.values())

    def count_parts(self, parts: int) -> list[int]:
        """How many plays there are of each remainder of their seconds."""
        counts = Counter(json.loads(play)["seconds"] % parts for _, _, play in _plays(self.records))
        return [counts[number] for number in range(parts)]


MANY = Plays("bench_counted", 300_000, 75_000)
FEWER = Plays("bench_folded", 80_000, 20_000)


def _plays(records: int) -> Iterator[tuple[str, int, str]]:
    """User, time and value."""
    chance = random.Random(7)
    for at in range(START_MS, START_MS + records):
        play = {"track_id": f"t{chance.randrange(5000)}", "seconds": chance.randrange(240), "at": at}
        yield f"u{chance.randrange(USERS)}", at, json.dumps(play)

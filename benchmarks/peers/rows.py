"""What is measured: for each row what all read, and what each engine is told. What Orion runs and what must come out is
taken from the benchmarks of the same names."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks import (
    clean_plays,
    running_count,
    stream_stream_join,
    stream_table_join,
    windowed_count,
    windowed_having,
)
from benchmarks.contest import PARTITIONS, Contest, await_records
from benchmarks.counted_plays import FEWER, MANY, Plays
from benchmarks.peers import flink_sql
from benchmarks.peers.flink import Flink
from benchmarks.peers.flink_sql import Writing
from benchmarks.peers.kafka_streams import Job, KafkaStreams
from benchmarks.processor_time import read_processor_seconds, read_seconds_of
from benchmarks.stage import Stage
from orion.hub.kafka import Kafka

ORION, FLINK, KAFKA_STREAMS = "Orion", "Flink SQL", "Kafka Streams"
ENGINES = (ORION, FLINK, KAFKA_STREAMS)
# How many records are read: enough for seconds, so that the start of a job isn't what is measured.
PLAYS, COUNTED, FOLDED, CLICKED, ORDERED, PARTED = 600_000, 500_000, 240_000, 120_000, 40_000, 200_000


@dataclass(frozen=True)
class Peers:
    """Where all three stand."""

    stage: Stage
    flink: Flink
    streams: KafkaStreams
    scale: float = 1.0  # of the numbers of records: below 1 it is a trial, and no measurement

    @property
    def writing(self) -> Writing:
        return Writing(self.stage.kafka.bootstrap)

    def scaled(self, records: int) -> int:
        return int(records * self.scale)

    def seconds_of(self, engine: str) -> float:
        """What an engine's processes have taken of the processors' time so far."""
        if engine == ORION:
            return read_processor_seconds(self.stage.spark)
        return read_seconds_of((self.flink if engine == FLINK else self.streams).driver.pid)


@dataclass(frozen=True)
class Row:
    """One job in all engines. Each run is given topics of its own to write to, and gives its seconds by the clock."""

    name: str
    what: str
    records: int
    runs: Mapping[str, Callable[[Sequence[str]], float]]
    check: Callable[[Kafka, Sequence[str]], None]
    outputs: int = 1


def make_clean_plays(peers: Peers) -> Row:
    contest = clean_plays.contest(peers.stage, peers.scaled(PLAYS))
    return _row(peers, contest, "filter and project", flink_sql.run_clean_plays)


def make_windowed_count(peers: Peers) -> Row:
    plays = choose_plays(peers)
    told = partial(flink_sql.run_windowed_count, topic=plays.topic)
    return _row(peers, windowed_count.contest(peers.stage, plays), "count and sum by key in 1-minute windows", told)


def make_running_count(peers: Peers) -> Row:
    plays = choose_plays(peers)
    told = partial(flink_sql.run_running_count, topic=plays.topic)
    return _row(peers, running_count.contest(peers.stage, plays), "count and sum by key, without a window", told)


def make_windowed_having(peers: Peers) -> Row:
    # Fewer than in a minute, and nobody is busy.
    plays = Plays(FEWER.topic, max(FEWER.records, peers.scaled(FOLDED)), FEWER.batch)
    told = partial(flink_sql.run_windowed_having, topic=plays.topic)
    return _row(peers, windowed_having.contest(peers.stage, plays), "count by key in 1-minute windows, HAVING", told)


def make_stream_table_join(peers: Peers) -> Row:
    contest = stream_table_join.contest(peers.stage, peers.scaled(CLICKED))
    inputs = (stream_table_join.CLICKS, stream_table_join.USERS)
    return _row(peers, contest, "stream LEFT JOIN table", flink_sql.run_stream_table_join, inputs)


def make_stream_stream_join(peers: Peers) -> Row:
    contest = stream_stream_join.contest(peers.stage, peers.scaled(ORDERED))
    return _row(peers, contest, "stream JOIN stream within 1 minute", flink_sql.run_stream_stream_join)


def choose_plays(peers: Peers) -> Plays:
    """Those that several rows read."""
    return Plays(MANY.topic, peers.scaled(COUNTED), MANY.batch)


def _row(
    peers: Peers, contest: Contest, what: str, told: Callable[..., list[str]], inputs: tuple[str, ...] = ()
) -> Row:
    """A contest with one output. `inputs`: what Kafka Streams reads, in the order of its job's."""

    def run_orion(outs: Sequence[str]) -> float:
        begun = time.perf_counter()
        with contest.orion_runs(peers.stage, outs[0]) as stream:
            await_records(stream, contest.inputs)
            return time.perf_counter() - begun

    def run_streams(outs: Sequence[str]) -> float:
        return peers.streams.run([Job(contest.name, inputs or tuple(contest.inputs), tuple(outs))])

    return Row(
        contest.name,
        what,
        contest.records,
        {
            ORION: run_orion,
            FLINK: lambda outs: peers.flink.run(told(peers.writing, out=outs[0])),
            KAFKA_STREAMS: run_streams,
        },
        lambda kafka, outs: contest.check(kafka, outs[0]),
    )


def make_topics(peers: Peers, row: Row, engine: str, number: int) -> list[str]:
    """Topics for one run, so that a check sees that run alone."""
    side = engine.lower().replace(" ", "-")
    names = [f"{row.name}-{side}-{number}-{output}" for output in range(row.outputs)]
    for name in names:
        peers.stage.kafka.create_topic(name, PARTITIONS)
    return names

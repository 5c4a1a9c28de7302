"""How long a record takes through a statement in each engine, measured as in `benchmarks/latency.py`: 1,000 records a
second, from when a record is written until its result is read, committed ones only.

Each is set to be quick, all exactly once: Orion begins its next batch as soon as the last has ended, Kafka Streams
commits every 100 ms, which is its default for exactly once, and Flink makes a checkpoint every 100 ms, far more often
than is usual. None waits for fuller batches when it writes (`linger.ms` 0), and Flink's aggregate works row by row.
`latency_fast` is the same filter written at least once, where nobody waits for a commit.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks import latency
from benchmarks.latency import Latencies, Side, measure_through, median_of
from benchmarks.peers import flink, flink_sql, kafka_streams
from benchmarks.peers.flink_sql import Writing
from benchmarks.peers.kafka_streams import Job
from benchmarks.peers.rows import ENGINES, FLINK, KAFKA_STREAMS, ORION, Peers

COLD_S, MEASURED_S = 15.0, 8.0


@dataclass(frozen=True)
class LatencyRow:
    name: str
    what: str
    sides: Mapping[str, Side]


@dataclass(frozen=True)
class LatencyResult:
    name: str
    what: str
    rounds: Mapping[str, Sequence[Latencies]]  # by engine
    cores: Mapping[str, Sequence[float]]  # percent of a core that an engine's processes take, its start included

    def latencies(self, engine: str) -> Latencies:
        return median_of(self.rounds[engine])

    def core(self, engine: str) -> float:
        return statistics.median(self.cores[engine])

    @property
    def ratio(self) -> float:
        """Of the medians, the quickest peer's to Orion's: above 1 Orion is the quickest."""
        return min(self.latencies(engine).p50 for engine in ENGINES if engine != ORION) / self.latencies(ORION).p50


def make_latency_filter(peers: Peers) -> LatencyRow:
    what = "filter and project at 1,000 records/s, exactly once"
    return _row(peers, "latency_filter", what, latency.stateless(peers.stage, "exact"), flink_sql.filter_sent)


def make_latency_count(peers: Peers) -> LatencyRow:
    what = "count by key at 1,000 records/s, exactly once"
    return _row(peers, "latency_count", what, latency.keyed(peers.stage), flink_sql.count_sent)


def make_latency_fast(peers: Peers) -> LatencyRow:
    what = "filter and project at 1,000 records/s, at least once"
    orion = latency.stateless(peers.stage, "fast")
    return _row(peers, "latency_fast", what, orion, flink_sql.filter_sent, job="latency_filter", exact=False)


def _row(
    peers: Peers,
    name: str,
    what: str,
    orion: Side,
    told: Callable[[Writing, str, str], list[str]],
    job: str = "",
    exact: bool = True,
) -> LatencyRow:
    kafka = peers.stage.kafka
    writing = replace(peers.writing, linger_ms=0, guarantee="exactly-once" if exact else "at-least-once")
    quick = kafka_streams.QUICK | ({} if exact else {"processing.guarantee": "at_least_once"})

    def measure_flink(run: str, seconds: float) -> Latencies:
        topic, out = latency.make_topics(peers.stage, run)
        with peers.flink.runs(told(writing, topic, out), flink.QUICK):
            return measure_through(kafka, topic, out, "SENT", seconds)

    def measure_streams(run: str, seconds: float) -> Latencies:
        topic, out = latency.make_topics(peers.stage, run)
        with peers.streams.runs(Job(job or name, (topic,), (out,)), quick):
            return measure_through(kafka, topic, out, "SENT", seconds)

    return LatencyRow(name, what, {ORION: orion, FLINK: measure_flink, KAFKA_STREAMS: measure_streams})


def measure_latency(peers: Peers, row: LatencyRow) -> LatencyResult:
    """Each engine for a while to warm up, then all in turn."""
    say, rounds = peers.stage.say, peers.stage.rounds
    say(f"{row.name}: warming up")
    for engine in ENGINES:
        row.sides[engine](_name_run(row, engine, "warm"), COLD_S * min(1.0, peers.scale))
    found: dict[str, list[Latencies]] = {engine: [] for engine in ENGINES}
    cores: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    for number in range(rounds):
        first = number % len(ENGINES)
        for engine in (*ENGINES[first:], *ENGINES[:first]):
            before, begun = peers.seconds_of(engine), time.perf_counter()
            run = _name_run(row, engine, str(number))
            found[engine].append(row.sides[engine](run, MEASURED_S * min(1.0, peers.scale)))
            cores[engine].append(100 * (peers.seconds_of(engine) - before) / (time.perf_counter() - begun))
        told = "; ".join(f"{engine} {one[-1]}, {cores[engine][-1]:.0f} % of a core" for engine, one in found.items())
        say(f"{row.name}: round {number + 1}/{rounds}: {told}")
    return LatencyResult(row.name, row.what, found, cores)


def _name_run(row: LatencyRow, engine: str, number: str) -> str:
    return f"{row.name}-{engine.lower().replace(' ', '-')}-{number}"

"""Measure Orion beside its peers, print the tables, and keep them in docs/benchmarks-peers.md where every row ran."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.peers import freshness, parts, rows
from benchmarks.peers.driver import find_compiler
from benchmarks.peers.flink import start_flink
from benchmarks.peers.freshness import LatencyResult, LatencyRow, measure_latency
from benchmarks.peers.kafka_streams import start_kafka_streams
from benchmarks.peers.report import keep, write_tables
from benchmarks.peers.rows import Peers, Row
from benchmarks.peers.turns import FIRST_WARM_UP, WARM_UP, RowResult, take_turns
from benchmarks.stage import staged
from orion.errors import OrionError

ROWS: dict[str, Callable[[Peers], Row]] = {
    "clean_plays": rows.make_clean_plays,
    "windowed_count": rows.make_windowed_count,
    "running_count": rows.make_running_count,
    "windowed_having": rows.make_windowed_having,
    "stream_table_join": rows.make_stream_table_join,
    "stream_stream_join": rows.make_stream_stream_join,
    "ten_statements": parts.make_ten_statements,
    "ten_in_one": parts.make_ten_in_one,
}
LATENCY_ROWS: dict[str, Callable[[Peers], LatencyRow]] = {
    "latency_filter": freshness.make_latency_filter,
    "latency_count": freshness.make_latency_count,
    "latency_fast": freshness.make_latency_fast,
}
# Runs when it is asked for by name.
EXTRA = ("latency_fast",)
HOW = """Measured with {rounds} rounds on {cores} cores. The load average was {before:.1f} before the run and
{after:.1f} at its end; the run itself makes about {cores}."""


@dataclass(frozen=True)
class Found:
    results: list[RowResult] = field(default_factory=list)
    latencies: list[LatencyResult] = field(default_factory=list)


def main() -> int:
    rounds, scale = int(os.environ.get("BENCH_ROUNDS", "3")), float(os.environ.get("BENCH_SCALE", "1"))
    asked, before = sys.argv[1:], os.getloadavg()[0]
    unknown = set(asked) - set(ROWS) - set(LATENCY_ROWS)
    if unknown:
        print(f"there is no row {', '.join(sorted(unknown))}; there are {', '.join((*ROWS, *LATENCY_ROWS))}")
        return 2
    found = Found()
    try:
        _measure(found, asked, rounds, scale)
    except OrionError as error:
        print(f"{error.code}: {error.message} {error.hint or ''}".rstrip(), file=sys.stderr)
        return error.exit_code
    finally:  # what was measured before something went wrong isn't lost
        how = HOW.format(rounds=rounds, cores=os.cpu_count(), before=before, after=os.getloadavg()[0])
        if found.results or found.latencies:
            print(write_tables(found.results, found.latencies, how))
    if scale != 1:
        print("With a BENCH_SCALE this is a trial of the programs, and measures nothing.")
    elif not asked:
        keep(found.results, found.latencies, how)
    return 0


def _measure(found: Found, asked: Sequence[str], rounds: int, scale: float) -> None:
    find_compiler()  # before anything is started that takes a while
    with (
        staged(rounds, lambda line: print(line, flush=True)) as stage,
        start_flink(stage) as flink,
        start_kafka_streams(stage) as streams,
    ):
        peers = Peers(stage, flink, streams, scale)
        for name, make in ROWS.items():
            if not asked or name in asked:
                found.results.append(take_turns(peers, make(peers), WARM_UP if found.results else FIRST_WARM_UP))
        for name, make_latency in LATENCY_ROWS.items():
            if name in asked or (not asked and name not in EXTRA):
                found.latencies.append(measure_latency(peers, make_latency(peers)))


if __name__ == "__main__":
    sys.exit(main())

"""Measure Orion beside its peers and print the table."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from benchmarks.peers import freshness, parts, rows
from benchmarks.peers.driver import find_compiler
from benchmarks.peers.flink import start_flink
from benchmarks.peers.freshness import LatencyRow, measure_latency
from benchmarks.peers.kafka_streams import start_kafka_streams
from benchmarks.peers.rows import Peers, Row
from benchmarks.peers.turns import take_turns
from benchmarks.stage import staged

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


def main() -> int:
    find_compiler()
    rounds, scale = int(os.environ.get("BENCH_ROUNDS", "3")), float(os.environ.get("BENCH_SCALE", "1"))
    chosen = [n for n in ROWS if not sys.argv[1:] or n in sys.argv[1:]]
    with (
        staged(rounds, lambda line: print(line, flush=True)) as stage,
        start_flink(stage) as flink,
        start_kafka_streams(stage) as streams,
    ):
        peers = Peers(stage, flink, streams, scale)
        for name in chosen:
            result = take_turns(peers, ROWS[name](peers))
            print(result.name, result.ratio, flush=True)
        for name in [n for n in LATENCY_ROWS if not sys.argv[1:] or n in sys.argv[1:]]:
            told = measure_latency(peers, LATENCY_ROWS[name](peers))
            print(told.name, told.ratio, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

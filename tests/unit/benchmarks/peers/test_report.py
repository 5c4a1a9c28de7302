"""What is told of a comparison, and where it is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.latency import Latencies
from benchmarks.peers import report
from benchmarks.peers.freshness import LatencyResult
from benchmarks.peers.rows import ENGINES, FLINK, KAFKA_STREAMS, ORION
from benchmarks.peers.turns import RowResult, Taken

ROUNDS = {
    ORION: [Taken(8.0, 3.0), Taken(4.0, 5.0), Taken(6.0, 4.0)],
    FLINK: [Taken(12.0, 2.0), Taken(12.0, 2.0), Taken(90.0, 9.0)],
    KAFKA_STREAMS: [Taken(9.0, 1.0), Taken(9.0, 1.0), Taken(9.0, 1.0)],
}
RESULT = RowResult("a_row", "does it", 600_000, ROUNDS)
QUICK = LatencyResult(
    "a_latency",
    "at a pace",
    {ORION: [Latencies(50, 80, 1_100)], FLINK: [Latencies(25, 30, 40)], KAFKA_STREAMS: [Latencies(75, 90, 99)]},
    {ORION: [80.4], FLINK: [40.0], KAFKA_STREAMS: [20.0]},
)


def test_the_ratio_is_the_best_peers_median_to_orions() -> None:
    assert (RESULT.processor(ORION), RESULT.wall(FLINK), RESULT.ratio) == (6.0, 2.0, 1.5)
    dearer = replace(RESULT, rounds={**ROUNDS, ORION: [Taken(18.0, 1.0)]})
    assert dearer.ratio == 0.5
    assert QUICK.ratio == 0.5


def test_a_row_of_the_table_has_all_engines() -> None:
    table = report.write_tables([RESULT], [QUICK], "Measured somehow.")
    rows = [line for line in table.splitlines() if line.startswith("| a_")]
    assert rows == [
        "| a_row | does it | 600,000 | 6.0 | 12.0 | 9.0 | 1.50 | 4.0 | 2.0 | 1.0 |",
        "| a_latency | at a pace | 50 / 80 / 1,100 | 25 / 30 / 40 | 75 / 90 / 99 | 0.50 | 80 | 40 | 20 |",
    ]
    assert table.endswith("\n\nMeasured somehow.")
    heads = [line for line in table.splitlines() if line.startswith("| row")]
    assert all(engine in head for head in heads for engine in ENGINES)
    assert "a_latency" not in report.write_tables([RESULT], [], "")


def test_what_stands_around_the_tables_stays() -> None:
    page = report.PAGE.read_text("utf-8")
    once = report.put_between(page, "| new |")
    assert report.put_between(once, "| newer |").replace("| newer |", "| new |") == once
    assert once.split(report.BEGIN)[0] == page.split(report.BEGIN)[0]
    assert once.split(report.END)[1] == page.split(report.END)[1]
    with pytest.raises(ValueError, match="no place for tables"):
        report.put_between("# A page", "| new |")


def test_every_round_is_kept() -> None:
    figures = report.list_figures([RESULT], [QUICK])
    assert figures["a_row"][ORION][1] == {"cpu_s_a_million": 4.0, "wall_s": 5.0}
    assert figures["a_latency"][FLINK] == [{"p50_ms": 25, "p95_ms": 30, "p99_ms": 40}]

"""What was measured, as tables: printed, and kept in docs/benchmarks-peers.md between two marks, the rest of which is
written by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.freshness import LatencyResult
from benchmarks.peers.rows import ENGINES
from benchmarks.peers.turns import RowResult

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks-peers.md"
LATEST = Path(__file__).with_name("latest.json")
BEGIN, END = "<!-- measured: by make bench PEERS=1 -->", "<!-- end of what was measured -->"


def write_tables(results: Sequence[RowResult], latencies: Sequence[LatencyResult], how: str) -> str:
    """Both tables, and how they were measured."""
    tables = [_write_throughput(results)] if results else []
    tables += [_write_latencies(latencies)] if latencies else []
    return "\n\n".join((*tables, how))


def _write_throughput(results: Sequence[RowResult]) -> str:
    names = (*(f"{e}, CPU s" for e in ENGINES), "ratio", *(f"{e}, s" for e in ENGINES))
    lines = [_line("row", "what", "records", *names), _line("---", "---", *["--:"] * (len(names) + 1))]
    for one in results:
        processor = (f"{one.processor(engine):.1f}" for engine in ENGINES)
        wall = (f"{one.wall(engine):.1f}" for engine in ENGINES)
        lines.append(_line(one.name, one.what, f"{one.records:,}", *processor, f"{one.ratio:.2f}", *wall))
    return "\n".join(lines)


def _write_latencies(results: Sequence[LatencyResult]) -> str:
    names = (*(f"{e}, p50 / p95 / p99 ms" for e in ENGINES), "ratio", *(f"{e}, % of a core" for e in ENGINES))
    lines = [_line("row", "what", *names), _line("---", "---", *["--:"] * len(names))]
    for one in results:
        found = [one.latencies(engine) for engine in ENGINES]
        quick = (f"{ms.p50:,.0f} / {ms.p95:,.0f} / {ms.p99:,.0f}" for ms in found)
        cores = (f"{one.core(engine):.0f}" for engine in ENGINES)
        lines.append(_line(one.name, one.what, *quick, f"{one.ratio:.2f}", *cores))
    return "\n".join(lines)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def put_between(page: str, tables: str) -> str:
    """The page with other tables between its marks."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for tables: {BEGIN} {END}")
    return f"{head}{begin}\n\n{tables}\n\n{end}{tail}"


def list_figures(
    results: Sequence[RowResult], latencies: Sequence[LatencyResult]
) -> dict[str, dict[str, list[dict[str, float]]]]:
    """Every round of every row."""
    taken = {
        one.name: {
            engine: [{"cpu_s_a_million": round(t.processor, 2), "wall_s": round(t.wall, 2)} for t in rounds]
            for engine, rounds in one.rounds.items()
        }
        for one in results
    }
    quick = {
        one.name: {
            engine: [
                {"p50_ms": round(ms.p50, 1), "p95_ms": round(ms.p95, 1), "p99_ms": round(ms.p99, 1)} for ms in found
            ]
            for engine, found in one.rounds.items()
        }
        for one in latencies
    }
    return taken | quick


def keep(results: Sequence[RowResult], latencies: Sequence[LatencyResult], how: str) -> None:
    LATEST.write_text(json.dumps(list_figures(results, latencies), indent=2) + "\n", "utf-8")
    tables = write_tables(results, latencies, how)
    PAGE.write_text(put_between(PAGE.read_text("utf-8"), tables), "utf-8")

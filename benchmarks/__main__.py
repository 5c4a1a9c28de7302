"""Run every benchmark, print the table, keep it in benchmarks/latest.json and docs/benchmarks.md; some only print."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import NAMES
from benchmarks.stage import Measured, staged

ROOT = Path(__file__).parent.parent
HEAD = """# Benchmarks

`make bench` runs Orion and the same job written by hand in PySpark in turn, in one run on one machine, and takes the
median of the rounds' ratios. A ratio above 1 means that Orion is the faster one. Absolute numbers say little: they are
of one small machine. What exactly is compared, and in what the two sides differ, stands at the top of each module in
`benchmarks/`. Results of both sides are read back and checked in every round.

The registry's rows have another side: its topic read and kept by hand, and a server of the same kind that gives every
question the same bytes. Goals were set for them, so their absolute numbers count: 5,000 schemas loaded within 5 s, a
lookup in process under 2 ms, 2,000 lookups over HTTP in a second on one core.

`http_clients` is a load check: 50 clients follow a stream for a minute, and 200 ask a table. Any error ends it; its
other side is what was sent, times the clients.

The pull query's row is held against a statement with a parameter in DuckDB, which is below it; its goals are a look-up
in process under 5 ms (99 of 100), and 2,000 over HTTP in a second on one core. Of each table, 100,000 rows are in
memory unless told otherwise.

`state_restore` and `state_batches` have goals as well: a million keys within 30 s, so its seconds count, and batches
over a million keys that take as long as those over ten thousand, which are its other side.

`statements_at_rest`, `statements_under_load` and `shop` start a whole platform for each figure; their other side is the
same platform with a stream for each statement.

The jdbc sink's rows are held against each database's own way to take many rows, without Spark on either side.

`python -m benchmarks NAME ...` runs some of them and only prints; `BENCH_ROUNDS=3` takes fewer rounds than five.

`make bench PEERS=1` measures Orion [against Flink SQL and Kafka Streams](benchmarks-peers.md).

The last column has what Spark (its JVM and its Python workers) takes of the processors' time for a million records,
Orion's and by hand, where the two do the same work. A round is short: what the JVM compiles beside is in it.

| benchmark | what | Orion | by hand | unit | ratio | CPU s a million |
|---|---|--:|--:|---|--:|--:|
"""
TAIL = """
Measured with {rounds} rounds on {cores} cores. The load average was {before:.1f} before the run and {after:.1f} at its
end; the run itself makes about {cores}.
"""


def main() -> int:
    rounds = int(os.environ.get("BENCH_ROUNDS", "5"))
    chosen = [n for n in NAMES if not sys.argv[1:] or n in sys.argv[1:]]
    before = os.getloadavg()[0]
    with staged(rounds, lambda line: print(line, flush=True)) as stage:
        measured: list[Measured | None] = [import_module(f"benchmarks.{name}").measure(stage) for name in chosen]
    results = [m for m in measured if m is not None]
    tail = TAIL.format(rounds=rounds, cores=os.cpu_count(), before=before, after=os.getloadavg()[0])
    _show(results, tail)
    if len(chosen) == len(NAMES):
        _keep(results, tail)
    return 0


def _show(results: list[Measured], tail: str) -> None:
    table = Table("benchmark", "what", box=box.SIMPLE_HEAD)
    for name in ("Orion", "by hand", "unit", "ratio", "CPU s"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in results:
        table.add_row(r.name, r.what, f"{r.orion:,.0f}", f"{r.baseline:,.0f}", r.unit, f"{r.ratio:.2f}", _processor(r))
    Console().print(table)
    print(tail.strip())


def _processor(of: Measured) -> str:
    return "" if of.processor is None else f"{of.processor[0]:.1f}, {of.processor[1]:.1f}"


def _keep(results: list[Measured], tail: str) -> None:
    latest = {
        r.name: {
            "orion": round(r.orion, 1),
            "baseline": round(r.baseline, 1),
            "ratio": round(r.ratio, 3),
            "unit": r.unit,
        }
        for r in results
    }
    (ROOT / "benchmarks" / "latest.json").write_text(json.dumps(latest, indent=2) + "\n")
    rows = (
        f"| {r.name} | {r.what} | {r.orion:,.0f} | {r.baseline:,.0f} | {r.unit} | {r.ratio:.2f} | {_processor(r)} |\n"
        for r in results
    )
    (ROOT / "docs" / "benchmarks.md").write_text(HEAD + "".join(rows) + tail)


if __name__ == "__main__":
    sys.exit(main())

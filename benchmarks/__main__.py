"""Run every benchmark, print the table, keep it in benchmarks/latest.json and docs/benchmarks.md."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import NAMES
from benchmarks.stage import Measured, staged

ROOT = Path(__file__).parent.parent
HEAD = """# Benchmarks

`make bench` runs Orion and the same job written by hand in turn, in one run on one machine, and takes the median of
the rounds' ratios. Absolute numbers say little: they are of a shared machine with two cores. A ratio above 1 means that
Orion is the faster one. What exactly is compared stands at the top of each module in `benchmarks/`.

| benchmark | what | Orion | by hand | unit | ratio |
|---|---|--:|--:|---|--:|
"""


def main() -> int:
    rounds = int(os.environ.get("BENCH_ROUNDS", "5"))
    chosen = [n for n in NAMES if not sys.argv[1:] or n in sys.argv[1:]]
    with staged(rounds, lambda line: print(line, flush=True)) as stage:
        results: list[Measured] = [import_module(f"benchmarks.{name}").measure(stage) for name in chosen]
    _keep(results)
    for r in results:
        print(f"{r.name}: orion {r.orion:,.0f}, by hand {r.baseline:,.0f} {r.unit}, ratio {r.ratio:.2f}")
    return 0


def _keep(results: list[Measured]) -> None:
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
        f"| {r.name} | {r.what} | {r.orion:,.0f} | {r.baseline:,.0f} | {r.unit} | {r.ratio:.2f} |\n" for r in results
    )
    (ROOT / "docs" / "benchmarks.md").write_text(HEAD + "".join(rows))


if __name__ == "__main__":
    sys.exit(main())

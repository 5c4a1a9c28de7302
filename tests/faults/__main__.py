"""`python -m tests.faults --seed N --minutes M`: faults by a seed, and a table; exit code 1 if any failed."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.faults import report
from tests.faults.kinds import FAULTS
from tests.faults.runner import Result, brokers_for, order, run
from tests.faults.stage import Stage

RESULTS = Path(__file__).with_name("results.jsonl")


def main() -> int:
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that everything is ended in order
    if asked.list:
        report.listed(list(FAULTS.values()))
        return 0
    results = [result for seeds in _by_brokers(asked) for result in _play(asked, *seeds)] if asked.minutes > 0 else []
    if results:
        report.shown(results)
    if asked.report:
        report.written(asked.report, report.read(asked.results))
    return 1 if any(r.verdict == "FAILED" for r in results) else 0


def _by_brokers(asked: argparse.Namespace) -> list[tuple[int, list[int]]]:
    """The seeds by how many brokers they need: those of one kind share a stage, and what it takes to set it up."""
    first, _, last = asked.seed.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    needs = {seed: brokers_for(asked.only) if asked.only else order(seed)[1] for seed in seeds}
    return [(count, [s for s in seeds if needs[s] == count]) for count in sorted(set(needs.values()))]


def _play(asked: argparse.Namespace, brokers: int, seeds: list[int]) -> Iterator[Result]:
    with Stage(seeds[0], brokers) as stage:
        for seed in seeds:
            names = asked.only or order(seed)[0]
            for result in run(stage, seed, asked.minutes, names, lambda line: print(line, flush=True)):
                print(report.line(result), flush=True)
                with asked.results.open("a") as file:
                    file.write(json.dumps(result.as_dict()) + "\n")
                yield result


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", default="1", help="chooses faults and moments; 1-20 are twenty")
    parser.add_argument("--minutes", type=float, default=10, help="for each seed; 0 runs nothing")
    parser.add_argument("--only", action="append", choices=sorted(FAULTS), help="this fault; may be given again")
    parser.add_argument("--list", action="store_true", help="say which faults there are")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are added, a line each")
    parser.add_argument("--report", type=Path, help="write this page from all results that are kept")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

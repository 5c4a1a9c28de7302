"""`python -m tests.faults --seed N --minutes M`: faults by a seed, and a table; exit code 1 if any failed."""

from __future__ import annotations

import argparse
import json
import signal
import sys
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
    results: list[Result] = []
    if asked.minutes > 0:
        names, brokers = (asked.only, brokers_for(asked.only)) if asked.only else order(asked.seed)
        with Stage(asked.seed, brokers) as stage:
            for result in run(stage, asked.seed, asked.minutes, names, lambda line: print(line, flush=True)):
                results.append(result)
                print(report.line(result), flush=True)
                with asked.results.open("a") as file:
                    file.write(json.dumps(result.as_dict()) + "\n")
        report.shown(results, stage.folder)
    if asked.report:
        report.written(asked.report, report.read(asked.results))
    return 1 if any(r.verdict == "FAILED" for r in results) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="chooses faults and moments")
    parser.add_argument("--minutes", type=float, default=10, help="for the whole run; 0 runs nothing")
    parser.add_argument("--only", action="append", choices=sorted(FAULTS), help="this fault; may be given again")
    parser.add_argument("--list", action="store_true", help="say which faults there are")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are added, a line each")
    parser.add_argument("--report", type=Path, help="write this page from all results that are kept")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

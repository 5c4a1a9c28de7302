"""Measure the SQL against ksqlDB's own query tests, where their folder is at hand: make conformance [CASES=file].

The folder (../shared/ksql-suite, or KSQL_SUITE) brings its cases, a runner and a judge; nothing of it is kept here but
the rates that were reached. A run of a set with such a rate that falls below it fails. Cases that end in SELECT are
judged by the rows these give: CASES=pull_visible.jsonl.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SUITE = Path(os.environ.get("KSQL_SUITE", ROOT.parent / "shared" / "ksql-suite"))
RECORD = ROOT / "tests" / "conformance" / "recorded.json"
SMOKE = "smoke.jsonl"
_REGISTRY = re.compile(r"AVRO|JSON_SR|PROTOBUF")


def main(cases: Path) -> int:
    if not (SUITE / "run_suite.py").exists():
        print(f"conformance: skipped, {SUITE} is not there (KSQL_SUITE says where it is)")
        return 0
    results = ROOT / ".orion" / "conformance" / f"{cases.stem}.results.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    runner = [sys.executable, str(SUITE / "run_suite.py"), str(cases), "--out", str(results), "--batch", "25"]
    driver = f"{sys.executable} -m tests.conformance.driver"
    subprocess.run([*runner, "--driver", driver], cwd=ROOT, check=True)
    rates = _rates(cases, results)
    for name, rate in rates.items():
        print(f"{name:19s} {_shown(rate)}")
    return _held(rates, cases.name)


def _rates(cases: Path, results: Path) -> dict[str, dict[str, Any]]:
    """All cases, and those without a registry's formats, by the folder's own judge."""
    spec = importlib.util.spec_from_file_location("verdict", SUITE / "verdict.py")
    assert spec is not None
    assert spec.loader is not None
    judge = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(judge)
    every = [judge.loads(line) for line in cases.read_text().splitlines()]
    found = {r["id"]: r for r in map(judge.loads, results.read_text().splitlines())}
    verdicts = {c["id"]: _judged(judge, c, found.get(c["id"])) for c in every}
    plain = [c for c in every if not _REGISTRY.search(judge.dumps([c["statements"], c.get("sources")]))]
    return {
        "all cases": judge.summary(every, verdicts),
        "without a registry": judge.summary(plain, verdicts),
    }


def _judged(judge: Any, case: dict[str, Any], result: dict[str, Any] | None) -> Any:
    by_rows = "responses" in case
    return (judge.judge_rows if by_rows else judge.judge)(case, result or {"status": "missing"})


def _shown(rate: dict[str, Any]) -> str:
    exact = rate["exact"] / max(1, rate["positive"])
    return (
        f"final or better {rate['pass']}/{rate['positive']} = {rate['pass_rate']:.1%}, exact {exact:.1%}; "
        f"negatives {rate['rejected']}/{rate['negative']} refused, {rate['rejected_credited']} credited"
    )


def _held(rates: dict[str, dict[str, Any]], name: str) -> int:
    """Whether a set of cases is as good as it was when it was last recorded."""
    recorded = json.loads(RECORD.read_text()).get(name, {})
    reached = rates["all cases"]
    short = [what for what, least in recorded.items() if reached[what] < least]
    for what in short:
        print(f"conformance: {what} is {reached[what]}, recorded are {recorded[what]} ({RECORD.relative_to(ROOT)})")
    return 1 if short else 0


if __name__ == "__main__":
    named = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(SMOKE)
    sys.exit(main(named if named.is_absolute() or named.exists() else SUITE / named))

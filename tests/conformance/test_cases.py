"""The project's own cases: statements, records with their times, and what must come out, in order within each topic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from orion import ksql
from orion.runtime.session import Spark
from tests.conformance.driver import answer

CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted(Path(__file__).with_name("cases").glob("*.yaml"))
    for case in yaml.safe_load(path.read_text())
]


@pytest.mark.parametrize("case", CASES)
def test_case(spark: Spark, case: dict[str, Any]) -> None:
    inputs = [{**record, "timestamp": record.get("at", 0)} for record in case.get("in", ())]
    found = answer(
        spark,
        {
            "id": case["name"],
            "statements": ksql.split(case["sql"]),
            "properties": case.get("properties") or {},
            "topics": case.get("topics") or [],
            "inputs": inputs,
        },
    )
    if "error" in case:
        assert (found["status"], found["code"]) == ("rejected", case["error"]), found["error"]
        assert found["failed_statement"] == len(ksql.split(case["sql"])) - 1
        return
    assert found["status"] == "ok", found["error"]
    check(case, found["outputs"])


def check(case: dict[str, Any], outputs: list[dict[str, Any]]) -> None:
    """Each topic's records are those expected, in their order."""
    wanted = [_shown(record, record) for record in case["out"]]
    named = {record["topic"] for record in case["out"]} | set(case.get("empty", ()))
    made = [record for record in outputs if record["topic"] in named]
    for topic in sorted(named):
        expected = [r for r in wanted if r["topic"] == topic]
        got = [r for r in made if r["topic"] == topic]
        assert [_shown(r, e) for r, e in zip(got, expected, strict=False)] == expected
        assert len(got) == len(expected), got[len(expected) :]


def _shown(record: dict[str, Any], like: dict[str, Any]) -> dict[str, Any]:
    """The record as far as the expectation speaks of it: a window, a time or headers only where it names them."""
    shown = {"topic": record["topic"], "key": _plain(record.get("key")), "value": _plain(record.get("value"))}
    if "at" in like:
        shown["at"] = record.get("timestamp", record.get("at"))
    if "window" in like:
        window = record["window"]
        shown["window"] = [window["start"], window["end"]] if isinstance(window, dict) else window
    if "headers" in like:
        headers = record["headers"]
        shown["headers"] = [list(h) if not isinstance(h, dict) else [h["key"], h["value_b64"]] for h in headers]
    return shown


def _plain(value: Any) -> Any:
    """Numbers as floats where they have a fraction: YAML's and JSON's then compare."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, bool | str | int):
        return value
    return float(value)

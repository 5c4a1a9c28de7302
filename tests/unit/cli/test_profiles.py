from __future__ import annotations

import json

from typer.testing import CliRunner

from orion import profiles
from orion.cli import app


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["profiles", *arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_all_are_listed() -> None:
    assert [row["profile"] for row in json.loads(run("list", "--json"))] == list(profiles.NAMES)


def test_one_is_shown_with_all_its_settings() -> None:
    rows = json.loads(run("show", "durability", "--json"))
    durable = profiles.of("durability")
    assert {row["of"]: row["value"] for row in rows if row["setting"] == "min.insync.replicas"} == {
        "topic": "2",
        "broker": "2",
    }
    parts = (durable.producer, durable.consumer, durable.topic, durable.broker, durable.statement)
    assert len(rows) == sum(map(len, parts))
    assert all(row["trades"] for row in rows)


def test_without_a_name_all_are_shown() -> None:
    assert {line.split("\t")[0] for line in run("show").splitlines()[1:]} == set(profiles.NAMES)


def test_an_unknown_one_is_an_error_with_the_nearest() -> None:
    result = CliRunner().invoke(app, ["profiles", "show", "latncy"])
    assert result.exit_code == 2
    assert "Did you mean latency?" in result.stderr

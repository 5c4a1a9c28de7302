"""The examples of a fixed length, each on an engine of its own over the run's broker and Spark session."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from examples.checks import Check
from examples.finite import Example
from orion.app import Orion
from orion.config import load
from orion.hub.kafka import Kafka
from orion.runtime.engine import Engine
from orion.runtime.session import Spark

RECORDS = 300


@pytest.mark.parametrize("name", ["clicks", "fraud", "orders", "pageviews"])
def test_an_example_finds_what_a_loop_in_python_finds(name: str, kafka: Kafka, spark: Spark, scratch: Path) -> None:
    example: Example = import_module(f"examples.{name}.account").EXAMPLE
    config = load(
        flags={
            "service_id": f"example-{name}",
            "data": scratch / f"example-{name}",
            "hub.bootstrap": kafka.bootstrap,
            "engine.trigger_ms": 50,
        }
    )
    with Orion.over(Engine(config, kafka, spark)) as orion:
        account: list[Check] = example.account(orion, Console(quiet=True), RECORDS)
    assert [check for check in account if not check.ok] == []
    assert any(check.expected > 0 for check in account)

"""State that an older Orion has written, in `tests/golden/state`, is state to this one: its statements go on with it.

Nothing there is ever written anew. A new format of state records gets a folder of its own, by
`python -m tests.golden.state.writing`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orion.app import Orion
from orion.config import load
from orion.hub.kafka import Kafka
from orion.hub.records import Record
from orion.plan.sources import Kind, Source
from orion.runtime.engine import Engine
from orion.runtime.session import Spark
from orion.runtime.state.values import FORMAT
from orion.testing import Given
from tests.conformance.driver import output
from tests.conformance.shelf import Shelf
from tests.golden.state import writing
from tests.golden.state.copying import put_service
from tests.scenarios.conftest import Await, everything

FOLDER = Path(writing.__file__).parent
FORMATS = list(range(1, FORMAT + 1))


def put_cluster(kafka: Kafka, format_: int) -> None:
    put_service(kafka, json.loads((FOLDER / str(format_) / "cluster.json").read_text(encoding="utf-8")))


@pytest.fixture
def clean_up(kafka: Kafka) -> Iterator[None]:
    yield
    for topic in kafka.topics():
        if topic.name.startswith((writing.PREFIX, f"_{writing.SERVICE}")):
            kafka.delete_topic(topic.name, missing_ok=True)


def read_beyond(kafka: Kafka, sink: Source, before: set[tuple[int, int]]) -> list[dict[str, Any]]:
    """What a topic has that it hadn't; of a table, each key's last."""
    found: list[Record] = [r for r in everything(kafka, sink.topic) if (r.partition, r.offset) not in before]
    if sink.kind is Kind.TABLE:
        found = list({record.key: record for record in found}.values())
    return [show_record(record, sink) for record in found]


def show_record(record: Record, sink: Source) -> dict[str, Any]:
    given = Given(record.topic, record.key, record.value, record.timestamp or 0)
    told = output(given, sink, Shelf([]))
    shown = {"topic": told["topic"], "key": told["key"], "value": told["value"]}
    if told["window"] is not None:
        shown["window"] = [told["window"][bound] - writing.BEGIN_MS for bound in ("start", "end")]
    return shown


def sort_shown(records: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(record, sort_keys=True, default=float) for record in records)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.usefixtures("clean_up")
def test_statements_go_on_with_the_state_of_an_older_orion(
    kafka: Kafka, spark: Spark, scratch: Path, until: Await, format_: int
) -> None:
    put_cluster(kafka, format_)
    data = scratch / f"golden-{format_}"
    config = load(
        flags={
            "data": data,
            "hub.bootstrap": kafka.bootstrap,
            "service_id": writing.SERVICE,
            "engine.trigger_ms": 50,
        }
    )
    told = writing.read_statements()
    engine = Engine(config, kafka, spark.newSession())  # names of queries count by session
    with Orion.over(engine) as orion:
        sinks = [source for source in engine.catalog.sources.values() if source.query_id is not None]
        before = {sink.topic: {(r.partition, r.offset) for r in everything(kafka, sink.topic)} for sink in sinks}
        engine.restore(print)
        until(lambda: all(query.state == "RUNNING" for query in orion.queries()), 120.0)
        writing.send_records(orion, told["after"])
        made = [record for sink in sinks for record in read_beyond(kafka, sink, before[sink.topic])]
        assert sort_shown(made) == sort_shown(told["out"])
        for sink in reversed(sinks):
            orion.execute(f"DROP {sink.kind} {sink.name};")

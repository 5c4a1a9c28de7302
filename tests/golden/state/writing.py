"""Writes down what statements keep in Kafka, in today's format: `python -m tests.golden.state.writing`.

Starts a broker and an Orion for it. What is there already stays as it is: it stands for what a released Orion has
written, and is never written anew.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import yaml

from orion.app import Orion
from orion.config import load
from orion.hub.changelog import changelog_name
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.plan.relations import operator_count
from orion.runtime.journal import journal_topic
from orion.runtime.state.values import FORMAT
from tests.conformance.driver import given
from tests.conformance.shelf import Shelf
from tests.golden.state.copying import copy_service

FOLDER = Path(__file__).parent
SERVICE = "golden"
PREFIX = "golden_"
# The beginning of a minute. Sources' topics would lose what is so old, but for this.
BEGIN_MS = 1_699_999_980_000
KEPT = {"retention.ms": "-1"}


def read_statements() -> dict[str, Any]:
    """The topics' names are made the service's own: a test's broker has others."""
    text = (FOLDER / "statements.yaml").read_text(encoding="utf-8")
    named = re.sub(r"(kafka_topic='|topic: )(\w+)", rf"\1{PREFIX}\2", text)
    told: dict[str, Any] = yaml.safe_load(named)
    return told


def send_records(orion: Orion, records: list[dict[str, Any]]) -> None:
    """What was sent is read before a record of another topic comes."""
    topics = {source.topic: source for source in orion.engine.catalog.sources.values()}
    for at, record in enumerate(records):
        timed = {**record, "timestamp": BEGIN_MS + record["at"]}
        sent = given(timed, topics[record["topic"]], Shelf([]))
        send_all(orion.kafka, sent.topic, [Outgoing(sent.value, sent.key, timestamp=sent.timestamp)])
        if at + 1 == len(records) or records[at + 1]["topic"] != record["topic"]:
            assert orion.drain(180), [q for q in orion.queries() if q.lag]


def create_topics(kafka: Kafka, sql: str) -> None:
    for topic, partitions in re.findall(r"kafka_topic='(\w+)'.*?partitions=(\d+)", sql, re.DOTALL):
        kafka.create_topic(topic, int(partitions), config=KEPT)


def copy_state(orion: Orion) -> dict[str, Any]:
    catalog = orion.engine.catalog
    changelogs = [
        changelog_name(SERVICE, query.id, query.incarnation, number)
        for query in catalog.queries.values()
        for number in range(operator_count(query.relation))
    ]
    topics = [journal_topic(SERVICE), *(source.topic for source in catalog.sources.values()), *changelogs]
    return copy_service(orion.kafka, topics, [f"{SERVICE}.{query}" for query in sorted(catalog.queries)])


def write_state() -> None:
    file = FOLDER / str(FORMAT) / "cluster.json"
    if file.exists():
        print(f"{file} is there, and stays as it is.")
        return
    told = read_statements()
    with tempfile.TemporaryDirectory() as data:
        config = load(flags={"data": Path(data), "service_id": SERVICE, "engine.trigger_ms": 50})
        with Orion.start(config, print) as orion:
            create_topics(orion.kafka, told["sql"])
            orion.execute(told["sql"], {"ksql.output.topic.name.prefix": PREFIX})
            send_records(orion, told["before"])
            copy = copy_state(orion)
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(copy, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_state()

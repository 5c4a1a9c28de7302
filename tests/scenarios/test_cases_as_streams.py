"""Some of the conformance cases as they run in earnest: on a broker, as streams, each record a batch of its own.

The rest of them run as one batch each, which is quicker; these show that state carried from batch to batch, read from
Kafka and written in transactions, makes the same records.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from orion.app import Orion
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.testing import Given
from tests.conformance.driver import PROPERTIES, given, output
from tests.conformance.shelf import Shelf
from tests.conformance.test_cases import CASES, check
from tests.scenarios.conftest import everything

STREAMS: list[dict[str, Any]] = [p.values[0] for p in CASES if p.values[0].get("stream")]  # type: ignore[misc, union-attr]


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case["name"])
def test_case_as_streams(orion: Orion, case: dict[str, Any]) -> None:
    prefix = f"case{STREAMS.index(case)}_"
    script = re.sub(r"KAFKA_TOPIC='(\w+)'", rf"KAFKA_TOPIC='{prefix}\1'", case["sql"])
    for topic in re.findall(rf"KAFKA_TOPIC='({prefix}\w+)'", script):
        orion.kafka.create_topic(topic, 1, exist_ok=True)
    before = set(orion.engine.catalog.sources)
    orion.execute(script, {**PROPERTIES, "ksql.output.topic.name.prefix": prefix})
    made = [s for n, s in orion.engine.catalog.sources.items() if n not in before]
    try:
        topics = {s.topic: s for s in made}
        for record in case["in"]:
            topic = prefix + record["topic"]
            sent = given({**record, "topic": topic, "timestamp": record["at"]}, topics[topic], Shelf([]))
            send_all(orion.kafka, topic, [Outgoing(sent.value, sent.key, timestamp=sent.timestamp)])
            assert orion.drain(90), [q for q in orion.queries() if q.lag]
        outputs = []
        for source in made:
            for r in everything(orion.kafka, source.topic):
                found = output(Given(r.topic, r.key, r.value, r.timestamp or 0, r.headers), source, Shelf([]))
                outputs.append({**found, "topic": source.topic.removeprefix(prefix)})
        check(case, outputs)
    finally:
        for source in reversed(made):
            orion.execute(f"DROP {source.kind} `{source.name}`;")

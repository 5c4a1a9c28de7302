"""Conformance cases of every keyed operator as they run in earnest: on a broker, as streams, each record a batch of its
own, and all of them in one batch.

The rest of them run as one batch each without a broker, which is quicker; these show that state carried from batch to
batch, read from Kafka and written in transactions, makes the same records. `stream: true` marks those that always run;
with LONG=1 all do that have such an operator.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from orion import ksql
from orion.app import Orion
from orion.config import load
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.plan.sources import Source
from orion.runtime.engine import Engine
from orion.runtime.session import Spark
from orion.testing import Given
from tests.conformance import test_cases
from tests.conformance.driver import PROPERTIES, given, output
from tests.conformance.shelf import Shelf
from tests.conformance.test_cases import check
from tests.scenarios.conftest import everything

FOLDER = Path(test_cases.__file__).with_name("cases")
OPERATORS = ("aggregates", "windows", "tables", "joins")
EACH, TOGETHER = "each record a batch", "all records in a batch"
AT_ONCE = 14  # cases whose statements run side by side
DAY_MS = 86_400_000


def read_cases() -> list[dict[str, Any]]:
    found = [case for name in OPERATORS for case in yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))]
    if not os.environ.get("LONG"):
        return [case for case in found if case.get("stream")]
    # Times are moved here, and one that has become a value isn't told from others.
    return [case for case in found if "error" not in case and "WINDOWSTART" not in case["sql"]]


CASES = read_cases()


def is_one_order(records: list[dict[str, Any]]) -> bool:
    """Whether records of several topics, all there at once, are taken as they stand: the topic first whose next one is
    oldest."""
    reached: dict[str, int] = defaultdict(int)
    places = []
    for record in records:
        reached[record["topic"]] = max(reached[record["topic"]], record.get("at", 0))
        places.append((reached[record["topic"]], record["topic"]))
    return all(first[0] < then[0] for first, then in combinations(places, 2) if first[1] != then[1])


@dataclass
class RunningCase:
    """A case with a platform of its own, over the broker and the Spark that all share. The session is another view of
    Spark: the names of queries count by session, and cases have the same."""

    case: dict[str, Any]
    orion: Orion
    prefix: str
    moved_ms: int  # a table's topic soon loses what is of 1970
    sent: int = 0

    def execute(self, statements: list[str]) -> None:
        properties = {**PROPERTIES, **self.case.get("properties", {}), "ksql.output.topic.name.prefix": self.prefix}
        for text in statements:
            script = re.sub(r"KAFKA_TOPIC='(\w+)'", rf"KAFKA_TOPIC='{self.prefix}\1'", text)
            for topic in re.findall(rf"KAFKA_TOPIC='({self.prefix}\w+)'", script):
                self.orion.kafka.create_topic(topic, 1, exist_ok=True)
            self.orion.execute(script, properties)

    @property
    def sources(self) -> list[Source]:
        return list(self.orion.engine.catalog.sources.values())

    def send(self, count: int) -> None:
        """The next records, if there are any."""
        topics = {source.topic: source for source in self.sources}
        for record in self.case["in"][self.sent : self.sent + count]:
            topic = self.prefix + record["topic"]
            timed = {**record, "topic": topic, "timestamp": record.get("at", 0) + self.moved_ms}
            made = given(timed, topics[topic], Shelf([]))
            told = Outgoing(made.value, made.key, made.headers, timestamp=made.timestamp)
            send_all(self.orion.kafka, topic, [told])
            self.sent += 1

    def drain(self) -> None:
        assert self.orion.drain(120), [q for q in self.orion.queries() if q.lag]

    def read_outputs(self) -> list[dict[str, Any]]:
        outputs = []
        for source in self.sources:
            for record in everything(self.orion.kafka, source.topic):
                made = Given(record.topic, record.key, record.value, record.timestamp or 0, record.headers)
                told = output(made, source, Shelf([]))
                if told["window"] is not None:
                    told["window"] |= {bound: told["window"][bound] - self.moved_ms for bound in ("start", "end")}
                told |= {
                    "topic": source.topic.removeprefix(self.prefix),
                    "timestamp": told["timestamp"] - self.moved_ms,
                }
                outputs.append(told)
        return outputs


def run_cases(running: list[RunningCase], mode: str) -> None:
    """All side by side: what takes time is a batch, however few its records are."""
    parts = {id(one): split_script(one.case["sql"]) for one in running}
    for one in running:
        one.execute(parts[id(one)][0])
    if mode == TOGETHER:
        for one in running:
            one.send(len(one.case["in"]))
    for one in running:
        one.execute(parts[id(one)][1])
    for _ in range(max(len(one.case["in"]) - one.sent for one in running)):
        for one in running:
            one.send(1)
        drain_all(running)
    drain_all(running)


def drain_all(running: list[RunningCase]) -> None:
    """Each of them looks several times before it believes it, and so they look at once."""
    with ThreadPoolExecutor(len(running)) as pool:
        list(pool.map(RunningCase.drain, running))


def split_script(sql: str) -> tuple[list[str], list[str]]:
    """What declares, and what reads records."""
    statements = [f"{text};" for text in ksql.split(sql)]
    reads = [bool(re.search(r"\bSELECT\b", text)) for text in statements]
    first = reads.index(True)
    assert all(reads[first:]), sql
    return statements[:first], statements[first:]


Outputs = dict[str, list[dict[str, Any]]]


def list_cases(mode: str) -> list[dict[str, Any]]:
    return [case for case in CASES if mode == EACH or is_one_order(case["in"])]


@pytest.fixture(scope="module")
def made_one_by_one(kafka: Kafka, spark: Spark, scratch: Path) -> Outputs:
    return make_outputs(EACH, kafka, spark, scratch)


@pytest.fixture(scope="module")
def made_together(kafka: Kafka, spark: Spark, scratch: Path) -> Outputs:
    return make_outputs(TOGETHER, kafka, spark, scratch)


def make_outputs(mode: str, kafka: Kafka, spark: Spark, scratch: Path) -> Outputs:
    """What comes out of each case."""
    fit = list_cases(mode)
    moved_ms = (time.time_ns() // 1_000_000 // DAY_MS - 3) * DAY_MS
    found: Outputs = {}
    for chunk in (fit[at : at + AT_ONCE] for at in range(0, len(fit), AT_ONCE)):
        with ExitStack() as stack:
            running = []
            for case in chunk:
                name = f"case{CASES.index(case)}{'t' if mode == TOGETHER else 'e'}"
                told = {"data": scratch / name, "service_id": name}
                config = load(flags={**told, "hub.bootstrap": kafka.bootstrap, "engine.trigger_ms": 50})
                orion = stack.enter_context(Orion.over(Engine(config, kafka, spark.newSession())))
                running.append(RunningCase(case, orion, f"{name}_", moved_ms))
            try:
                run_cases(running, mode)
                found |= {one.case["name"]: one.read_outputs() for one in running}
            finally:
                for one in running:
                    for source in reversed(one.sources):
                        one.orion.execute(f"DROP {source.kind} `{source.name}`;")
    return found


@pytest.mark.parametrize("case", list_cases(EACH), ids=lambda case: case["name"])
def test_each_record_a_batch(made_one_by_one: Outputs, case: dict[str, Any]) -> None:
    check(case, made_one_by_one[case["name"]])


@pytest.mark.parametrize("case", list_cases(TOGETHER), ids=lambda case: case["name"])
def test_all_records_in_a_batch(made_together: Outputs, case: dict[str, Any]) -> None:
    check(case, made_together[case["name"]])

"""Statements over one source share a stream: each with its results, its place and its troubles, whoever is there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from orion.app import Orion
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.runtime.states import QueryStatus
from tests.scenarios.conftest import Await, everything

NAMES = ("SHARED_EVEN", "SHARED_ODD", "SHARED_ALL")


@pytest.fixture(scope="module")
def plays(orion: Orion, kafka: Kafka) -> Iterator[str]:
    kafka.create_topic("shared_plays", 3)
    run(
        orion, "CREATE STREAM shared_plays (k STRING KEY, n INT) WITH (kafka_topic='shared_plays', value_format='JSON')"
    )
    for name, condition in zip(NAMES, ("n % 2 = 0", "n % 2 = 1", "n >= 0"), strict=True):
        run(orion, f"CREATE STREAM {name} AS SELECT k, n, '{name}' AS made FROM shared_plays WHERE {condition}")
    yield "shared_plays"
    for name in NAMES:
        run(orion, f"DROP STREAM {name} DELETE TOPIC")
    run(orion, "DROP STREAM shared_plays DELETE TOPIC")


def run(orion: Orion, statement: str) -> object:
    return orion.execute(f"{statement};")


def feed(kafka: Kafka, numbers: range) -> None:
    send_all(kafka, "shared_plays", [Outgoing(json.dumps({"n": n}).encode(), b"k%d" % (n % 50)) for n in numbers])


def numbers(kafka: Kafka, topic: str) -> list[int]:
    found = [json.loads(record.value or b"{}") for record in everything(kafka, topic)]
    assert all(row["MADE"] == topic for row in found)
    return sorted(row["N"] for row in found)


def status(orion: Orion, name: str) -> QueryStatus:
    return next(one for one in orion.engine.statuses() if one.sink == name)


def shares(orion: Orion, *names: str) -> bool:
    """Whether these, and no others, run in one stream."""
    found = {name: status(orion, name) for name in names}
    ids = {one.id for one in found.values()}
    return all(one.state == "RUNNING" and {one.id, *one.shares_with} == ids for one in found.values())


def lag_of(kafka: Kafka, group: str, topic: str) -> int:
    """As Kafka's own tools see it."""
    places = [place for place in kafka.describe_group(group).progress if place.topic == topic]
    return sum(place.lag or 0 for place in places) if places else -1


def wanted(of: range) -> dict[str, list[int]]:
    return {"SHARED_EVEN": [n for n in of if n % 2 == 0], "SHARED_ODD": [n for n in of if n % 2], "SHARED_ALL": [*of]}


def has_all(kafka: Kafka, of: range) -> bool:
    return all(len(everything(kafka, name)) >= len(rows) for name, rows in wanted(of).items())


def test_statements_that_have_caught_up_share_a_stream(orion: Orion, kafka: Kafka, plays: str, until: Await) -> None:
    feed(kafka, range(100))
    until(lambda: shares(orion, *NAMES), 60.0)
    feed(kafka, range(100, 200))
    until(lambda: has_all(kafka, range(200)), 60.0)
    assert {name: numbers(kafka, name) for name in NAMES} == wanted(range(200))
    until(lambda: all(status(orion, name).lag == 0 for name in NAMES), 20.0)
    assert {name: status(orion, name).rows_out for name in NAMES} == {
        "SHARED_EVEN": 100, "SHARED_ODD": 100, "SHARED_ALL": 200,
    }  # fmt: skip
    groups = [status(orion, name).group or "" for name in NAMES]
    until(lambda: all(lag_of(kafka, group, plays) == 0 for group in groups), 20.0)


def test_one_that_is_paused_leaves_the_others_alone(orion: Orion, kafka: Kafka, plays: str, until: Await) -> None:
    until(lambda: shares(orion, *NAMES), 60.0)
    odd = status(orion, "SHARED_ODD").id
    run(orion, f"PAUSE {odd}")
    feed(kafka, range(200, 300))
    until(lambda: shares(orion, "SHARED_EVEN", "SHARED_ALL"), 60.0)
    until(lambda: len(everything(kafka, "SHARED_ALL")) >= 300, 60.0)
    assert numbers(kafka, "SHARED_ODD") == wanted(range(200))["SHARED_ODD"]
    run(orion, f"RESUME {odd}")
    until(lambda: shares(orion, *NAMES), 60.0)
    until(lambda: has_all(kafka, range(300)), 60.0)
    assert {name: numbers(kafka, name) for name in NAMES} == wanted(range(300))


def test_a_bad_record_ends_the_one_that_bears_none(orion: Orion, kafka: Kafka, plays: str, until: Await) -> None:
    """The others have it as a dead letter, and go on."""
    run(
        orion,
        "CREATE STREAM shared_strict WITH (errors_tolerance='none') AS SELECT k, n, 'SHARED_STRICT' AS made"
        " FROM shared_plays WHERE n >= 300",
    )
    until(lambda: shares(orion, *NAMES, "SHARED_STRICT"), 60.0)
    before = Counter({name: status(orion, name).dead_letters for name in NAMES})
    send_all(kafka, plays, [Outgoing(b"no JSON", b"bad")])
    feed(kafka, range(300, 400))
    until(lambda: status(orion, "SHARED_STRICT").state == "ERROR", 60.0)
    assert "not the JSON that was declared" in (status(orion, "SHARED_STRICT").error or "")
    until(lambda: all(status(orion, name).dead_letters == before[name] + 1 for name in NAMES), 60.0)
    until(lambda: has_all(kafka, range(400)), 60.0)
    until(lambda: shares(orion, *NAMES), 60.0)
    assert {name: numbers(kafka, name) for name in NAMES} == wanted(range(400))
    assert all(len(everything(kafka, f"dlq.{name}")) == 1 for name in NAMES)
    assert all(status(orion, name).failures == () for name in NAMES)
    run(orion, "DROP STREAM shared_strict DELETE TOPIC")

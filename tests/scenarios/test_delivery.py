"""Delivery as it is seen from outside: a statement's group, its place taken by another, records that don't fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orion.app import Orion
from orion.hub.kafka import Kafka
from orion.hub.membership import Membership
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.runtime.queries import QueryStatus
from tests.scenarios.conftest import Await, everything


def status(orion: Orion, sink: str) -> QueryStatus:
    return next(s for s in orion.queries() if s.sink == sink)


def made(orion: Orion, name: str, more: str = "") -> str:
    """A statement over a topic of its own, and its query's id."""
    orion.execute(f"""
        CREATE STREAM {name}_in (k STRING KEY, v STRING) WITH (kafka_topic='{name}_in', value_format='JSON',
            partitions=2);
        CREATE STREAM {name} {more} AS SELECT k, v FROM {name}_in EMIT CHANGES;
    """)
    return status(orion, name.upper()).id


def send(kafka: Kafka, topic: str, *values: Any) -> None:
    encoded = (value if isinstance(value, bytes) else json.dumps({"V": value}).encode() for value in values)
    send_all(kafka, topic, [Outgoing(value, b"k") for value in encoded])


def found(kafka: Kafka, topic: str) -> list[str]:
    return [json.loads(record.value or b"")["V"] for record in everything(kafka, topic)]


def test_any_kafka_tool_sees_how_far_a_statement_is(orion: Orion, kafka: Kafka, until: Await) -> None:
    group = f"orion.{made(orion, 'seen')}"
    send(kafka, "seen_in", "a", "b", "c")

    def caught_up() -> bool:
        parts = [p for p in kafka.describe_group(group).progress if p.topic == "seen_in"]
        return sum(p.committed or 0 for p in parts) == 3 and all(p.lag in (0, None) for p in parts)

    until(caught_up, 90.0)
    detail = kafka.describe_group(group)
    assert (detail.group.state, [m.id.startswith(group) for m in detail.members]) == ("stable", [True])
    shown = status(orion, "SEEN")
    assert (shown.group, shown.lag) == (group, 0)
    assert shown.freshness_ms is not None
    assert 0 <= shown.freshness_ms < 90_000


def test_who_takes_a_statement_over_writes_alone(orion: Orion, kafka: Kafka, until: Await) -> None:
    query = made(orion, "taken")
    send(kafka, "taken_in", "a")
    until(lambda: found(kafka, "TAKEN") == ["a"], 90.0)
    other = Membership(kafka, f"orion.{query}", ["taken_in"])
    try:
        other.credentials()
        until(lambda: status(orion, "TAKEN").state == "ERROR", 30.0)
        assert "taken over" in (status(orion, "TAKEN").error or "")
        send(kafka, "taken_in", "b")
        assert found(kafka, "TAKEN") == ["a"]
    finally:
        other.close()
    orion.execute(f"RESUME {query};")
    until(lambda: found(kafka, "TAKEN") == ["a", "b"], 90.0)


def test_a_record_too_large_for_its_topic_stops_nothing(orion: Orion, kafka: Kafka, until: Await) -> None:
    kafka.create_topic("large_in", 1, config={"max.message.bytes": "8000000"})
    made(orion, "large")
    kafka.alter_topic("LARGE", config={"max.message.bytes": "100000"})
    query = status(orion, "LARGE").id
    orion.execute(f"PAUSE {query}; RESUME {query};")  # a run asks its topic once, when it starts
    send(kafka, "large_in", "a", "x" * 200_000, "c")
    until(lambda: found(kafka, "LARGE") == ["a", "c"], 90.0)
    [letter] = everything(kafka, "dlq.LARGE")
    assert dict(letter.headers)["orion.error.code"] == b"RECORD_TOO_LARGE"
    assert len(letter.value or b"") > 200_000


def test_a_statement_that_bears_no_dead_letter_stops_at_the_first(orion: Orion, kafka: Kafka, until: Await) -> None:
    made(orion, "strict", "WITH (errors_tolerance='none')")
    send(kafka, "strict_in", "a")
    until(lambda: found(kafka, "STRICT") == ["a"], 90.0)
    send(kafka, "strict_in", b"{bad")
    until(lambda: status(orion, "STRICT").state == "ERROR", 60.0)
    error = status(orion, "STRICT").error or ""
    assert "VALUE_UNREADABLE at strict_in/" in error
    assert "ERRORS_TOLERANCE" in error
    assert everything(kafka, "dlq.STRICT") == []


@pytest.mark.parametrize("again", [False, True])
def test_a_topic_that_goes_away_is_the_state_of_its_query(
    orion: Orion, kafka: Kafka, until: Await, again: bool
) -> None:
    name = f"gone{int(again)}"
    made(orion, name)
    send(kafka, f"{name}_in", "a")
    until(lambda: found(kafka, name.upper()) == ["a"], 90.0)
    kafka.delete_topic(f"{name}_in")
    if again:
        kafka.create_topic(f"{name}_in", 2)
    until(lambda: status(orion, name.upper()).state == "ERROR", 60.0)
    error = status(orion, name.upper()).error or ""
    assert f"Topic {name}_in was deleted" in error
    assert "again" in error

"""Who may write for a query: the last run that joined its group, and a run that the group lost may join again."""

from __future__ import annotations

import time
import uuid

import pytest

from orion.errors import Conflict, ExternalError, OrionError
from orion.hub.kafka import Kafka
from orion.hub.ledger import prepare_ledger
from orion.hub.membership import Membership


@pytest.fixture
def topic(kafka: Kafka) -> str:
    name = f"membership-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, 1)
    prepare_ledger(kafka, 4)
    return name


def told(member: Membership, deadline_s: float = 90.0) -> OrionError:
    """What the run is told when it looks."""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        try:
            member.look(0.1)
        except OrionError as error:
            return error
    raise AssertionError("nothing was told")


def test_a_run_whose_place_another_has_is_told_so(kafka: Kafka, topic: str) -> None:
    first = Membership(kafka, topic, [topic])
    first.credentials()
    second = Membership(kafka, topic, [topic])
    second.credentials()
    said = told(first)
    assert isinstance(said, Conflict)
    assert said.code == "TAKEN_OVER"
    first.close()
    second.close()


def test_a_run_that_has_joined_twice_is_not_taken_for_two(kafka: Kafka, topic: str) -> None:
    """As when a broker dies between taking it in and saying so: what it knows of itself is out of date."""
    run = Membership(kafka, topic, [topic])
    run.credentials()
    again = kafka.consumer(topic, **{"group.instance.id": topic})
    again.subscribe([topic])
    try:
        end = time.monotonic() + 30
        while not again.assignment() and time.monotonic() < end:
            again.poll(0.1)
        said = told(run)
        assert isinstance(said, ExternalError)
        assert said.code == "MEMBERSHIP_LOST"
    finally:
        run.close()
        again.close()

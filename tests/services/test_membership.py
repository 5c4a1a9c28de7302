"""Who may write for a query: the last run that joined its group, and a run that the group lost may join again."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from orion.errors import Conflict, ExternalError, OrionError
from orion.hub import broker_settings, transactions
from orion.hub.embedded import EmbeddedCluster
from orion.hub.kafka import Kafka
from orion.hub.ledger import LEDGER, LedgerNote, list_written_batches, prepare_ledger, slot_place
from orion.hub.membership import Membership
from orion.hub.transactions import Chunk, Permit, Slot
from tests.required import long


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


def test_a_ledger_that_gets_room_for_more_slots_disturbs_no_run(kafka: Kafka, topic: str) -> None:
    """Who reads it joins anew for its new partitions; what the workers of a run show would be out of date then."""
    quick = Kafka(kafka.bootstrap, {"topic.metadata.refresh.interval.ms": "500"})
    there = kafka.describe_topic(LEDGER).topic.partitions
    run = Membership(quick, topic, [topic])
    reader = quick.consumer(f"{topic}-reader")
    reader.subscribe([LEDGER])
    try:
        before = run.credentials()

        def await_partitions(count: int) -> None:
            end = time.monotonic() + 60
            while len(reader.assignment()) < count:
                assert time.monotonic() < end, f"the reader has {len(reader.assignment())} partitions, not {count}"
                reader.poll(0.1)
                run.look()

        await_partitions(there)
        prepare_ledger(kafka, there)
        await_partitions(there + 1)
        for _ in range(20):
            run.look(0.1)
        assert run.credentials() == before
    finally:
        run.close()
        reader.close()


@pytest.fixture
def forgetful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kafka]:
    """A broker that keeps offsets for a minute, the least that there is, and looks at those of all groups at once."""
    short = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}
    for name, value in (short | {"offsets.topic.num.partitions": "1"}).items():
        monkeypatch.setitem(broker_settings.ONE_MACHINE, name, value)
    with EmbeddedCluster.start(tmp_path / "kafka") as cluster:
        yield Kafka(cluster.bootstrap)


@long
@pytest.mark.timeout(300)
def test_notes_and_names_stay_for_as_long_as_a_run_lives(forgetful: Kafka, tmp_path: Path) -> None:
    """Beside it a member of another group that doesn't subscribe to the ledger: what that has noted goes meanwhile."""
    for topic in ("plays", "dlq.plays"):
        forgetful.create_topic(topic, 1)
    prepare_ledger(forgetful, 4)
    run = Membership(forgetful, "lasting", ["plays"])
    other = forgetful.consumer("passing")
    try:
        permit = Permit(forgetful.bootstrap, "lasting", run.credentials(), "test", tmp_path, "plays", "dlq.plays")
        transactions.write(permit, Slot(2, 7), [Chunk(["plays"], [b"a"], [b"a"], [1], None)])
        run.reached({"plays": {0: 1}})
        other.subscribe(["plays"])
        places = [slot_place(2, LedgerNote(7).encode()), TopicPartition("plays", 0, 1)]
        end = time.monotonic() + 30
        while not other.assignment() and time.monotonic() < end:
            other.poll(0.1)
        other.commit(offsets=places, asynchronous=False)
        end = time.monotonic() + 200
        while other.committed(places[:1], timeout=10)[0].offset >= 0:
            assert time.monotonic() < end, "the broker keeps notes that nobody subscribes to: the test shows nothing"
            run.look(0.2)
            other.poll(0.2)
        assert other.committed(places[1:], timeout=10)[0].offset == 1, "its group is gone, not the note alone"
        assert list_written_batches(run.read_notes(4)) == {2: 7}
        assert run.has_earlier_run()
    finally:
        run.close()
        other.close()

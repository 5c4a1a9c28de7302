"""Topics that change under a query: deleted, made anew, shortened, widened. On a real broker."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from orion.errors import ExternalError
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.plan.partitions import Bond
from orion.runtime.inputs import Inputs, Trouble, Watch, accepted, noted

Until = Callable[[Callable[[], bool]], None]


@pytest.fixture
def watch(kafka: Kafka) -> Watch:
    return Watch(kafka, every_s=0.1)


@pytest.fixture
def nowhere() -> Iterator[Kafka]:
    """An address that takes connections and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield Kafka(f"127.0.0.1:{server.getsockname()[1]}")


def fill(kafka: Kafka, topic: str, records: int) -> None:
    send_all(kafka, topic, [Outgoing(b"%d" % at, partition=0) for at in range(records)])


def reading(watch: Watch, *topics: str, bond: Bond = Bond.NONE) -> Inputs:
    """A query that starts now and reads the topics."""
    return Inputs("CTAS_Q_1", noted(topics, watch.see(topics).topics), dict.fromkeys(topics, bond))


def told(watch: Watch, inputs: Inputs, at: int = 0) -> Trouble | None:
    return watch.check(inputs, {topic: {0: at} for topic in inputs.names})


def code(found: Trouble | None) -> str | None:
    return None if found is None else found.code


def test_topics_have_ids_that_a_name_alone_does_not_keep(kafka: Kafka, topic: str) -> None:
    first = kafka.present([topic, "no-such-topic"])
    assert set(first) == {topic}
    assert first[topic] == kafka.describe_topic(topic).topic
    kafka.delete_topic(topic)
    assert kafka.present([topic]) == {}
    kafka.create_topic(topic, 3)
    assert kafka.present([topic])[topic].topic_id != first[topic].topic_id


def test_a_topic_that_is_deleted_and_one_that_is_made_anew(
    kafka: Kafka, watch: Watch, topic: str, until: Until
) -> None:
    inputs = reading(watch, topic)
    assert told(watch, inputs) is None
    assert watch.look(inputs, dict) is None
    kafka.delete_topic(topic)
    until(lambda: code(watch.look(inputs, dict)) == "TOPIC_GONE")
    kafka.create_topic(topic, 3)
    fill(kafka, topic, 3)
    until(lambda: code(watch.look(inputs, dict)) == "TOPIC_RECREATED")
    assert told(watch, reading(watch, topic)) is None


def test_records_that_go_before_they_are_read(kafka: Kafka, watch: Watch, topic: str) -> None:
    inputs = reading(watch, topic)
    fill(kafka, topic, 10)
    kafka.delete_records(topic, {0: 6})
    assert kafka.earliest_of(list(kafka.present([topic]).values())) == {topic: {0: 6, 1: 0, 2: 0}}
    assert told(watch, inputs, at=6) is None
    lost = told(watch, inputs, at=2)
    assert lost is not None
    assert lost.code == "OFFSETS_GONE"
    assert "partition 0 offsets 2 to 5." in lost.message

    seen = watch.see((topic,))
    taken = accepted(inputs, seen.topics, {topic: {0: 2}}, seen.earliest)
    assert told(watch, taken, at=2) is None
    kafka.delete_records(topic, {0: 7})
    assert code(told(watch, taken, at=2)) == "OFFSETS_GONE"


def test_partitions_that_are_added(kafka: Kafka, watch: Watch, topic: str) -> None:
    alone, by_key, by_order = (reading(watch, topic, bond=b) for b in (Bond.NONE, Bond.KEY, Bond.ORDER))
    kafka.alter_topic(topic, partitions=5)
    assert told(watch, alone) is None
    reassured, warned = told(watch, by_key), told(watch, by_order)
    assert reassured is not None
    assert warned is not None
    assert (reassured.code, reassured.fatal) == (warned.code, warned.fatal) == ("PARTITIONS_ADDED", False)
    assert "Its results stay right" in reassured.message
    assert "by their timestamps" in warned.message


def test_a_cluster_that_is_away_is_no_topic_that_is_gone(
    kafka: Kafka, watch: Watch, topic: str, nowhere: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orion.hub.topics.TIMEOUT", 1.0)
    inputs = reading(watch, topic)
    lost = Watch(nowhere, every_s=0.1)
    with pytest.raises(ExternalError) as caught:
        lost.check(inputs, {})
    assert caught.value.code == "BROKER_UNREACHABLE"
    assert lost.look(inputs, dict) is None

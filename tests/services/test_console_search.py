"""Looking through a topic on a real broker: keys, times over all partitions, and going on."""

from __future__ import annotations

import pytest

from orion.hub.kafka import Kafka
from orion.hub.partitioning import partition_of
from orion.web.console.questions import searching
from orion.web.console.questions.decoding import Decoder
from orion.web.console.questions.filtering import Wish
from orion.web.console.questions.records import From
from orion.web.console.questions.searching import Quest, Search


def search(kafka: Kafka, topic: str, where: str, place: str = "newest") -> Search:
    wanted = Quest(topic, From(None, place), Wish.of(where))
    return Search(kafka, wanted, Decoder(lambda _: None, None), None)


def test_a_key_is_looked_for_in_its_own_partition_first(kafka: Kafka) -> None:
    kafka.create_topic("cs_keys", 3)
    producer = kafka.producer()
    own = partition_of(b"here", 3)
    for part in range(3):
        for number in range(10):
            producer.produce("cs_keys", key=f"k{part}-{number}", value="{}", partition=part)
    producer.produce("cs_keys", key="here", value="{}")
    producer.produce("cs_keys", key="elsewhere", value="{}", partition=(partition_of(b"elsewhere", 3) + 1) % 3)
    assert producer.flush(30) == 0
    here = search(kafka, "cs_keys", "KEY = 'here'")
    found = here.look()
    assert [(one.key.text, one.record.partition) for one in found.records] == [("here", own)]
    assert found.own == (own,)
    assert {extent.partition for extent in found.extents if extent.count} == {own}
    assert not found.is_done
    assert here.look().is_done  # who wants to be sure looks through the others
    found = search(kafka, "cs_keys", "KEY = 'elsewhere'").look()
    assert (len(found.records), found.is_done) == (1, True)


def test_the_newest_are_newest_over_all_partitions(kafka: Kafka) -> None:
    """One partition has few records that fit, all of them new; the other many, all of them old."""
    kafka.create_topic("cs_times", 2, None, {"retention.ms": "-1"})
    producer = kafka.producer()
    for number in range(300):
        value = f'{{"fits": {"true" if number % 10 == 0 else "false"}}}'
        producer.produce("cs_times", value=value, partition=0, timestamp=2_000_000 + number)
        producer.produce("cs_times", value='{"fits": true}', partition=1, timestamp=1_000_000 + number)
    assert producer.flush(30) == 0
    found = search(kafka, "cs_times", "fits = true").look(20)
    assert [one.record.offset for one in found.records] == list(range(290, 90, -10))
    assert {one.record.partition for one in found.records} == {0}
    first = search(kafka, "cs_times", "fits = true", "earliest")
    assert [one.record.offset for one in first.look(290).records] == list(range(290))
    more = first.look(20).records[290:]
    assert [(one.record.partition, one.record.offset) for one in more[9:12]] == [(1, 299), (0, 0), (0, 10)]


def test_a_look_that_ran_out_is_gone_on_with_until_all_was_seen(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_MOST_SCANNED", 20)
    monkeypatch.setattr(searching, "_BATCH", 7)
    kafka.create_topic("cs_long", 2)
    producer = kafka.producer()
    for number in range(200):
        producer.produce("cs_long", value=f'{{"n": {number}}}', partition=number % 2)
    assert producer.flush(30) == 0
    for place in ("newest", "earliest"):
        looking = search(kafka, "cs_long", "n = 100 OR n = 101", place)
        found = looking.look()
        assert 20 <= found.scanned < 40
        assert (found.looked, found.total, found.is_done) == (found.scanned, 200, False)
        looks = 1
        while not found.is_done:
            found, looks = looking.look(), looks + 1
            assert looks < 20
        assert sorted(one.value.document["n"] for one in found.records) == [100, 101]
        assert (found.scanned, found.looked) == (200, 200)

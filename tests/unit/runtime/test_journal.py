"""The journal over a topic that is a list: what is read, what is passed over, and what is never written over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest

from orion.errors import Conflict
from orion.hub.durable import DurableWriter
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing, Position, Receipt, Record
from orion.plan.definitions import CustomType
from orion.plan.entries import decode_entry, encode_entry
from orion.runtime import journal as module
from orion.runtime.journal import Journal
from orion.schema import Scalar

KM, DAY = CustomType("KM", Scalar.DOUBLE), CustomType("DAY", Scalar.DATE)
NEWER = b'{"format":99,"entry":{"@":"type","unit":"km"}}'


@dataclass
class Topic:
    """A topic of one partition, its writer, and its reader."""

    records: list[Record] = field(default_factory=list)
    at_end: bool = False

    def write(self, topic: str, record: Outgoing) -> Receipt:
        self.records.append(Record(topic, 0, len(self.records), 0, record.key, record.value))
        return Receipt(topic, 0, len(self.records) - 1, 0)

    def put(self, key: str, value: bytes | None) -> None:
        self.write("catalog", Outgoing(value, key.encode()))

    def __enter__(self) -> Topic:
        self.at_end = False
        return self

    def __exit__(self, *_: object) -> None: ...

    def read(self, most: int, wait_s: float) -> list[Record]:
        self.at_end = True
        return self.records


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    made = Topic()

    def read_topic(kafka: Kafka, name: str, start: Position) -> Topic:
        return made

    monkeypatch.setattr(module, "Reader", read_topic)
    return made


def open_journal(topic: Topic) -> Journal:
    return Journal(cast(Kafka, None), "catalog", cast(DurableWriter, topic))


def test_what_is_put_comes_back_and_what_is_dropped_does_not(topic: Topic) -> None:
    journal = open_journal(topic)
    catalog = journal.put(journal.put(journal.read(), KM), DAY)
    catalog = journal.drop(catalog, CustomType, "KM")
    again = open_journal(topic).read()
    assert dict(again.types) == dict(catalog.types) == {"DAY": DAY}
    assert again.version == catalog.version == 3


def test_the_last_entry_of_a_key_counts_as_it_will_when_the_topic_is_compacted(topic: Topic) -> None:
    """An older one in its place would be what nobody wants any more."""
    topic.put("type/KM", encode_entry(KM))
    topic.put("type/KM", b"broken")
    topic.put("type/DAY", NEWER)
    topic.put("type/DAY", encode_entry(DAY))
    journal = open_journal(topic)
    catalog = journal.read()
    assert (dict(catalog.types), catalog.version) == ({"DAY": DAY}, 4)
    (problem,) = journal.problems
    assert problem.startswith("type KM can't be read: ")
    assert journal.unread == {"type/KM": False}


def test_a_newer_orions_entry_is_told_and_kept(topic: Topic) -> None:
    topic.put("type/KM", encode_entry(KM))
    topic.put("type/KM", NEWER)
    topic.put("type/DAY", encode_entry(DAY))
    journal = open_journal(topic)
    catalog = journal.read()
    assert dict(catalog.types) == {"DAY": DAY}
    assert journal.problems == [
        "type KM can't be read: it is written in format 99, which this Orion doesn't know. It is kept as it is. "
        "Upgrade Orion: a newer one wrote it."
    ]
    with pytest.raises(Conflict) as caught:
        journal.check_free(CustomType, "KM")
    assert caught.value.code == "NEWER_ORION"
    with pytest.raises(Conflict):
        journal.put(catalog, KM)
    with pytest.raises(Conflict):
        journal.drop(catalog, CustomType, "KM")
    assert [r.value for r in topic.records if r.key == b"type/KM"][-1] == NEWER
    journal.check_free(CustomType, "DAY")


def test_a_broken_entry_may_be_made_anew(topic: Topic) -> None:
    topic.put("type/KM", b"broken")
    journal = open_journal(topic)
    catalog = journal.put(journal.read(), KM)
    assert catalog.types["KM"] == decode_entry(topic.records[-1].value or b"") == KM
    assert journal.unread == {}


def test_an_entry_of_no_known_kind_is_told_and_kept(topic: Topic) -> None:
    topic.put("view/V", NEWER)
    topic.put("word/W", encode_entry(KM))
    topic.put("word/W", None)
    journal = open_journal(topic)
    assert journal.read().version == 3
    assert journal.problems == ["entry b'view/V' is of no known kind"]

"""The registry over a real topic: restarts, two at a time, and Confluent's own Python client."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Outgoing, Position
from orion.hub.writer import send_all
from orion.registry.errors import RegistryError
from orion.registry.log import KafkaLog
from orion.registry.schemas import Schema
from orion.registry.store import Registry, Wanted


@pytest.fixture
def topic() -> str:
    return f"_schemas_{uuid.uuid4().hex[:8]}"


@pytest.fixture
def registry(kafka: Kafka, topic: str) -> Iterator[Registry]:
    opened = Registry(KafkaLog(kafka, topic))
    yield opened
    opened.close()


def wanted(number: int) -> Wanted:
    fields = [{"name": f"f{number}", "type": "int", "default": 0}]
    return Wanted(Schema(json.dumps({"type": "record", "name": "r", "fields": fields})))


def records(kafka: Kafka, topic: str) -> list[tuple[str, str | None]]:
    found = []
    with Reader(kafka, topic, Position("earliest")) as reader:
        while not reader.at_end:
            found += reader.read(100, 1.0)
    return [((one.key or b"").decode(), None if one.value is None else one.value.decode()) for one in found]


def test_a_restart_loses_nothing(kafka: Kafka, topic: str, registry: Registry) -> None:
    for number in range(3):
        registry.register("s", wanted(number))
    registry.settings.set_config("s", {"compatibilityLevel": "FULL"})
    registry.settings.set_mode("t", "READONLY")
    registry.delete_version("s", 1)
    registry.delete_version("s", 2)
    registry.delete_version("s", 2, permanent=True)
    registry.register("u", wanted(9))
    registry.delete_subject("u")
    again = Registry(KafkaLog(kafka, topic))
    try:
        assert again.subjects() == ["s"]
        assert again.subjects(deleted=True) == ["s", "u"]
        assert again.versions("s", deleted=True) == [1, 3]
        assert again.settings.config("s") == {"compatibilityLevel": "FULL"}
        assert again.settings.own_mode("t") == "READONLY"
        assert again.register("s", wanted(2)).id == 3
        assert again.register("v", wanted(4)).id == 5
    finally:
        again.close()


def test_the_records_are_those_of_confluents_registry(kafka: Kafka, topic: str, registry: Registry) -> None:
    registry.register("s", Wanted(Schema('"int"')))
    registry.settings.set_config(None, {"compatibilityLevel": "NONE"})
    registry.delete_subject("s")
    registry.delete_subject("s", permanent=True)
    key = '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}'
    assert records(kafka, topic) == [
        (key, '{"subject":"s","version":1,"id":1,"schema":"\\"int\\"","deleted":false}'),
        ('{"keytype":"CONFIG","subject":null,"magic":0}', '{"compatibilityLevel":"NONE"}'),
        ('{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}', '{"subject":"s","version":1}'),
        (key, None),
        ('{"keytype":"NOOP","magic":0}', '{"highestIds":{".":1}}'),
    ]


def test_what_another_registry_wrote_is_read(kafka: Kafka, topic: str) -> None:
    kafka.create_topic(topic, 1, config={"cleanup.policy": "compact"})
    value = {"subject": "s", "version": 1, "id": 7, "md5": "x", "schema": '"int"', "deleted": False, "ts": 1}
    key = {"keytype": "SCHEMA", "subject": "s", "version": 1, "magic": 1}
    noop = {"keytype": "NOOP", "magic": 0}
    send_all(
        kafka,
        topic,
        [
            Outgoing(None, json.dumps(noop).encode()),
            Outgoing(json.dumps(value).encode(), json.dumps(key).encode()),
            Outgoing(b"no JSON", b"at all"),
            Outgoing(b"[" * 100_000, json.dumps(key).encode()),
            Outgoing(json.dumps(value).encode(), b'{"keytype":"SCHEMA","version":1,"magic":1}'),
            Outgoing(b'{"mode":"SOME"}', b'{"keytype":"MODE","subject":null,"magic":0}'),
            Outgoing(b'{"compatibilityLevel":"SOME"}', b'{"keytype":"CONFIG","subject":null,"magic":0}'),
        ],
    )
    registry = Registry(KafkaLog(kafka, topic))
    try:
        assert registry.schema(7).text == '"int"'
        assert registry.register("s", Wanted(Schema('"long"'))).id == 8
    finally:
        registry.close()


def test_two_registries_agree(kafka: Kafka, topic: str, registry: Registry) -> None:
    """Both write all the time: no number is given twice, and both end up with the same."""
    other = Registry(KafkaLog(kafka, topic))
    registry.settings.set_config(None, {"compatibilityLevel": "NONE"})
    failures: list[BaseException] = []

    def write(to: Registry, numbers: range) -> None:
        try:
            for number in numbers:
                to.register("s", wanted(number))
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=write, args=(one, range(start, start + 8)))
        for one, start in ((registry, 0), (other, 100))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    # A write makes sure of the newest state on its side.
    registry.register("end", wanted(500))
    other.register("end", wanted(501))
    assert other.versions("s") == registry.versions("s") == list(range(1, 17))
    assert [one.id for one in other.all_versions("s")] == [one.id for one in registry.all_versions("s")]
    assert len({one.id for one in other.all_versions("s")}) == 16
    other.close()


def test_one_writes_and_the_other_follows(
    kafka: Kafka, topic: str, registry: Registry, until: Callable[[Callable[[], bool]], None]
) -> None:
    """The other neither writes nor takes over, not even to register what is there already."""
    with closing(Registry(KafkaLog(kafka, topic))) as other:
        registry.register(":.team:s", wanted(1))
        registry.settings.set_config(None, {"compatibilityLevel": "FULL"})
        until(lambda: other.settings.config(None) == {"compatibilityLevel": "FULL"})
        assert other.version(":.team:s", 1) == registry.version(":.team:s", 1)
        assert other.contexts() == [".", ".team"]
        before = kafka.end_offsets(topic)
        assert other.register(":.team:s", wanted(1)).id == 1
        assert kafka.end_offsets(topic) == before
        registry.delete_subject(":.team:s")
        until(lambda: other.subjects() == [])
        assert other.subjects(deleted=True) == [":.team:s"]


def test_ids_are_not_given_again_after_a_restart(kafka: Kafka, topic: str, registry: Registry) -> None:
    """Compaction takes tombstones away; the highest id is on record by itself."""
    registry.register("s", wanted(1))
    registry.delete_subject("s")
    registry.delete_subject("s", permanent=True)
    left = {key: value for key, value in records(kafka, topic) if value is not None and "SCHEMA" not in key}
    again = f"{topic}_compacted"
    kafka.create_topic(again, 1, config={"cleanup.policy": "compact"})
    send_all(kafka, again, [Outgoing((value or "").encode(), key.encode()) for key, value in left.items()])
    with closing(Registry(KafkaLog(kafka, again))) as other:
        assert other.register("s", wanted(2)).id == 2


def test_a_refusal_writes_nothing(kafka: Kafka, topic: str, registry: Registry) -> None:
    registry.register("s", Wanted(Schema('"int"')))
    before = kafka.end_offsets(topic)
    with pytest.raises(RegistryError):
        registry.register("s", Wanted(Schema('"string"')))
    with pytest.raises(RegistryError):
        registry.register("s", Wanted(Schema("{")))
    assert registry.register("s", Wanted(Schema('"int"'))).id == 1
    assert kafka.end_offsets(topic) == before

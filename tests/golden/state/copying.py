"""What a service has in Kafka, as JSON, and put into another cluster: its topics' records as bytes, and what its
queries' groups have committed, notes of written batches included.

A topic that is made anew has another id, and notes name those of what was read: they get the new ones.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition

from orion.hub.kafka import Kafka
from orion.hub.ledger import prepare_ledger
from orion.hub.reader import Reader
from orion.hub.records import Outgoing, Position
from orion.hub.writer import send_all

# Nothing of it goes while a test looks at it, however old its records are.
_KEPT = {"retention.ms": "-1", "cleanup.policy": "delete"}
_COMPACTED = {"retention.ms": "-1", "cleanup.policy": "compact"}


def copy_service(kafka: Kafka, topics: list[str], groups: list[str]) -> dict[str, Any]:
    described = kafka.present(topics)
    return {
        "topics": {
            name: {
                "id": topic.topic_id,
                "partitions": topic.partitions,
                "records": list(_read_records(kafka, name)),
            }
            for name, topic in sorted(described.items())
        },
        "offsets": {group: _read_offsets(kafka, group) for group in groups},
    }


def put_service(kafka: Kafka, copy: dict[str, Any]) -> None:
    ids = {}
    for name, topic in copy["topics"].items():
        is_compacted = name.startswith("_")
        kafka.create_topic(name, topic["partitions"], config=_COMPACTED if is_compacted else _KEPT)
        ids[topic["id"]] = kafka.present([name])[name].topic_id
        if topic["records"]:
            send_all(kafka, name, [_parse_record(record) for record in topic["records"]])
    prepare_ledger(kafka, 0)
    for group, offsets in copy["offsets"].items():
        _commit(kafka, group, [_parse_place(place, ids) for place in offsets])


def _read_records(kafka: Kafka, topic: str) -> Iterator[dict[str, Any]]:
    with Reader(kafka, topic, Position("earliest")) as reader:
        found = []
        while not reader.at_end:
            found += reader.read(1000, 0.5)
    for record in sorted(found, key=lambda r: (r.partition, r.offset)):
        told = {"partition": record.partition, "timestamp": record.timestamp}
        yield {**told, "key": _to_text(record.key), "value": _to_text(record.value)}


def _parse_record(told: dict[str, Any]) -> Outgoing:
    key, value = (None if told[n] is None else base64.b64decode(told[n]) for n in ("key", "value"))
    return Outgoing(value, key, timestamp=told["timestamp"], partition=told["partition"])


def _to_text(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def _read_offsets(kafka: Kafka, group: str) -> list[dict[str, Any]]:
    future = kafka.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group]
    places = [place for place in future.result().topic_partitions or [] if place.offset >= 0]
    return [
        {"topic": place.topic, "partition": place.partition, "offset": place.offset, "text": place.metadata or ""}
        for place in sorted(places, key=lambda place: (place.topic, place.partition))
    ]


def _parse_place(told: dict[str, Any], ids: dict[str, str]) -> TopicPartition:
    text = told["text"]
    for old, new in ids.items():
        text = text.replace(old, new)
    assert not text.startswith("z:"), "a packed note: topic ids in it can't be told"
    return TopicPartition(told["topic"], told["partition"], told["offset"], text)


def _commit(kafka: Kafka, group: str, places: list[TopicPartition]) -> None:
    consumer: Consumer = kafka.consumer(group)
    try:
        consumer.commit(offsets=places, asynchronous=False)
    finally:
        consumer.close()

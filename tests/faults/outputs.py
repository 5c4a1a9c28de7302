"""What the statements have written, as anybody would read it: committed records only."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import TopicPartition

from orion.hub.kafka import Kafka
from orion.hub.records import Record


class Outputs:
    """Reads on from where it was; those of the topics that are there."""

    def __init__(self, kafka: Kafka, topics: list[str]) -> None:
        there = {topic.name: topic.partitions for topic in kafka.topics()}
        self._consumer = kafka.consumer(None, **{"fetch.wait.max.ms": 50, "fetch.message.max.bytes": 20_000_000})
        self._consumer.assign([TopicPartition(t, p, 0) for t in topics if t in there for p in range(there[t])])

    def arrived(self) -> Iterator[Record]:
        while messages := self._consumer.consume(5_000, 0.05):
            yield from (Record.of(message) for message in messages if message.error() is None)

    def close(self) -> None:
        self._consumer.close()

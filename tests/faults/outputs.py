"""What the statements have written, as anybody would read it: committed records only."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import TopicPartition

from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Position, Record
from tests.faults.processes import wait_until


class Outputs:
    """Reads on from where it was; those of the topics that are there."""

    def __init__(self, kafka: Kafka, topics: list[str]) -> None:
        self._kafka = kafka
        there = {topic.name: topic.partitions for topic in kafka.topics()}
        self._consumer = kafka.consumer(None, **{"fetch.wait.max.ms": 50, "fetch.message.max.bytes": 20_000_000})
        self._consumer.assign([TopicPartition(t, p, 0) for t in topics if t in there for p in range(there[t])])

    def arrived(self) -> Iterator[Record]:
        while messages := self._consumer.consume(5_000, 0.05):
            yield from (Record.of(message) for message in messages if message.error() is None)

    def log(self, topic: str, deadline_s: float = 120.0) -> list[Record]:
        """Everything in a topic: what is behind an open transaction too."""
        found: list[Record] = []
        with Reader(self._kafka, topic, Position("earliest"), isolation="read_uncommitted") as reader:

            def whole() -> bool:
                found.extend(reader.read(10_000, 0.2))
                return reader.at_end

            wait_until(whole, f"{topic} has no end", deadline_s)
        return found

    def close(self) -> None:
        self._consumer.close()

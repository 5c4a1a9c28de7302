"""Writing to a topic that several processes write to, but never two at a time.

All writers share one transactional id. Whoever opens a producer under it shuts the one before out, at the broker: that
one's next commit fails, and it must look at the topic again before it tries once more. So a record is committed only
by a writer that has seen all records before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import translated

MARK = "orion-write"
_TIMEOUT_S = 30.0
_FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)


class ShutOut(Exception):
    """Another writer has taken over since; nothing was written."""


class ExclusiveWriter:
    def __init__(self, kafka: Kafka, topic: str, writer: str) -> None:
        self._kafka = kafka
        self._topic = topic
        self._id = writer
        self._producer: Producer | None = None

    @property
    def holds(self) -> bool:
        """Whether this writer was the last to open, as far as it knows."""
        return self._producer is not None

    def open(self) -> None:
        """Shut other writers out; what they had under way is undone before this returns."""
        settings = {"transactional.id": self._id, "linger.ms": 0, "transaction.timeout.ms": 30_000}
        producer = self._kafka.producer(**settings)
        with translated(self._kafka.subject(self._topic)):
            producer.init_transactions(_TIMEOUT_S)
        self._producer = producer

    def write(self, records: Iterable[tuple[bytes, bytes | None]], mark: bytes) -> int:
        """Commit all records or none, each with the mark in its headers; the offset of the last.

        A writer that is shut out in the middle can't tell which it was: it must look for its mark in the topic.
        """
        producer = self._producer
        if producer is None:
            raise ShutOut
        offsets: list[int] = []
        failures: list[KafkaError] = []

        def report(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(error)
            else:
                offsets.append(message.offset() or 0)

        try:
            with translated(self._kafka.subject(self._topic)):
                try:
                    producer.begin_transaction()
                    for key, value in records:
                        producer.produce(self._topic, value, key, 0, on_delivery=report, headers=[(MARK, mark)])
                    producer.commit_transaction(_TIMEOUT_S)
                except KafkaException as error:
                    if _taken_over(producer, error, failures):
                        raise ShutOut from error
                    raise
        except BaseException:
            # A new producer ends what is left of this one's transaction.
            self._producer = None
            raise
        return max(offsets)

    def close(self) -> None:
        self._producer = None


def _taken_over(producer: Producer, error: KafkaException, failures: Sequence[KafkaError]) -> bool:
    """Whether another writer is behind a failure; the transaction is undone as far as that is still ours to do."""
    cause = error.args[0]
    if cause.fatal() or cause.code() in _FENCED:
        return True
    try:
        producer.abort_transaction(_TIMEOUT_S)
    except KafkaException:
        return True
    refused = [one for one in failures if one.code() not in (*_FENCED, KafkaError._PURGE_QUEUE)]
    return bool(cause.txn_requires_abort()) and not refused

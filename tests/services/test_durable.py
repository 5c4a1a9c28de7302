"""Single records by a client that is kept: what it was told stands, whatever became of the topic in between."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from orion.errors import OrionError
from orion.hub.durable import DurableWriter
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from tests.scenarios.conftest import everything


def values(kafka: Kafka, topic: str) -> list[bytes | None]:
    return [record.value for record in everything(kafka, topic)]


def test_records_are_there_when_it_says_so_from_any_thread(kafka: Kafka) -> None:
    kafka.create_topic("durable", 1)
    writer = DurableWriter(kafka)
    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda n: writer.write("durable", Outgoing(b"%d" % n, b"k")), range(200)))
    assert sorted(receipt.offset for receipt in receipts) == list(range(200))
    by_offset = {receipt.offset: b"%d" % n for n, receipt in enumerate(receipts)}
    assert values(kafka, "durable") == [by_offset[offset] for offset in range(200)]
    writer.close()
    assert writer.write("durable", Outgoing(b"again")).offset == 200


def test_a_topic_that_was_made_anew_is_written_like_any_other(
    kafka: Kafka, until: Callable[[Callable[[], bool]], None]
) -> None:
    kafka.create_topic("durable-anew", 1)
    writer = DurableWriter(kafka)
    for n in range(3):
        writer.write("durable-anew", Outgoing(b"old %d" % n))
    kafka.delete_topic("durable-anew")
    until(lambda: not kafka.present(["durable-anew"]))
    kafka.create_topic("durable-anew", 1)
    for n in range(3):
        writer.write("durable-anew", Outgoing(b"new %d" % n))
    assert values(kafka, "durable-anew") == [b"new 0", b"new 1", b"new 2"]


def test_what_a_topic_refuses_is_said_and_the_next_one_goes_through(kafka: Kafka) -> None:
    kafka.create_topic("durable-small", 1, config={"max.message.bytes": "1000"})
    writer = DurableWriter(kafka)
    with pytest.raises(OrionError) as refused:
        writer.write("durable-small", Outgoing(b"x" * 5000))
    assert refused.value.code == "RECORD_TOO_LARGE"
    assert writer.write("durable-small", Outgoing(b"fits")).offset == 0

"""orion.Producer and orion.Consumer on a real broker."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

import orion
from orion.errors import Conflict, ExternalError, NotFound, OrionError, SchemaError, UserError
from orion.hub.kafka import Kafka
from orion.hub.reader import Isolation
from orion.plan.sources import WireSchema
from orion.registry.access import Remote

PATIENCE = 90.0
ROOT = Path(__file__).parents[2]


@pytest.fixture
def line(kafka: Kafka, name: str) -> str:
    """A topic of one partition."""
    kafka.create_topic(f"{name}-line", 1)
    return f"{name}-line"


def fill(bootstrap: str, topic: str, count: int) -> None:
    with orion.Producer(bootstrap, value_format="json") as producer:
        for number in range(count):
            producer.send(topic, number)


def everything(bootstrap: str, topic: str, isolation: Isolation = "read_committed", **more: Any) -> list[Any]:
    """The values of all records there are."""
    more.setdefault("value_format", "json")
    with orion.Consumer(topic, bootstrap=bootstrap, isolation=isolation, **more) as consumer:
        taken = []
        while not consumer.at_end:
            taken += consumer.read(1000, 0.2)
        return [message.value for message in taken]


def killed(*arguments: str) -> None:
    command = [sys.executable, "-m", "tests.services.crashing", *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=180)
    assert ran.returncode == -9, ran.stderr.decode()


# ---- sending -----------------------------------------------------------------------------------------------------


def test_three_ways_of_sending(bootstrap: str, line: str) -> None:
    told: list[tuple[OrionError | None, orion.Receipt | None, str]] = []
    with orion.Producer(bootstrap, key_format="string", value_format="json") as producer:
        producer.send(line, {"n": 0}, key="a", headers={"from": "web", "none": None}, timestamp=1_700_000_000_123)
        receipt = producer.send_sync(line, {"n": 1})
        future = producer.send_async(
            line, {"n": 2}, on_delivery=lambda error, got: told.append((error, got, threading.current_thread().name))
        )
        assert future.result(PATIENCE).offset == 2
    assert (receipt.topic, receipt.partition, receipt.offset) == (line, 0, 1)
    assert [(error, got and got.offset) for error, got, _ in told] == [(None, 2)]
    assert told[0][2] == "orion-producer"
    with orion.Consumer(line, bootstrap=bootstrap, key_format="string", value_format="json") as consumer:
        first, *rest = consumer.read(3, PATIENCE)
    assert (first.key, first.value, first.timestamp) == ("a", {"n": 0}, 1_700_000_000_123)
    assert first.headers == (("from", b"web"), ("none", None))
    assert [(one.offset, one.value) for one in rest] == [(1, {"n": 1}), (2, {"n": 2})]


def test_a_record_that_is_refused_says_why(bootstrap: str, topic: str) -> None:
    with orion.Producer(bootstrap) as producer:
        with pytest.raises(NotFound, match="There is no topic nowhere"):
            producer.send("nowhere", b"x")
        with pytest.raises(UserError) as caught:
            producer.send_sync(topic, bytes(2_000_000))
        assert caught.value.code == "RECORD_TOO_LARGE"
        with pytest.raises(NotFound) as missing:
            producer.send_async(topic, b"x", partition=99).result(PATIENCE)
        assert missing.value.code == "PARTITION_NOT_FOUND"


def test_strict_order_is_one_partition(bootstrap: str, topic: str, line: str) -> None:
    with orion.Producer(bootstrap, ordered=True, profile="throughput") as producer:
        with pytest.raises(UserError) as caught:
            producer.send(topic, b"x")
        assert caught.value.code == "NOT_ORDERED"
        futures = [producer.send_async(line, str(n).encode(), key=str(n).encode()) for n in range(100)]
        assert [future.result(PATIENCE).offset for future in futures] == list(range(100))


# ---- committing --------------------------------------------------------------------------------------------------


def resumes_at(bootstrap: str, topic: str, group: str, **settings: Any) -> int:
    """The offset at which a new member of the group begins."""
    with orion.Consumer(topic, bootstrap=bootstrap, group=group, commit="sync", settings=settings) as consumer:
        (first,) = consumer.read(1, PATIENCE)
        return first.offset


def test_where_a_crash_resumes_is_where_the_commit_stood(bootstrap: str, line: str) -> None:
    fill(bootstrap, line, 6)
    killed("reading", bootstrap, line)
    found = {
        plan: resumes_at(bootstrap, line, f"{line}-{plan}", **{"group.instance.id": plan})
        for plan in ("auto", "after", "before")
    }
    # By itself nothing was committed yet: all three are done again. Committed after the work, the third is done again;
    # committed before it, the third is lost.
    assert found == {"auto": 0, "after": 2, "before": 3}


@pytest.mark.parametrize(
    ("mode", "resumed"),
    [
        ("auto", 3),  # all that the program was given
        ("sync", 2),  # what it has said
        ("async-then-sync", 2),  # that too, and waited for
    ],
)
def test_what_close_commits(bootstrap: str, line: str, mode: Any, resumed: int) -> None:
    fill(bootstrap, line, 5)
    with orion.Consumer(line, bootstrap=bootstrap, group=line, commit=mode) as consumer:
        consumer.read(2, PATIENCE)
        consumer.commit()
        consumer.read(1, PATIENCE)
    assert resumes_at(bootstrap, line, line) == resumed


def test_an_async_commit_arrives_when_it_does(
    bootstrap: str, kafka: Kafka, line: str, until: Callable[[Callable[[], bool]], None]
) -> None:
    fill(bootstrap, line, 5)
    with orion.Consumer(line, bootstrap=bootstrap, group=line, commit="async") as consumer:
        consumer.read(2, PATIENCE)
        consumer.commit()
        until(lambda: [part.committed for part in kafka.describe_group(line).progress] == [2])
        consumer.read(1, PATIENCE)
    assert resumes_at(bootstrap, line, line) == 2


def test_an_exception_leaves_the_record_it_came_from_to_be_done_again(bootstrap: str, line: str) -> None:
    fill(bootstrap, line, 5)

    def work() -> None:
        with orion.Consumer(line, bootstrap=bootstrap, group=line, value_format="json") as consumer:
            for message in consumer:
                if message.value == 3:
                    raise RuntimeError

    with pytest.raises(RuntimeError):
        work()
    assert resumes_at(bootstrap, line, line) == 3


def test_partitions_come_and_go_and_places_can_be_sought(bootstrap: str, topic: str) -> None:
    come: list[tuple[str, int]] = []
    gone: list[tuple[str, int]] = []
    all_of_them = [(topic, number) for number in range(3)]
    fill(bootstrap, topic, 30)
    with orion.Consumer(
        topic, bootstrap=bootstrap, group=topic, on_assign=come.extend, on_revoke=gone.extend, timeout=2.0
    ) as consumer:
        first = next(iter(consumer))
        assert come == consumer.assignment == all_of_them
        consumer.seek(topic, first.partition, first.offset)
        again = [message for message in consumer.read(31, 1.0) if message.place == first.place]
        assert again[0].offset == first.offset
        with pytest.raises(UserError, match="doesn't have partition 7"):
            consumer.seek(topic, 7, 0)
    assert gone == all_of_them


# ---- transactions ------------------------------------------------------------------------------------------------


def test_a_transaction_is_seen_whole_or_not_at_all(bootstrap: str, line: str) -> None:
    with orion.Producer(bootstrap, transactional_id=line, value_format="json") as producer:
        with producer.transaction():
            producer.send(line, "a")
            assert producer.send_sync(line, "b").offset == 1
            assert everything(bootstrap, line) == []
        with pytest.raises(ZeroDivisionError), producer.transaction():
            _ = producer.send_sync(line, "never").offset / 0
        with producer.transaction():
            producer.send(line, "c")
        with pytest.raises(UserError, match="none is open"):
            producer.send(line, "outside")
    assert everything(bootstrap, line) == ["a", "b", "c"]
    assert everything(bootstrap, line, "read_uncommitted") == ["a", "b", "never", "c"]


def test_read_process_write_is_once_over_a_crash(bootstrap: str, kafka: Kafka, line: str) -> None:
    target = f"{line}-copy"
    kafka.create_topic(target, 1)
    fill(bootstrap, line, 7)
    killed("copying", bootstrap, line, target)
    with (
        orion.Producer(bootstrap, transactional_id=line) as producer,
        orion.Consumer(
            line, bootstrap=bootstrap, group=line, commit="sync", settings={"group.instance.id": "copy"}, timeout=1.0
        ) as consumer,
    ):
        for message in consumer:
            with producer.transaction(consumer):
                producer.send(target, message.value)
    assert everything(bootstrap, target) == [0, 1, 2, 3, 4, 5, 6]
    # 2 and 3 were written before the crash as well, and taken back.
    assert everything(bootstrap, target, "read_uncommitted") == [0, 1, 2, 3, 2, 3, 4, 5, 6]


def test_an_aborted_transaction_reads_its_records_again(bootstrap: str, kafka: Kafka, line: str) -> None:
    target = f"{line}-copy"
    kafka.create_topic(target, 1)
    fill(bootstrap, line, 4)
    stumbled: list[int] = []
    with (
        orion.Producer(bootstrap, transactional_id=line) as producer,
        orion.Consumer(
            line, bootstrap=bootstrap, group=line, commit="sync", value_format="json", timeout=1.0
        ) as consumer,
    ):
        for message in consumer:
            try:
                with producer.transaction() as transaction:
                    producer.send(target, message.raw.value)
                    transaction.offsets(consumer)
                    if message.value in (0, 2) and message.value not in stumbled:
                        stumbled.append(message.value)
                        raise RuntimeError
            except RuntimeError:
                continue
    assert everything(bootstrap, target) == [0, 1, 2, 3]
    assert resumes_nowhere(bootstrap, line)


def resumes_nowhere(bootstrap: str, group: str) -> bool:
    (progress,) = Kafka(bootstrap).describe_group(group).progress
    return progress.lag == 0


def test_a_consumer_that_commits_by_itself_is_no_part_of_a_transaction(bootstrap: str, line: str) -> None:
    fill(bootstrap, line, 1)
    with (
        orion.Producer(bootstrap, transactional_id=line) as producer,
        orion.Consumer(line, bootstrap=bootstrap, group=line) as consumer,
    ):
        consumer.read(1, PATIENCE)
        with pytest.raises(UserError, match="commits by itself"), producer.transaction() as transaction:
            transaction.offsets(consumer)


def test_a_second_producer_takes_the_id_over(bootstrap: str, line: str) -> None:
    first = orion.Producer(bootstrap, transactional_id=line, value_format="json")

    def overtaken() -> None:
        with first.transaction():
            first.send_sync(line, "first")
            with orion.Producer(bootstrap, transactional_id=line, value_format="json") as second, second.transaction():
                second.send(line, "second")

    with pytest.raises(Conflict) as caught:
        overtaken()
    assert caught.value.code == "PRODUCER_FENCED"
    assert line in caught.value.message
    with pytest.raises(Conflict) as still, first.transaction():
        pass
    assert still.value.code == "PRODUCER_FENCED"
    assert everything(bootstrap, line) == ["second"]


# ---- formats -----------------------------------------------------------------------------------------------------

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "items", "type": {"type": "array", "items": "string"}}],
    }
)
POINT = '{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": false}'
RIDE = """syntax = "proto3";
message Ride {
  enum Kind { SHORT = 0; LONG = 1; }
  message Stop { string name = 1; }
  int64 id = 1;
  Kind kind = 2;
  repeated Stop stops = 3;
  map<string, int32> fares = 4;
  optional string note = 5;
}"""


@pytest.mark.parametrize(
    ("form", "schema", "value", "unfit"),
    [
        ("avro", ORDER, {"id": 2**40, "items": ["a", "b"]}, {"id": "x", "items": []}),
        ("json_sr", POINT, {"x": 7}, {"x": "seven"}),
        (
            "protobuf",
            RIDE,
            {"id": 2**40, "kind": "LONG", "stops": [{"name": "A"}], "fares": {"day": 3}, "note": None},
            {"wheels": 4},
        ),
    ],
)
def test_a_schema_goes_through_the_registry(
    bootstrap: str, line: str, registry_url: str, form: Any, schema: str, value: Any, unfit: Any
) -> None:
    with orion.Producer(bootstrap, value_format=form, value_schema=schema, registry=registry_url) as producer:
        producer.send(line, value)
        producer.send(line, None)
        with pytest.raises(SchemaError):
            producer.send(line, unfit)
    # By the latest schema of the topic, which is there now.
    with orion.Producer(bootstrap, value_format=form, registry=registry_url) as producer:
        producer.send(line, value)
    with orion.Producer(bootstrap) as plain:
        plain.send(line, b"no header")
        plain.send(line, b"\0\0\0\x27\x0fbody")
    with orion.Consumer(line, bootstrap=bootstrap, value_format=form, registry=registry_url) as consumer:
        first, tombstone, second, headless, unknown = consumer.read(5, PATIENCE)
    assert (first.value, tombstone.value, second.value) == (value, None, value)
    assert first.raw.value is not None
    assert first.raw.value[:5] == b"\0\0\0\0\x01"
    assert [one.error and one.error.code for one in (first, headless, unknown)] == [
        None,
        "RECORD_UNFIT",
        "SCHEMA_UNKNOWN",
    ]
    with pytest.raises(SchemaError):
        _ = headless.value


class Faltering(Remote):
    """A registry that doesn't answer the second question."""

    asked = 0

    def by_id(self, number: int) -> WireSchema | None:
        self.asked += 1
        if self.asked == 2:
            raise ExternalError("REGISTRY_UNREACHABLE", "No schema registry answers.")
        return super().by_id(number)


@pytest.mark.parametrize("most", [1, 3])
def test_a_registry_that_doesnt_answer_costs_no_record(bootstrap: str, line: str, registry_url: str, most: int) -> None:
    with orion.Producer(bootstrap, value_format="avro", value_schema='"long"', registry=registry_url) as producer:
        for number in range(3):
            producer.send(line, number)
    access = Faltering(registry_url)
    read: list[int] = []
    failed = 0
    with orion.Consumer(line, bootstrap=bootstrap, value_format="avro", registry=access) as consumer:
        while len(read) < 3:
            try:
                read += [message.value for message in consumer.read(min(most, 3 - len(read)), PATIENCE)]
            except ExternalError:
                failed += 1
    assert read == [0, 1, 2]
    # Of several, those before it are given first, and by the next call it answers again.
    assert failed == (1 if most == 1 else 0)


def test_others_read_what_we_write(bootstrap: str, line: str, registry_url: str, client: SchemaRegistryClient) -> None:
    with orion.Producer(bootstrap, value_format="avro", value_schema=ORDER, registry=registry_url) as producer:
        producer.send(line, {"id": 1, "items": ["a"]})
    (raw,) = everything(bootstrap, line, value_format="bytes")
    context = SerializationContext(line, MessageField.VALUE)
    assert AvroDeserializer(client)(raw, context) == {"id": 1, "items": ["a"]}


# ---- the fast lane's headers -------------------------------------------------------------------------------------


def test_repeats_are_dropped_and_the_rows_time_is_told(bootstrap: str, line: str) -> None:
    with orion.Producer(bootstrap, value_format="json") as producer:
        for offset in (1, 2, 1, 2, 3):
            headers = {"orion.id": f"Q_1/plays/0/{offset}/0", "orion.rowtime": str(1000 + offset)}
            producer.send(line, offset, headers=headers, timestamp=5_000_000)
        producer.send(line, 4, timestamp=5_000_000)
    assert everything(bootstrap, line, distinct=True) == [1, 2, 3, 4]
    assert everything(bootstrap, line) == [1, 2, 1, 2, 3, 4]
    with orion.Consumer(line, bootstrap=bootstrap, distinct=True) as consumer:
        times = [message.rowtime for message in consumer.read(4, PATIENCE)]
    assert times == [1001, 1002, 1003, 5_000_000]


# ---- profiles ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["throughput", "latency", "durability", "availability"])
def test_clients_work_in_each_profile(bootstrap: str, line: str, profile: str) -> None:
    with orion.Producer(bootstrap, profile=profile, value_format="json") as producer:
        assert producer.send_sync(line, profile).offset == 0
    with orion.Consumer(
        line, bootstrap=bootstrap, group=line, profile=profile, value_format="json", timeout=10.0
    ) as consumer:
        assert next(iter(consumer)).value == profile
        assert consumer.mode == ("sync" if profile == "durability" else "auto")


# ---- the page about them -----------------------------------------------------------------------------------------


def test_the_snippets_of_the_page_run(
    bootstrap: str, kafka: Kafka, registry_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ORION_HUB__BOOTSTRAP", bootstrap)
    monkeypatch.setenv("ORION_REGISTRY__URL", registry_url)
    names = ("clicks", "bills", "orders", "invoices", "avro_orders", "ledger")
    for made in names:
        kafka.create_topic(made, 1, exist_ok=True)
    try:
        page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
        world: dict[str, Any] = {}
        for snippet in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            if "server" not in snippet:  # those want a platform, and run in tests/scenarios/test_ksql_clients.py
                exec(snippet, world)
        shown = capsys.readouterr().out.splitlines()
        assert [line.split()[:4] for line in shown[1:4]] == [
            ["u-1", "{'page':", "'/'}", shown[1].split()[-1]],
            ["u-1", "{'page':", "'/cart'}", shown[2].split()[-1]],
            ["u-1", "{'page':", "'/pay'}", "1767225600000"],
        ]
        assert shown[-1] == "{'id': 1}"
        assert everything(bootstrap, "invoices") == [{"order": 1, "state": "billed"}]
        assert everything(bootstrap, "ledger", value_format="string") == ["first", "second"]
    finally:
        for made in names:
            kafka.delete_topic(made, missing_ok=True)

"""Formats with a registry's schemas on a real broker: Confluent's clients write what queries read, and read theirs."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from orion.app import Orion
from orion.config import load
from orion.errors import OrionError
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.registry.access import Remote
from orion.registry.log import MemoryLog
from orion.registry.store import Registry
from orion.runtime.engine import Engine
from orion.runtime.push import PushQuery
from orion.runtime.queries import QueryStatus
from orion.runtime.session import Spark
from orion.web.platform import serving_registry
from orion.web.sockets import bound
from tests.scenarios.conftest import Await, everything


def record(name: str, *fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": name, "fields": fields})


ID, ITEM = {"name": "id", "type": "long"}, {"name": "item", "type": "string"}
PRICE = {"name": "price", "type": ["null", "double"], "default": None}


@dataclass
class Door:
    """A registry's address, which can be shut and opened again."""

    registry: Registry
    port: int
    _open: ExitStack = field(default_factory=ExitStack)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open(self) -> None:
        sock = self._open.enter_context(closing(bound("127.0.0.1", self.port)))
        self._open.enter_context(serving_registry(self.registry, sock))

    def shut(self) -> None:
        self._open.close()


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    made = Door(Registry(MemoryLog()), port)
    made.open()
    yield made
    made.shut()


@pytest.fixture(scope="module")
def orion(kafka: Kafka, spark: Spark, scratch: Path, door: Door) -> Iterator[Orion]:
    flags = {"data": scratch / "schemas", "hub.bootstrap": kafka.bootstrap, "engine.trigger_ms": 50}
    config = load(flags=flags | {"service_id": "schemas"})
    with Orion.over(Engine(config, kafka, spark, Remote(door.url))) as started:
        yield started


@pytest.fixture(scope="module")
def client(door: Door) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": door.url}) as made:
        yield made


def at(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def send(orion: Orion, client: SchemaRegistryClient, topic: str, schema: str, *values: dict[str, Any]) -> None:
    orion.kafka.create_topic(topic, 1, exist_ok=True)
    write = AvroSerializer(client, schema)
    send_all(orion.kafka, topic, [Outgoing(write(value, at(topic))) for value in values])


def status(orion: Orion, sink: str) -> QueryStatus:
    return next(q for q in orion.queries() if q.sink == sink)


def test_avro_is_inferred_written_and_evolves(orion: Orion, client: SchemaRegistryClient, until: Await) -> None:
    send(orion, client, "ev", record("Order", ID, ITEM), {"id": 1, "item": "book"}, {"id": 2, "item": "pen"})
    orion.execute(
        "CREATE STREAM ev WITH (kafka_topic='ev', value_format='AVRO');"
        "CREATE STREAM ev_out AS SELECT id, UCASE(item) AS item FROM ev WHERE id <> 2 EMIT CHANGES;"
    )
    assert "EV_OUT-value" in client.get_subjects()  # before anybody could have read a record of it
    read = AvroDeserializer(client)

    def found() -> list[Any]:
        return [read(r.value, at("EV_OUT")) for r in everything(orion.kafka, "EV_OUT")]

    until(lambda: found() == [{"ID": 1, "ITEM": "BOOK"}], 90)
    before = status(orion, "EV_OUT").restarts
    # A writer moves on to a new version while the query runs; another one still writes the old.
    send(orion, client, "ev", record("Order", ID, ITEM, PRICE), {"id": 3, "item": "cup", "price": 1.5})
    send(orion, client, "ev", record("Order", ID, ITEM), {"id": 4, "item": "ink"})
    until(lambda: len(found()) == 3, 90)
    assert found() == [{"ID": 1, "ITEM": "BOOK"}, {"ID": 3, "ITEM": "CUP"}, {"ID": 4, "ITEM": "INK"}]
    assert status(orion, "EV_OUT").restarts == before + 1
    assert everything(orion.kafka, "dlq.EV_OUT") == []


def test_what_a_query_remembers_survives_a_new_schema(orion: Orion, client: SchemaRegistryClient, until: Await) -> None:
    old, new = record("Kept", ID, ITEM), record("Kept", ID, ITEM, PRICE)
    send(orion, client, "kept", old, *({"id": n, "item": "book"} for n in range(5)))
    orion.execute(
        "CREATE STREAM kept WITH (kafka_topic='kept', value_format='AVRO');"
        "CREATE TABLE kept_n WITH (key_format='AVRO') AS SELECT item, COUNT(*) AS n, SUM(id) AS s FROM kept "
        "GROUP BY item HAVING COUNT(*) > 1 EMIT CHANGES;"
    )
    read = AvroDeserializer(client)

    def last() -> Any:
        found = everything(orion.kafka, "KEPT_N")
        return read(found[-1].value, at("KEPT_N")) if found else None

    until(lambda: last() == {"N": 5, "S": 10}, 90)
    send(orion, client, "kept", new, {"id": 5, "item": "book", "price": 1.0})
    until(lambda: last() == {"N": 6, "S": 15}, 90)
    assert status(orion, "KEPT_N").restarts == 1


def test_what_can_not_be_read_is_a_dead_letter_with_its_reason(
    orion: Orion, client: SchemaRegistryClient, until: Await
) -> None:
    send(orion, client, "bad", record("Order", ID, ITEM), {"id": 1, "item": "book"})
    good = everything(orion.kafka, "bad")[0].value
    assert good is not None
    orion.execute(
        "CREATE STREAM bad WITH (kafka_topic='bad', value_format='AVRO');"
        "CREATE STREAM bad_out WITH (value_format='JSON') AS SELECT * FROM bad EMIT CHANGES;"
    )
    until(lambda: len(everything(orion.kafka, "BAD_OUT")) == 1, 90)
    wrong = [b'{"id": 2}', b"\x00\x00", b"\x00\x00\x0f\x42\x40" + good[5:], good[:-2]]
    send_all(orion.kafka, "bad", [*map(Outgoing, wrong), Outgoing(good)])
    until(lambda: len(everything(orion.kafka, "BAD_OUT")) == 2, 90)
    letters = everything(orion.kafka, "dlq.BAD_OUT")
    assert [r.value for r in letters] == wrong
    number = int.from_bytes(good[1:5], "big")
    assert [dict(r.headers)["orion.error.reason"] for r in letters] == [
        b"no schema is named: there is no zero byte with an id of four behind it",
        b"no schema is named: there is no zero byte with an id of four behind it",
        b"the registry knows no schema 1000000",
        b"the bytes do not fit schema %d" % number,
    ]


def test_known_ids_go_on_without_the_registry_and_unknown_ones_wait(
    orion: Orion, client: SchemaRegistryClient, door: Door, until: Await
) -> None:
    # Of a name of its own, so that no other test has asked for it before.
    old, new = record("Away", ID, ITEM), record("Away", ID, ITEM, PRICE)
    send(orion, client, "away", old, {"id": 1, "item": "book"})
    orion.execute(
        "CREATE STREAM away WITH (kafka_topic='away', value_format='AVRO');"
        "CREATE STREAM away_out WITH (value_format='JSON') AS SELECT id FROM away EMIT CHANGES;"
    )
    until(lambda: len(everything(orion.kafka, "AWAY_OUT")) == 1, 90)
    known = AvroSerializer(client, old)({"id": 2, "item": "pen"}, at("away"))
    unknown = AvroSerializer(client, new)({"id": 3, "item": "cup", "price": None}, at("away"))
    door.shut()
    try:
        send_all(orion.kafka, "away", [Outgoing(known)])
        until(lambda: len(everything(orion.kafka, "AWAY_OUT")) == 2, 90)
        send_all(orion.kafka, "away", [Outgoing(unknown), Outgoing(known)])
        until(lambda: status(orion, "AWAY_OUT").state == "WAITING", 90)
        told = status(orion, "AWAY_OUT").error or ""
        assert "away-value" in told
        assert "No schema registry answers" in told
        assert len(everything(orion.kafka, "AWAY_OUT")) == 2
    finally:
        door.open()
    until(lambda: len(everything(orion.kafka, "AWAY_OUT")) == 4, 90)
    assert [json.loads(r.value or b"")["ID"] for r in everything(orion.kafka, "AWAY_OUT")] == [1, 2, 3, 2]
    until(lambda: status(orion, "AWAY_OUT").state == "RUNNING", 90)
    assert everything(orion.kafka, "dlq.AWAY_OUT") == []


def test_a_push_query_learns_a_new_schema_too(orion: Orion, client: SchemaRegistryClient) -> None:
    send(orion, client, "pushed", record("Order", ID, ITEM), {"id": 1, "item": "book"})
    orion.execute("CREATE STREAM pushed WITH (kafka_topic='pushed', value_format='AVRO');")
    rows = orion.push("SELECT id FROM pushed EMIT CHANGES LIMIT 2;", {"auto.offset.reset": "earliest"})
    assert isinstance(rows, PushQuery)
    with rows:
        given = iter(rows)
        assert next(given) == [1]
        send(orion, client, "pushed", record("Order", ID, ITEM, PRICE), {"id": 2, "item": "pen", "price": 2.0})
        assert next(given) == [2]


def test_rows_are_inserted_by_the_topics_own_schema(orion: Orion, client: SchemaRegistryClient) -> None:
    send(orion, client, "ins", record("Order", ID, ITEM, PRICE), {"id": 1, "item": "book", "price": 3.5})
    orion.execute(
        "CREATE STREAM ins WITH (kafka_topic='ins', value_format='AVRO');"
        "INSERT INTO ins (id, item) VALUES (2, 'pen');"
        "CREATE STREAM js (k STRING KEY, v DECIMAL(4, 2)) WITH (kafka_topic='js', format='JSON_SR', partitions=1);"
        "INSERT INTO js VALUES ('a', 1.5);"
        "ASSERT SCHEMA SUBJECT 'js-value'; ASSERT NOT EXISTS SCHEMA SUBJECT 'nothing-value';"
    )
    read = AvroDeserializer(client)
    values = [read(r.value, at("ins")) for r in everything(orion.kafka, "ins")]
    assert values == [{"id": 1, "item": "book", "price": 3.5}, {"id": 2, "item": "pen", "price": None}]
    (row,) = everything(orion.kafka, "js")
    schema = client.get_latest_version("js-value").schema.schema_str or ""
    assert JSONDeserializer(schema, schema_registry_client=client)(row.value, at("js")) == {"V": 1.5}
    assert (row.key or b"")[5:] == b'"a"'


def test_a_registrys_login_is_shown_nowhere(kafka: Kafka, spark: Spark, scratch: Path) -> None:
    url = "http://ada:geheim@127.0.0.1:9/"
    flags = {"data": scratch / "login", "hub.bootstrap": kafka.bootstrap, "registry.url": url, "service_id": "login"}
    with Orion.over(Engine(load(flags=flags), kafka, spark, Remote(url))) as orion:
        (shown,) = orion.execute("SHOW PROPERTIES;")
        assert "geheim" not in json.dumps(shown)
        assert "http://127.0.0.1:9/" in json.dumps(shown)
        with pytest.raises(OrionError, match=r"No schema registry answers at http://127\.0\.0\.1:9") as told:
            orion.execute("CREATE STREAM l WITH (kafka_topic='l', value_format='AVRO');")
    assert "geheim" not in f"{told.value.as_dict()}"


def test_a_topic_that_is_dropped_takes_its_schemas_along(orion: Orion, client: SchemaRegistryClient) -> None:
    first = "CREATE STREAM gone (k INT KEY, v INT) WITH (kafka_topic='gone', format='AVRO', partitions=1);"
    orion.execute(first + "INSERT INTO gone VALUES (1, 1);")
    orion.execute("DROP STREAM gone DELETE TOPIC;")
    assert not {"gone-key", "gone-value"} & set(client.get_subjects())
    other = first.replace("v INT", "v STRING")  # which could never follow the one before
    orion.execute(other + "INSERT INTO gone VALUES (1, 'a');")
    (row,) = everything(orion.kafka, "gone")
    assert AvroDeserializer(client)(row.value, at("gone")) == {"V": "a"}

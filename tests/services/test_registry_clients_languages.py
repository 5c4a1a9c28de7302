"""The registry's clients of other languages, over a real broker: each reads what Python wrote, and the other way round.

The programs are in tests/clients. What they need is fetched by their own package managers, once, into Orion's cache.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Outgoing, Position
from orion.hub.writer import send_all
from tests.languages import CLIENTS, COPY, INSTALL_S, RUN_S, Language, make_node, need, ran

SCHEMAS = CLIENTS / "schemas"

JAR = "org.apache.pinot:pinot-confluent-avro:1.5.0:jar:shaded"
JAR_SHA256 = "fcba31945ab17f393008f46975b37dd12516e59f536b0bec5a19ab9fd84464d1"


def make_go(sources: Path, folder: Path) -> None:
    ran("go", "build", "-buildvcs=false", "-o", str(folder / "orders"), ".", cwd=sources, timeout=INSTALL_S)


def make_java(sources: Path, folder: Path) -> None:
    ran(
        *("mvn", "--batch-mode", "--quiet", COPY, f"-Dartifact={JAR}", f"-DoutputDirectory={folder}"),
        cwd=folder,
        timeout=INSTALL_S,
    )
    (jar,) = folder.glob("*.jar")
    assert hashlib.sha256(jar.read_bytes()).hexdigest() == JAR_SHA256
    source = str(sources / "Orders.java")
    ran("javac", "--release", "17", "-cp", str(jar), "-d", str(folder), source, cwd=folder, timeout=INSTALL_S)


LANGUAGES = (
    Language("node", ("node", "npm"), make_node, ("node", "orders.js")),
    Language("go", ("go",), make_go, ("./orders",)),
    Language("java", ("java", "javac", "mvn"), make_java, ("java", "-cp", f".{os.pathsep}*", "Orders"), JAR_SHA256),
)


def at(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def values(kafka: Kafka, topic: str) -> list[bytes | None]:
    with Reader(kafka, topic, Position("earliest")) as reader:
        found = []
        while not reader.at_end:
            found += reader.read(10, 1.0)
    return [record.value for record in found]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_each_reads_what_the_other_wrote(
    language: Language, registry_url: str, client: SchemaRegistryClient, kafka: Kafka, name: str
) -> None:
    need(language)
    for topic in (name, f"{name}-baskets", f"{name}-json", f"{name}-protobuf"):
        kafka.create_topic(topic, 1)
    ours = {"id": 0, "item": "python"}
    write = AvroSerializer(client, (SCHEMAS / "order-1.avsc").read_text())
    send_all(kafka, name, [Outgoing(write(ours, at(name)))])

    told = ran(
        *(*language.start, registry_url, kafka.bootstrap, name, str(SCHEMAS)), cwd=language.ready(), timeout=RUN_S
    )
    answer: dict[str, Any] = json.loads(told)

    orders = [ours, {"id": 1, "item": language.name}, {"id": 2, "item": language.name, "note": "gift"}]
    basket = {"customer": "Ann", "orders": [{"id": 3, "item": language.name}]}
    assert (answer["ids"], answer["refused"]) == ([1, 2], 409)
    assert (answer["orders"], answer["baskets"]) == (orders, [basket])
    read = AvroDeserializer(client)
    assert [read(value, at(name)) for value in values(kafka, name)] == orders
    assert [read(value, at(name)) for value in values(kafka, f"{name}-baskets")] == [basket]
    assert client.get_versions(f"{name}-value") == [1, 2]
    assert client.get_referenced_by(f"{name}-value", 1) == [3]
    if language.name == "node":
        assert (answer["json"], answer["protobuf"]) == ([basket], [basket])
        # Protobuf stays between Node and Node: its library leaves out which message of the file a record is.
        json_basket = JSONDeserializer(None, schema_registry_client=client)
        assert [json_basket(value, at(name)) for value in values(kafka, f"{name}-json")] == [basket]

"""Confluent's own Python serializers, and Orion's commands, over a registry that answers HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as ClientSchema
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from typer.testing import CliRunner

from orion.cli import app
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Outgoing, Position
from orion.hub.writer import send_all
from orion.registry.parsing import protobuf

FIELDS = '[{"name": "id", "type": "long"}, {"name": "item", "type": "string"}]'
ORDER = f'{{"type": "record", "name": "Order", "fields": {FIELDS}}}'


def at(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def through(kafka: Kafka, topic: str, value: bytes | None) -> bytes | None:
    """A value as it comes back from a topic."""
    kafka.create_topic(topic, 1, exist_ok=True)
    send_all(kafka, topic, [Outgoing(value)])
    with Reader(kafka, topic, Position("earliest")) as reader:
        while not (found := reader.read(1, 1.0)):
            pass
    return found[-1].value


def test_avro(client: SchemaRegistryClient, kafka: Kafka) -> None:
    order = {"id": 7, "item": "book"}
    sent = AvroSerializer(client, ORDER)(order, at("avro-orders"))
    assert sent is not None
    assert sent[:5] == b"\x00\x00\x00\x00\x01"
    assert AvroDeserializer(client)(through(kafka, "avro-orders", sent), at("avro-orders")) == order
    assert client.get_subjects() == ["avro-orders-value"]
    assert json.loads(client.get_latest_version("avro-orders-value").schema.schema_str or "") == json.loads(ORDER)


def test_avro_over_a_reference(client: SchemaRegistryClient) -> None:
    client.register_schema("order", ClientSchema(ORDER, "AVRO"))
    orders = {"name": "orders", "type": {"type": "array", "items": "Order"}}
    text = json.dumps({"type": "record", "name": "Basket", "fields": [orders]})
    schema = ClientSchema(text, "AVRO", [SchemaReference("Order", "order", 1)])
    basket = {"orders": [{"id": 1, "item": "a"}]}
    sent = AvroSerializer(client, schema)(basket, at("baskets"))
    assert AvroDeserializer(client)(sent, at("baskets")) == basket
    assert client.get_referenced_by("order", 1) == [2]


def test_json_schema(client: SchemaRegistryClient, kafka: Kafka) -> None:
    text = json.dumps({"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}})
    sent = JSONSerializer(text, client)({"id": 7}, at("json-orders"))
    assert JSONDeserializer(text)(through(kafka, "json-orders", sent), at("json-orders")) == {"id": 7}
    assert client.get_latest_version("json-orders-value").schema.schema_type == "JSON"


def test_json_schema_over_a_reference(client: SchemaRegistryClient, kafka: Kafka) -> None:
    order = {"$id": "order.json", "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    client.register_schema("order", ClientSchema(json.dumps(order), "JSON"))
    basket = {"title": "Basket", "type": "object", "properties": {"orders": {"items": {"$ref": "order.json"}}}}
    schema = ClientSchema(json.dumps(basket), "JSON", [SchemaReference("order.json", "order", 1)])
    write = JSONSerializer(schema, client)
    sent = write({"orders": [{"id": 1}]}, at("json-baskets"))
    read = JSONDeserializer(None, schema_registry_client=client)
    assert read(through(kafka, "json-baskets", sent), at("json-baskets")) == {"orders": [{"id": 1}]}
    assert client.get_referenced_by("order", 1) == [2]
    with pytest.raises(SerializationError, match="required property"):
        write({"orders": [{}]}, at("json-baskets"))


def test_protobuf_with_an_import(client: SchemaRegistryClient, kafka: Kafka) -> None:
    customer = 'syntax = "proto3"; package shop; message Customer { string name = 1; }'
    text = 'syntax = "proto3"; package shop; import "customer.proto"; message Order { int64 id = 1; Customer who = 2; }'
    pool = descriptor_pool.DescriptorPool()
    for name, body, around in (("customer.proto", customer, {}), ("order.proto", text, {"customer.proto": customer})):
        file = FileDescriptorProto()
        file.CopyFrom(protobuf.parse(body, around).file)
        file.name = name
        pool.AddSerializedFile(file.SerializeToString())
    kind: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
    order = kind(id=7)
    order.who.name = "Ann"
    sent = ProtobufSerializer(kind, client, {"use.deprecated.format": False})(order, at("proto-orders"))
    back = through(kafka, "proto-orders", sent)
    found = ProtobufDeserializer(kind, {"use.deprecated.format": False}, client)(back, at("proto-orders"))
    assert (found.id, found.who.name) == (7, "Ann")
    assert sorted(client.get_subjects()) == ["customer.proto", "proto-orders-value"]
    assert (client.get_latest_version("proto-orders-value").schema.schema_str or "").startswith("syntax")


def test_the_rest_of_the_client(client: SchemaRegistryClient) -> None:
    assert client.register_schema("a/b", ClientSchema(ORDER, "AVRO"), normalize_schemas=True) == 1
    assert client.get_versions("a/b") == [1]
    assert client.lookup_schema("a/b", ClientSchema(ORDER, "AVRO")).version == 1
    assert client.get_schema_types() == ["JSON", "PROTOBUF", "AVRO"]
    assert client.get_contexts() == ["."]
    assert client.get_subjects_by_schema_id(1) == ["a/b"]
    assert client.get_compatibility() == "BACKWARD"
    client.set_compatibility("a/b", "NONE")
    assert client.get_compatibility("a/b") == "NONE"
    assert client.test_compatibility("a/b", ClientSchema('"int"', "AVRO"))
    client.update_mode("a/b", "READONLY")
    assert client.get_mode("a/b") == "READONLY"
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema("a/b", ClientSchema('"int"', "AVRO"))
    assert (refused.value.http_status_code, refused.value.error_code) == (422, 42205)
    client.delete_mode("a/b")
    assert client.delete_subject("a/b") == [1]
    assert client.delete_subject("a/b", permanent=True) == [1]
    with pytest.raises(SchemaRegistryError) as missing:
        client.get_latest_version("a/b")
    assert missing.value.error_code == 40401


def test_orion_schemas(registry_url: str, tmp_path: Path) -> None:
    def orion(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, ["schemas", *arguments, "--url", registry_url])
        assert result.exit_code == code, (result.output, result.stderr)
        return result.stdout

    file, other = tmp_path / "order.avsc", tmp_path / "other.avsc"
    file.write_text(ORDER)
    other.write_text(ORDER.replace('"long"', '"string"'))
    assert orion("register", "orders-value", str(file)) == "1\n"
    assert orion("list").splitlines() == ["subject\tversion\tid\ttype", "orders-value\t1\t1\tAVRO"]
    assert json.loads(orion("show", "orders-value")) == json.loads(ORDER)
    assert "/fields/0/type" in orion("check", "orders-value", str(other), code=1)
    orion("check", "orders-value", str(file))
    orion("register", "orders-value", str(other), code=4)
    wider = tmp_path / "wider.avsc"
    wider.write_text(ORDER.replace('"long"', '["null", "long"]'))
    orion("register", "orders-value", str(wider))
    assert '+        "null"' in "\n".join(line.rstrip(",") for line in orion("diff", "orders-value", "1").splitlines())
    orion("delete", "orders-value", "--version", "1", code=2)
    orion("delete", "orders-value", "--yes")
    orion("show", "orders-value", code=3)


def test_orion_registry_runs_alone() -> None:
    arguments = [sys.executable, "-m", "orion", "registry", "--memory", "--port", "0"]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        try:
            assert process.stdout is not None
            found = process.stdout.readline().rstrip().split("\t")[1]
            with SchemaRegistryClient({"url": found}) as client:
                assert client.register_schema("s", ClientSchema(ORDER, "AVRO")) == 1
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0

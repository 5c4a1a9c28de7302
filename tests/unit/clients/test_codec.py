"""Values to bytes and back, over a registry of this process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from orion.clients.codec import Codec, codecs
from orion.errors import ConfigError, SchemaError, UserError
from orion.hub.client_settings import translated_settings
from orion.registry.access import Local
from orion.registry.log import MemoryLog
from orion.registry.schemas import Schema, schema_type
from orion.registry.store import Registry, Wanted
from orion.schema import Role

USER = json.dumps({"type": "record", "name": "User", "fields": [{"name": "id", "type": "int"}]})


@pytest.fixture
def registry() -> Registry:
    return Registry(MemoryLog())


def value_codec(form: Any, registry: Registry, schema: str | None = None) -> Codec:
    return Codec(Role.VALUE, form, schema, Local(registry))


@pytest.mark.parametrize(
    ("form", "value", "raw"),
    [
        ("bytes", b"\xff", b"\xff"),
        ("string", "é", b"\xc3\xa9"),
        ("json", {"a": [1, None]}, b'{"a":[1,null]}'),
        ("json", None, None),
        ("string", None, None),
    ],
)
def test_plain_formats_go_both_ways(form: Any, value: Any, raw: bytes | None) -> None:
    codec = Codec(Role.KEY, form)
    assert codec.encode("t", value) == raw
    assert codec.decode(raw) == value


@pytest.mark.parametrize(("form", "value"), [("bytes", "text"), ("string", b"x"), ("json", {1, 2}), ("json", 1e999)])
def test_a_value_of_another_kind_is_refused_before_it_is_sent(form: Any, value: Any) -> None:
    with pytest.raises(UserError) as caught:
        Codec(Role.VALUE, form).encode("t", value)
    assert caught.value.code == "VALUE_UNFIT"


@pytest.mark.parametrize(("form", "raw"), [("string", b"\xff"), ("json", b"{"), ("json", b"\xff")])
def test_bytes_that_are_none_say_so(form: Any, raw: bytes) -> None:
    with pytest.raises(SchemaError) as caught:
        Codec(Role.VALUE, form).decode(raw)
    assert caught.value.code == "RECORD_UNFIT"


def test_a_schema_is_registered_once_under_the_topics_name(registry: Registry) -> None:
    codec = value_codec("avro", registry, USER)
    assert codec.encode("users", {"id": -1}) == b"\0\0\0\0\x01\x01"
    assert codec.encode("users", {"id": 1}) == b"\0\0\0\0\x01\x02"
    assert registry.versions("users-value") == [1]
    assert codec.decode(b"\0\0\0\0\x01\x01") == {"id": -1}


def test_without_a_schema_the_topic_must_have_one_of_the_same_kind(registry: Registry) -> None:
    with pytest.raises(SchemaError) as none:
        value_codec("avro", registry).encode("users", {"id": 1})
    assert none.value.code == "NO_SCHEMA"
    registry.register("users-value", Wanted(Schema("{}", schema_type("JSON"))))
    with pytest.raises(SchemaError, match="is JSON and not AVRO"):
        value_codec("avro", registry).encode("users", {"id": 1})
    with pytest.raises(SchemaError, match="is JSON and not PROTOBUF"):
        value_codec("protobuf", registry).decode(b"\0\0\0\0\x01{}")


def test_json_is_held_against_its_schema_and_those_it_refers_to() -> None:
    from orion.formats.wire import values
    from orion.plan.sources import WireSchema

    count = '{"type": "integer"}'
    schema = WireSchema(9, "JSON", '{"properties": {"n": {"$ref": "count.json"}}}', (("count.json", count),))
    assert values.written(schema, {"n": 1}) == b'\0\0\0\0\x09{"n":1}'
    with pytest.raises(SchemaError, match=r"'x' is not of type 'integer' at \$.n"):
        values.written(schema, {"n": "x"})


def test_protobuf_takes_the_first_message_and_no_other() -> None:
    from google.protobuf.wrappers_pb2 import Int32Value

    from orion.formats.wire import values
    from orion.plan.sources import WireSchema

    schema = WireSchema(3, "PROTOBUF", 'syntax = "proto3"; message A { int32 x = 1; bytes b = 2; } message B {}')
    assert values.written(schema, {"x": 7}) == b"\0\0\0\0\x03\0\x08\x07"
    assert values.read(b"\0\0\0\0\x03\0\x08\x07", {3: schema}.get) == {"x": 7, "b": b""}
    with pytest.raises(SchemaError, match="Int32Value and not a A"):
        values.written(schema, Int32Value(value=1))


def test_formats_and_schemas_that_dont_go_together_are_refused() -> None:
    with pytest.raises(UserError) as unknown:
        codecs(("bytes", "arvo"), (None, None), None)
    assert unknown.value.hint == "Did you mean avro?"
    with pytest.raises(UserError, match="has no schema"):
        codecs(("bytes", "json"), (None, USER), None)


def test_kafkas_names_become_librdkafkas_in_one_place() -> None:
    java = {"fetch.max.wait.ms": "500", "buffer.memory": "67108864", "delivery.timeout.ms": "9", "linger.ms": "5"}
    assert translated_settings(java, {"message.timeout.ms": 7, "auto.offset.reset": "none"}) == {
        "fetch.wait.max.ms": "500",
        "queue.buffering.max.kbytes": 65536,
        "message.timeout.ms": 7,
        "linger.ms": "5",
        "auto.offset.reset": "error",
    }
    with pytest.raises(ConfigError, match="Java clients alone"):
        translated_settings({"max.poll.records": 5})


def test_the_package_alone_loads_no_kafka_client() -> None:
    code = "import sys, orion; orion.udf; sys.exit('confluent_kafka' in sys.modules or 'orion.clients' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

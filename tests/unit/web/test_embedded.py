"""Values in the proxy's JSON to bytes and back."""

from __future__ import annotations

from typing import Any

import pytest

from orion.errors import SchemaError
from orion.plan.sources import WireSchema
from orion.web.rest_proxy.embedded import decoded, encoded
from orion.web.rest_proxy.refusals import ProxyError

SCHEMAS = {
    1: WireSchema(1, "AVRO", '["null", "long"]'),
    2: WireSchema(2, "JSON", '{"type": "integer"}'),
    3: WireSchema(3, "PROTOBUF", 'syntax = "proto3"; message M { int32 a_b = 1; repeated string c = 2; }'),
}


@pytest.mark.parametrize(
    ("name", "schema", "value", "raw"),
    [
        ("binary", None, "AAE=", b"\x00\x01"),
        ("json", None, {"a": [None, 1.5, "é"]}, '{"a":[null,1.5,"é"]}'.encode()),
        ("avro", 1, {"long": -1}, b"\0\0\0\0\1\2\1"),
        ("jsonschema", 2, 7, b"\0\0\0\0\x027"),
        ("protobuf", 3, {"aB": 5, "c": ["x"]}, b"\0\0\0\0\3\0\x08\5\x12\1x"),
    ],
)
def test_there_and_back(name: str, schema: int | None, value: Any, raw: bytes) -> None:
    assert encoded(name, value, None if schema is None else SCHEMAS[schema]) == raw
    assert decoded(name, raw, SCHEMAS.get) == value


@pytest.mark.parametrize("name", ["binary", "json", "avro", "jsonschema", "protobuf"])
def test_null_is_a_tombstone(name: str) -> None:
    assert encoded(name, None) is None
    assert decoded(name, None, SCHEMAS.get) is None


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [("avro", 1, 5), ("avro", 1, {"int": 5}), ("jsonschema", 2, "x"), ("protobuf", 3, {"z": 1}), ("protobuf", 3, 5)],
)
def test_what_doesnt_fit_is_refused(name: str, schema: int, value: Any) -> None:
    with pytest.raises(SchemaError) as told:
        encoded(name, value, SCHEMAS[schema])
    assert told.value.code == "VALUE_UNFIT"


@pytest.mark.parametrize(
    ("name", "raw", "code"),
    [
        ("json", b"{", "RECORD_UNFIT"),
        ("avro", b"x", "RECORD_UNFIT"),
        ("avro", b"\0\0\0\0\1\4", "RECORD_UNFIT"),
        ("avro", b"\0\0\0\0\2\0", "RECORD_UNFIT"),
        ("protobuf", b"\0\0\0\0\x09\0", "SCHEMA_UNKNOWN"),
    ],
)
def test_what_cant_be_read_says_why(name: str, raw: bytes, code: str) -> None:
    with pytest.raises(SchemaError) as told:
        decoded(name, raw, SCHEMAS.get)
    assert told.value.code == code


def test_base64_is_base64() -> None:
    with pytest.raises(ProxyError):
        encoded("binary", "*")

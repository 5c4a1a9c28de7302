"""Records that name a schema, as people read them."""

from __future__ import annotations

import json

import pytest

from orion.errors import ExternalError
from orion.formats.wire.shown import shown
from orion.plan.sources import WireSchema

PERSON = {
    "type": "record",
    "name": "Person",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "raw", "type": "bytes"},
        {"name": "born", "type": {"type": "int", "logicalType": "date"}},
    ],
}
SCHEMAS = {
    1: WireSchema(1, "AVRO", json.dumps(PERSON)),
    2: WireSchema(2, "JSON", "{}"),
    3: WireSchema(3, "PROTOBUF", 'syntax = "proto3"; message A { int32 x = 1; } message B { string last_name = 1; }'),
    4: WireSchema(4, "AVRO", "long"),
}


def record(number: int, body: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + body


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (record(1, b"\x06Ada\x04\x01\x02\x02"), '{"name": "Ada", "raw": "AQI=", "born": "1970-01-02"}'),
        (record(2, b'{"n": 1.10}'), '{"n": 1.10}'),
        (record(3, b"\x00\x08\x07"), '{"x": 7}'),
        (record(3, b"\x02\x02\x0a\x02Li"), '{"last_name": "Li"}'),
        (record(4, b"\x04"), "2"),
    ],
)
def test_a_record_is_shown_as_json(raw: bytes, text: str) -> None:
    assert shown(raw, SCHEMAS.get) == text


@pytest.mark.parametrize(
    "raw",
    [
        None,
        b"",
        b"\0\0",
        b"text",
        record(9, b"\x04"),
        record(1, b"\x06Ad"),
        record(4, b"\x04\x04"),
        record(2, b"no JSON"),
        record(3, b"\x02\x0a\x08\x07"),
        record(3, b"\x00\xff"),
    ],
)
def test_what_is_no_such_record_is_left_to_others(raw: bytes | None) -> None:
    assert shown(raw, SCHEMAS.get) is None


def test_a_registry_that_is_away_shows_nothing() -> None:
    def away(_: int) -> WireSchema | None:
        raise ExternalError("REGISTRY_UNREACHABLE", "No schema registry answers.")

    assert shown(record(1, b""), away) is None

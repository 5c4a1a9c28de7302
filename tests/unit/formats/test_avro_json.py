"""Avro's JSON encoding, held against fastavro's bytes."""

from __future__ import annotations

import io
import json
import math
import re
from typing import Any

import fastavro
import pytest

from orion.formats.wire.avro_json import body_of, value_of
from orion.plan.sources import WireSchema

NODE = {
    "type": "record",
    "name": "a.Node",
    "fields": [
        {"name": "n", "type": "int"},
        {"name": "next", "type": ["null", "Node"], "default": None},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}, "default": "B"},
    ],
}


def wire(schema: Any, *around: tuple[str, str]) -> WireSchema:
    return WireSchema(1, "AVRO", json.dumps(schema), around)


@pytest.mark.parametrize(
    ("schema", "value", "plain"),
    [
        ("null", None, None),
        ("boolean", True, True),
        ("int", -(1 << 31), -(1 << 31)),
        ("long", (1 << 63) - 1, (1 << 63) - 1),
        ("double", 1.5, 1.5),
        ("string", "é", "é"),
        ("bytes", "\x00ÿ", b"\x00\xff"),
        ({"type": "fixed", "name": "F", "size": 2}, "ab", b"ab"),
        ({"type": "array", "items": "long"}, [1, 2], [1, 2]),
        ({"type": "array", "items": "long"}, [], []),
        ({"type": "map", "values": ["null", "string"]}, {"a": None, "b": {"string": "x"}}, {"a": None, "b": "x"}),
        (
            NODE,
            {"n": 1, "next": {"a.Node": {"n": 2, "next": None, "kind": "A"}}, "kind": "B"},
            {"n": 1, "next": {"n": 2, "next": None, "kind": "A"}, "kind": "B"},
        ),
    ],
)
def test_the_bytes_are_fastavros(schema: Any, value: Any, plain: Any) -> None:
    raw = body_of(wire(schema), value)
    assert fastavro.schemaless_reader(io.BytesIO(raw), fastavro.parse_schema(schema), None) == plain
    assert value_of(wire(schema), raw) == value


def test_logical_types_are_what_is_underneath() -> None:
    schema = {"type": "long", "logicalType": "timestamp-millis"}
    assert value_of(wire(schema), body_of(wire(schema), 5)) == 5


def test_which_of_two_alike_it_is_stays() -> None:
    schema = wire(["int", "long"])
    assert value_of(schema, body_of(schema, {"long": 5})) == {"long": 5}


def test_what_is_missing_has_its_default() -> None:
    assert value_of(wire(NODE), body_of(wire(NODE), {"n": 1})) == {"n": 1, "next": None, "kind": "B"}


def test_a_schema_may_refer_to_others() -> None:
    schema = wire({"type": "array", "items": "a.Node"}, ("node", json.dumps(NODE)))
    assert value_of(schema, body_of(schema, [{"n": 1}]))[0]["n"] == 1


def test_blocks_with_their_size_are_read() -> None:
    raw = b"\x03\x04\x02\x04\x00"  # minus two of them, two bytes
    assert value_of(wire({"type": "array", "items": "long"}), raw) == [1, 2]


def test_numbers_that_json_hasnt_are_text() -> None:
    for text in ("NaN", "Infinity", "-Infinity"):
        raw = body_of(wire("double"), text)
        assert value_of(wire("double"), raw) == text
    found: Any = fastavro.schemaless_reader(io.BytesIO(body_of(wire("float"), "NaN")), "float", None)
    assert math.isnan(found)


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ("int", 1 << 31, "the value is 2147483648 and not a whole number (int)"),
        ("int", True, "and not a whole number"),
        ("string", 5, "the value is 5 and not a string"),
        ("bytes", "€", "no byte"),
        ({"type": "fixed", "name": "F", "size": 2}, "abc", "2 bytes"),
        (["null", "string"], "x", 'has to say which: null or {"string": "..."}'),
        (NODE, {}, "n is missing"),
        (NODE, {"n": 1, "m": 2}, "has m, and the schema has no such field"),
        (NODE, {"n": 1, "next": {"a.Node": {"n": "x"}}}, 'next.n is "x"'),
        (NODE, {"n": 1, "kind": "C"}, "one of A, B"),
        (NODE, 5, "an object, the record a.Node"),
        ({"type": "array", "items": "int"}, [1, "x"], "the value[1]"),
    ],
)
def test_what_doesnt_fit_says_where(schema: Any, value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        body_of(wire(schema), value)


@pytest.mark.parametrize(
    ("schema", "raw"),
    [("string", b"\x0a"), ("long", b"\xff" * 11), ("int", b"\x02\x02"), (["null"], b"\x02"), ("double", b"\0")],
)
def test_bytes_that_dont_fit_are_refused(schema: Any, raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        value_of(wire(schema), raw)

"""The rules, case by case; the whole suite of real verdicts is run where it is at hand."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from orion.registry.compatibility import levels
from orion.registry.parsing import avro
from orion.registry.schemas import Parsed, SchemaType, parse

SUITE = Path(os.environ.get("REGISTRY_SUITE", "../shared/registry-suite")) / "compat_visible.jsonl"


def kinds(kind: SchemaType, old: Any, new: Any) -> list[tuple[str, str]]:
    """What a reader of the new schema finds wrong with data of the old one."""
    texts = [one if isinstance(one, str) else json.dumps(one) for one in (new, old)]
    reader, writer = (parse(kind, text, {}) for text in texts)
    return [(finding.kind, finding.path) for finding in levels.reads(reader, writer)]


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": list(fields)}


A = {"name": "a", "type": "int"}
B = {"name": "b", "type": "string"}
B_DEFAULT = {**B, "default": ""}


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (record(A), record(A, B_DEFAULT), []),
        (record(A), record(A, B), [("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1")]),
        (record(A), record({**A, "type": "long"}), []),
        (record({**A, "type": "long"}), record(A), [("TYPE_MISMATCH", "/fields/0/type")]),
        (record(A), record({**A, "name": "x", "aliases": ["a"]}), []),
        (record({**A, "type": ["null", "int"]}), record(A), [("TYPE_MISMATCH", "/fields/0/type")]),
        (["int", "string"], ["int"], [("MISSING_UNION_BRANCH", "/1")]),
        ({"type": "fixed", "name": "f", "size": 2}, {"type": "fixed", "name": "f", "size": 3}, None),
        ({"type": "enum", "name": "e", "symbols": ["X", "Y"]}, {"type": "enum", "name": "e", "symbols": ["X"]}, None),
        (
            {"type": "enum", "name": "e", "symbols": ["X", "Y"]},
            {"type": "enum", "name": "e", "symbols": ["X"], "default": "X"},
            [],
        ),
    ],
)
def test_avro(old: Any, new: Any, wanted: list[tuple[str, str]] | None) -> None:
    found = kinds("AVRO", old, new)
    assert found == wanted if wanted is not None else found


def test_an_avro_type_that_holds_itself_ends() -> None:
    tree = record({"name": "next", "type": ["null", "r"]})
    assert kinds("AVRO", tree, tree) == []


OPEN: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
CLOSED = {**OPEN, "additionalProperties": False}
WITH_B = {"a": {"type": "string"}, "b": {"type": "number"}}


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ({"type": "integer"}, {"type": "number"}, []),
        ({"type": "number"}, {"type": "integer"}, [("TYPE_NARROWED", "#/")]),
        ({"type": "string"}, {"type": ["string", "null"]}, []),
        (CLOSED, {**CLOSED, "properties": WITH_B}, []),
        (OPEN, {**OPEN, "properties": WITH_B}, [("OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", "#/properties/b")]),
        (CLOSED, {**CLOSED, "properties": WITH_B, "required": ["b"]}, None),
        ({**CLOSED, "properties": WITH_B}, CLOSED, None),
        (OPEN, {**OPEN, "required": ["a"]}, [("REQUIRED_ATTRIBUTE_ADDED", "#/required/a")]),
        (
            {"type": "string", "maxLength": 5},
            {"type": "string", "maxLength": 4},
            [("MAX_LENGTH_DECREASED", "#/maxLength")],
        ),
        ({"enum": [1, 2]}, {"enum": [1]}, [("ENUM_ARRAY_NARROWED", "#/enum")]),
        ({"enum": [1]}, {"enum": [1, 2]}, []),
    ],
)
def test_json_schema(old: Any, new: Any, wanted: list[tuple[str, str]] | None) -> None:
    found = kinds("JSON", old, new)
    assert found == wanted if wanted is not None else found


def test_a_json_schema_that_holds_itself_ends() -> None:
    tree = {"$ref": "#/definitions/n", "definitions": {"n": {"properties": {"n": {"$ref": "#/definitions/n"}}}}}
    assert kinds("JSON", tree, tree) == []


def test_choices_inside_of_choices_end() -> None:
    def nested(last: str) -> dict[str, Any]:
        inner = [{"anyOf": [{"properties": {n: {"$ref": f"#/definitions/{i + 1}"}}} for n in "abc"]} for i in range(30)]
        return {"$ref": "#/definitions/0", "definitions": dict(enumerate([*inner, {"type": last}]))}

    assert kinds("JSON", nested("string"), nested("number"))


def test_schemas_made_to_keep_the_server_busy_are_refused_in_time() -> None:
    """Each of these took minutes, or would never have ended."""
    many = range(10_000)
    branches = [[{"type": "enum", "name": f"{x}{n}", "symbols": ["A"]} for n in many] for x in "ef"]
    symbols = [{"type": "enum", "name": "e", "symbols": [f"{x}{n}" for n in range(40_000)]} for x in "ef"]
    choices = [{"anyOf": [{"type": "string", "minLength": n + x} for n in range(3_000)]} for x in (0, 5)]
    named = {"additionalProperties": False, "properties": {"a" * 50 + str(n): {} for n in range(500)}}
    covered = {"additionalProperties": False, "patternProperties": {f"(a+)+{n}$": {} for n in range(500)}}
    start = time.perf_counter()
    assert kinds("AVRO", branches[0], branches[1]) == [("TOO_COMPLEX", "/")]
    assert kinds("AVRO", symbols[0], symbols[1]) == [("MISSING_ENUM_SYMBOLS", "/symbols")]
    assert kinds("JSON", choices[0], choices[1]) == [("TOO_COMPLEX", "/")]
    assert kinds("JSON", named, covered) == [("TOO_COMPLEX", "/")]
    assert time.perf_counter() - start < 60


def proto(body: str) -> str:
    return f'syntax = "proto3"; message M {{ {body} }} message N {{ int32 n = 1; M back = 2; }}'


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("int32 a = 1;", "int64 a = 1; string b = 2;", []),
        ("int32 a = 1;", "", []),
        ("int32 a = 1;", "sint32 a = 1;", [("FIELD_SCALAR_KIND_CHANGED", "#/M/1")]),
        ("int32 a = 1;", "N a = 1;", [("FIELD_KIND_CHANGED", "#/M/1")]),
        ("int32 a = 1;", "repeated int32 a = 1;", [("FIELD_NUMERIC_LABEL_CHANGED", "#/M/1")]),
        ("map<string, int32> a = 1;", "map<string, string> renamed = 1;", [("FIELD_SCALAR_KIND_CHANGED", "#/M/1")]),
        ("oneof o { int32 a = 1; int32 b = 2; }", "oneof o { int32 a = 1; }", [("ONEOF_FIELD_REMOVED", "#/M/o/2")]),
        (
            "int32 a = 1; int32 b = 2;",
            "oneof o { int32 a = 1; int32 b = 2; }",
            [("MULTIPLE_FIELDS_MOVED_TO_ONEOF", "#/M/o")],
        ),
        ("optional int32 a = 1;", "int32 a = 1;", []),
    ],
)
def test_protobuf(old: str, new: str, wanted: list[tuple[str, str]]) -> None:
    assert kinds("PROTOBUF", proto(old), proto(new)) == wanted


def test_levels_say_who_reads_whom() -> None:
    one, two, three = (avro.parse(json.dumps(record(*fields))) for fields in ((A,), (A, B_DEFAULT), (A, B)))
    assert levels.check("BACKWARD", three, [one, two]) == []
    assert levels.check("BACKWARD_TRANSITIVE", three, [one, two])
    assert levels.check("FORWARD", one, [three])
    assert levels.check("FORWARD", three, [one]) == []
    assert levels.check("FULL", two, [one]) == []
    assert levels.check("FULL", three, [one])
    assert levels.check("NONE", three, [one]) == []


def test_other_types_never_go_together() -> None:
    assert levels.check("BACKWARD", parse("JSON", "{}", {}), [parse("AVRO", '"int"', {})])


@pytest.mark.skipif(not SUITE.is_file(), reason="the suite of verdicts is not on this machine")
def test_the_verdicts_of_confluent_and_avro() -> None:
    rows = [json.loads(line) for line in SUITE.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["authority"] in ("confluent", "apache-avro")]
    wrong = [row["id"] for row in rows if _verdict(row) != row["compatible"]]
    assert len(wrong) <= 0.02 * len(rows), wrong


def _verdict(row: dict[str, Any]) -> bool:
    def read(text: str, references: str) -> Parsed:
        if row["format"] == "AVRO":
            return avro.parse(text, nameless=True)
        return parse(
            row["format"], text, {one["name"]: one["schema"] for one in row.get(references, []) if one["schema"]}
        )

    earlier = [read(text, "previous_references") for text in row["previous"]]
    return not levels.check(row["level"], read(row["schema"], "references"), earlier)

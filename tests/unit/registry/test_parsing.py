"""What is a schema, what isn't, and what its standard form is."""

from __future__ import annotations

import base64
import json
import pkgutil
from importlib import import_module

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from hypothesis import given, settings
from hypothesis import strategies as st

from orion.registry.compatibility import levels
from orion.registry.errors import InvalidSchema
from orion.registry.parsing import proto_print, protobuf
from orion.registry.schemas import SchemaType, parse, stored_text

PROTO = """
// What was bought.
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
option java_package = "com.shop";
option (custom) = { a: 1 };
message Order {
  reserved 8, 10 to 12, 100 to max;
  reserved "old";
  string id = 1 [deprecated = true, json_name = "ID"];
  optional int32 count = 2;
  repeated Line lines = 3;
  map<string, Line.Kind> kinds = 4;
  google.protobuf.Timestamp at = 5;
  oneof how { bool card = 6; bytes voucher = 7; }
  message Line { enum Kind { UNKNOWN = 0; BOOK = 1 [(note) = "paper"]; } Kind kind = 1; }
}
service Shop { rpc Buy (stream Order) returns (Order) { option deprecated = true; } }
"""


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("AVRO", ""),
        ("AVRO", "{"),
        ("AVRO", "17"),
        ("AVRO", '"nothing"'),
        ("AVRO", '{"type": "record", "fields": []}'),
        ("AVRO", '{"type": "record", "name": "1a", "fields": []}'),
        ("AVRO", '{"type": "record", "name": "a", "fields": [{"name": "x"}]}'),
        ("AVRO", '{"type": "record", "name": "a", "fields": 3}'),
        ("AVRO", '{"type": "enum", "name": "e", "symbols": ["a", "a"]}'),
        ("AVRO", '["int", "int"]'),
        ("AVRO", '["int", ["string"]]'),
        ("AVRO", '{"type": "fixed", "name": "f", "size": "3"}'),
        ("AVRO", "[" * 100_000),
        ("AVRO", '{"type": "array", "items": ' * 2_000 + '"int"' + "}" * 2_000),
        ("JSON", "[]"),
        ("JSON", '{"type": "nothing"}'),
        ("JSON", '{"$ref": "#/definitions/none"}'),
        ("JSON", '{"$ref": "http://example.test/other.json"}'),
        ("JSON", '{"not": ' * 2_000 + "{}" + "}" * 2_000),
        ("JSON", '{"$id": "http://[", "properties": {"a": {"$ref": "b"}}}'),
        ("JSON", '{"title": "\\ud800"}'),
        ("AVRO", '{"type": "record", "name": "a", "doc": "\\ud800", "fields": []}'),
        ("PROTOBUF", "message {"),
        ("PROTOBUF", 'syntax = "proto3"; message A { Missing m = 1; }'),
        ("PROTOBUF", 'syntax = "proto3"; message A { int32 a = 1; int32 b = 1; }'),
        ("PROTOBUF", 'syntax = "proto3"; message A { int32 a = 0; }'),
        ("PROTOBUF", 'syntax = "proto3"; import "missing.proto"; message A {}'),
        ("PROTOBUF", 'syntax = "proto3"; ' + "message A { " * 2_000 + "}" * 2_000),
        ("PROTOBUF", "aGVsbG8="),
    ],
)
def test_what_is_no_schema_is_refused(kind: SchemaType, text: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse(kind, text, {})
    assert refused.value.number == 42201


def test_five_megabytes_of_nesting_are_refused_at_once() -> None:
    with pytest.raises(InvalidSchema):
        parse("AVRO", '{"type":"array","items":' * 200_000, {})


def test_avro_in_its_standard_form() -> None:
    text = """{"name": "a.b.R", "type": "record", "extra": 1, "doc": "d", "fields": [
        {"default": null, "type": ["null", {"type": "string"}], "name": "x"},
        {"type": {"type": "int", "logicalType": "date"}, "name": "d", "order": "ascending"},
        {"name": "r", "type": ["null", "a.b.R"]}]}"""
    shown = '{"type":"record","name":"R","namespace":"a.b","doc":"d","fields":[{"name":"x","type":["null","string"],'
    shown += '"default":null},{"name":"d","type":{"type":"int","logicalType":"date"}},{"name":"r","type":["null","R"]}]'
    shown += ',"extra":1}'
    assert parse("AVRO", text, {}).canonical == shown
    assert parse("AVRO", shown, {}).canonical == shown
    assert parse("AVRO", '{"type": "string"}', {}).canonical == '"string"'
    assert parse("AVRO", "string", {}).canonical == '"string"'
    plain = '{"type":"record","name":"R","fields":[]}'
    assert parse("AVRO", plain.replace("}", ',"namespace":null,"doc":null,"aliases":null}'), {}).canonical == plain


def test_avro_knows_the_types_it_refers_to() -> None:
    other = '{"type": "record", "name": "Other", "namespace": "n", "fields": []}'
    text = '{"type": "record", "name": "R", "fields": [{"name": "o", "type": "n.Other"}]}'
    assert '"n.Other"' in parse("AVRO", text, {"n.Other": other}).canonical
    with pytest.raises(InvalidSchema, match=r"n\.Other"):
        parse("AVRO", text, {})


def test_json_schema_over_another() -> None:
    around = {"customer.json": '{"type": "object", "properties": {"id": {"type": "integer"}}}'}
    text = '{"$id": "http://shop.test/order.json", "properties": {"who": {"$ref": "customer.json"}}}'
    parse("JSON", text, around)
    parse("JSON", '{"properties": {"who": {"$ref": "customer.json#/properties/id"}}}', around)
    with pytest.raises(InvalidSchema, match="nowhere"):
        parse("JSON", text, {})


@pytest.mark.parametrize(
    ("root_id", "ref", "other_name", "other_id"),
    [
        (None, "b.json", "b.json", None),
        (None, "./b.json", "./b.json", None),
        (None, "http://x.test/b.json", "b.json", "http://x.test/b.json"),
        ("http://x.test/a.json", "b.json", "b.json", None),
        ("http://x.test/deep/a.json", "../b.json", "b.json", None),
        ("http://x.test/a.json", "http://x.test/b.json", "http://x.test/b.json", None),
        ("http://x.test/a.json", "sub/b.json", "sub/b.json", "http://elsewhere.test/b.json"),
    ],
)
def test_json_schema_finds_what_it_refers_to(
    root_id: str | None, ref: str, other_name: str, other_id: str | None
) -> None:
    raw = {"properties": {"a": {"$ref": f"{ref}#/definitions/x"}}}
    text = json.dumps({"$id": root_id, **raw} if root_id else raw)
    other = {"definitions": {"x": {"$ref": "#/definitions/y"}, "y": {"type": "string"}}}
    around = {other_name: json.dumps({"$id": other_id, **other} if other_id else other)}
    number = {other_name: around[other_name].replace("string", "number")}
    before, after = parse("JSON", text, around), parse("JSON", text, number)
    assert levels.reads(before, before) == []
    assert [(one.kind, one.path) for one in levels.reads(after, before)] == [("TYPE_CHANGED", "#/properties/a")]


def test_json_schema_through_one_that_refers_to_a_third() -> None:
    around = {
        "c.json": '{"type": "integer"}',
        "b.json": '{"$id": "http://x.test/lib/b.json", "properties": {"c": {"$ref": "c.json"}}}',
    }
    parse("JSON", '{"$id": "http://x.test/lib/a.json", "properties": {"b": {"$ref": "b.json"}}}', around)
    with pytest.raises(InvalidSchema, match="nowhere"):
        parse("JSON", '{"properties": {"b": {"$ref": "b.json"}}}', {"b.json": around["b.json"]})


def test_numbers_that_are_none_are_refused() -> None:
    for text in ('{"default": 1e400}', '{"default": NaN}', '{"minimum": -1e999}'):
        with pytest.raises(InvalidSchema):
            parse("JSON", text, {})


def test_normalising_orders_what_has_no_order() -> None:
    left, right = (
        parse("JSON", text, {}, normalize=True) for text in ('{"type":"null","$id":"a"}', '{"$id":"a", "type":"null"}')
    )
    assert left.canonical == right.canonical == '{"$id":"a","type":"null"}'


def test_protobuf_is_kept_as_written_and_compared_as_meant() -> None:
    parsed = parse("PROTOBUF", PROTO, {})
    assert stored_text(parsed) == PROTO
    again = parse("PROTOBUF", parsed.canonical, {})
    assert again.canonical == parsed.canonical
    for part in ("map<string, .shop.v1.Order.Line.Kind> kinds = 4;", "reserved 8, 10 to 12, 100 to max;", "(custom)"):
        assert part in parsed.canonical


def test_protobuf_of_the_second_version() -> None:
    text = """syntax = "proto2";
        message M { required int32 a = 1; optional string b = 2 [default = "x"]; extensions 100 to max;
            repeated group G = 3 { optional int32 c = 1; } enum E { option allow_alias = true; A = 0; B = 0; } }
        extend M { optional int32 d = 100; }"""
    canonical = parse("PROTOBUF", text, {}).canonical
    assert parse("PROTOBUF", canonical, {}).canonical == canonical
    for part in ('syntax = "proto2";', "required int32 a = 1;", '[default = "x"]', "repeated group G = 3 {", "extend"):
        assert part in canonical


@pytest.mark.parametrize(
    "text",
    [
        'syntax="proto2"; message A { extensions 100 to max; message B { extend A { optional int32 x = 100; } } }',
        'syntax="proto2"; message A { oneof o { group G = 1 { optional int32 a = 1; } int32 b = 2; } }',
        'syntax="proto2"; message A { optional double a = 1 [default=-inf]; optional bytes b = 2 [default="\\001"]; }',
        'syntax="proto3"; message A { string message = 1; string map = 2; string optional = 3; string extend = 4; }',
        'syntax="proto3"; package a.b; message X { message Y {} } message Z { X.Y y = 1; b.X.Y w = 2; .a.b.X u = 3; }',
        'syntax="proto3"; message A {} service S { rpc M (stream A) returns (stream .A) {}; rpc N(A) returns (A); }',
        'syntax="proto3"; option java_package = "a" "b";;; message A {;} enum E { Z = 0; N = -0x5; }',
        'syntax="proto3"; message A { string a = 1 [(x).y = { b: [1, 2], c < d: 2 > }, deprecated = true]; }',
    ],
)
def test_protobuf_in_all_its_forms(text: str) -> None:
    parsed = parse("PROTOBUF", text, {})
    assert isinstance(parsed, protobuf.ProtobufSchema)
    for again in (parsed.canonical, parsed.serialized):
        assert parse("PROTOBUF", again, {}).canonical == parsed.canonical


def test_a_descriptor_becomes_text_and_back() -> None:
    parsed = parse("PROTOBUF", PROTO, {})
    assert isinstance(parsed, protobuf.ProtobufSchema)
    sent = protobuf.parse(parsed.serialized)
    assert sent.canonical == parsed.canonical
    assert sent.text.startswith('syntax = "proto3"')
    file = FileDescriptorProto.FromString(base64.b64decode(sent.serialized))
    assert [message.name for message in file.message_type] == ["Order"]


def test_protobuf_imports_that_never_end() -> None:
    around = {name: f'syntax = "proto3"; import "{other}";' for name, other in (("a", "b"), ("b", "a"))}
    with pytest.raises(InvalidSchema, match="never ends"):
        parse("PROTOBUF", 'syntax = "proto3"; import "a";', around)


def test_json_schema_text_is_kept_compact() -> None:
    text = json.dumps({"type": "object", "title": "Größe"}, indent=2)
    assert stored_text(parse("JSON", text, {})) == '{"type":"object","title":"Größe"}'


@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF"])
@given(text=st.text(alphabet='{}[]":,;=<>() amnpt1strinype$ref\n', max_size=80))
@settings(max_examples=150, deadline=None)
def test_any_text_is_a_schema_or_refused(kind: SchemaType, text: str) -> None:
    try:
        parsed = parse(kind, text, {})
    except InvalidSchema:
        return
    assert parse(kind, parsed.canonical, {}).canonical == parsed.canonical


@pytest.mark.parametrize(
    "module", sorted(one.name for one in pkgutil.iter_modules(import_module("google.type").__path__))
)
def test_google_s_common_types_are_known_as_they_are(module: str) -> None:
    """Without a reference, as in Confluent's registry: messages, fields and numbers as in Google's own files."""
    theirs, schema = FileDescriptorProto(), FileDescriptorProto()
    import_module(f"google.type.{module}").DESCRIPTOR.CopyToProto(theirs)
    names = [one.name for one in theirs.message_type] + [one.name for one in theirs.enum_type]
    used = f".google.type.{names[0]}"
    parsed = protobuf.parse(f'syntax = "proto3"; import "{theirs.name}"; message M {{ {used} a = 1; }}')
    schema.CopyFrom(next(one for one in parsed.imports if one.name == theirs.name))
    theirs.ClearField("options")
    for one in (theirs, schema):
        for message in one.message_type:
            for inner in (message, *message.nested_type):
                for field in inner.field:
                    field.ClearField("json_name")
    assert proto_print.show(schema) == proto_print.show(theirs)


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"int","name":"x"}',
        '{"type":"int","doc":"a","namespace":"n","aliases":["b"],"size":3,"symbols":[],"fields":[],"items":"int"}',
        '{"type":{"type":"int","name":"x"}}',
        '"int"',
        "int",
    ],
)
def test_words_that_mean_nothing_in_a_type_are_no_part_of_it(text: str) -> None:
    assert parse("AVRO", text, {}).canonical == parse("AVRO", text, {}, normalize=True).canonical == '"int"'


def test_what_avro_has_no_word_for_is_kept() -> None:
    text = '{"type":"array","items":{"type":"long","name":"x","logicalType":"timestamp-millis"},"name":"y","java":"z"}'
    kept = '{"type":"array","items":{"type":"long","logicalType":"timestamp-millis"},"java":"z"}'
    assert parse("AVRO", text, {}).canonical == kept

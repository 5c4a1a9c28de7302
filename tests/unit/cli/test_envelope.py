"""Lines to records and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.cli.envelope import Shape, header_pairs, rendered
from orion.errors import UserError
from orion.hub.records import Record


def problem(shape: Shape, line: bytes) -> str:
    with pytest.raises(UserError) as raised:
        shape.record(line)
    assert raised.value.code == "MALFORMED_LINE"
    return raised.value.message


def test_a_plain_line_is_sent_as_it_is_written() -> None:
    record = Shape().record(b'{"price": 1.10,  "id":7}')
    assert record.value == b'{"price": 1.10,  "id":7}'
    assert (record.key, record.headers, record.timestamp, record.partition) == (None, (), None, None)


def test_null_is_a_tombstone() -> None:
    record = Shape(key="k").record(b"null")
    assert (record.key, record.value) == (b"k", None)


@pytest.mark.parametrize(
    ("value", "key"), [('"a b"', b"a b"), ("7", b"7"), ("true", b"true"), ('{"x": [1, "y"]}', b'{"x":[1,"y"]}')]
)
def test_a_key_field_is_text_or_json_and_stays_in_the_value(value: str, key: bytes) -> None:
    line = f'{{"id": {value}}}'.encode()
    record = Shape(key_field="id").record(line)
    assert (record.key, record.value) == (key, line)


@pytest.mark.parametrize(("value", "expected"), [("5", 5), ('"1970-01-01T00:00:01Z"', 1000), ('"12"', 12)])
def test_a_timestamp_field_is_milliseconds_or_iso(value: str, expected: int) -> None:
    assert Shape(timestamp_field="at").record(f'{{"at": {value}}}'.encode()).timestamp == expected


@pytest.mark.parametrize(
    ("shape", "line", "message"),
    [
        (Shape(), b"{", "isn't JSON"),
        (Shape(), b"NaN", "NaN"),
        (Shape(), b"\xff", "UTF-8"),
        (Shape(), b"[" * 100_000, "can't be read"),
        (Shape(key_field="id"), b"{}", "no field id"),
        (Shape(key_field="id"), b'{"id": null}', "no field id"),
        (Shape(key_field="id"), b"[1]", "no field id"),
        (Shape(key_field="id"), b'{"id": "\\ud800"}', "surrogate"),
        (Shape(timestamp_field="at"), b'{"at": true}', "not a time"),
        (Shape(timestamp_field="at"), b'{"at": -1}', "not a time"),
        (Shape(envelope=True), b"7", "object with a value"),
        (Shape(envelope=True), b"{}", "object with a value"),
        (Shape(envelope=True), b'{"value": 1, "partiton": 2}', "no partiton"),
        (Shape(envelope=True), b'{"value": 1, "partition": -2}', "not a partition"),
        (Shape(envelope=True), b'{"value": 1, "headers": 3}', "Headers"),
        (Shape(envelope=True), b'{"value": "!", "value_format": "base64"}', "base64"),
        (Shape(envelope=True), b'{"value": "!", "value_format": "avro"}', "avro"),
    ],
)
def test_a_malformed_line_says_what_is_wrong(shape: Shape, line: bytes, message: str) -> None:
    assert message in problem(shape, line)


def test_a_bad_time_in_a_field_is_an_error_of_the_line() -> None:
    with pytest.raises(UserError):
        Shape(timestamp_field="at").record(b'{"at": "yesterday"}')


def test_an_envelope_beats_the_flags_and_flags_fill_its_gaps() -> None:
    shape = Shape(envelope=True, key="flag", headers=(("from", b"flag"),), timestamp=1, partition=3)
    full = shape.record(b'{"key": "k", "value": [1], "headers": {"h": "v", "n": null}, "timestamp": 9, "partition": 0}')
    assert (full.key, full.value, full.timestamp, full.partition) == (b"k", b"[1]", 9, 0)
    assert full.headers == (("h", b"v"), ("n", None))
    bare = shape.record(b'{"value": null}')
    assert (bare.key, bare.value, bare.timestamp, bare.partition) == (b"flag", None, 1, 3)
    assert bare.headers == (("from", b"flag"),)


def test_header_flags_keep_their_order_and_repeats() -> None:
    assert header_pairs(["a=1", "a=2", "b=x=y", "c="]) == (("a", b"1"), ("a", b"2"), ("b", b"x=y"), ("c", b""))


@pytest.mark.parametrize("text", ["a", "=1", ""])
def test_what_is_no_header_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        header_pairs([text])


def shown(**parts: Any) -> dict[str, Any]:
    base: dict[str, Any] = {"topic": "t", "partition": 1, "offset": 2, "timestamp": 3, "key": None, "value": None}
    text = rendered(Record(**{**base, **parts}))
    assert "\n" not in text
    document: dict[str, Any] = json.loads(text)
    return document


def test_a_record_is_shown_with_all_it_has() -> None:
    assert shown(key=b"k", value=b'{"a": 1}', headers=(("h", b"v"),)) == {
        "topic": "t",
        "partition": 1,
        "offset": 2,
        "timestamp": 3,
        "key": "k",
        "headers": {"h": "v"},
        "value": {"a": 1},
    }


def test_json_in_a_value_keeps_its_digits() -> None:
    assert '"value": 1.10}' in rendered(Record("t", 0, 0, None, None, b"1.10"))


def test_bytes_that_are_no_json_carry_their_format() -> None:
    assert shown(value=b"hello")["value_format"] == "text"
    assert shown(value=b"\xff")["value_format"] == "base64"
    assert shown(key=b"\xff")["key_format"] == "base64"
    assert shown(value=b"null")["value_format"] == "text"
    assert "value_format" not in shown(value=None)


def test_repeated_headers_are_pairs() -> None:
    assert shown(headers=(("h", b"1"), ("h", b"\xff")))["headers"] == [["h", "1"], ["h", {"base64": "/w=="}]]


blob = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)


@given(
    key=blob,
    value=blob | st.sampled_from([b"null", b" 1 ", b'{"a":1.10}', b'{"a":"\xe2\x80\xa8"}', b'"x"', b"NaN"]),
    headers=st.lists(st.tuples(st.text(min_size=1, max_size=5), blob), max_size=3).map(tuple),
)
def test_what_consume_writes_produce_reads(key: bytes | None, value: bytes | None, headers: Any) -> None:
    record = Record("t", 2, 5, 1_700_000_000_000, key, value, headers)
    back = Shape(envelope=True).record(rendered(record).encode())
    assert (back.key, back.headers, back.timestamp, back.partition) == (key, headers, record.timestamp, 2)
    # JSON comes back as the same JSON, anything else as the same bytes.
    assert back.value == value or (back.value and value and json.loads(back.value) == json.loads(value))

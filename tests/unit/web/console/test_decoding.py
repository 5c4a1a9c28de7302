"""Bytes as people read them."""

from __future__ import annotations

import struct

import pytest

from orion.hub.records import Record
from orion.plan.sources import Kind, Serde, Source, Window, WindowKind
from orion.schema import Column, Role, Scalar, Schema
from orion.web.console.questions.decoding import Decoder, plain, pretty
from orion.web.console.questions.producing import typed_again


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record("t", 0, 7, 1_767_225_600_000, key, value, (("h", b"x"),))


def source(key: Scalar, window: Window | None = None) -> Source:
    columns = (Column("K", key, Role.KEY), Column("V", Scalar.STRING))
    return Source("S", Kind.STREAM, Schema(columns), "t", Serde("KAFKA"), Serde("JSON"), window=window)


@pytest.mark.parametrize(
    ("raw", "text", "kind"),
    [
        (None, "null", "null"),
        (b'{"a": 1}', '{"a": 1}', "json"),
        (b"{oops", "{oops", "text"),
        (b"hello", "hello", "text"),
        (b"\xff\xfe", "//4=", "base64"),
        (b"\x00\x01", "AAE=", "base64"),
    ],
)
def test_bytes_without_help(raw: bytes | None, text: str, kind: str) -> None:
    assert (plain(raw).text, plain(raw).kind) == (text, kind)


def test_a_key_is_read_by_what_is_declared() -> None:
    found = Decoder(lambda _: None, source(Scalar.BIGINT))(record(struct.pack(">q", 42), b"{}"))
    assert (found.key.text, found.key.kind) == ("42", "number")
    assert found.headers == (("h", "x"),)


def test_the_window_behind_a_key_is_told_in_words() -> None:
    start = 1_767_225_600_000
    window = Window(WindowKind.TUMBLING, 60_000, 60_000, 0)
    found = Decoder(lambda _: None, source(Scalar.STRING, window))(record(b"DE" + struct.pack(">q", start), b"{}"))
    assert found.key.text == "DE [2026-01-01 00:00:00.000 + 1 m]"
    session = Window(WindowKind.SESSION, 0, 0, 0)
    raw = b"u1" + struct.pack(">qq", start + 5000, start)
    found = Decoder(lambda _: None, source(Scalar.STRING, session))(record(raw, b"{}"))
    assert found.key.text == "u1 [2026-01-01 00:00:00.000 … 00:00:05.000]"


def test_what_names_a_schema_is_read_by_the_registry() -> None:
    found = Decoder(lambda raw: '{"x":1}' if raw else None, None)(record(None, b"\0\0\0\0\1rest"))
    assert (found.value.text, found.value.kind, found.value.document) == ('{"x":1}', "registry", {"x": 1})
    assert pretty(found.value) == '{\n  "x": 1\n}'


def test_half_of_a_character_stays_the_escape_that_it_was() -> None:
    assert pretty(plain(rb'{"s":"\ud800"}')) == '{\n  "s": "\\ud800"\n}'


def test_a_record_is_typed_again_as_a_row_or_by_its_key_and_value() -> None:
    declared = source(Scalar.STRING)
    one = Decoder(lambda _: None, declared)(record(b"k1", b'{"V":"x"}'))
    assert typed_again(declared, one).value == '{\n  "K": "k1",\n  "V": "x"\n}'
    bare = typed_again(None, one)
    assert (bare.source, bare.key, bare.value, bare.headers) == ("", "k1", '{"V":"x"}', "h=x")

"""Messages: what clients send is read field by field, and nothing they send does more harm than a refusal."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.web.postgres import protocol
from orion.web.postgres.protocol import (
    Bind,
    Cancel,
    Close,
    Describe,
    Encryption,
    Execute,
    Kind,
    Message,
    Parse,
    ProtocolViolation,
    Query,
    Startup,
)

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NUMBERS = st.integers(0, 2**32 - 1)
FORMATS = st.lists(st.sampled_from([0, 1]), max_size=5).map(tuple)
VALUES = st.lists(st.none() | st.binary(max_size=40), max_size=5).map(tuple)


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def int16s(values: tuple[int, ...]) -> bytes:
    return struct.pack(f"!{len(values) + 1}H", len(values), *values)


def written(message: Message) -> tuple[bytes, bytes]:
    """A message as a client writes it."""
    match message:
        case Query(sql):
            return b"Q", text(sql)
        case Parse(name, sql, types):
            return b"P", text(name) + text(sql) + struct.pack(f"!H{len(types)}I", len(types), *types)
        case Bind(portal, statement, formats, values, results):
            parts = [b"\xff\xff\xff\xff" if v is None else struct.pack("!I", len(v)) + v for v in values]
            body = text(portal) + text(statement) + int16s(formats) + struct.pack("!H", len(values))
            return b"B", body + b"".join(parts) + int16s(results)
        case Describe(kind, name):
            return b"D", kind.value + text(name)
        case Close(kind, name):
            return b"C", kind.value + text(name)
        case Execute(portal, limit):
            return b"E", text(portal) + struct.pack("!i", limit)
    raise AssertionError(message)


MESSAGES = (
    st.builds(Query, TEXTS)
    | st.builds(Parse, TEXTS, TEXTS, st.lists(NUMBERS, max_size=5).map(tuple))
    | st.builds(Bind, TEXTS, TEXTS, FORMATS, VALUES, FORMATS)
    | st.builds(Describe, st.sampled_from(Kind), TEXTS)
    | st.builds(Close, st.sampled_from(Kind), TEXTS)
    | st.builds(Execute, TEXTS, st.integers(-(2**31), 2**31 - 1))
)


@given(MESSAGES)
def test_messages_are_read_as_they_were_written(message: Message) -> None:
    assert protocol.message(*written(message)) == message


@given(MESSAGES, st.binary(min_size=1, max_size=3))
def test_bytes_after_the_last_field_are_refused(message: Message, more: bytes) -> None:
    tag, body = written(message)
    with pytest.raises(ProtocolViolation):
        protocol.message(tag, body + more)


@given(st.sampled_from(list(b"QPBDCEHSXpFdcfZ?")), st.binary(max_size=60))
def test_any_bytes_are_a_message_or_refused(tag: int, body: bytes) -> None:
    with contextlib.suppress(ProtocolViolation):
        protocol.message(bytes([tag]), body)


@given(st.binary(max_size=60))
def test_any_first_bytes_are_an_opening_or_refused(body: bytes) -> None:
    with contextlib.suppress(ProtocolViolation):
        protocol.opening(body)


@given(st.dictionaries(TEXTS.filter(lambda name: name and not name.startswith("_pq_.")), TEXTS, max_size=4))
def test_a_startup_tells_its_parameters(parameters: dict[str, str]) -> None:
    body = struct.pack("!I", 3 << 16) + b"".join(text(k) + text(v) for k, v in parameters.items()) + b"\0"
    assert protocol.opening(body) == Startup(parameters)


def test_a_newer_protocol_and_its_options_are_told_apart() -> None:
    body = struct.pack("!I", 3 << 16 | 2) + text("user") + text("me") + text("_pq_.report") + text("1") + b"\0"
    assert protocol.opening(body) == Startup({"user": "me"}, 2, ("_pq_.report",))
    assert protocol.negotiate(("_pq_.report",)) == b"v\0\0\0\x18\0\0\0\0\0\0\0\1_pq_.report\0"


def test_other_openings() -> None:
    assert protocol.opening(struct.pack("!I", 80877103)) == Encryption()
    assert protocol.opening(struct.pack("!I", 80877104)) == Encryption()
    assert protocol.opening(struct.pack("!III", 80877102, 7, 9)) == Cancel(7, b"\0\0\0\x09")
    with pytest.raises(ProtocolViolation, match=r"protocol 2\.0"):
        protocol.opening(struct.pack("!I", 2 << 16))


def test_what_the_server_says() -> None:
    assert protocol.ready(protocol.Status.FAILED) == b"Z\0\0\0\5E"
    assert protocol.command_complete("SELECT 2") == b"C\0\0\0\x0dSELECT 2\0"
    assert protocol.data_row([None, b"ab"]) == b"D\0\0\0\x10\0\2\xff\xff\xff\xff\0\0\0\2ab"
    error = protocol.error("42601", "wrong\0text", hint="write it right")
    assert error[5:] == b"SERROR\0VERROR\0C42601\0Mwrongtext\0Hwrite it right\0\0"
    field = protocol.Field("a", 23, 4, -1, 1)
    assert protocol.row_description([field])[5:] == b"\0\1a\0" + struct.pack("!IhIhih", 0, 0, 23, 4, -1, 1)

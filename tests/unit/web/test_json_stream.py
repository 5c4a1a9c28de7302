"""A stream of JSON objects is cut where they end, however it comes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.web.rest_proxy.json_stream import JsonStream

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=5),
    st.sampled_from(["", "\n", " \r\n", ", "]),
    st.integers(1, 7),
    st.booleans(),
)
def test_objects_come_out_whatever_the_pieces(wanted: list[Any], between: str, size: int, ascii_: bool) -> None:
    raw = between.join(json.dumps(one, ensure_ascii=ascii_) for one in wanted).encode("utf-8", "surrogatepass")
    stream = JsonStream(1 << 20)
    found = [one for at in range(0, len(raw), size) for one in stream.feed(raw[at : at + size])]
    assert [json.loads(one.decode("utf-8", "surrogatepass")) for one in found] == wanted
    assert stream.rest() == b""


def test_what_is_left_is_told() -> None:
    stream = JsonStream(100)
    assert stream.feed(b'{"a": "}"} {"b": ') == [b'{"a": "}"}']
    assert stream.rest() == b'{"b":'


def test_one_that_is_too_large_is_refused_before_it_ends() -> None:
    stream = JsonStream(10)
    assert stream.feed(b"{}" * 50) == [b"{}"] * 50
    with pytest.raises(ValueError, match="more than 10 bytes"):
        stream.feed(b'{"a": "xxxxxxxxxx')


def test_what_is_no_object_goes_with_the_next_and_is_refused_with_it() -> None:
    assert JsonStream(100).feed(b"nonsense {}") == [b"nonsense {}"]
    assert JsonStream(100).feed(b"} {}") == [b"}", b"{}"]

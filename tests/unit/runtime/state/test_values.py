"""State records as bytes: what is written comes back as it was, and what isn't understood is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.runtime.state.values import FORMAT, UnknownFormat, decode, due_of, encode

HUGE = 2**70
plain = (
    st.none()
    | st.booleans()
    | st.integers(-HUGE, HUGE)
    | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**400])
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=40)
    | st.decimals().filter(lambda number: not number.is_snan())  # SQL has none, and no set takes one
)
hashable = st.recursive(plain, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)
nested = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples()
        | st.tuples(inner, inner)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
        | st.frozensets(hashable, max_size=4)
    ),
    max_leaves=20,
)
dues = st.none() | st.integers(-(2**63), 2**63 - 1)


def told(value: Any) -> Any:
    """A value so that two are alike only when their types are too, NaN is like itself and zero has a sign."""
    match value:
        case list() | tuple():
            return type(value), [told(one) for one in value]
        case dict():
            return dict, [(told(k), told(v)) for k, v in value.items()]
        case set() | frozenset():
            return type(value), sorted(repr(told(one)) for one in value)
        case _:
            return type(value), repr(value)


@given(nested, dues)
def test_what_is_kept_comes_back_as_it_was(value: Any, due: int | None) -> None:
    blob = encode(value, due)
    kept, falls_due = decode(blob)
    assert told(kept) == told(value)
    assert falls_due == due


@given(nested, dues)
def test_when_a_record_falls_due_is_told_without_the_rest(value: Any, due: int | None) -> None:
    blob = encode(value, due)
    assert due_of(blob) == due
    assert due_of(blob[:12]) == due


def test_any_library_reads_plain_records() -> None:
    blob = encode([5, ["a", b"b", None, 0.5, {"k": True}]], 7)
    assert blob[0] == FORMAT == 1
    assert msgpack.unpackb(blob[1:]) == [7, [5, ["a", b"b", None, 0.5, {"k": True}]]]


@pytest.mark.parametrize("read", [decode, due_of])
def test_a_record_of_another_format_is_refused(read: Callable[[bytes], Any]) -> None:
    blob = bytes([FORMAT + 1]) + encode("x", 5)[1:]
    with pytest.raises(UnknownFormat, match="of format"):
        read(blob)


def test_an_extension_that_nobody_knows_is_refused() -> None:
    blob = bytes([FORMAT]) + msgpack.packb([None, [msgpack.ExtType(77, b"?")]])
    with pytest.raises(UnknownFormat, match="77"):
        decode(blob)


@pytest.mark.parametrize("value", [object(), [1, {2: object()}], ({"a": range(2)},), {(object(),)}])
def test_what_state_can_not_hold_is_refused_and_leaves_nothing_behind(value: Any) -> None:
    with pytest.raises(TypeError, match="state can't hold a"):
        encode(value)
    assert decode(encode((1, Decimal("1.50")), 3)) == ((1, Decimal("1.50")), 3)

"""Under what bytes state records stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orion.runtime.state.places import CLOCK, StatePlace, group, parse_place, single

names = st.binary(max_size=6) | st.binary(min_size=300, max_size=600)


@given(names, names)
def test_a_place_tells_whose_it_is(key: bytes, member: bytes) -> None:
    assert parse_place(single(key)) == StatePlace(key)
    assert parse_place(group(key) + member) == StatePlace(key, member)


@given(st.lists(st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3)), unique=True))
def test_no_two_records_share_a_place(whose: list[tuple[bytes, bytes | None]]) -> None:
    places = {single(key) if member is None else group(key) + member for key, member in whose}
    assert len(places | {CLOCK}) == len(whose) + 1


@given(st.binary(max_size=3), st.binary(max_size=3), st.binary(max_size=3))
def test_only_members_of_a_group_begin_as_it_does(key: bytes, other: bytes, member: bytes) -> None:
    assert (group(other) + member).startswith(group(key)) == (other == key)
    assert not single(other).startswith(group(key))
    assert not CLOCK.startswith(group(key))


def test_places_are_as_they_are_documented() -> None:
    assert (CLOCK, single(b"k")) == (b"\x00", b"\x02k")
    assert group(b"key") + b"m" == b"\x01\x00\x00\x00\x03keym"

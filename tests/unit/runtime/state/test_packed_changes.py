"""Changes of state on their way to the writer of their slot."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orion.runtime.state.packed_changes import ChangelogRecords, pack_changes, unpack_changes
from orion.runtime.state.state import Change

changes = st.lists(
    st.builds(
        Change, st.binary(max_size=8), st.none() | st.binary(max_size=8), st.none() | st.integers(0, 9), st.none()
    )
)


@given(st.integers(0, 5), st.integers(0, 500), changes, st.integers(0, 3))
def test_changes_arrive_as_they_were_sent(operator: int, task: int, sent: list[Change], late: int) -> None:
    """So does the number of late rows, which is told where nothing has changed, too."""
    arrived = [unpack_changes(packed) for packed in pack_changes(operator, task, sent, late)]
    whole = ChangelogRecords(operator, task, [c.place for c in sent], [c.blob for c in sent], late)
    assert arrived == ([whole] if sent or late else [])


def test_many_changes_travel_in_parts_that_are_not_much_larger_than_a_megabyte() -> None:
    sent = [Change(b"%04d" % n, None if n % 5 == 0 else bytes(100_000), None, None) for n in range(100)]
    packed = list(pack_changes(0, 3, sent, 7))
    assert max(map(len, packed)) < (1 << 20) + 110_000
    arrived = [unpack_changes(one) for one in packed]
    assert len(arrived) > 5
    assert {(one.operator, one.task) for one in arrived} == {(0, 3)}
    assert sum(one.late for one in arrived) == 7
    told = [record for one in arrived for record in zip(one.places, one.blobs, strict=True)]
    assert told == [(change.place, change.blob) for change in sent]

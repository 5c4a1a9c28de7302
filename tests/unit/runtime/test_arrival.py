"""The order of arrival: what numpy makes of it is what reading the partitions together would be."""

from __future__ import annotations

import struct
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orion.runtime.operators.arrival import arrival_order

LARGEST = 2**64 - 1


def order(time: int, lane: int, offset: int, *behind: int) -> bytes:
    """The bytes of a row's place; `behind`: where it stands among what an operator made of one row."""
    return struct.pack(f">QQQ{len(behind)}I", time, lane, offset, *behind)


def read_together(orders: list[bytes]) -> list[bytes]:
    """Each partition in its own order, and always the one whose next row is oldest; of those as old, the first."""
    partitions: dict[bytes, list[bytes]] = defaultdict(list)
    for one in sorted(orders, key=lambda one: one[16:]):
        partitions[one[8:16]].append(one)
    arrived = []
    while partitions:
        _, lane = min((rows[0][:8], lane) for lane, rows in partitions.items())
        arrived.append(partitions[lane].pop(0))
        if not partitions[lane]:
            del partitions[lane]
    return arrived


def as_array(orders: list[bytes], cuts: list[int], around: int) -> pa.ChunkedArray:
    """The rows in chunks, each of them a part of a longer array."""
    ends = [0, *sorted(min(cut, len(orders)) for cut in cuts), len(orders)]
    parts = [orders[start:end] for start, end in pairwise(ends)]
    others = [order(0, 0, 0, 7)] * around
    arrays = [pa.array([*others, *part, *others], pa.binary()).slice(around, len(part)) for part in parts]
    return pa.chunked_array(arrays, pa.binary())


numbers = st.integers(0, 3) | st.sampled_from([255, 256, 2**31, 2**63, LARGEST])
small = st.integers(0, 3) | st.sampled_from([255, 256, 2**32 - 1])
behinds = st.lists(small, max_size=3)
# Of the rows of one record the place behind it tells which comes first.
rows = st.lists(
    st.builds(
        lambda time, lane, offset, behind: order(time, lane, offset, *behind), numbers, numbers, numbers, behinds
    ),
    unique_by=lambda one: one[8:].ljust(28, b"\0"),
    max_size=25,
)


@given(rows, st.lists(st.integers(0, 25), max_size=3), st.integers(0, 2))
@example([order(5, 1, 0), order(1, 1, 1), order(3, 2, 0), order(5, 2, 1)], [], 0)
def test_rows_arrive_as_if_their_partitions_were_read_together(
    orders: list[bytes], cuts: list[int], around: int
) -> None:
    chunked = as_array(orders, cuts, around)
    for array in (chunked, chunked.combine_chunks(), *chunked.chunks):
        given_, places = array.to_pylist(), arrival_order(array)
        assert places.dtype == np.int64
        assert [given_[at] for at in places] == read_together(given_)


def test_an_old_row_behind_a_newer_one_waits_for_it() -> None:
    held, old, other = order(9, 1, 0), order(2, 1, 1), order(5, 2, 0)
    assert read_together([old, held, other]) == [other, held, old]
    assert arrival_order(pa.array([old, held, other], pa.binary())).tolist() == [2, 1, 0]


def test_what_an_operator_made_of_a_row_stays_in_its_order() -> None:
    made = [order(4, 1, 8, at, behind) for at in (0, 1, 255, 256) for behind in (0, 2)]
    assert arrival_order(pa.array(made[::-1], pa.binary())).tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


NOTHING = {
    "array": pa.array([], pa.binary()),
    "no chunk": pa.chunked_array([], pa.binary()),
    "empty chunks": pa.chunked_array([pa.array([], pa.binary())] * 2),
    "nothing of an array": pa.array([order(1, 1, 1)], pa.binary()).slice(1),
}


@pytest.mark.parametrize("orders", NOTHING.values(), ids=NOTHING)
def test_no_rows_arrive_in_no_order(orders: pa.Array) -> None:
    assert arrival_order(orders).tolist() == []

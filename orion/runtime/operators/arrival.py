"""The order of arrival of a batch's rows, by numpy over their `rows.ORDER`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

_FIXED = 24  # bytes: the time, topic and partition, the offset
Places = np.ndarray[Any, np.dtype[np.int64]]


def arrival_order(orders: pa.Array) -> Places:
    """Where rows stand, as they would come from their partitions read together.

    Each partition is in its own order, and that whose next row is oldest goes first. See rows.ORDER for the bytes.
    """
    table = _as_table(orders)
    if len(table) == 0:
        return np.empty(0, np.int64)
    times, lanes, offsets = (_numbers(table[:, at : at + 8]) for at in (0, 8, 16))
    behind = [_numbers(table[:, at : at + 4], ">u4") for at in range(_FIXED, table.shape[1], 4)]
    ordered = np.lexsort((*reversed(behind), offsets, lanes))
    times, lanes = times[ordered], lanes[ordered]
    reached = np.empty_like(times)
    starts = np.flatnonzero(np.r_[True, lanes[1:] != lanes[:-1]])
    for start, end in zip(starts, [*starts[1:], len(lanes)], strict=True):
        np.maximum.accumulate(times[start:end], out=reached[start:end])
    found: Places = ordered[np.argsort(reached, kind="stable")] if len(starts) > 1 else ordered
    return found


def _numbers(columns: Any, type_: str = ">u8") -> Any:
    return np.ascontiguousarray(columns).view(type_).ravel().astype(type_.replace(">", "="))


def _as_table(orders: pa.Array) -> Any:
    """A row of bytes for each; those of an operator behind another are longer than others, which get zeros."""
    if isinstance(orders, pa.ChunkedArray):
        orders = orders.combine_chunks()
    count = len(orders)
    _, offsets, data = orders.buffers()
    ends = np.frombuffer(offsets, np.int32)[orders.offset : orders.offset + count + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    lengths = np.diff(ends)
    width = int(lengths.max(initial=_FIXED))
    if (lengths == width).all():
        return content[ends[0] : ends[-1]].reshape(count, width)
    table = np.zeros((count, width), np.uint8)
    for at, (start, end) in enumerate(pairwise(ends)):
        table[at, : end - start] = content[start:end]
    return table

"""Batches of Arrow as messages: a DataRow for each row, put together for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from orion.web.postgres.binary import fixed
from orion.web.postgres.protocol import data_row
from orion.web.postgres.types import Column


def data_rows(batch: Any, columns: Sequence[Column], formats: Sequence[int], tag: bytes = b"D") -> bytes:
    """The rows of a batch; `formats` has 0 for text and 1 for binary, one for each column. Tag d is COPY's."""
    if not columns:
        return data_row((), tag) * int(batch.num_rows)
    values = [
        _encoded(part, column, binary) for part, column, binary in zip(batch.columns, columns, formats, strict=True)
    ]
    sizes = [pc.fill_null(pc.binary_length(value), -1).to_numpy(zero_copy_only=False) for value in values]
    total = sum(size.clip(0) for size in sizes) + 4 + 2 + 4 * len(columns)
    parts: list[Any] = [tag, fixed(total.astype(">i4").tobytes(), 4), len(columns).to_bytes(2)]
    for size, value in zip(sizes, values, strict=True):
        parts += [fixed(size.astype(">i4").tobytes(), 4), value]
    return concatenated(pc.binary_join_element_wise(*parts, b"", null_handling="replace", null_replacement=b""))


def concatenated(joined: Any) -> bytes:
    """The values of a column of bytes, one behind the other."""
    _, offsets, data = joined.buffers()
    ends = pa.Array.from_buffers(pa.int32(), len(joined) + 1, [None, offsets], offset=joined.offset)
    return bytes(data[ends[0].as_py() : ends[-1].as_py()])


def _encoded(part: Any, column: Column, binary: int) -> Any:
    if pa.types.is_null(part.type):
        return pa.nulls(len(part), pa.binary())
    encode = column.type.as_binary if binary else column.type.as_text
    return encode(part).cast(pa.binary())

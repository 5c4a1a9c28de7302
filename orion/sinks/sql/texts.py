"""Arrow columns as text, a column at a time: no value is touched in Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from orion.schema import Scalar, SqlType

_CSV = pyarrow.csv.WriteOptions(include_header=False, batch_size=65_536)


def csv(columns: Sequence[pa.Array]) -> bytes:
    """Rows as PostgreSQL's COPY reads CSV: texts in quotes, NULL as nothing at all."""
    batch = pa.record_batch(list(columns), names=[str(n) for n in range(len(columns))])
    out = pa.BufferOutputStream()
    pyarrow.csv.write_csv(batch, out, _CSV)
    told: bytes = out.getvalue().to_pybytes()
    return told


def hexed(values: pa.Array) -> pa.Array:
    """Bytes as hexadecimal digits: those of all values at once, with offsets twice as far."""
    values = values.cast(pa.large_binary())
    count, start = len(values), values.offset
    validity, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[start : start + count + 1]
    first = int(ends[0])
    digits = data[first : int(ends[-1])].to_pybytes().hex().encode() if data is not None else b""
    doubled = ((ends - first) * 2).astype(np.int64)
    texts = pa.Array.from_buffers(pa.large_string(), count, [None, pa.py_buffer(doubled), pa.py_buffer(digits)])
    if validity is None:
        return texts
    return pc.if_else(values.is_valid(), texts, pa.scalar(None, pa.large_string()))


def times(values: pa.Array) -> pa.Array:
    """Milliseconds of the day as a time."""
    return values.cast(pa.time32("ms"))


def zoned(values: pa.Array) -> pa.Array:
    """Instants as texts in UTC, with its mark. Arrow looks the zone up for each: it would take 20 times as long."""
    texts = values.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")).cast(pa.string())
    return pc.binary_join_element_wise(texts, pa.scalar("Z"), pa.scalar(""))


def local(values: pa.Array, zone: str) -> pa.Array:
    """Instants as texts of a zone's clock, without a mark."""
    return pc.local_timestamp(values.cast(pa.timestamp("us", zone))).cast(pa.string())


def outside(type_: SqlType, values: pa.Array) -> pa.Array | None:
    """Where a TIME isn't within a day, and a DATE or TIMESTAMP not within the years 1 to 9999."""
    bounds = _BOUNDS.get(type_) if isinstance(type_, Scalar) else None
    if bounds is None:
        return None
    numbers = values.cast(pa.int32() if type_ is not Scalar.TIMESTAMP else pa.int64())
    return pc.or_(pc.less(numbers, bounds[0]), pc.greater(numbers, bounds[1]))


_DAY_US = 86_400_000_000
_BOUNDS = {
    Scalar.TIME: (0, 86_399_999),
    Scalar.DATE: (-719_162, 2_932_896),
    Scalar.TIMESTAMP: (-719_162 * _DAY_US, 2_932_897 * _DAY_US - 1),
}


def quoted(values: pa.Array) -> pa.Array:
    """Texts as constants of SQL, where a backslash means itself. NULL stays NULL."""
    texts = values.cast(pa.large_string())
    if pc.any(pc.match_substring(texts, "'")).as_py():
        texts = pc.replace_substring(texts, "'", "''")
    mark, nothing = pa.scalar("'", pa.large_string()), pa.scalar("", pa.large_string())
    return pc.binary_join_element_wise(mark, texts, mark, nothing)


def runs(parts: Sequence[pa.Array | str], trail: int, most: int) -> list[bytes]:
    """Rows made of constants and columns side by side, one row behind the other, in runs of at most so many bytes.

    Each row ends in `trail` characters that separate it from the next; a run goes without its last ones. A row that is
    longer than `most` is a run of its own.
    """
    filled = [part if isinstance(part, str) else pc.fill_null(part.cast(pa.large_string()), "NULL") for part in parts]
    rows = pc.binary_join_element_wise(
        *(pa.scalar(p, pa.large_string()) if isinstance(p, str) else p for p in filled),
        pa.scalar("", pa.large_string()),
    )
    _, offsets, data = rows.buffers()
    ends = np.frombuffer(offsets, np.int64)[rows.offset : rows.offset + len(rows) + 1]
    found: list[bytes] = []
    first = 0
    while first < len(rows):
        last = int(np.searchsorted(ends, ends[first] + most, side="right")) - 1
        last = min(max(last, first + 1), len(rows))
        found.append(data[int(ends[first]) : int(ends[last]) - trail].to_pybytes())
        first = last
    return found


def alternating(columns: Sequence[pa.Array], before: str, between: str, after: str) -> list[pa.Array | str]:
    """Columns with texts around them, as `runs` takes them."""
    parts: list[pa.Array | str] = [before]
    for number, column in enumerate(columns):
        parts += [between, column] if number else [column]
    return [*parts, after]

"""Columns as text: slices, NULLs and quotes come out right, and runs are cut where they should be."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from orion.sinks.sql.texts import alternating, csv, hexed, quoted, runs

maybe_bytes = st.lists(st.none() | st.binary(max_size=5), max_size=12)
maybe_texts = st.lists(st.none() | st.text(alphabet="a'\\\"\n,é", max_size=5), min_size=1, max_size=12)


@given(maybe_bytes, st.integers(0, 12))
def test_bytes_as_digits(values: list[bytes | None], first: int) -> None:
    expected = [None if v is None else v.hex() for v in values[first:]]
    assert hexed(pa.array(values, pa.binary()).slice(min(first, len(values)))).to_pylist() == expected


@given(maybe_texts)
def test_texts_as_constants(values: list[str | None]) -> None:
    expected = [None if v is None else "'" + v.replace("'", "''") + "'" for v in values]
    assert quoted(pa.array(values, pa.string())).to_pylist() == expected


@given(maybe_texts, st.integers(1, 60))
def test_runs_hold_every_row_once(values: list[str | None], most: int) -> None:
    columns = [pa.array(range(len(values)), pa.int64()), quoted(pa.array(values, pa.string()))]
    rows = [f"({n},{q})" for n, q in zip(range(len(values)), _constants(values), strict=True)]
    found = runs(alternating(columns, "(", ",", "),"), 1, most)
    assert b",".join(found).decode() == ",".join(rows)
    assert all(len(run) < most or run.decode() in rows for run in found)


def test_csv_tells_null_from_empty() -> None:
    columns: list[Any] = [pa.array(["", None, 'a"b']), pa.array([1, None, 2])]
    assert csv(columns) == b'"",1\n,\n"a""b",2\n'


def _constants(values: list[str | None]) -> list[str]:
    return ["NULL" if v is None else "'" + v.replace("'", "''") + "'" for v in values]

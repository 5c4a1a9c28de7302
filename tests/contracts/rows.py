"""Rows as a worker hands them to a store: Arrow batches of a layout's columns and what stands beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa

from orion.arrow import arrow_type
from orion.plan.sources import Kind
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, SqlType, Struct
from orion.sinks.store import DELETED, OFFSET, PARTITION, ROUTE, TIME, Layout, Nested

PARTITION_NUMBER = 3
TIME_MS = 1_790_000_000_000

Row = Mapping[str, Any]


def layout(*columns: tuple[str, SqlType], key: tuple[str, SqlType] = ("ID", Scalar.BIGINT)) -> Layout:
    """A table's layout with one key column, ID unless told."""
    values = (Column(name, type_) for name, type_ in columns)
    return Layout("plays", Kind.TABLE, (Column(*key, Role.KEY), *values))


def batch(layout: Layout, rows: Sequence[Row], nested: Nested, first: int = 0) -> pa.RecordBatch:
    """Rows with offsets from `first` on. One with DELETED set has only its key; one with ROUTE goes there."""
    columns = {
        c.name: pa.array([_value(c.type, r.get(c.name), nested) for r in rows], _arrow(c.type, nested))
        for c in layout.columns
    }
    return pa.record_batch(
        columns
        | {
            DELETED: pa.array([bool(r.get(DELETED, False)) for r in rows], pa.bool_()),
            PARTITION: pa.array([PARTITION_NUMBER] * len(rows), pa.int32()),
            OFFSET: pa.array(range(first, first + len(rows)), pa.int64()),
            TIME: pa.array([TIME_MS] * len(rows), pa.int64()),
            ROUTE: pa.array([r.get(ROUTE) for r in rows], pa.string()),
        }
    )


def _value(type_: SqlType, value: Any, nested: Nested) -> Any:
    if value is None or not isinstance(type_, Array | Map | Struct):
        return value
    if nested is Nested.TEXT:
        return json.dumps(value, ensure_ascii=False)
    return list(value.items()) if isinstance(type_, Map) else value


def _arrow(type_: SqlType, nested: Nested = Nested.ARROW) -> pa.DataType:
    """A column's type as Spark hands it over."""
    if nested is Nested.TEXT and isinstance(type_, Array | Map | Struct):
        return pa.string()
    return arrow_type(type_)


# Every type with values at its edges. NULL belongs to each.
SAMPLES: dict[SqlType, list[Any]] = {
    Scalar.BOOLEAN: [True, False],
    Scalar.INTEGER: [0, 1, -(2**31), 2**31 - 1],
    Scalar.BIGINT: [0, -1, -(2**63), 2**63 - 1],
    Scalar.DOUBLE: [0.0, -1.5, 0.1, 1e-300, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf")],
    Scalar.STRING: [
        "",
        " a ",
        "Zürich, 東京",
        "😀 and 👩\u200d🚀",
        'it\'s "quoted", \\back\\slashed\\',
        "tab\tline\nnext\r\nend",
        "\\.",
        "\\N",
        "NULL",
        "a\x00b",
        "x" * 100_000,
    ],
    Scalar.BYTES: [b"", b"\x00", bytes(range(256)), b"'\\\"\n"],
    Decimal(38, 18): [Exact("0"), Exact("1e-18"), Exact("-1.500000000000000000"), Exact("9" * 20 + "." + "9" * 18)],
    Decimal(5, 0): [Exact("99999"), Exact("-99999")],
    Scalar.DATE: [date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 15)],
    Scalar.TIME: [0, 1, 43_200_123, 86_399_999],
    Scalar.TIMESTAMP: [
        datetime(2026, 9, 21, 12, 30, 15, 123456, UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999000, UTC),
    ],
    Array(Scalar.INTEGER): [[], [1, None, 3]],
    Map(Scalar.STRING, Scalar.DOUBLE): [{}, {"a": 1.5, "é": None}],
    Struct((Field("A", Scalar.INTEGER), Field("B", Scalar.STRING))): [{"A": 1, "B": "it's"}, {"A": None, "B": None}],
    Array(Struct((Field("A", Array(Scalar.STRING)),))): [[{"A": ["x", "y"]}, {"A": []}]],
}

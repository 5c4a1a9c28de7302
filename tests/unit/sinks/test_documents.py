"""Rows of Arrow batches as documents, for every type and to any depth."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
import pytest
from bson import Decimal128, Int64, decode, encode

from orion.plan.sources import Kind
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, SqlType, Struct
from orion.sinks.documents.rows import read
from orion.sinks.documents.values import clock, converter
from orion.sinks.mongo.values import Decimals, bson, has_decimal
from orion.sinks.search.values import as_id, as_pairs, plain, written
from orion.sinks.store import DELETED, OFFSET, Layout, Nested
from tests.contracts.rows import Row, batch

PRICE, DAY = Decimal(10, 2), Scalar.DATE
DEEP = Struct((Field("A", Array(Map(Scalar.INTEGER, PRICE))), Field("B", Scalar.STRING), Field("C", DAY)))
DEEP_VALUE = {"A": [[(1, Exact("1.50")), (2, None)], None], "B": None, "C": date(2026, 9, 21)}


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (Scalar.BOOLEAN, True, True),
        (Scalar.INTEGER, 1, 1),
        (Scalar.BIGINT, 1, 1),
        (Scalar.DOUBLE, 1.5, 1.5),
        (Scalar.DOUBLE, float("nan"), "NaN"),
        (Scalar.DOUBLE, float("-inf"), "-Infinity"),
        (Scalar.STRING, "é", "é"),
        (Scalar.BYTES, b"\x00\xff", "AP8="),
        (PRICE, Exact("1E+3"), "1000"),
        (DAY, date(1, 2, 3), "0001-02-03"),
        (Scalar.TIME, 43_200_123, "12:00:00.123"),
        (Scalar.TIMESTAMP, datetime(2026, 1, 2, 3, 4, 5, 678000, UTC), "2026-01-02T03:04:05.678Z"),
        (Scalar.TIMESTAMP, datetime(2026, 1, 2, 3, 4, 5, 6), "2026-01-02T03:04:05.000006Z"),
        (DEEP, DEEP_VALUE, {"A": [{"1": "1.50", "2": None}, None], "B": None, "C": "2026-09-21"}),
    ],
)
def test_values_for_search(type_: SqlType, value: Any, expected: Any) -> None:
    convert = converter(type_, plain)
    assert (value if convert is None else convert(value)) == expected


def test_a_map_as_pairs() -> None:
    convert = converter(Map(Scalar.BOOLEAN, Scalar.INTEGER), plain, as_pairs)
    assert convert is not None
    assert convert([(True, 1)]) == [{"key": "true", "value": 1}]


def test_values_for_mongodb_are_of_one_type_each() -> None:
    of = {t: converter(t, bson(Decimals.PRECISE)) for t in (Scalar.BIGINT, PRICE, DAY, DEEP)}
    assert all(of.values())
    document = {
        str(t): convert(v)
        for (t, convert), v in zip(of.items(), (1, Exact("1.50"), date(1, 1, 1), DEEP_VALUE), strict=True)
        if convert
    }
    read_back = decode(encode(document))
    assert isinstance(read_back["BIGINT"], Int64)
    assert read_back["DECIMAL(10, 2)"] == Decimal128("1.50")
    assert read_back["DATE"] == datetime(1, 1, 1)
    assert read_back[str(DEEP)] == {
        "A": [{"1": Decimal128("1.50"), "2": None}, None],
        "B": None,
        "C": datetime(2026, 9, 21),
    }


@pytest.mark.parametrize(("mode", "expected"), [(Decimals.STRING, "1.50"), (Decimals.DOUBLE, 1.5)])
def test_decimals_have_other_forms(mode: Decimals, expected: Any) -> None:
    convert = bson(mode)(PRICE)
    assert convert is not None
    assert convert(Exact("1.50")) == expected


def test_where_decimals_are() -> None:
    assert has_decimal(DEEP)
    assert not has_decimal(Struct((Field("A", Array(Scalar.STRING)),)))


LAYOUT = Layout("t", Kind.TABLE, (Column("ID", Scalar.BIGINT, Role.KEY), Column("V", Decimal(38, 2))))


def test_a_value_that_does_not_fit_takes_only_its_own_row_away() -> None:
    converters = {c.name: converter(c.type, bson(Decimals.PRECISE)) for c in LAYOUT.columns}
    rows: list[Row] = [{"ID": 1, "V": Exact("1.5")}, {"ID": 2, "V": Exact("9" * 36)}, {"ID": 3, DELETED: True}]
    found, refused = read(batch(LAYOUT, rows, Nested.ARROW, first=7), LAYOUT, converters)
    assert [(r.fields, r.deleted, r.offset) for r in found] == [
        ({"ID": 1, "V": Decimal128("1.50")}, False, 7),
        ({"ID": 3}, True, 9),
    ]
    assert [(r.offset, r.reason) for r in refused] == [
        (8, "V: a DECIMAL of more than 34 digits, which decimal128 doesn't have")
    ]


def test_a_date_that_python_does_not_know_is_out_of_range() -> None:
    layout = Layout("t", Kind.STREAM, (Column("DAY", DAY),))
    rows = batch(layout, [{"DAY": date(2026, 1, 1)}, {"DAY": None}], Nested.ARROW)
    far = pa.array([0, 10_000_000], pa.int32()).cast(pa.date32())
    found, refused = read(rows.set_column(0, "DAY", far), layout, {"DAY": converter(DAY, plain)})
    assert [r.fields for r in found] == [{"DAY": "1970-01-01"}]
    assert [r.reason for r in refused] == ["DAY: a value of DATE is out of range"]


def test_a_layout_without_columns_still_has_rows() -> None:
    layout = Layout("t", Kind.STREAM, ())
    rows = batch(layout, [{}, {}], Nested.ARROW)
    assert rows.column(OFFSET).to_pylist() == [0, 1]
    assert [r.fields for r in read(rows, layout, {})[0]] == [{}, {}]


def test_keys_as_ids() -> None:
    assert as_id({"A": "x y"}) == "x y"
    assert as_id({"A": 5}) == "5"
    assert as_id({"A": True}) == "true"
    assert as_id({"A": 5, "B": None}) == '{"A":5,"B":null}'
    assert written({"ü": "\n"}) == '{"ü":"\\n"}'.encode()


def test_the_clock_sorts_as_times_do() -> None:
    times = [0, 59_999, 3_600_000, 36_000_001, 86_399_999]
    assert sorted(map(clock, reversed(times))) == [clock(t) for t in times]
    assert clock(86_399_999) == "23:59:59.999"

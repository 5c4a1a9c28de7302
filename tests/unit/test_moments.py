"""Dates and timestamps beyond Python's own, there and back."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion import moments
from orion.arrow import python_values
from orion.clients.values import Result, value_of
from orion.moments import DAYS, MILLIS, FarMoment
from orion.schema import Array, Field, Map, Scalar, Struct

FAR = 253_402_300_800_000_000  # the year 10000, in microseconds


@given(st.integers(*DAYS))
def test_a_date_s_text_is_read_again(days: int) -> None:
    assert moments.days_of(moments.date_text(days)) == days


@given(st.integers(*MILLIS))
def test_a_timestamp_s_text_is_read_again(millis: int) -> None:
    assert moments.micros_of(moments.timestamp_text(millis * 1000)) == millis * 1000


@given(st.dates())
def test_python_s_own_dates_are_theirs(day: dt.date) -> None:
    days = (day - dt.date(1970, 1, 1)).days
    assert moments.date_of(days) == day
    assert moments.date_text(days) == day.isoformat()


@given(st.datetimes())
def test_python_s_own_timestamps_are_theirs(moment: dt.datetime) -> None:
    micros = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    assert moments.timestamp_of(micros) == moment


def test_duckdb_s_spelling_is_read_too() -> None:
    assert moments.micros_of("10000-01-01 00:00:00") == FAR
    assert moments.date_text(moments.days_of("0222-09-04 (BC)")) == "-0221-09-04"
    assert moments.timestamp_text(moments.micros_of("0001-12-31 (BC) 23:59:59.999")) == "0000-12-31T23:59:59.999"
    with pytest.raises(ValueError, match="is no date"):
        moments.micros_of("soon")


def test_values_of_arrow_that_python_has_none_for() -> None:
    stamp = pa.timestamp("us", "UTC")
    type_ = pa.struct([("t", stamp), ("l", pa.list_(pa.date32())), ("m", pa.map_(pa.string(), stamp))])
    column = pa.array([{"t": FAR, "l": [2_932_897, None, 0], "m": [("a", FAR), ("b", 0)]}, None], type_)
    far, epoch = "+10000-01-01T00:00:00.000", dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    wanted = {"t": far, "l": ["+10000-01-01", None, dt.date(1970, 1, 1)], "m": [("a", far), ("b", epoch)]}
    assert python_values(column) == [wanted, None]
    assert isinstance(python_values(column)[0]["t"], FarMoment)
    assert python_values(pa.array([1, None])) == [1, None]


def test_clients_have_text_for_them_and_arrow_the_value() -> None:
    far, day = "+10000-01-01T00:00:00.000", "-0221-09-04"
    assert value_of(far, Scalar.TIMESTAMP) == far
    assert value_of(day, Scalar.DATE) == day
    assert value_of("0000-12-31", Scalar.DATE) == "0000-12-31"
    assert value_of("9999-12-31", Scalar.DATE) == dt.date(9999, 12, 31)
    types = (
        Scalar.TIMESTAMP,
        Scalar.DATE,
        Array(Scalar.DATE),
        Struct((Field("A", Scalar.TIMESTAMP),)),
        Map(Scalar.STRING, Scalar.DATE),
    )
    result = Result(("T", "D", "L", "S", "M"), types, [[far, day, [day], {"A": far}, {"k": day}]])
    table = result.arrow()
    assert table.column("T").cast(pa.int64()).to_pylist() == [FAR // 1000]
    assert table.column("D").cast(pa.int32()).to_pylist() == [-800_000]
    assert len(table) == 1

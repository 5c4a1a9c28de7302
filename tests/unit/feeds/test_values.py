"""Values of other systems' clients as columns."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal as Number
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from orion.feeds.values import as_columns, text
from orion.schema import Array, Column, Decimal, Field, Map, Scalar, SqlType, Struct

AT = datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)


def one(value: Any, type_: SqlType) -> tuple[Any, str | None]:
    made = as_columns([(value,)], [Column("C", type_)])
    return made.arrays[0].to_pylist()[0], made.bad[0]


@pytest.mark.parametrize(
    ("value", "type_", "made"),
    [
        (True, Scalar.BOOLEAN, True),
        (0, Scalar.BOOLEAN, False),
        (b"\x01", Scalar.BOOLEAN, True),
        ("no", Scalar.BOOLEAN, False),
        (Number("12"), Scalar.INTEGER, 12),
        (True, Scalar.INTEGER, 1),
        (" 7 ", Scalar.BIGINT, 7),
        (Number("1.5"), Scalar.DOUBLE, 1.5),
        (3, Scalar.DOUBLE, 3.0),
        ("1.005", Decimal(6, 2), Number("1.00")),
        (1.5, Decimal(6, 2), Number("1.50")),
        (7, Scalar.STRING, "7"),
        ({"a": [1, AT]}, Scalar.STRING, '{"a": [1, "2026-01-02 03:04:05.600000+00:00"]}'),
        (UUID(int=5), Scalar.STRING, "00000000-0000-0000-0000-000000000005"),
        (bytearray(b"x"), Scalar.BYTES, b"x"),
        ("2026-01-02", Scalar.DATE, date(2026, 1, 2)),
        (AT, Scalar.DATE, date(2026, 1, 2)),
        (time(1, 0, 0, 2000), Scalar.TIME, 3_600_002),
        (timedelta(hours=1), Scalar.TIME, 3_600_000),
        ("2026-01-02 03:04:05.6+00", Scalar.TIMESTAMP, AT),
        ("2026-01-02 04:04:05.6+01", Scalar.TIMESTAMP, AT),
        (1767323045600, Scalar.TIMESTAMP, AT),
        ([1, None], Array(Scalar.INTEGER), [1, None]),
        ('{"a": 1}', Map(Scalar.STRING, Scalar.BIGINT), [("a", 1)]),
        ({"x": "1", "Y": None}, Struct((Field("X", Scalar.INTEGER), Field("Y", Scalar.STRING))), {"X": 1, "Y": None}),
    ],
)
def test_what_fits(value: Any, type_: SqlType, made: Any) -> None:
    assert one(value, type_) == (made, None)


@pytest.mark.parametrize(
    ("value", "type_", "why"),
    [
        ("maybe", Scalar.BOOLEAN, "C is neither true nor false"),
        (1 << 31, Scalar.INTEGER, "C is too large a number"),
        (1.5, Scalar.BIGINT, "C is no whole number"),
        ("x", Scalar.BIGINT, "C is no BIGINT"),
        (math.nan, Scalar.INTEGER, "C is no INTEGER"),
        (Number("123456"), Decimal(6, 2), "C is too large for DECIMAL(6, 2)"),
        (Number("NaN"), Decimal(6, 2), "C is no number"),
        (b"\xff", Scalar.STRING, "C is no VARCHAR(STRING)"),
        (timedelta(hours=30), Scalar.TIME, "C is no time of day"),
        ("infinity", Scalar.TIMESTAMP, "C is no TIMESTAMP"),
        ("0000-00-00", Scalar.DATE, "C is no DATE"),
        ("{}", Array(Scalar.INTEGER), "C is no list"),
    ],
)
def test_what_does_not_fit(value: Any, type_: SqlType, why: str) -> None:
    assert one(value, type_) == (None, why)


def test_a_bad_row_has_no_values_and_the_others_have_theirs() -> None:
    columns = [Column("A", Scalar.STRING), Column("B", Scalar.INTEGER)]
    made = as_columns([("x", 1), ("y", "many"), ("z", None)], columns)
    assert [array.to_pylist() for array in made.arrays] == [["x", None, "z"], [1, None, None]]
    assert made.bad == [None, "B is no INTEGER", None]


def test_times_without_a_zone_are_read_in_the_one_that_is_told() -> None:
    zone = ZoneInfo("America/Sao_Paulo")
    made = as_columns([(datetime(2026, 1, 2, 0, 4, 5, 600_000), AT)], [Column("A", Scalar.TIMESTAMP)] * 2, [zone, zone])
    assert [array.to_pylist() for array in made.arrays] == [[AT], [AT]]


def test_no_rows() -> None:
    made = as_columns([], [Column("A", Scalar.STRING)])
    assert (len(made.arrays), len(made.arrays[0]), made.bad) == (1, 0, [])


def test_text_of_parts() -> None:
    assert text({"b", "a"}) == "a,b"

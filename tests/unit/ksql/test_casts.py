"""What CAST, INSERT and arithmetic do to types."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orion.errors import BindError, Span
from orion.ksql import casts
from orion.plan.relations import Expr
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct, literal

BOOL, INT, LONG, DOUBLE, TEXT = Scalar.BOOLEAN, Scalar.INTEGER, Scalar.BIGINT, Scalar.DOUBLE, Scalar.STRING
PRICE = Decimal(5, 2)

decimals = st.integers(1, 38).flatmap(lambda p: st.builds(Decimal, st.just(p), st.integers(0, p)))


def cast(source: SqlType, wanted: SqlType) -> str:
    return casts.explicit(Expr("`C`", source, "C"), wanted, Span(0, 1))


@pytest.mark.parametrize(
    ("op", "left", "right", "result"),
    [
        ("+", Decimal(5, 2), Decimal(5, 2), Decimal(6, 2)),
        ("-", Decimal(10, 2), Decimal(5, 3), Decimal(12, 3)),
        ("*", Decimal(5, 2), Decimal(4, 1), Decimal(10, 3)),
        ("/", Decimal(5, 2), Decimal(4, 1), Decimal(11, 7)),
        ("/", Decimal(2, 0), Decimal(1, 0), Decimal(8, 6)),
        ("%", Decimal(5, 2), Decimal(4, 1), Decimal(5, 2)),
        # Too many digits: the fraction gives way, down to six.
        ("+", Decimal(38, 10), Decimal(38, 10), Decimal(38, 9)),
        ("*", Decimal(38, 0), Decimal(38, 0), Decimal(38, 0)),
        ("*", Decimal(38, 20), Decimal(38, 20), Decimal(38, 6)),
        ("/", Decimal(38, 0), Decimal(38, 0), Decimal(38, 6)),
        ("/", Decimal(19, 0), Decimal(19, 9), Decimal(38, 10)),
    ],
)
def test_the_type_of_decimal_arithmetic(op: str, left: Decimal, right: Decimal, result: Decimal) -> None:
    assert casts.decimal_result(op, left, right) == result


@settings(max_examples=50, deadline=None)
@given(st.sampled_from("+-*/%"), decimals, decimals)
def test_decimal_arithmetic_makes_a_decimal_that_can_be(op: str, left: Decimal, right: Decimal) -> None:
    result = casts.decimal_result(op, left, right)
    assert 0 <= result.scale <= result.precision <= 38
    # What needs no rounding loses nothing: all whole digits of a sum are there.
    if op in "+-" and result.precision < 38:
        assert result.precision - result.scale > max(left.precision - left.scale, right.precision - right.scale)


def test_a_whole_number_as_a_decimal_holds_all_of_its_range() -> None:
    assert casts.as_decimal(INT) == Decimal(10, 0)
    assert casts.as_decimal(LONG) == Decimal(19, 0)
    assert casts.as_decimal(PRICE) == PRICE


@pytest.mark.parametrize(
    ("source", "wanted", "spark"),
    [
        (INT, INT, "CAST(`C` AS INT)"),
        (INT, LONG, "CAST(`C` AS BIGINT)"),
        (DOUBLE, INT, "CAST(`C` AS INT)"),
        (PRICE, DOUBLE, "CAST(`C` AS DOUBLE)"),
        (LONG, PRICE, "CAST(`C` AS DECIMAL(5,2))"),
        (INT, TEXT, "CAST(`C` AS STRING)"),
        (BOOL, TEXT, "CAST(`C` AS STRING)"),
        (Scalar.BYTES, TEXT, "base64(`C`)"),
        (TEXT, LONG, r"CAST(regexp_substr(`C`, '^\\s*[+-]?[0-9]+\\s*$') AS BIGINT)"),
        (TEXT, BOOL, "(lower(`C`) = 'true')"),
        (TEXT, Scalar.DATE, "CAST(`C` AS DATE)"),
        (Scalar.TIMESTAMP, Scalar.DATE, "CAST(`C` AS DATE)"),
        (
            Scalar.DATE,
            Scalar.TIMESTAMP,
            "timestamp_micros(try_multiply(CAST(unix_date(`C`) AS BIGINT), 86400000000L))",
        ),
        (Array(INT), Array(LONG), "transform(`C`, x -> CAST(x AS BIGINT))"),
        (Array(Array(INT)), Array(Array(TEXT)), "transform(`C`, x -> transform(x, x -> CAST(x AS STRING)))"),
        (Map(TEXT, INT), Map(TEXT, LONG), "transform_values(`C`, (k, x) -> CAST(x AS BIGINT))"),
    ],
)
def test_explicit_casts(source: SqlType, wanted: SqlType, spark: str) -> None:
    assert cast(source, wanted) == spark


def test_a_struct_is_cast_field_by_field() -> None:
    source = Struct((Field("A", INT), Field("B", TEXT)))
    wanted = Struct((Field("B", TEXT), Field("A", LONG), Field("NEW", DOUBLE)))
    assert cast(source, wanted) == (
        "if(`C` IS NULL, NULL, named_struct("
        "'B', CAST(`C`.`B` AS STRING), 'A', CAST(`C`.`A` AS BIGINT), 'NEW', CAST(NULL AS DOUBLE)))"
    )


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (BOOL, INT),
        (INT, BOOL),
        (INT, Scalar.TIMESTAMP),
        (LONG, Scalar.DATE),
        (Scalar.TIME, Scalar.DATE),
        (TEXT, Scalar.BYTES),
        (TEXT, Array(TEXT)),
        (Array(BOOL), Array(INT)),
        (Map(TEXT, INT), Array(INT)),
        (Struct((Field("A", INT),)), Struct((Field("B", INT),))),
    ],
)
def test_casts_that_make_no_sense_are_refused(source: SqlType, wanted: SqlType) -> None:
    with pytest.raises(BindError) as refused:
        cast(source, wanted)
    assert refused.value.code == "INVALID_CAST"
    assert refused.value.span == Span(0, 1)


def test_null_casts_to_anything() -> None:
    null = Expr("NULL", TEXT, "null")
    assert casts.explicit(null, Map(TEXT, INT), Span(0, 1)) == "CAST(NULL AS MAP<STRING,INT>)"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (INT, INT),
        (INT, LONG),
        (INT, DOUBLE),
        (INT, PRICE),
        (Decimal(9, 4), PRICE),
        (PRICE, DOUBLE),
        (TEXT, Scalar.TIMESTAMP),
        (TEXT, Scalar.TIME),
        (TEXT, Scalar.BYTES),
        (Array(INT), Array(LONG)),
        (Array(Struct((Field("A", INT),))), Array(Struct((Field("A", DOUBLE), Field("B", TEXT))))),
        (Map(TEXT, INT), Map(TEXT, DOUBLE)),
        (Struct(()), Struct((Field("A", DOUBLE),))),
    ],
)
def test_what_may_be_inserted(given: SqlType, wanted: SqlType) -> None:
    assert casts.insertable(given, wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (LONG, INT),
        (DOUBLE, LONG),
        (PRICE, INT),
        (INT, TEXT),
        (TEXT, INT),
        (BOOL, INT),
        (Array(LONG), Array(INT)),
        (Map(TEXT, TEXT), Map(TEXT, INT)),
        (Struct((Field("X", INT),)), Struct((Field("A", INT),))),
        (Array(INT), INT),
    ],
)
def test_what_may_not_be_inserted(given: SqlType, wanted: SqlType) -> None:
    assert not casts.insertable(given, wanted)


def test_a_map_is_found_wherever_it_stands() -> None:
    assert casts.contains_map(Struct((Field("A", Array(Map(TEXT, INT))),)))
    assert not casts.contains_map(Struct((Field("A", Array(INT)),)))


def test_a_quoted_text_is_one_constant_of_spark() -> None:
    assert literal("it's \\n") == r"'it\'s \\n'"

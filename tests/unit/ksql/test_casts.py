"""What CAST, INSERT and arithmetic do to types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.errors import BindError, Span
from orion.ksql import casts
from orion.plan.relations import Expr
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct

B, I, L, D, S = Scalar.BOOLEAN, Scalar.INTEGER, Scalar.BIGINT, Scalar.DOUBLE, Scalar.STRING
N = Decimal(5, 2)

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


@given(st.sampled_from("+-*/%"), decimals, decimals)
def test_decimal_arithmetic_makes_a_decimal_that_can_be(op: str, left: Decimal, right: Decimal) -> None:
    result = casts.decimal_result(op, left, right)
    assert 0 <= result.scale <= result.precision <= 38
    # What needs no rounding loses nothing: all whole digits of a sum are there.
    if op in "+-" and result.precision < 38:
        assert result.precision - result.scale > max(left.precision - left.scale, right.precision - right.scale)


def test_a_whole_number_as_a_decimal_holds_all_of_its_range() -> None:
    assert casts.as_decimal(I) == Decimal(10, 0)
    assert casts.as_decimal(L) == Decimal(19, 0)
    assert casts.as_decimal(N) == N


@pytest.mark.parametrize(
    ("source", "wanted", "spark"),
    [
        (I, I, "CAST(`C` AS INT)"),
        (I, L, "CAST(`C` AS BIGINT)"),
        (D, I, "CAST(`C` AS INT)"),
        (N, D, "CAST(`C` AS DOUBLE)"),
        (L, N, "CAST(`C` AS DECIMAL(5,2))"),
        (I, S, "CAST(`C` AS STRING)"),
        (B, S, "CAST(`C` AS STRING)"),
        (Scalar.BYTES, S, "base64(`C`)"),
        (S, L, "CAST(`C` AS BIGINT)"),
        (S, B, "(lower(`C`) = 'true')"),
        (S, Scalar.DATE, "CAST(`C` AS DATE)"),
        (Scalar.TIMESTAMP, Scalar.DATE, "CAST(`C` AS DATE)"),
        (Scalar.DATE, Scalar.TIMESTAMP, "CAST(`C` AS TIMESTAMP)"),
        (Array(I), Array(L), "transform(`C`, x -> CAST(x AS BIGINT))"),
        (Array(Array(I)), Array(Array(S)), "transform(`C`, x -> transform(x, x -> CAST(x AS STRING)))"),
        (Map(S, I), Map(S, L), "transform_values(`C`, (k, x) -> CAST(x AS BIGINT))"),
    ],
)
def test_explicit_casts(source: SqlType, wanted: SqlType, spark: str) -> None:
    assert cast(source, wanted) == spark


def test_a_struct_is_cast_field_by_field() -> None:
    source = Struct((Field("A", I), Field("B", S)))
    wanted = Struct((Field("B", S), Field("A", L), Field("NEW", D)))
    assert cast(source, wanted) == (
        "if(`C` IS NULL, NULL, named_struct("
        "'B', CAST(`C`.`B` AS STRING), 'A', CAST(`C`.`A` AS BIGINT), 'NEW', CAST(NULL AS DOUBLE)))"
    )


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (B, I),
        (I, B),
        (I, Scalar.TIMESTAMP),
        (L, Scalar.DATE),
        (Scalar.TIME, Scalar.DATE),
        (S, Scalar.BYTES),
        (S, Array(S)),
        (Array(B), Array(I)),
        (Map(S, I), Array(I)),
        (Struct((Field("A", I),)), Struct((Field("B", I),))),
    ],
)
def test_casts_that_make_no_sense_are_refused(source: SqlType, wanted: SqlType) -> None:
    with pytest.raises(BindError) as refused:
        cast(source, wanted)
    assert refused.value.code == "INVALID_CAST"
    assert refused.value.span == Span(0, 1)


def test_null_casts_to_anything() -> None:
    null = Expr("NULL", S, "null")
    assert casts.explicit(null, Map(S, I), Span(0, 1)) == "CAST(NULL AS MAP<STRING,INT>)"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (I, I),
        (I, L),
        (I, D),
        (I, N),
        (Decimal(9, 4), N),
        (N, D),
        (S, Scalar.TIMESTAMP),
        (S, Scalar.TIME),
        (S, Scalar.BYTES),
        (Array(I), Array(L)),
        (Array(Struct((Field("A", I),))), Array(Struct((Field("A", D), Field("B", S))))),
        (Map(S, I), Map(S, D)),
        (Struct(()), Struct((Field("A", D),))),
    ],
)
def test_what_may_be_inserted(given: SqlType, wanted: SqlType) -> None:
    assert casts.insertable(given, wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (L, I),
        (D, L),
        (N, I),
        (I, S),
        (S, I),
        (B, I),
        (Array(L), Array(I)),
        (Map(S, S), Map(S, I)),
        (Struct((Field("X", I),)), Struct((Field("A", I),))),
        (Array(I), I),
    ],
)
def test_what_may_not_be_inserted(given: SqlType, wanted: SqlType) -> None:
    assert not casts.insertable(given, wanted)


def test_a_map_is_found_wherever_it_stands() -> None:
    assert casts.contains_map(Struct((Field("A", Array(Map(S, I))),)))
    assert not casts.contains_map(Struct((Field("A", Array(I)),)))


def test_a_quoted_text_is_one_constant_of_spark() -> None:
    assert casts.quoted("it's \\n") == r"'it\'s \\n'"

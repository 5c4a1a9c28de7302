"""Signatures: how they are read, what fits them, and how far off."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orion.ksql.functions.signatures import common_type, fit, instantiate, parse, show
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct

BOOL, INT, LONG, DOUBLE, TEXT = Scalar.BOOLEAN, Scalar.INTEGER, Scalar.BIGINT, Scalar.DOUBLE, Scalar.STRING
PRICE = Decimal(5, 2)

scalars = st.sampled_from(list(Scalar)) | st.integers(1, 38).flatmap(
    lambda p: st.builds(Decimal, st.just(p), st.integers(0, p))
)
types: st.SearchStrategy[SqlType] = st.recursive(
    scalars,
    lambda inner: (
        st.builds(Array, inner)
        | st.builds(Map, inner, inner)
        | st.lists(inner, max_size=3).map(
            lambda found: Struct(tuple(Field(f"F{at}", type_) for at, type_ in enumerate(found)))
        )
    ),
    max_leaves=3,
)


@pytest.mark.parametrize(
    "text", ["()", "(STRING)", "(ARRAY<T>, T)", "(MAP<STRING, V>, INTEGER)", "(DECIMAL, ANY)", "(STRING, INTEGER...)"]
)
def test_a_signature_is_shown_as_it_was_written(text: str) -> None:
    assert show(parse(f"{text} -> STRING")) == text


def test_a_signature_without_a_result_leaves_it_to_the_declaration() -> None:
    assert parse("(T)").returns is None


@pytest.mark.parametrize("text", ["STRING -> STRING", "(TEXT) -> STRING", "(STRING -> STRING"])
def test_what_is_no_signature_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


@pytest.mark.parametrize(
    ("signature", "given"),
    [
        ("()", []),
        ("(STRING)", [TEXT]),
        ("(STRING)", [None]),
        ("(BIGINT)", [INT]),
        ("(DOUBLE)", [PRICE]),
        ("(DOUBLE)", [LONG]),
        ("(DECIMAL)", [PRICE]),
        ("(DECIMAL)", [INT]),
        ("(ANY)", [Struct(())]),
        ("(T, T)", [INT, DOUBLE]),
        ("(ARRAY<T>, T)", [Array(TEXT), TEXT]),
        ("(ARRAY<BIGINT>)", [Array(INT)]),
        ("(MAP<K, V>)", [Map(TEXT, INT)]),
        ("(STRING...)", [TEXT, TEXT, TEXT]),
        ("(STRING, INTEGER...)", [TEXT, INT, None]),
    ],
)
def test_what_fits(signature: str, given: list[SqlType | None]) -> None:
    assert fit(parse(signature), given) is not None


@pytest.mark.parametrize(
    ("signature", "given"),
    [
        ("()", [INT]),
        ("(STRING)", []),
        ("(STRING)", [TEXT, TEXT]),
        ("(STRING)", [INT]),
        ("(INTEGER)", [LONG]),
        ("(INTEGER)", [DOUBLE]),
        ("(BIGINT)", [PRICE]),
        ("(DECIMAL)", [DOUBLE]),
        ("(T, T)", [INT, TEXT]),
        ("(ARRAY<T>, T)", [Array(TEXT), INT]),
        ("(ARRAY<T>)", [TEXT]),
        ("(MAP<STRING, V>)", [Map(INT, INT)]),
        ("(STRING...)", []),
        ("(STRING...)", [TEXT, INT]),
    ],
)
def test_what_does_not_fit(signature: str, given: list[SqlType | None]) -> None:
    assert fit(parse(signature), given) is None


@pytest.mark.parametrize(
    ("given", "best"),
    [
        ([INT], "(INTEGER)"),
        ([LONG], "(BIGINT)"),
        ([PRICE], "(DECIMAL)"),
        ([DOUBLE], "(DOUBLE)"),
        ([TEXT], "(ANY)"),
    ],
)
def test_the_nearest_signature_wins(given: list[SqlType | None], best: str) -> None:
    written = ["(ANY)", "(DOUBLE)", "(DECIMAL)", "(BIGINT)", "(INTEGER)"]
    fitting = {text: found[0] for text in written if (found := fit(parse(text), given)) is not None}
    assert min(fitting, key=fitting.__getitem__) == best


@pytest.mark.parametrize(
    ("signature", "given", "result"),
    [
        ("(T, T) -> T", [INT, LONG], LONG),
        ("(T...) -> T", [None, INT, PRICE], Decimal(12, 2)),
        ("(ARRAY<T>) -> T", [Array(TEXT)], TEXT),
        ("(MAP<K, V>) -> ARRAY<V>", [Map(TEXT, DOUBLE)], Array(DOUBLE)),
        ("(K, V) -> MAP<K, V>", [TEXT, INT], Map(TEXT, INT)),
        ("(DECIMAL) -> DECIMAL", [PRICE], PRICE),
        ("(T) -> T", [None], None),
        ("(T) -> ARRAY<T>", [None], None),
    ],
)
def test_letters_stand_for_what_was_given(signature: str, given: list[SqlType | None], result: SqlType | None) -> None:
    read = parse(signature)
    found = fit(read, given)
    assert found is not None
    assert read.returns is not None
    assert instantiate(read.returns, found[1]) == result


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (INT, LONG, LONG),
        (LONG, DOUBLE, DOUBLE),
        (INT, DOUBLE, DOUBLE),
        (INT, PRICE, Decimal(12, 2)),
        (LONG, PRICE, Decimal(21, 2)),
        (PRICE, DOUBLE, DOUBLE),
        (PRICE, Decimal(10, 4), Decimal(10, 4)),
        (Decimal(38, 0), Decimal(38, 38), Decimal(38, 0)),
        (Decimal(38, 0), PRICE, Decimal(38, 0)),
        (Decimal(30, 10), Decimal(20, 20), Decimal(38, 18)),
        (Array(INT), Array(LONG), Array(LONG)),
        (Map(TEXT, INT), Map(TEXT, DOUBLE), Map(TEXT, DOUBLE)),
        (TEXT, INT, None),
        (BOOL, INT, None),
        (TEXT, Scalar.TIMESTAMP, None),
        (Scalar.DATE, Scalar.TIMESTAMP, None),
        (Array(INT), Array(TEXT), None),
        (Array(INT), INT, None),
        (Struct((Field("A", INT),)), Struct((Field("A", LONG),)), Struct((Field("A", LONG),))),
        (Struct((Field("A", INT),)), Struct((Field("A", TEXT),)), None),
        (Struct((Field("A", INT),)), Struct((Field("B", INT),)), Struct((Field("A", INT), Field("B", INT)))),
    ],
)
def test_common_types(left: SqlType, right: SqlType, common: SqlType | None) -> None:
    assert common_type(left, right) == common


@settings(max_examples=40, deadline=None)
@given(types)
def test_a_type_is_its_own_common_type(type_: SqlType) -> None:
    assert common_type(type_, type_) == type_


@settings(max_examples=40, deadline=None)
@given(types, types)
def test_the_common_type_does_not_hang_on_the_order(left: SqlType, right: SqlType) -> None:
    assert common_type(left, right) == common_type(right, left)


@settings(max_examples=40, deadline=None)
@given(types, types)
def test_both_go_into_the_common_type(left: SqlType, right: SqlType) -> None:
    common = common_type(left, right)
    if common is not None:
        assert common_type(left, common) == common
        assert common_type(right, common) == common

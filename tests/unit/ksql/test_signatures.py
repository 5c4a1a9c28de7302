"""Signatures: how they are read, what fits them, and how far off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.ksql.functions.signatures import common_type, fit, instantiate, parse, show
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct

B, I, L, D, S = Scalar.BOOLEAN, Scalar.INTEGER, Scalar.BIGINT, Scalar.DOUBLE, Scalar.STRING
N = Decimal(5, 2)

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
    max_leaves=5,
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
        ("(STRING)", [S]),
        ("(STRING)", [None]),
        ("(BIGINT)", [I]),
        ("(DOUBLE)", [N]),
        ("(DOUBLE)", [L]),
        ("(DECIMAL)", [N]),
        ("(DECIMAL)", [I]),
        ("(ANY)", [Struct(())]),
        ("(T, T)", [I, D]),
        ("(ARRAY<T>, T)", [Array(S), S]),
        ("(ARRAY<BIGINT>)", [Array(I)]),
        ("(MAP<K, V>)", [Map(S, I)]),
        ("(STRING...)", [S, S, S]),
        ("(STRING, INTEGER...)", [S, I, None]),
    ],
)
def test_what_fits(signature: str, given: list[SqlType | None]) -> None:
    assert fit(parse(signature), given) is not None


@pytest.mark.parametrize(
    ("signature", "given"),
    [
        ("()", [I]),
        ("(STRING)", []),
        ("(STRING)", [S, S]),
        ("(STRING)", [I]),
        ("(INTEGER)", [L]),
        ("(INTEGER)", [D]),
        ("(BIGINT)", [N]),
        ("(DECIMAL)", [D]),
        ("(T, T)", [I, S]),
        ("(ARRAY<T>, T)", [Array(S), I]),
        ("(ARRAY<T>)", [S]),
        ("(MAP<STRING, V>)", [Map(I, I)]),
        ("(STRING...)", []),
        ("(STRING...)", [S, I]),
    ],
)
def test_what_does_not_fit(signature: str, given: list[SqlType | None]) -> None:
    assert fit(parse(signature), given) is None


@pytest.mark.parametrize(
    ("given", "best"),
    [
        ([I], "(INTEGER)"),
        ([L], "(BIGINT)"),
        ([N], "(DECIMAL)"),
        ([D], "(DOUBLE)"),
        ([S], "(ANY)"),
    ],
)
def test_the_nearest_signature_wins(given: list[SqlType | None], best: str) -> None:
    written = ["(ANY)", "(DOUBLE)", "(DECIMAL)", "(BIGINT)", "(INTEGER)"]
    fitting = {text: found[0] for text in written if (found := fit(parse(text), given)) is not None}
    assert min(fitting, key=fitting.__getitem__) == best


@pytest.mark.parametrize(
    ("signature", "given", "result"),
    [
        ("(T, T) -> T", [I, L], L),
        ("(T...) -> T", [None, I, N], Decimal(12, 2)),
        ("(ARRAY<T>) -> T", [Array(S)], S),
        ("(MAP<K, V>) -> ARRAY<V>", [Map(S, D)], Array(D)),
        ("(K, V) -> MAP<K, V>", [S, I], Map(S, I)),
        ("(DECIMAL) -> DECIMAL", [N], N),
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
        (I, L, L),
        (L, D, D),
        (I, D, D),
        (I, N, Decimal(12, 2)),
        (L, N, Decimal(21, 2)),
        (N, D, D),
        (N, Decimal(10, 4), Decimal(10, 4)),
        (Decimal(38, 0), Decimal(38, 38), Decimal(38, 0)),
        (Decimal(38, 0), N, Decimal(38, 0)),
        (Decimal(30, 10), Decimal(20, 20), Decimal(38, 18)),
        (Array(I), Array(L), Array(L)),
        (Map(S, I), Map(S, D), Map(S, D)),
        (S, I, None),
        (B, I, None),
        (S, Scalar.TIMESTAMP, None),
        (Scalar.DATE, Scalar.TIMESTAMP, None),
        (Array(I), Array(S), None),
        (Array(I), I, None),
        (Struct((Field("A", I),)), Struct((Field("A", L),)), None),
    ],
)
def test_common_types(left: SqlType, right: SqlType, common: SqlType | None) -> None:
    assert common_type(left, right) == common


@given(types)
def test_a_type_is_its_own_common_type(type_: SqlType) -> None:
    assert common_type(type_, type_) == type_


@given(types, types)
def test_the_common_type_does_not_hang_on_the_order(left: SqlType, right: SqlType) -> None:
    assert common_type(left, right) == common_type(right, left)


@given(types, types)
def test_both_go_into_the_common_type(left: SqlType, right: SqlType) -> None:
    common = common_type(left, right)
    if common is not None:
        assert common_type(left, common) == common
        assert common_type(right, common) == common

"""Aggregates whose state is stored between batches: they go on as if it had never left memory."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orion.ksql.functions import functions
from orion.ksql.functions.declare import Fold, Kind
from orion.runtime.state.values import decode, encode

whole = st.integers(-(2**63), 2**63 - 1)
numbers = whole | st.floats(-100, 100).map(lambda number: round(number, 2))
floats = st.sampled_from([0.0, -0.0, 1.5, -7.25, 1e300, float("inf"), float("-inf"), float("nan")])
scalars = (
    st.integers(-3, 3)
    | floats
    | st.text("ab", max_size=2)
    | st.binary(max_size=2)
    | st.sampled_from([Decimal("1.50"), Decimal("1.5"), Decimal(-7)])
)
anything = (
    scalars | st.lists(scalars, max_size=2) | st.tuples(scalars, scalars) | st.dictionaries(st.text("k"), scalars)
)


def rows_of(*columns: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Rows of one type by column, NULLs among them."""
    return st.lists(st.tuples(*(st.none() | column for column in columns)), max_size=12)


alike = st.sampled_from([st.integers(-3, 3), floats, st.text("ab", max_size=2), st.binary(max_size=2)]).flatmap(rows_of)
mixed = rows_of(anything)
CASES: dict[str, list[tuple[tuple[Any, ...], st.SearchStrategy[list[tuple[Any, ...]]]]]] = {
    "ATTR": [((), mixed)],
    "AVG": [((), rows_of(numbers))],
    "COLLECT_LIST": [((), mixed), ((3,), mixed)],
    "COLLECT_SET": [((), mixed), ((3,), mixed)],
    "CORRELATION": [((), rows_of(st.integers(-9, 9), st.integers(-9, 9)))],
    "COUNT": [((), rows_of()), ((), mixed)],
    "COUNT_DISTINCT": [((), mixed)],
    "EARLIEST_BY_OFFSET": [((), mixed), ((False,), mixed), ((2,), mixed), ((2, False), mixed)],
    "HISTOGRAM": [((), rows_of(st.text("ab", max_size=2)))],
    "LATEST_BY_OFFSET": [((), mixed), ((False,), mixed), ((2,), mixed), ((2, False), mixed)],
    "MAX": [((), alike)],
    "MIN": [((), alike)],
    "STDDEV_SAMP": [((), rows_of(numbers))],
    "STDDEV_SAMPLE": [((), rows_of(st.integers(-9, 9)))],
    "SUM": [((), rows_of(numbers)), ((), rows_of(st.decimals(-9, 9, places=2)))],
    "SUM_LIST": [((), rows_of(st.lists(st.none() | whole, max_size=2)))],
    "TOPK": [((2,), alike), ((2,), rows_of(st.integers(0, 3), anything))],
    "TOPKDISTINCT": [((2,), alike)],
    "TOPK_FREQUENT": [((2,), mixed)],
}


def fold_of(name: str) -> Fold:
    fold = functions()[name].fold
    assert fold is not None
    return fold


def stored(state: Any) -> Any:
    return decode(encode(state))[0]


def test_every_aggregate_is_tried_here() -> None:
    assert set(CASES) == {function.name for function in functions().values() if function.kind is Kind.AGGREGATE}


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=25)
@given(st.data())
def test_a_stored_state_goes_on_as_one_in_memory(name: str, data: st.DataObject) -> None:
    fold = fold_of(name)
    parameters, rows = data.draw(st.sampled_from(CASES[name]))
    kept, moved = fold.zero(*parameters), fold.zero(*parameters)
    for row in data.draw(rows):
        kept, moved = fold.add(kept, *row), fold.add(stored(moved), *row)
    # By their texts: NaN is like itself, zero has a sign, and a tuple is no list.
    assert repr(fold.result(stored(moved))) == repr(fold.result(kept))


def test_an_estimate_of_many_different_values_goes_on_after_it_was_stored() -> None:
    fold = fold_of("COUNT_DISTINCT")
    kept, moved = fold.zero(), fold.zero()
    for number in range(3000):
        kept, moved = fold.add(kept, number), fold.add(moved, number)
        if number % 500 == 0:
            moved = stored(moved)
    assert fold.result(stored(moved)) == fold.result(kept)
    assert fold.result(fold.merge(stored(moved), stored(moved))) == fold.result(kept)

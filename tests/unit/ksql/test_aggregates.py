"""The folds of the aggregates: what they come to, that undo takes back what add gave, that merge is adding in order."""

from __future__ import annotations

import copy
import math
import pickle
from decimal import Decimal as Number
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.ksql.functions import functions
from orion.ksql.functions.declare import Fold, Kind

AGGREGATES = {name: f for name, f in functions().items() if f.kind is Kind.AGGREGATE}

# ksqlDB's own, and one more.
NAMES = (
    "ATTR AVG COLLECT_LIST COLLECT_SET CORRELATION COUNT COUNT_DISTINCT EARLIEST_BY_OFFSET HISTOGRAM LATEST_BY_OFFSET "
    "MAX MIN STDDEV_SAMP STDDEV_SAMPLE SUM SUM_LIST TOPK TOPKDISTINCT TOPK_FREQUENT"
).split()
OVER_TABLES = (
    "ATTR AVG COLLECT_LIST CORRELATION COUNT HISTOGRAM STDDEV_SAMP STDDEV_SAMPLE SUM SUM_LIST TOPK_FREQUENT"
).split()

_numbers = st.none() | st.integers(-1000, 1000)
_texts = st.none() | st.sampled_from("abcde")
_arrays = st.none() | st.lists(_numbers, max_size=3)
_pairs = st.tuples(_numbers, _numbers)
# Each aggregate with its constants and the values that one row may bring.
RUNS: list[tuple[str, tuple[Any, ...], st.SearchStrategy[tuple[Any, ...]]]] = [
    ("COUNT", (), st.just(())),
    ("COUNT", (), st.tuples(_texts)),
    ("SUM", (), st.tuples(_numbers)),
    ("SUM", (), st.tuples(st.none() | st.decimals(-(10**20), 10**20, places=9))),
    ("SUM_LIST", (), st.tuples(_arrays)),
    ("AVG", (), st.tuples(_numbers)),
    ("MIN", (), st.tuples(_numbers)),
    ("MAX", (), st.tuples(st.none() | st.binary(max_size=2))),
    ("TOPK", (3,), st.tuples(_numbers)),
    ("TOPK", (3,), st.tuples(_texts, _numbers, _arrays)),
    ("TOPKDISTINCT", (3,), st.tuples(_texts)),
    ("LATEST_BY_OFFSET", (), st.tuples(_numbers)),
    ("LATEST_BY_OFFSET", (False,), st.tuples(_numbers)),
    ("LATEST_BY_OFFSET", (2,), st.tuples(_numbers)),
    ("LATEST_BY_OFFSET", (2, False), st.tuples(_numbers)),
    ("EARLIEST_BY_OFFSET", (True,), st.tuples(_arrays)),
    ("EARLIEST_BY_OFFSET", (False,), st.tuples(_numbers)),
    ("EARLIEST_BY_OFFSET", (2, True), st.tuples(_numbers)),
    ("EARLIEST_BY_OFFSET", (3, False), st.tuples(_numbers)),
    ("COLLECT_LIST", (), st.tuples(_numbers)),
    ("COLLECT_LIST", (4,), st.tuples(_arrays)),
    ("COLLECT_SET", (), st.tuples(st.none() | st.dictionaries(st.sampled_from("ab"), _numbers, max_size=2))),
    ("COLLECT_SET", (4,), st.tuples(_texts)),
    ("HISTOGRAM", (), st.tuples(_texts)),
    ("ATTR", (), st.tuples(_texts)),
    ("COUNT_DISTINCT", (), st.tuples(_arrays)),
    ("TOPK_FREQUENT", (2,), st.tuples(_texts)),
    ("STDDEV_SAMP", (), st.tuples(_numbers)),
    ("STDDEV_SAMPLE", (), st.tuples(_numbers)),
    ("CORRELATION", (), _pairs),
]
IDS = [f"{name}{parameters}" for name, parameters, _ in RUNS]
_runs = pytest.mark.parametrize(("name", "parameters", "rows"), RUNS, ids=IDS)
_undoable = pytest.mark.parametrize(
    ("name", "parameters", "rows"),
    [pytest.param(*r, id=i) for r, i in zip(RUNS, IDS, strict=True) if r[0] in OVER_TABLES],
)


def fold_of(name: str) -> Fold:
    fold = AGGREGATES[name].fold
    assert fold is not None
    return fold


def folded(name: str, rows: list[tuple[Any, ...]], *parameters: Any) -> Any:
    fold = fold_of(name)
    state = fold.zero(*parameters)
    for row in rows:
        state = fold.add(state, *row)
    return state


def result(name: str, values: list[Any], *parameters: Any) -> Any:
    return fold_of(name).result(folded(name, [(v,) for v in values], *parameters))


def test_all_are_here() -> None:
    assert sorted(AGGREGATES) == sorted(NAMES)
    assert sorted(n for n, f in AGGREGATES.items() if f.fold and f.fold.undo) == sorted(OVER_TABLES)
    assert {name for name, _, _ in RUNS} == set(NAMES)


# ---- laws --------------------------------------------------------------------------------------------------------


@_runs
@given(data=st.data())
def test_merging_is_adding_in_order(
    name: str, parameters: tuple[Any, ...], rows: st.SearchStrategy[tuple[Any, ...]], data: st.DataObject
) -> None:
    first, second = data.draw(st.lists(rows, max_size=8)), data.draw(st.lists(rows, max_size=8))
    fold = fold_of(name)
    merged = fold.merge(folded(name, first, *parameters), folded(name, second, *parameters))
    assert _close(fold.result(merged), fold.result(folded(name, first + second, *parameters)))


@_undoable
@given(data=st.data())
def test_undo_takes_back_what_add_gave(
    name: str, parameters: tuple[Any, ...], rows: st.SearchStrategy[tuple[Any, ...]], data: st.DataObject
) -> None:
    kept, gone = data.draw(st.lists(rows, max_size=3)), data.draw(st.lists(rows, max_size=3))
    fold = fold_of(name)
    assert fold.undo is not None
    state = folded(name, kept + gone, *parameters)
    for row in reversed(gone):
        # One that was left out for the limit takes a kept one like it along; ksqlDB's does, too.
        if name == "COLLECT_LIST" and parameters and len(kept) + len(gone) > parameters[0]:
            return
        state = fold.undo(state, *row)
    assert _close(fold.result(state), fold.result(folded(name, kept, *parameters)))


@_runs
@given(data=st.data())
def test_a_state_survives_being_stored(
    name: str, parameters: tuple[Any, ...], rows: st.SearchStrategy[tuple[Any, ...]], data: st.DataObject
) -> None:
    drawn, more = data.draw(st.lists(rows, max_size=5)), data.draw(rows)
    fold = fold_of(name)
    state = folded(name, drawn, *parameters)
    stored = pickle.loads(pickle.dumps(state, protocol=5))
    assert _close(fold.result(fold.add(stored, *more)), fold.result(fold.add(copy.deepcopy(state), *more)))


def _close(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-3)
    return bool(left == right)


# ---- numbers -----------------------------------------------------------------------------------------------------


def test_nothing_yet() -> None:
    for name, empty in [("COUNT", 0), ("SUM", 0), ("AVG", 0.0), ("STDDEV_SAMP", 0.0), ("STDDEV_SAMPLE", 0.0)]:
        assert result(name, []) == empty
    for name in ("MIN", "MAX", "ATTR", "LATEST_BY_OFFSET", "EARLIEST_BY_OFFSET"):
        assert result(name, []) is None
    assert math.isnan(result("CORRELATION", []))


def test_nulls_do_not_count() -> None:
    assert result("COUNT", [1, None, 2]) == 2
    assert fold_of("COUNT").result(folded("COUNT", [(), ()])) == 2
    assert result("SUM", [None, 5, None]) == 5
    assert result("AVG", [None, 1, 2]) == 1.5
    assert result("SUM_LIST", [[1, None], None, [2]]) == 3


def test_decimals_are_summed_to_the_last_digit() -> None:
    large = Number("12345678901234567890123456789012345.678")
    assert result("SUM", [large, Number("0.001")]) == Number("12345678901234567890123456789012345.679")
    state = fold_of("SUM").undo(folded("SUM", [(large,)]), Number("0.001"))  # type: ignore[misc]
    assert state == Number("12345678901234567890123456789012345.677")


def test_stddev_samp_is_the_variance() -> None:
    assert result("STDDEV_SAMP", [1, 3, None]) == 2.0
    assert result("STDDEV_SAMPLE", [1, 3]) == math.sqrt(2)
    assert result("STDDEV_SAMP", [7]) == 0.0


def test_correlation() -> None:
    fold = fold_of("CORRELATION")
    assert fold.result(folded("CORRELATION", [(1.0, 2.0), (2.0, 4.0), (None, 1.0), (1.0, None)])) == 1.0
    assert fold.result(folded("CORRELATION", [(1.0, 1.0), (2.0, -1.0)])) == -1.0
    assert math.isnan(fold.result(folded("CORRELATION", [(1.0, 2.0)])))


# ---- size --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        ([3, None, -1, 2], -1, 3),
        (["b", "a", None], "a", "b"),
        ([b"\x02", b"\x01\xff"], b"\x01\xff", b"\x02"),
        ([Number("1.10"), Number("-0.5")], Number("-0.5"), Number("1.10")),
        ([None, None], None, None),
    ],
)
def test_least_and_most(values: list[Any], least: Any, most: Any) -> None:
    assert result("MIN", values) == least
    assert result("MAX", values) == most


def test_nan_is_the_largest_number() -> None:
    assert result("MIN", [math.nan, 1.0, math.inf]) == 1.0
    assert math.isnan(result("MAX", [1.0, math.nan, math.inf]))
    assert result("TOPKDISTINCT", [math.inf, math.nan, math.nan, 1.0], 3)[1:] == [math.inf, 1.0]


def test_topk() -> None:
    assert result("TOPK", [5, None, 9, 7, 9, 1], 3) == [9, 9, 7]
    assert result("TOPKDISTINCT", [5, None, 9, 7, 9, 1], 3) == [9, 7, 5]
    assert result("TOPKDISTINCT", [1, 2, 1, 3, 3], 2) == [3, 2]


def test_topk_with_more_columns_keeps_equal_ones_in_order_of_arrival() -> None:
    rows = [(1, "a", None), (2, "b", 0), (1, "c", 1), (None, "d", 1), (2, None, 2), (1, "e", 3)]
    assert fold_of("TOPK").result(folded("TOPK", rows, 4)) == [(2, "b", 0), (2, None, 2), (1, "a", None), (1, "c", 1)]


# ---- arrival -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "latest", "earliest"),
    [
        ((), 3, 1),
        ((True,), 3, 1),
        ((False,), None, None),
        ((2,), [2, 3], [1, 2]),
        ((2, False), [3, None], [None, 1]),
        ((9, True), [1, 2, 3], [1, 2, 3]),
    ],
)
def test_by_offset(parameters: tuple[Any, ...], latest: Any, earliest: Any) -> None:
    values = [None, 1, 2, None, 3, None]
    assert result("LATEST_BY_OFFSET", values, *parameters) == latest
    assert result("EARLIEST_BY_OFFSET", values, *parameters) == earliest


def test_sessions_that_grew_in_turns_merge_in_order_of_arrival() -> None:
    """Whichever of them is the older one in time."""
    for name, expected in [("LATEST_BY_OFFSET", [2, 3]), ("EARLIEST_BY_OFFSET", [1, 2])]:
        fold = fold_of(name)
        one, other = fold.zero(2), fold.zero(2)
        one = fold.add(one, 1)
        other = fold.add(other, 2)
        one = fold.add(one, 3)
        assert fold.result(fold.merge(copy.deepcopy(one), copy.deepcopy(other))) == expected
        assert fold.result(fold.merge(other, one)) == expected


# ---- gathering ---------------------------------------------------------------------------------------------------


def test_lists_and_sets_keep_nulls_and_the_order_of_arrival() -> None:
    values = ["b", None, "a", "b", None]
    assert result("COLLECT_LIST", values) == values
    assert result("COLLECT_SET", values) == ["b", None, "a"]
    assert result("COLLECT_LIST", values, 3) == values[:3]
    assert result("COLLECT_SET", values, 2) == ["b", None]
    assert result("COLLECT_LIST", values, 0) == []


def test_a_thousand_are_kept_unless_the_limit_is_another() -> None:
    values = list(range(1500))
    for name in ("COLLECT_LIST", "COLLECT_SET"):
        assert result(name, values) == values[:1000]
        assert result(name, values, -1) == values
    assert len(result("HISTOGRAM", [str(v) for v in [*values, *values]])) == 1000


def test_equal_values_are_told_by_what_is_in_them() -> None:
    maps = [{"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 1}]
    assert result("COLLECT_SET", maps) == [maps[0], maps[2]]
    assert result("COLLECT_SET", [("a", 1), ("a", 1), ("a", None)]) == [("a", 1), ("a", None)]
    assert result("COLLECT_SET", [[1, None], [1], [1, None]]) == [[1, None], [1]]
    assert len(result("COLLECT_SET", [math.nan, math.nan, 0.0, -0.0])) == 3
    assert result("COUNT_DISTINCT", [*maps, None]) == 2


def test_the_last_one_like_it_is_taken_from_a_list() -> None:
    fold = fold_of("COLLECT_LIST")
    assert fold.undo is not None
    state = folded("COLLECT_LIST", [(1,), (2,), (1,), (None,)])
    assert fold.result(fold.undo(state, 1)) == [1, 2, None]
    assert fold.result(fold.undo(state, 7)) == [1, 2, None]


def test_histogram() -> None:
    assert result("HISTOGRAM", ["a", "b", "a", None]) == {"a": 2, "b": 1}


def test_attr() -> None:
    assert result("ATTR", ["a", "a"]) == "a"
    assert result("ATTR", [["a"], ["b"]]) is None
    assert result("ATTR", ["a", None]) is None
    fold = fold_of("ATTR")
    assert fold.undo is not None
    assert fold.result(fold.undo(folded("ATTR", [("a",), ("b",), ("b",)]), "a")) == "b"


def test_topk_frequent() -> None:
    assert result("TOPK_FREQUENT", ["a", "b", None, "b"], 1) == [("b", 2)]


@pytest.mark.parametrize("count", [1, 100, 2048])
def test_few_different_values_are_counted_exactly(count: int) -> None:
    assert result("COUNT_DISTINCT", [*range(count), *range(count), None]) == count


def test_many_different_values_are_estimated() -> None:
    fold = fold_of("COUNT_DISTINCT")
    for count in (5_000, 60_000):
        assert abs(result("COUNT_DISTINCT", list(range(count))) - count) < 0.02 * count
    parts = [folded("COUNT_DISTINCT", [(v,) for v in range(at, at + 2000)]) for at in (0, 1000, 2000, 5000)]
    state = parts[0]
    for part in parts[1:]:
        state = fold.merge(state, part)
    assert abs(fold.result(state) - 6000) < 120

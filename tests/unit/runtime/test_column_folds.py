"""GROUP BY a batch at a time: the same as a row at a time, where only what a batch comes to is told."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orion.plan.relations import AggregateCall, Expr
from orion.plan.sources import Window, WindowKind
from orion.runtime.operators.column_folds import ArrivedRows, ColumnAggregator, as_list
from orion.runtime.operators.folds import Aggregator, Folds, GroupFolding
from orion.runtime.operators.tasks import InputRow, OutputRow, run_rows
from orion.runtime.state.places import CLOCK
from orion.runtime.state.state import MemoryStore, TaskState
from orion.runtime.state.values import decode
from orion.schema import Array, Decimal, Field, Scalar, SqlType, Struct

TUMBLING = Window(WindowKind.TUMBLING, 10, 10, 3)
HOPPING = Window(WindowKind.HOPPING, 10, 4, 3)
TWICE = Window(WindowKind.HOPPING, 20, 10, 0)  # every row falls into two windows
WINDOWS = (None, TUMBLING, replace(TUMBLING, grace_ms=0), HOPPING, TWICE)
LARGEST = 2**63 - 1
NAN, INFINITE = float("nan"), float("inf")

INT, BIG, DOUBLE, TEXT = Scalar.INTEGER, Scalar.BIGINT, Scalar.DOUBLE, Scalar.STRING
EXACT, LIST, PAIR = Decimal(9, 2), Array(INT), Struct((Field("A", BIG), Field("B", TEXT)))
Kind = tuple[pa.DataType, st.SearchStrategy[Any]]
KINDS: dict[SqlType, Kind] = {
    INT: (pa.int32(), st.integers(-3, 3) | st.sampled_from([2**31 - 1, -(2**31)])),
    BIG: (pa.int64(), st.integers(-3, 3) | st.sampled_from([2**62, LARGEST, -LARGEST - 1])),
    # Their sums are the same in whatever order they are added.
    DOUBLE: (pa.float64(), st.sampled_from([0.0, -0.0, 0.5, -2.25, 1024.0, NAN, INFINITE, -INFINITE])),
    TEXT: (pa.string(), st.text("ab", max_size=2)),
    EXACT: (pa.decimal128(9, 2), st.decimals(-9, 9, places=2)),
    LIST: (pa.list_(pa.int32()), st.lists(st.none() | st.integers(0, 2), max_size=2)),
    PAIR: (
        pa.struct([("f0", pa.int64()), ("f1", pa.string())]),
        st.builds(
            lambda a, b: {"f0": a, "f1": b}, st.none() | st.integers(0, 2), st.none() | st.text("ab", max_size=1)
        ),
    ),
}


@dataclass(frozen=True)
class Wanted:
    """An aggregate of a column, and its type."""

    function: str
    argument: SqlType | None
    type: SqlType

    def call(self, at: int) -> AggregateCall:
        arguments = () if self.argument is None else (Expr(f"x{at}", self.argument, f"x{at}"),)
        return AggregateCall(f"a{at}", self.function, arguments, (), self.type)


NUMBERS = (INT, BIG, DOUBLE)
COLUMNAR = [
    Wanted("COUNT", None, BIG),
    *(Wanted("COUNT", type_, BIG) for type_ in KINDS),
    *(Wanted(function, type_, type_) for function in ("SUM", "MIN", "MAX") for type_ in NUMBERS),
    *(Wanted("AVG", type_, DOUBLE) for type_ in NUMBERS),
]
BY_ROWS = [
    *(Wanted("COLLECT_LIST", type_, Array(type_)) for type_ in KINDS),
    *(Wanted("LATEST_BY_OFFSET", type_, type_) for type_ in KINDS),
    *(Wanted("MIN", type_, type_) for type_ in (TEXT, EXACT)),
    Wanted("SUM", EXACT, EXACT),
]


def folding(wanted: list[Wanted], window: Window | None = None, **how: bool) -> GroupFolding:
    return GroupFolding(Folds(tuple(one.call(at) for at, one in enumerate(wanted))), window, **how)


# ---- rows of a batch, and what either way makes of them --------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """A batch as Spark gives it: in any order, and with a number that tells the order of arrival."""

    arrived: list[dict[str, Any]]
    shuffled: list[int]
    cut: int
    types: list[pa.DataType]

    @property
    def table(self) -> pa.Table:
        schema = pa.schema(
            [
                ("key", pa.binary()),
                ("time", pa.int64()),
                ("row", pa.binary()),
                *((f"d{at}", type_) for at, type_ in enumerate(self.types)),
            ]
        )
        rows = [self.arrived[at] for at in self.shuffled]
        parts = [pa.Table.from_pylist(part, schema) for part in (rows[: self.cut], rows[self.cut :])]
        return pa.concat_tables(parts)

    @property
    def orders(self) -> pa.Array:
        return pa.array([struct.pack(">QQQ", 1, 1, at) for at in self.shuffled], pa.binary())

    @property
    def input(self) -> list[InputRow]:
        names = [f"d{at}" for at in range(len(self.types))]
        return [InputRow(r["key"], r["row"], r["time"], data=tuple(r[n] for n in names)) for r in self.arrived]


Told = tuple[dict[tuple[bytes, int], Any], list[Any]]


def plain(value: Any) -> Any:
    """A value so that NaN is like itself, zero has no sign, and a whole number is not one with a fraction."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return "NaN" if value != value else ("float", value + 0.0)
    return value


def split(made: list[OutputRow]) -> Told:
    """Groups by key and window, each told once; and what is told of late rows."""
    groups = {(row.key, row.values[0]): (row.time, plain(row.values)) for row in made if row.late is None}
    assert len(groups) == sum(row.late is None for row in made)
    return groups, [row for row in made if row.late is not None]


def take_rows(how: GroupFolding, rows: Rows, state: TaskState) -> Told:
    return split([row for _, row in run_rows(Aggregator(how), rows.input, state)])


def take_columns(how: GroupFolding, rows: Rows, state: TaskState) -> Told:
    aggregator = ColumnAggregator(Aggregator(how))
    changed, beside = aggregator.take(ArrivedRows(rows.orders, rows.table), state)
    if changed is None:
        return split(beside)
    assert not how.final
    values = zip(*aggregator.results(changed), strict=True)
    rows_of_groups = zip(changed.keys, changed.times, values, strict=True)
    return split([*(OutputRow(*row) for row in rows_of_groups), *beside])


def kept(store: MemoryStore, how: GroupFolding) -> tuple[dict[bytes, int | None], int | None]:
    """Whose records are there and when they fall due; how far the stream is, which only windows ask."""
    due = {place: decode(blob)[1] for place, blob in store.blobs.items() if place != CLOCK}
    return due, TaskState(store).now if how.window else None


def check_alike(how: GroupFolding, batches: list[Rows]) -> list[Told]:
    """Both make the same of the batches, one after the other; what they make."""
    by_rows, by_columns = MemoryStore(), MemoryStore()
    found = []
    for rows in batches:
        state, other = TaskState(by_rows), TaskState(by_columns)
        told = take_rows(how, rows, state)
        assert take_columns(how, rows, other) == told
        by_rows.apply(state.changes())
        by_columns.apply(other.changes())
        assert kept(by_columns, how) == kept(by_rows, how)
        found.append(told)
    return found


# ---- whatever comes --------------------------------------------------------------------------------------------


@st.composite
def batches_for(draw: st.DrawFn, wanted: list[Wanted]) -> list[Rows]:
    """Batches of rows whose times go up and down."""
    kinds = [KINDS[one.argument] for one in wanted if one.argument is not None]
    row = st.fixed_dictionaries(
        {
            "key": st.sampled_from([b"a", b"b", b""]),
            "time": st.integers(-15, 50),
            "row": st.binary(max_size=2),
            **{f"d{at}": st.none() | values for at, (_, values) in enumerate(kinds)},
        }
    )
    batches = []
    for arrived in draw(st.lists(st.lists(row, max_size=12), min_size=1, max_size=3)):
        shuffled = draw(st.permutations(range(len(arrived))))
        batches.append(Rows(arrived, shuffled, draw(st.integers(0, len(arrived))), [type_ for type_, _ in kinds]))
    return batches


windows = st.sampled_from(WINDOWS)


@pytest.mark.parametrize("aggregates", [COLUMNAR, COLUMNAR + BY_ROWS], ids=["by columns", "also by rows"])
@given(st.data(), windows, st.booleans(), st.booleans(), st.booleans())
def test_a_batch_comes_to_what_its_rows_come_to(
    aggregates: list[Wanted], data: st.DataObject, window: Window | None, final: bool, keeps_late: bool, before: bool
) -> None:
    wanted = data.draw(st.lists(st.sampled_from(aggregates), max_size=4))
    how = folding(wanted, window, final=final and window is not None, keeps_late=keeps_late, tells_before=before)
    check_alike(how, data.draw(batches_for(wanted)))


@pytest.mark.parametrize("aggregate", COLUMNAR + BY_ROWS, ids=lambda one: f"{one.function} of {one.argument}")
@settings(max_examples=8)
@given(st.data(), windows)
def test_an_aggregate_comes_to_the_same_either_way(
    aggregate: Wanted, data: st.DataObject, window: Window | None
) -> None:
    check_alike(folding([aggregate], window, tells_before=True), data.draw(batches_for([aggregate])))


# ---- one thing at a time ---------------------------------------------------------------------------------------


def batch(*rows: tuple[str, int, Any], type_: pa.DataType | None = None) -> Rows:
    """Rows of key, time and value, the last one first."""
    types = [] if type_ is None else [type_]
    arrived = [
        {"key": key.encode(), "time": time, "row": b"%d" % at, **({} if type_ is None else {"d0": value})}
        for at, (key, time, value) in enumerate(rows)
    ]
    return Rows(arrived, list(range(len(arrived)))[::-1], 0, types)


def results(told: Told) -> dict[tuple[str, int], Any]:
    """What the groups come to, of a single aggregate."""
    return {(key.decode(), start): values[4] for (key, start), (_, values) in told[0].items()}


COUNT = Wanted("COUNT", None, BIG)


def test_as_many_rows_in_windows_as_came_may_be_others() -> None:
    """One is too late for both of its windows, another is in two."""
    (told,) = check_alike(folding([COUNT], TWICE), [batch(("a", 30, None), ("b", 5, None))])
    assert results(told) == {("a", 20): 1, ("a", 30): 1}
    assert [row.late.rows for row in told[1] if row.late] == [1]


@pytest.mark.parametrize("value", [LARGEST, -LARGEST - 1])
def test_a_mean_may_be_of_more_than_a_sum_can_hold(value: int) -> None:
    rows = batch(*(("a", 1, value) for _ in range(3)), type_=pa.int64())
    (told,) = check_alike(folding([Wanted("AVG", BIG, DOUBLE)]), [rows])
    assert results(told) == {("a", 0): ("float", float(value))}


@pytest.mark.parametrize("aggregate", [COUNT, Wanted("COLLECT_LIST", INT, LIST)], ids=["by columns", "by rows"])
def test_a_group_may_be_of_times_before_1970(aggregate: Wanted) -> None:
    type_ = None if aggregate is COUNT else pa.int32()
    told = check_alike(folding([aggregate]), [batch(("a", -70, 1), ("a", -50, 2), type_=type_)])
    assert [time for time, _ in told[0][0].values()] == [-50]


def test_rows_are_folded_in_the_order_they_arrived_in() -> None:
    latest = Wanted("LATEST_BY_OFFSET", INT, INT)
    rows = batch(("a", 5, 1), ("a", 9, 2), ("a", 3, 3), type_=pa.int32())
    (told,) = check_alike(folding([latest], TUMBLING), [rows])
    assert results(told) == {("a", 0): 3}


def test_so_are_rows_that_fall_into_several_windows() -> None:
    every = Wanted("COLLECT_LIST", INT, LIST)
    rows = batch(("a", 25, 1), ("a", 35, 2), ("a", 29, 3), type_=pa.int32())
    (told,) = check_alike(folding([every], TWICE), [rows])
    assert results(told) == {("a", 10): [1], ("a", 20): [1, 2, 3], ("a", 30): [2]}


def test_a_window_takes_rows_until_one_of_the_same_batch_closes_it() -> None:
    rows = batch(("a", 1, None), ("b", 12, None), ("a", 2, None), ("b", 13, None), ("a", 3, None))
    how = folding([COUNT], TUMBLING, keeps_late=True)
    (told, later) = check_alike(how, [rows, batch(("a", 9, None))])
    assert results(told) == {("a", 0): 2, ("b", 10): 2}
    assert [(row.key, row.time, row.late.row) for row in told[1] if row.late] == [(b"a", 3, b"4")]
    assert results(later) == {}
    assert [row.time for row in later[1]] == [9]


def test_a_final_window_comes_in_the_batch_that_closes_it() -> None:
    batches = [batch(("a", 1, None)), batch(("a", 2, None), ("b", 12, None)), batch(("b", 13, None), ("a", 3, None))]
    found = check_alike(folding([COUNT], TUMBLING, final=True), batches)
    assert [results(told) for told in found] == [{}, {}, {("a", 0): 2}]
    assert [len(late) for _, late in found] == [0, 0, 1]


def test_what_a_group_came_to_before_is_told_where_it_is_wanted() -> None:
    batches = [batch(("a", 1, None)), batch(("a", 2, None), ("b", 3, None))]
    _, told = check_alike(folding([COUNT], tells_before=True), batches)
    values = {key: values for (key, _), (_, values) in told[0].items()}
    assert values == {b"a": [0, 0, True, True, 2, 1], b"b": [0, 0, False, True, 1, None]}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("final", [False, True])
def test_a_batch_without_rows_changes_nothing(window: Window | None, final: bool) -> None:
    how = folding([COUNT], window, final=final and window is not None)
    for wanted, rows in (([COUNT], batch()), ([Wanted("SUM", INT, INT)], batch(type_=pa.int32()))):
        first = batch(("a", 45, 1), type_=rows.types[0] if rows.types else None)
        _, told, _ = check_alike(replace(how, folds=folding(wanted).folds), [first, rows, first])
        assert told == ({}, [])


@pytest.mark.parametrize("window", [None, HOPPING])
def test_numbers_reach_python_as_groups(window: Window | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not row by row, which takes many times as long."""

    def fail(*_: Any) -> Any:
        raise AssertionError("row by row")

    monkeypatch.setattr(ColumnAggregator, "_by_rows", fail)
    for wanted in COLUMNAR:
        types = [] if wanted.argument is None else [KINDS[wanted.argument][0]]
        values = {pa.float64(): 1.5, pa.string(): "a"}.get(types[0] if types else None, 7)
        if wanted.argument in (None, *NUMBERS, TEXT):
            rows = batch(("a", 5, values), ("b", 6, None), type_=types[0] if types else None)
            take_columns(folding([wanted], window), rows, TaskState(MemoryStore()))


# ---- columns as lists ------------------------------------------------------------------------------------------

ARROW = {
    **dict(KINDS.values()),
    pa.bool_(): st.booleans(),
    pa.binary(): st.binary(max_size=2),
    pa.float64(): st.sampled_from([0.5, INFINITE]),
}


@given(st.data(), st.booleans())
def test_a_column_as_a_list_is_what_arrow_says(data: st.DataObject, nulls: bool) -> None:
    type_ = data.draw(st.sampled_from(list(ARROW)))
    values = st.lists(ARROW[type_] | st.none() if nulls else ARROW[type_], max_size=5)
    array = partial(pa.array, type=type_)
    chunks = [array(chunk) for chunk in data.draw(st.lists(values, max_size=3))]
    for column in (pa.chunked_array(chunks, type_), *chunks, *(chunk.slice(1, 2) for chunk in chunks)):
        found = as_list(column)
        assert found == column.to_pylist()
        assert list(map(type, found)) == list(map(type, column.to_pylist()))

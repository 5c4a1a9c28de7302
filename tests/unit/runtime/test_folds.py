"""GROUP BY a row at a time: windows by the stream's own time, sessions, retraction, time to live."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.plan.relations import Aggregate, AggregateCall, Expr, Union, why_row_by_row
from orion.plan.sources import Window, WindowKind
from orion.runtime.operators.folds import BOTH, GIVE, UNDO, Aggregator, Folds, GroupFolding, Retraction
from orion.runtime.operators.tasks import InputRow, LateRows, OutputRow
from orion.runtime.state.state import MemoryStore
from orion.schema import Scalar
from tests.unit.runtime.test_joins import made, take_batch

COUNT = AggregateCall("n", "COUNT", (), (), Scalar.BIGINT)
SUM = AggregateCall("s", "SUM", (Expr("x", Scalar.BIGINT, "x"),), (), Scalar.BIGINT)
TUMBLING = Window(WindowKind.TUMBLING, 10, 10, 5)
HOPPING = Window(WindowKind.HOPPING, 30, 10, 100)
SESSION = Window(WindowKind.SESSION, 10, 10, 1000)


def count(window: Window | None = None, **how: Any) -> Aggregator:
    return Aggregator(GroupFolding(Folds((COUNT,)), window, **{"each": True, "tells_before": True, **how}))


def at(key: str, *times: int) -> list[InputRow]:
    return [InputRow(key.encode(), None, time) for time in times]


def told(found: list[OutputRow]) -> list[tuple[str, int, int, int | None]]:
    results = [m for m in found if m.late is None]
    return [(m.key.decode(), m.values[0], m.values[1], m.values[4] if m.values[3] else None) for m in results]


def late(found: list[OutputRow]) -> list[LateRows]:
    return [m.late for m in found if m.late is not None]


def test_every_row_is_a_change() -> None:
    assert told(made(count(), at("a", 1, 2, 3))) == [("a", 0, 0, 1), ("a", 0, 0, 2), ("a", 0, 0, 3)]


def test_a_batch_may_be_one_change_with_what_was_before_it() -> None:
    found = made(count(each=False), at("a", 1, 2, 3, 4), batch=2)
    assert [(m.values[5], m.values[4], m.time) for m in found] == [(None, 2, 2), (2, 4, 4)]


def test_late_is_judged_by_the_stream_not_by_the_batch() -> None:
    rows = [*at("a", 1), *at("b", 14), *at("a", 2), *at("b", 15), *at("a", 3)]
    wanted = [("a", 0, 10, 1), ("b", 10, 20, 1), ("a", 0, 10, 2), ("b", 10, 20, 2)]
    for batch in (1, 2, 5):
        assert told(made(count(TUMBLING), rows, batch=batch)) == wanted


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_rows_too_late_for_their_window_are_counted(batch: int) -> None:
    rows = at("a", 1, 15, 2, 9, 16, 3)  # 15 closes the window from 0 to 10, with its grace of 5
    for how in ({}, {"final": True}, {"each": False}):
        found = late(made(count(TUMBLING, **how), rows, batch=batch))
        assert sum(one.rows for one in found) == 3
        assert {(one.why, one.row) for one in found} == {(None, None)}


def test_a_late_row_that_is_kept_comes_out_with_the_reason() -> None:
    rows = [InputRow(b"a", row, time) for row, time in ((b"one", 1), (b"two", 15), (b"three", 9))]
    (found,) = [m for m in made(count(TUMBLING, keeps_late=True), rows) if m.late is not None]
    assert (found.key, found.time) == (b"a", 9)
    assert found.late == LateRows(
        1,
        "the window from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.010Z was closed: "
        "the stream had come to 1970-01-01T00:00:00.015Z, and its grace is 5 ms",
        b"three",
    )


def test_a_row_that_some_of_its_windows_still_take_is_late_once() -> None:
    hopping = Window(WindowKind.HOPPING, 30, 10, 0)
    found = made(count(hopping, keeps_late=True), [InputRow(b"a", b"r", time) for time in (45, 29)])
    assert told(found)[-1] == ("a", 20, 50, 2)
    (one,) = late(found)
    assert "from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:00.030Z (and 1 more) was closed" in (one.why or "")


def test_a_row_too_late_for_any_session_is_counted() -> None:
    session = Window(WindowKind.SESSION, 10, 10, 5)
    assert [one.rows for one in late(made(count(session), at("a", 0, 100, 84, 85)))] == [1]


def test_without_a_window_no_row_is_late() -> None:
    assert not late(made(count(), at("a", 100, 1)))


def test_a_row_falls_into_every_window_that_covers_it() -> None:
    assert [(m.values[0], m.values[1]) for m in made(count(HOPPING), at("a", 25))] == [(0, 30), (10, 40), (20, 50)]


def test_closed_windows_are_forgotten() -> None:
    store = MemoryStore()
    take_batch(count(TUMBLING), at("a", *range(0, 1000, 10)), store)
    assert len(store.blobs) == 3  # two windows that still take rows, and the clock


@pytest.mark.parametrize("batch", [1, 3, 10])
def test_a_final_window_comes_once_when_it_closes(batch: int) -> None:
    rows = [*at("a", 1, 9), *at("b", 2), *at("b", 14), *at("b", 15)]
    assert sorted(told(made(count(TUMBLING, final=True), rows, batch=batch))) == [("a", 0, 10, 2), ("b", 0, 10, 1)]


def test_sessions_merge_and_the_merged_are_withdrawn() -> None:
    found = told(made(count(SESSION), at("a", 0, 20, 10)))
    assert found == [
        ("a", 0, 0, 1),
        ("a", 20, 20, 1),
        ("a", 0, 0, None),
        ("a", 20, 20, None),
        ("a", 0, 20, 3),
    ]


@given(st.lists(st.integers(0, 100), max_size=20), st.integers(1, 5))
def test_sessions_end_as_runs_of_near_times(times: list[int], batch: int) -> None:
    kept: dict[tuple[int, int], int] = {}
    for _, start, end, n in told(made(count(SESSION), at("a", *times), batch=batch)):
        kept.pop((start, end), None) if n is None else kept.update({(start, end): n})
    runs: list[list[int]] = []
    for time in sorted(times):
        if runs and time - runs[-1][-1] <= 10:
            runs[-1].append(time)
        else:
            runs.append([time])
    assert kept == {(r[0], r[-1]): len(r) for r in runs}


@pytest.mark.parametrize("window", [None, TUMBLING, HOPPING, SESSION])
@pytest.mark.parametrize(
    "how", [{}, {"each": True}, {"final": True}, {"ttl_ms": 64}, {"of_table": True}], ids=lambda how: "".join(how)
)
def test_rows_are_folded_together_where_explain_says_so(window: Window | None, how: dict[str, Any]) -> None:
    key = (Expr("k", Scalar.STRING, "k"),)
    told = how | {"of_table": key if "of_table" in how else ()}
    relation = Aggregate(Union(()), (), (COUNT,), window, None, (), **told)
    assert GroupFolding(Folds((COUNT,)), window, **how).by_columns is (why_row_by_row(relation) is None)


def test_a_table_takes_back_what_its_rows_gave() -> None:
    sums = Aggregator(GroupFolding(Folds((SUM,)), None, each=True, of_table=True))
    one, two = {"d0": 5}, {"d0": 7}
    rows = [
        InputRow(b"g", None, 1, GIVE, (one, None)),
        InputRow(b"g", None, 2, BOTH, (two, one)),
        InputRow(b"g", None, 3, UNDO, (None, two)),
    ]
    assert [m.values[4] for m in made(sums, rows)] == [5, 7, 0]


def test_retraction_remembers_a_row_until_it_is_deleted() -> None:
    rows = [InputRow(b"k", row, n) for n, row in enumerate((b"a", b"b", None, None))]
    assert [m.values for m in made(Retraction(), rows)] == [(None, b"a"), (b"a", b"b"), (b"b", None)]


def test_a_group_without_rows_for_its_time_to_live_goes() -> None:
    rows = [*at("a", 0), *at("b", 64), *at("b", 130), *at("a", 140)]
    assert told(made(count(ttl_ms=64), rows)) == [
        ("a", 0, 0, 1),
        ("b", 0, 0, 1),
        ("a", 0, 0, None),
        ("b", 0, 0, 2),
        ("a", 0, 0, 1),
    ]

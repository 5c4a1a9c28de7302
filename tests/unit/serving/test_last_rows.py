"""Rows that are at hand by their key: the same as DuckDB has them, whatever happens to the table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orion import ksql
from orion.plan.steps import Pull
from orion.serving.folding import Fold
from orion.serving.last_rows import LastRows
from orion.serving.pull import run
from orion.serving.store import Layout, Store
from orion.testing import Given
from tests.unit.serving.world import SOURCES, catalog

CATALOG = catalog()


def plan(text: str) -> Pull:
    ask = ksql.compile(text, CATALOG).ask
    assert isinstance(ask, Pull)
    return ask


def change(store: Store, last: LastRows, name: str, *records: tuple[bytes, bytes | None]) -> None:
    """As a feed does it."""
    fold = Fold(SOURCES[name], lambda _: None)
    given = [Given(SOURCES[name].topic, key, value, at) for at, (key, value) in enumerate(records, 1)]
    changes, bad = fold.changes(given, {0: len(records)})
    assert not bad
    store.apply(fold.layout, changes)
    last.change(fold.layout, changes)


def opened(store: Store, name: str, size: int = 10) -> LastRows:
    store.opened(SOURCES[name], "id")
    last = LastRows(size)
    last.open(Layout(SOURCES[name]), store)
    return last


def found(last: LastRows, text: str) -> list[list[Any]] | None:
    pull = plan(text)
    answer = last.get(pull, pull.parameters[0].value)
    return None if answer is None else answer.rows


@pytest.mark.parametrize("value", [b'{"b":true,"l":5,"d":1,"t":"x"}', b'{"d":"NaN","l":"7","t":3}', b"{}"])
def test_a_row_is_as_duckdb_has_it(value: bytes) -> None:
    store = Store()
    last = opened(store, "EVERYTHING")
    change(store, last, "EVERYTHING", ((7).to_bytes(4, "big"), value))
    pull = plan("SELECT t, k, d, b, l, ROWTIME FROM everything WHERE k = 7")
    (row,) = run(pull, store, [7]).rows
    answer = last.get(pull, 7)
    assert answer is not None
    assert [[(type(v), v) for v in r] for r in answer.rows] == [[(type(v), v) for v in row]]
    again = opened(store, "EVERYTHING")  # after a restart
    kept = again.get(pull, 7)
    assert kept is not None
    assert kept.rows == answer.rows


def test_rows_change_and_go() -> None:
    store = Store()
    last = opened(store, "T")
    look_up = "SELECT n FROM t WHERE k = 'a'"
    assert found(last, look_up) is None
    change(store, last, "T", (b'"a"', b'{"N":1}'), (b'"b"', b'{"N":5}'))
    assert found(last, look_up) == [[1]]
    change(store, last, "T", (b'"a"', b'{"N":2}'))
    assert found(last, look_up) == [[2]]
    change(store, last, "T", (b'"a"', None))
    assert found(last, look_up) is None
    assert found(last, "SELECT * FROM t WHERE k = 'b'") == [["b", 5]]
    last.drop("T")
    assert found(last, "SELECT * FROM t WHERE k = 'b'") is None


def test_those_that_changed_last_are_kept() -> None:
    store = Store()
    last = opened(store, "T", 2)
    change(store, last, "T", *((f'"{k}"'.encode(), b'{"N":1}') for k in "abc"))
    change(store, last, "T", (b'"b"', b'{"N":2}'))
    change(store, last, "T", (b'"d"', b'{"N":1}'))
    assert [found(last, f"SELECT n FROM t WHERE k = '{k}'") is not None for k in "abcd"] == [False, True, False, True]
    assert found(opened(store, "T", 0), "SELECT n FROM t WHERE k = 'd'") is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT n + 1 FROM t WHERE k = 'a'",
        "SELECT n FROM t WHERE k = 'a' AND n > 3",
        "SELECT n FROM t WHERE k = 'a' LIMIT 0",
        "SELECT COUNT(*) FROM t WHERE k = 'a'",
        "SELECT n FROM w WHERE k = 'a'",
        "SELECT n FROM two WHERE k = 'a'",
        "SELECT m FROM everything WHERE k = 1",
        "SELECT n FROM t WHERE n = 3",
    ],
)
def test_everything_else_is_duckdbs(text: str) -> None:
    assert plan(text).row is None


def test_a_table_of_the_same_name_and_other_columns_begins_anew() -> None:
    store = Store()
    last = opened(store, "T")
    change(store, last, "T", (b'"a"', b'{"N":1}'))
    windowed = Layout(replace(SOURCES["W"], name="T"))
    last.open(windowed, store)
    assert found(last, "SELECT n FROM t WHERE k = 'a'") is None

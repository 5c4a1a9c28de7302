"""Tables in DuckDB: what records do to them, and that a restart finds what it left."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orion.serving.folding import Fold
from orion.serving.store import Store
from orion.testing import Given
from tests.unit.serving.world import SOURCES, put


def rows(store: Store, text: str) -> list[tuple[Any, ...]]:
    return store.rows(text)


@pytest.fixture
def store() -> Store:
    return Store()


def test_the_last_record_of_a_key_is_its_row(store: Store) -> None:
    put(store, SOURCES["T"], (b'"a"', b'{"N":1}'), (b'"b"', b'{"N":1}'), (b'"a"', b'{"N":2}'))
    assert rows(store, "SELECT K, N, ROWTIME FROM T ORDER BY K") == [("a", 2, 3), ("b", 1, 2)]
    put(store, SOURCES["T"], (b'"a"', None), (b'"b"', b'{"N":5}'), (b'"c"', b'{"N":1}'), (b'"c"', None))
    assert rows(store, "SELECT K, N FROM T") == [("b", 5)]
    assert store.count(SOURCES["T"]) == 1


def test_a_key_of_several_columns_is_told_apart_by_its_bytes(store: Store) -> None:
    keys = [b'{"K":"a","A":1}', b'{"K":"a","A":null}']
    put(store, SOURCES["TWO"], (keys[0], b'{"N":1}'), (keys[1], b'{"N":2}'), (keys[0], b'{"N":3}'))
    assert rows(store, "SELECT K, A, N FROM TWO ORDER BY N") == [("a", None, 2), ("a", 1, 3)]


def test_windows_are_columns(store: Store) -> None:
    start, end = struct.pack(">q", 1000), struct.pack(">q", 1500)
    put(store, SOURCES["W"], (b'"a"' + start, b'{"N":1}'), (b'"a"' + end, b'{"N":4}'))
    assert rows(store, "SELECT K, WINDOWSTART, WINDOWEND, N FROM W WHERE WINDOWSTART < 1200") == [("a", 1000, 2000, 1)]
    put(store, SOURCES["SE"], (b'"a"' + end + start, b'{"N":1}'))
    assert rows(store, "SELECT K, WINDOWSTART, WINDOWEND, N FROM SE") == [("a", 1000, 1500, 1)]


def test_every_type_is_kept(store: Store) -> None:
    value = (
        b'{"b":true,"L":9007199254740993,"d":1.5,"t":"x","x":"AQI=","m":1.255,"day":1,"tm":61001,"ts":1001,'
        b'"arr":[1,null],"mp":{"a":1},"st":{"a":1,"B":"y"}}'
    )
    assert put(store, SOURCES["EVERYTHING"], (struct.pack(">i", 7), value)) == []
    (row,) = rows(store, "SELECT * EXCLUDE (K, ROWTIME) FROM EVERYTHING")
    assert [str(v) for v in row] == [
        *("True", "9007199254740993", "1.5", "x", "b'\\x01\\x02'", "1.26", "1970-01-02", "61001"),
        *("1970-01-01 00:00:01.001000", "[1, None]", "{'a': 1}", "{'A': 1, 'B': 'y'}"),
    ]


def test_records_that_are_no_rows_are_told_and_left_out(store: Store) -> None:
    key = struct.pack(">q", 1)
    bad = put(store, SOURCES["FLAT"], (key, b"1,x"), (b"short", b"1,x"), (key, b"1"), (key, b"one,x"), (key, b""))
    assert len(bad) == 4
    assert rows(store, "SELECT K, A, B FROM FLAT") == [(1, 1, "x")]


def test_a_restart_goes_on_and_another_topic_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "serving" / "tables.duckdb"
    first = Store(file)
    put(first, SOURCES["T"], (b'"a"', b'{"N":1}'))
    first.close()
    second = Store(file)
    assert second.opened(SOURCES["T"], "id") == {0: 1}
    assert second.count(SOURCES["T"]) == 1
    assert second.opened(SOURCES["T"], "another id") == {}
    assert second.count(SOURCES["T"]) == 0
    altered = replace(SOURCES["T"], topic="elsewhere")
    put(second, SOURCES["T"], (b'"a"', b'{"N":1}'))
    assert second.opened(altered, "id") == {}
    second.close()


def test_a_file_that_is_damaged_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "tables.duckdb"
    file.write_bytes(b"no database" * 1000)
    store = Store(file)
    assert store.opened(SOURCES["T"], "id") == {}
    store.close()


def test_what_fails_leaves_nothing_behind(store: Store) -> None:
    put(store, SOURCES["T"], (b'"a"', b'{"N":1}'))
    fold = Fold(SOURCES["T"], lambda _: None)
    changes, _ = fold.changes([Given("T", b'"b"', b'{"N":2}')], {0: 9})
    with pytest.raises(Exception, match="int"):
        store.apply(fold.layout, replace(changes, rows={"b": ("b", "no number", 1)}))
    assert rows(store, "SELECT K FROM T") == [("a",)]
    assert store.opened(SOURCES["T"], "id") == {0: 1}


def test_a_table_that_is_dropped_is_gone(store: Store) -> None:
    put(store, SOURCES["T"], (b'"a"', b'{"N":1}'))
    assert store.names() == ["T"]
    store.drop("T")
    assert store.names() == []
    assert store.opened(SOURCES["T"], "id") == {}

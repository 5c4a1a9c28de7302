"""Records of any content on their way into a table: none of them stops it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orion import ksql
from orion.hub.records import Record
from orion.plan.catalog import Catalog
from orion.plan.sources import Source
from orion.plan.steps import Pull
from orion.serving.folding import Fold
from orion.serving.hot import HotRows
from orion.serving.intake import Intake
from orion.serving.last_rows import LastRows
from orion.serving.pull import run
from orion.serving.store import BadRecord, Changes, Layout, Store
from orion.web.questions import dumped

COLUMNS = (
    "i INT, b BIGINT, d DOUBLE, m DECIMAL(38, 9), s STRING, f BOOLEAN, x BYTES, day DATE, tm TIME, ts TIMESTAMP, "
    "a ARRAY<TIMESTAMP>, o STRUCT<D DATE, S STRING>, p MAP<STRING, DOUBLE>"
)
NAMES = ("i", "b", "d", "m", "s", "f", "x", "day", "tm", "ts", "a", "o", "p")
CATALOG = Catalog()
for _step in ksql.compile(
    f"CREATE SOURCE TABLE t (k STRING PRIMARY KEY, {COLUMNS}) "
    "WITH (kafka_topic='t', value_format='JSON', partitions=1);",
    CATALOG,
).steps:
    CATALOG = CATALOG.after(_step)
TABLE = CATALOG.sources["T"]


def intake(store: Store, source: Source = TABLE) -> Intake:
    store.opened(source, "id")
    return Intake(Fold(source, lambda _: None), store, (HotRows(10), LastRows(10)))


def records(*values: bytes | None) -> list[Record]:
    return [Record("t", 0, at, 1, f"k{at}".encode(), value) for at, value in enumerate(values)]


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store()
    yield made
    made.close()


def keys(store: Store) -> list[str]:
    return [key for (key,) in store.rows("SELECT K FROM T ORDER BY K")]


def test_a_lone_surrogate_is_left_out_and_those_behind_it_are_not(store: Store) -> None:
    intake(store).put(records(b'{"s": "ok"}', b'{"s": "\\ud800"}', b'{"s": "after"}'))
    assert keys(store) == ["k0", "k2"]
    assert store.count_bad("T") == 1
    (bad,) = store.bad_records("T", 10)
    assert (bad.partition, bad.offset) == (0, 1)
    assert "surrogate" in bad.reason


class Picky(Store):
    """A store that refuses batches with some key, as DuckDB would, with whatever error."""

    def __init__(self, refused: str, error: Exception) -> None:
        super().__init__()
        self.refused, self.error, self.reopened = refused, error, 0

    def apply(self, layout: Layout, changes: Changes) -> None:
        if self.refused in changes.rows:
            raise self.error
        super().apply(layout, changes)

    def reopen(self) -> None:
        self.reopened += 1


@pytest.mark.parametrize("error", [duckdb.ConversionException("no"), ValueError("no"), duckdb.InternalException("no")])
def test_what_the_database_refuses_is_looked_for_by_halves(error: Exception) -> None:
    store = Picky("k5", error)
    intake(store).put(records(*(b"{}" for _ in range(9))))
    assert keys(store) == [f"k{n}" for n in range(9) if n != 5]
    assert store.bad_records("T", 10) == [BadRecord(0, 5, f"{type(error).__name__}: no")]
    assert store.opened(TABLE, "id") == {0: 9}
    assert bool(store.reopened) == isinstance(error, duckdb.InternalException)


@pytest.mark.parametrize("error", [duckdb.IOException("disk full"), duckdb.FatalException("gone"), OSError("full")])
def test_trouble_of_the_database_is_no_record_s_fault(error: Exception) -> None:
    store = Picky("k1", error)
    with pytest.raises(type(error)):
        intake(store).put(records(b"{}", b"{}"))
    assert store.count_bad("T") == 0
    assert store.opened(TABLE, "id") == {}
    store.refused = "none"
    intake(store).put(records(b"{}", b"{}"))
    assert keys(store) == ["k0", "k1"]


def test_bad_records_are_all_counted_and_the_last_kept(store: Store) -> None:
    given_ = [Record("t", 0, at, 1, b"k", b"no json") for at in range(1_500)]
    taking = intake(store)
    for start in range(0, 1_500, 400):
        taking.put(given_[start : start + 400])
    assert store.count_bad("T") == 1_500
    assert [one.offset for one in store.bad_records("T", 2)] == [1_499, 1_498]
    assert len(store.bad_records("T", 5_000)) == 1_000
    store.drop("T")
    assert store.count_bad("T") == 0


def test_a_database_that_failed_is_opened_anew(tmp_path: Path) -> None:
    store = Store(tmp_path / "tables.duckdb")
    intake(store).put(records(b"{}"))
    store.reopen()
    assert store.generation == 1
    assert keys(store) == ["k0"]
    assert intake(store) is not None
    assert store.opened(TABLE, "id") == {0: 1}
    store.close()


@pytest.mark.parametrize(
    "value",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"s": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        b'{"s": "' + b"x" * 10_000_000 + b'"}',
        b'{"i": 1e999999999, "m": 1e-999999999}',
        b'{"b": ' + b"9" * 5_000 + b"}",
        b'{"s": "a\\u0000b"}',
        b'{"d": NaN, "m": NaN}',
        b'{"s": "\xff\xfe"}',
        b"\xff\xfe{\x00}\x00",
        b"",
        b"\0" * 100,
    ],
    ids=lambda value: repr(value[:16]),
)
def test_odd_records_stop_nothing(value: bytes, store: Store) -> None:
    intake(store).put(records(b"{}", value, b"{}"))
    found = keys(store)
    assert {"k0", "k2"} <= set(found)
    assert len(found) + store.count_bad("T") == 3


@pytest.mark.parametrize("key", [b"\0", b"a\0b", b"\xff", b"", "\N{GRINNING FACE}".encode(), b"k" * 1_000_000])
def test_odd_keys_stop_nothing(key: bytes, store: Store) -> None:
    given_ = [Record("t", 0, at, 1, key, b'{"i": %d}' % at) for at in range(2)]
    intake(store).put([*given_, *records(b"{}")])
    assert store.count(TABLE) + store.count_bad("T") >= 2
    ask = ksql.compile("SELECT * FROM t", CATALOG).ask
    assert isinstance(ask, Pull)
    for row in run(ask, store, []).rows:
        json.loads(dumped(row))


_NUMBERS = st.one_of(st.integers(), st.floats(), st.integers(-(2**70), 2**70), st.decimals(allow_nan=False).map(str))
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), _NUMBERS, st.text(), st.text(st.characters()), st.just("\ud800")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), _JSON, max_size=4), min_size=1, max_size=5))
def test_any_values_end_in_an_answer_or_as_bad_records(rows: list[dict[str, Any]]) -> None:
    """From the record through DuckDB to the JSON of a pull query."""
    store = Store()
    try:
        intake(store).put(records(*(json.dumps(row).encode() for row in rows)))
        ask = ksql.compile("SELECT * FROM t", CATALOG).ask
        assert isinstance(ask, Pull)
        found = run(ask, store, [])
        assert len(found.rows) + store.count_bad("T") == len(rows)
        for row in found.rows:
            dumped(row).encode()
        assert found.arrow().num_rows == len(found.rows)
    finally:
        store.close()

"""Values at the edges of their types, computed by DuckDB: for pull queries, and through PostgreSQL's port."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.steps import Pull
from orion.schema import Column
from orion.serving.pull import OutOfReach, Pulled, run
from orion.serving.store import Store
from tests.edges import COLUMNS, MADE, ROWS, Made
from tests.unit.serving.world import put

TEXT = (
    f"CREATE SOURCE TABLE t (k STRING PRIMARY KEY, {COLUMNS}) "
    "WITH (kafka_topic='t', value_format='JSON', partitions=1);"
)
CATALOG = Catalog().after(ksql.compile(TEXT, Catalog()).steps[-1])


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    made = Store()
    bad = put(made, CATALOG.sources["T"], *((key.encode(), value.encode()) for key, value in ROWS.items()))
    assert not bad
    yield made
    made.close()


@pytest.mark.parametrize("case", MADE, ids=[f"{c.row}-{c.expression}" for c in MADE])
def test_duckdb_answers_the_same_or_leaves_it_to_spark(case: Made, store: Store) -> None:
    ask = ksql.compile(f"SELECT {case.expression} AS e FROM t WHERE k = '{case.row}'", CATALOG).ask
    assert isinstance(ask, Pull)
    if ask.duckdb is None:
        return
    try:
        found = run(ask, store, [p.value for p in ask.parameters])
    except OutOfReach:
        return
    _check(found, case.shown)


@pytest.mark.parametrize("case", [c for c in MADE if c.postgres], ids=lambda c: f"{c.row}-{c.postgres}")
def test_postgresql_s_port_answers_the_same(case: Made, store: Store) -> None:
    ask = ksql.compile(f"SELECT {case.expression} AS e FROM t", CATALOG).ask
    assert isinstance(ask, Pull)
    rows = store.connection().execute(f"SELECT {case.postgres} FROM t WHERE k = '{case.row}'").fetchall()
    _check(Pulled((Column("E", ask.columns[0].type),), rows), case.shown)


def _check(found: Pulled, wanted: Any) -> None:
    ((value,),) = found.rows
    assert value == wanted
    assert isinstance(value, bool) == isinstance(wanted, bool)
    if isinstance(wanted, float):
        assert math.copysign(1, value) == math.copysign(1, wanted)

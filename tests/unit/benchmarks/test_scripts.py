"""The benchmarks' SQL compiles, and runs in the operator that the benchmark is about."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import benchmarks
from benchmarks import many_keys, shop
from benchmarks.contest import compiled
from benchmarks.counted_plays import Plays
from benchmarks.many_statements import Load
from orion import ksql
from orion.plan.catalog import Catalog
from orion.plan.relations import Aggregate, Join, JoinKind, Query, Relation, why_row_by_row
from orion.plan.sharing import SharedWork, why_alone
from orion.plan.steps import CreateConnector, StartQuery, Step

SHARED = {
    *("__init__", "__main__", "contest", "counted_plays", "latency"),
    *(
        "one_core",
        "many_keys",
        "many_statements",
        "platform",
        "processor_time",
        "registry_shelf",
        "soak",
        "stage",
        "table_rows",
    ),
}
WITH_SQL = [
    name
    for name in benchmarks.NAMES
    if not name.startswith(("registry_", "latency_", "state_", "jdbc_", "pull_", "http_", "statements_", "shop"))
]


def query(name: str) -> Query:
    script = vars(import_module(f"benchmarks.{name}"))["_script"]
    return compiled(script("out"))


def operators(relation: Relation) -> list[Relation]:
    """The relation and what is below it, as far as there is one input."""
    found = [relation]
    while (inner := getattr(found[-1], "input", None)) is not None:
        found.append(inner)
    return found


def test_a_benchmark_is_one_file_and_one_name() -> None:
    files = {path.stem for path in Path(benchmarks.__file__).parent.glob("*.py")}
    assert files - SHARED == set(benchmarks.NAMES)


@pytest.mark.parametrize("name", WITH_SQL)
def test_scripts_compile_and_write_where_they_are_told(name: str) -> None:
    assert query(name).sink.topic == "out"


@pytest.mark.parametrize(
    ("name", "windowed", "judged"),
    [("windowed_count", True, False), ("running_count", False, False), ("windowed_having", True, True)],
)
def test_counts_fold_a_batchs_rows_together_in_what_they_measure(name: str, windowed: bool, judged: bool) -> None:
    (aggregate,) = (r for r in operators(query(name).relation) if isinstance(r, Aggregate))
    assert why_row_by_row(aggregate) is None
    assert (aggregate.window is not None, aggregate.having is not None) == (windowed, judged)


@pytest.mark.parametrize(
    ("name", "kind"), [("stream_table_join", JoinKind.STREAM_TABLE), ("stream_stream_join", JoinKind.STREAM_STREAM)]
)
def test_joins_are_of_the_kind_they_measure(name: str, kind: JoinKind) -> None:
    (join,) = (r for r in operators(query(name).relation) if isinstance(r, Join))
    assert join.kind is kind


def test_what_many_keys_are_counted_by_is_one_operator_that_folds() -> None:
    found = compiled(many_keys.script("out", "keys"))
    (aggregate,) = (r for r in operators(found.relation) if isinstance(r, Aggregate))
    assert (found.sink.topic, why_row_by_row(aggregate)) == ("out", None)


def compile_all(script: str) -> list[Step]:
    catalog, steps = Catalog(), list[Step]()
    for text in ksql.split(script):
        for step in ksql.compile(text, catalog).steps:
            catalog = catalog.after(step)
            steps.append(step)
    return steps


def test_the_shop_has_eleven_statements_and_two_sinks() -> None:
    steps = compile_all(shop.SCRIPT.format(folder="/tmp"))
    assert sum(isinstance(step, StartQuery) for step in steps) == 11
    assert sum(isinstance(step, CreateConnector) for step in steps) == 2
    assert sum(map(len, shop.make_shop().records.values())) == 9_000


def test_many_statements_share_work_and_those_that_count_among_themselves() -> None:
    load = Load(stateless=7, keyed=2, rate=1, warm_s=0, measured_s=1)
    queries = [step.query for step in compile_all(load.script()) if isinstance(step, StartQuery)]
    assert [query.sink.topic for query in queries] == load.outputs
    assert [why_alone(query) for query in queries] == [None] * 9
    works = [SharedWork.of(query) for query in queries]
    assert works == [works[0]] * 7 + [works[7]] * 2
    assert works[0] != works[7]


def test_a_script_without_a_query_is_refused() -> None:
    with pytest.raises(ValueError, match="starts no query"):
        compiled("CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);")


def test_busy_users_are_counted_by_the_minute() -> None:
    plays = Plays("t", 20_000, 1_000)
    assert plays.busy(1) > plays.busy(5) > 0
    assert plays.busy(1_000) == 0

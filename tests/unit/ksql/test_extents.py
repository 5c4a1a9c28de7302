"""How large a value a call may make: constants are refused, and the rest is bounded in the SQL of both engines."""

from __future__ import annotations

import pytest

from orion import ksql
from orion.errors import BindError
from orion.ksql.functions import functions
from orion.plan.catalog import Catalog
from orion.plan.steps import Pull

TABLE = (
    "CREATE SOURCE TABLE t (k INT PRIMARY KEY, n INT, s STRING) "
    "WITH (kafka_topic='t', value_format='JSON', partitions=1);"
)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    made = Catalog()
    for step in ksql.compile(TABLE, made).steps:
        made = made.after(step)
    return made


@pytest.mark.parametrize(
    "call",
    [
        "GENERATE_SERIES(1, 2000000000)",
        "GENERATE_SERIES(2000000000, 1)",
        "GENERATE_SERIES(-9000000000000000000, 9000000000000000000)",
        "GENERATE_SERIES(1, 1000 * 1000)",
        "GENERATE_SERIES(1, CAST(200000 AS BIGINT))",
        "GENERATE_SERIES(1, 1000000, 2)",
        "ARRAY_LENGTH(GENERATE_SERIES(0, 100000))",
        "LPAD(s, 2000000000, 'x')",
        "RPAD(s, 100001, 'x')",
        "TRANSFORM(GENERATE_SERIES(1, 1000), x => GENERATE_SERIES(1, 1000))",
        "TRANSFORM(ARRAY[1], x => LPAD('a', 2000, 'b'))",
    ],
)
@pytest.mark.parametrize("emit", ["", " EMIT CHANGES"])
def test_a_constant_that_makes_too_much_is_refused(catalog: Catalog, call: str, emit: str) -> None:
    with pytest.raises(BindError) as refused:
        ksql.compile(f"SELECT {call} AS x FROM t{emit};", catalog)
    assert refused.value.code == "VALUE_TOO_LARGE"
    assert refused.value.span is not None
    assert refused.value.hint is not None


@pytest.mark.parametrize(
    "call",
    [
        "GENERATE_SERIES(1, 100000)",
        "GENERATE_SERIES(1, n)",
        "GENERATE_SERIES(0, 2000000000, 100000)",
        "GENERATE_SERIES(1, 2000000000, 0)",
        "LPAD(s, 100000, 'x')",
        "RPAD(s, n, 'x')",
        "TRANSFORM(ARRAY[1], x => GENERATE_SERIES(1, 100))",
    ],
)
def test_others_are_taken(catalog: Catalog, call: str) -> None:
    plan = ksql.compile(f"SELECT {call} AS x FROM t;", catalog)
    assert isinstance(plan.ask, Pull)


def test_what_a_row_tells_is_bounded_in_both_engines(catalog: Catalog) -> None:
    plan = ksql.compile("SELECT LPAD(s, n, 'x') AS x, RPAD(s, n, 'y') AS y FROM t;", catalog).ask
    assert isinstance(plan, Pull)
    assert plan.duckdb is not None
    assert plan.duckdb.count("BETWEEN 0 AND 100000") == plan.spark.count("BETWEEN 0 AND 100000") == 2


def test_no_other_function_makes_a_value_of_a_length_that_is_told() -> None:
    """Spark's own functions that do are behind a bound wherever a declaration uses them."""
    growing = ("sequence(", "lpad(", "rpad(", "repeat(", "array_repeat(", "space(")
    for function in functions().values():
        for overload in function.overloads:
            for text in (overload.spark, overload.duckdb):
                if isinstance(text, str) and any(f"{word}" in text for word in growing):
                    bounded = "{most}" in text or "array_size" in text or "hex(" in text or "length(" in text
                    assert bounded, (function.name, text)

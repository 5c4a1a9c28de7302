"""Expressions in DuckDB's SQL, run by DuckDB: the same results as on Spark, or none at all."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from orion.ksql.bind import bind
from orion.ksql.functions import functions
from orion.ksql.functions.declare import Kind
from orion.ksql.parser import Parser
from orion.ksql.pull.duckdb import DuckDb, Foreign
from orion.ksql.pull.moments import number_of
from orion.ksql.scope import constants
from orion.schema import Column, Scalar, SqlType
from orion.serving.pull import Pulled

DB = duckdb.connect(config={"error_on_division_by_zero": False})
EXAMPLES = [
    pytest.param(e.call, e.result, id=f"{f.name}-{at}")
    for f in functions().values()
    if f.kind is Kind.SCALAR and any(o.duckdb for o in f.overloads)
    for at, e in enumerate(f.examples, 1)
]

# Operators, casts and structure, and what is easily got wrong.
CASES: list[tuple[str, Any]] = [
    ("1 + 2 * 3", 7),
    ("7 / 2", 3),
    ("-7 / 2", -3),
    ("-7 % 2", -1),
    ("7 / 0", None),
    ("7.5e0 / 2", 3.75),
    ("1e0 / 0", "Infinity"),
    ("1.25 + 1", Decimal("2.25")),
    ("1.5 * 1.5", Decimal("2.25")),
    ("'a' || 'b'", "ab"),
    ("'a' + 'b'", "ab"),
    ("1 = 1.0", True),
    ("CAST(NULL AS INT) = 1", False),
    ("NOT (CAST(NULL AS INT) = 1)", True),
    ("CAST(NULL AS INT) IS DISTINCT FROM 1", True),
    ("2 BETWEEN 1 AND 3", True),
    ("CAST(NULL AS INT) NOT BETWEEN 1 AND 3", True),
    ("2 IN (1, 2)", True),
    ("CAST(NULL AS INT) NOT IN (1, 2)", True),
    ("'a%b' LIKE 'a!%b' ESCAPE '!'", True),
    ("'a\\b' LIKE 'a\\b'", True),
    ("CASE WHEN 1 > 2 THEN 1 ELSE 2.5 END", Decimal("2.5")),
    ("CASE 3 WHEN 3 THEN 'x' END", "x"),
    ("CAST('12.7' AS INT)", None),
    ("CAST(' 12 ' AS INT)", 12),
    ("CAST(2.7e0 AS INT)", 2),
    ("CAST(-2.7 AS BIGINT)", -2),
    ("CAST('TRUE' AS BOOLEAN)", True),
    ("CAST(1.50 AS STRING)", "1.50"),
    ("CAST(true AS STRING)", "true"),
    ("ARRAY[1, 2, 3][1]", 1),
    ("ARRAY[1, 2, 3][-1]", 3),
    ("ARRAY[1, 2, 3][0]", None),
    ("ARRAY[1, 2, 3][9]", None),
    ("STRUCT(a := 1, b := 'x')->B", "x"),
    ("STRUCT(a := 1) = STRUCT(a := 1)", True),
    ("FROM_UNIXTIME(1000) = '1970-01-01T00:00:01'", True),
    ("FROM_DAYS(1) > '1970-01-01'", True),
    ("'it''s'", "it's"),
]


def run(text: str) -> Any:
    node = Parser(text).expression()
    type_ = bind(node, constants()).type
    sql = DuckDb().text(node, constants())
    return shown(DB.execute(f"SELECT {sql}").fetchall(), type_)


def shown(rows: list[tuple[Any, ...]], type_: SqlType) -> Any:
    return Pulled((Column("C", type_),), rows).rows[0][0]


@pytest.mark.parametrize(("call", "result"), EXAMPLES)
def test_an_example_gives_what_it_gives_on_spark(call: str, result: Any) -> None:
    try:
        found = run(call)
    except Foreign:
        pytest.skip("runs on Spark")
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException):
        pytest.skip("is left to Spark when it comes")
    assert alike(found, result), (found, result)


@pytest.mark.parametrize(("text", "result"), CASES, ids=[text for text, _ in CASES])
def test_an_operator(text: str, result: Any) -> None:
    found = run(text)
    assert alike(found, result), (found, result)


def alike(found: Any, result: Any) -> bool:
    if isinstance(found, str) and isinstance(result, float) and not math.isfinite(result):
        return float(found) == result or math.isnan(result)
    if isinstance(found, int | float | Decimal) and isinstance(result, float) and not isinstance(found, bool):
        return math.isclose(found, result, rel_tol=1e-12)
    return bool(found == result)


@pytest.mark.parametrize(
    "text",
    ["5.5 / 2", "CAST(1e10 AS STRING)", "MAP('a' := 1)", "TRANSFORM(ARRAY[1], x => x + 1)", "CAST('2020' AS DATE)"],
)
def test_what_differs_is_left_to_spark(text: str) -> None:
    with pytest.raises(Foreign):
        DuckDb().text(Parser(text).expression(), constants())


@pytest.mark.parametrize(
    ("text", "type_", "number"),
    [
        ("2020-02-23T23:45:12.123", Scalar.TIMESTAMP, 1_582_501_512_123),
        ("2020-02-23T23:45:12+0100", Scalar.TIMESTAMP, 1_582_497_912_000),
        ("2020-02-23T23:45:12 America/New_York", Scalar.TIMESTAMP, 1_582_519_512_000),
        ("2020-02", Scalar.TIMESTAMP, 1_580_515_200_000),
        ("2020-02-23T", Scalar.TIMESTAMP, 1_582_416_000_000),
        ("1970-01-03", Scalar.DATE, 2),
        ("01:02:03.004", Scalar.TIME, 3_723_004),
        ("25:00", Scalar.TIME, None),
        ("2020-13-01", Scalar.DATE, None),
        ("noon", Scalar.TIMESTAMP, None),
    ],
)
def test_a_point_in_time_is_read(text: str, type_: Scalar, number: int | None) -> None:
    assert number_of(text, type_) == number

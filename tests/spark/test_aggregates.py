"""Aggregates in Spark SQL, for pull queries, against their folds in Python, for all others: both come to the same."""

from __future__ import annotations

import math
from decimal import Decimal as Number
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from orion.ksql import ast
from orion.ksql.aggregate_calls import bound_call
from orion.ksql.functions import functions
from orion.ksql.functions.declare import Kind
from orion.ksql.parser import Parser
from orion.ksql.pull.dialects import InSpark
from orion.ksql.scope import Scope
from orion.plan.relations import AggregateCall
from orion.schema import Array, Decimal, Scalar, SqlType, spark_type

COLUMNS: dict[str, SqlType] = {
    "ROWTIME": Scalar.BIGINT,
    "I": Scalar.INTEGER,
    "L": Scalar.BIGINT,
    "D": Scalar.DOUBLE,
    "N": Decimal(6, 2),
    "S": Scalar.STRING,
    "Y": Scalar.BYTES,
    "A": Array(Scalar.INTEGER),
    "E": Array(Scalar.DOUBLE),
    "B": Scalar.BOOLEAN,
}
Values = tuple[Any, ...]
FULL: list[Values] = [
    (1, 2**31 - 1, 2**63 - 1, 1.5, Number("1.25"), "a", b"\x02", [1, None], [0.5], True),
    (2, None, None, None, None, None, None, None, None, None),
    (3, 9, 2, -3.0, Number("-7.00"), "b", b"\x01", [], [None, 2.0], False),
    (4, -4, 7, 0.25, Number("99.99"), "a", b"\x02", [2, 3], None, True),
    (5, None, None, None, None, None, None, None, None, None),
]
NOTHING: list[Values] = [(1, *[None] * 9)]
CALLS = [
    *("COUNT(*)", "COUNT(S)", "SUM(I)", "SUM(L)", "SUM(D)", "SUM(N)", "SUM_LIST(A)", "SUM_LIST(E)"),
    *("AVG(I)", "AVG(D)", "AVG(N)", "STDDEV_SAMP(D)", "STDDEV_SAMPLE(I)", "CORRELATION(D, N)"),
    *(f"{name}({column})" for name in ("MIN", "MAX") for column in "ILDNSY"),
    *("TOPK(I, 2)", "TOPK(S, 2)", "TOPK(N, 9)", "TOPK_FREQUENT(S, 1)", "COUNT_DISTINCT(S)", "COUNT_DISTINCT(N)"),
    *(f"{name}_BY_OFFSET({a})" for name in ("LATEST", "EARLIEST") for a in ("I", "S, true", "D, false", "A")),
]


def parse_call(text: str) -> ast.Call:
    node = Parser(text).expression()
    assert isinstance(node, ast.Call)
    return node


def bound(text: str) -> AggregateCall:
    return bound_call(parse_call(text), "a", Scope(COLUMNS), value_format="JSON", properties={})


@pytest.mark.parametrize("rows", [FULL, NOTHING], ids=["full", "nothing"])
def test_spark_and_the_folds_agree(spark: SparkSession, rows: list[Values]) -> None:
    schema = ", ".join(f"{name} {spark_type(type_)}" for name, type_ in COLUMNS.items())
    frame = spark.createDataFrame(rows, schema)
    calls = [bound(text) for text in CALLS]
    written = [InSpark().aggregate(parse_call(text), Scope(COLUMNS)) for text in CALLS]
    row = frame.selectExpr(*(f"{spark_text} AS a{at}" for at, spark_text in enumerate(written))).collect()[0]
    for text, call, found in zip(CALLS, calls, row, strict=True):
        assert _close(_plain(found), _folded(frame.columns, call, rows)), text


def test_what_spark_does_is_tried_here() -> None:
    told = {f.name for f in functions().values() if f.kind is Kind.AGGREGATE and any(o.spark for o in f.overloads)}
    assert {bound(text).function for text in CALLS} == told


def _folded(names: list[str], call: AggregateCall, rows: list[Values]) -> Any:
    fold = functions()[call.function].fold
    assert fold is not None
    state = fold.zero(*call.parameters)
    for values in rows:
        row = dict(zip(names, values, strict=True))
        # An argument is a column here, or one that is cast to DOUBLE.
        arguments = [next(row[n] for n in names if f"`{n}`" in a.spark) for a in call.args]
        arguments = [
            float(v) if v is not None and "DOUBLE" in a.spark else v for v, a in zip(arguments, call.args, strict=True)
        ]
        state = fold.add(state, *arguments)
    result = fold.result(state)
    bits = {Scalar.INTEGER: 32, Scalar.BIGINT: 64}.get(call.type) if isinstance(call.type, Scalar) else None
    return result if bits is None or result is None else (result + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, bytearray):
        return bytes(value)
    return tuple(value) if isinstance(value, Row) else value


def _close(left: Any, right: Any) -> bool:
    if isinstance(left, float):
        return (math.isnan(left) and math.isnan(right)) or math.isclose(left, right)
    return bool(left == right)

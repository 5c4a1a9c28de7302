"""An aggregate as written: which overload it is, what is constant, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.aggregate_calls import bound_call
from orion.ksql.parser import Parser
from orion.ksql.scope import Scope
from orion.plan.relations import AggregateCall
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct

COLUMNS: dict[str, SqlType] = {
    "B": Scalar.BOOLEAN,
    "I": Scalar.INTEGER,
    "L": Scalar.BIGINT,
    "D": Scalar.DOUBLE,
    "N": Decimal(6, 2),
    "S": Scalar.STRING,
    "Y": Scalar.BYTES,
    "DAY": Scalar.DATE,
    "T": Scalar.TIME,
    "TS": Scalar.TIMESTAMP,
    "A": Array(Scalar.INTEGER),
    "M": Map(Scalar.STRING, Scalar.BIGINT),
    "ST": Struct((Field("X", Scalar.INTEGER),)),
    "ROWTIME": Scalar.BIGINT,
}
ORDERED = ["I", "L", "D", "N", "S", "Y", "DAY", "T", "TS"]


def bound(text: str, *, value_format: str = "JSON", in_order: bool = False, **properties: str) -> AggregateCall:
    node = Parser(text).expression()
    assert isinstance(node, ast.Call)
    settings = {"ksql.functions." + name.replace("__", "."): value for name, value in properties.items()}
    scope = Scope(COLUMNS)
    return bound_call(node, "a0", scope, value_format=value_format, in_order=in_order, properties=settings)


@pytest.mark.parametrize(
    ("text", "type_", "parameters"),
    [
        ("COUNT(*)", Scalar.BIGINT, ()),
        ("COUNT()", Scalar.BIGINT, ()),
        ("COUNT(M)", Scalar.BIGINT, ()),
        ("COUNT(1)", Scalar.BIGINT, ()),
        ("SUM(I)", Scalar.INTEGER, ()),
        ("SUM(L)", Scalar.BIGINT, ()),
        ("SUM(N)", Decimal(6, 2), ()),
        ("SUM_LIST(A)", Scalar.INTEGER, ()),
        ("AVG(I)", Scalar.DOUBLE, ()),
        ("AVG(N)", Scalar.DOUBLE, ()),
        ("CORRELATION(I, L)", Scalar.DOUBLE, ()),
        ("STDDEV_SAMP(N)", Scalar.DOUBLE, ()),
        ("TOPK(N, 3)", Array(Decimal(6, 2)), (3,)),
        (
            "TOPK(S, ST, 1, 3)",
            Array(
                Struct((Field("sort_col", Scalar.STRING), Field("col0", COLUMNS["ST"]), Field("col1", Scalar.INTEGER)))
            ),
            (3,),
        ),
        ("TOPKDISTINCT(Y, 2)", Array(Scalar.BYTES), (2,)),
        ("LATEST_BY_OFFSET(M)", COLUMNS["M"], ()),
        ("LATEST_BY_OFFSET(ST, false)", COLUMNS["ST"], (False,)),
        ("EARLIEST_BY_OFFSET(B, 2)", Array(Scalar.BOOLEAN), (2,)),
        ("EARLIEST_BY_OFFSET(A, 2, true)", Array(COLUMNS["A"]), (2, True)),
        ("COLLECT_LIST(ST)", Array(COLUMNS["ST"]), ()),
        ("COLLECT_SET(M)", Array(COLUMNS["M"]), ()),
        ("HISTOGRAM(S)", Map(Scalar.STRING, Scalar.BIGINT), ()),
        ("ATTR(A)", COLUMNS["A"], ()),
        ("COUNT_DISTINCT(M)", Scalar.BIGINT, ()),
        ("MAX()", Scalar.BIGINT, ()),
        ("AVG(*)", Scalar.DOUBLE, ()),
    ],
)
def test_type_and_constants(text: str, type_: SqlType, parameters: tuple[Any, ...]) -> None:
    call = bound(text)
    assert (call.type, call.parameters) == (type_, parameters)


@pytest.mark.parametrize("name", ["MIN", "MAX"])
@pytest.mark.parametrize("column", ORDERED)
def test_all_that_has_an_order_has_a_least_and_a_most(name: str, column: str) -> None:
    assert bound(f"{name}({column})").type == COLUMNS[column]


def test_star_and_nothing_are_the_rows_time() -> None:
    assert [a.text for a in bound("MAX(*)").args] == ["ROWTIME"]
    assert bound("COUNT(*)").args == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("TOPK(I, L)", "NOT_CONSTANT"),
        ("TOPK(I, CAST(3 AS INTEGER))", "NOT_CONSTANT"),
        ("LATEST_BY_OFFSET(I, 2, B)", "NOT_CONSTANT"),
        ("TOPK(I, 0)", "NOT_POSITIVE"),
        ("TOPKDISTINCT(I, -1)", "NOT_POSITIVE"),
        ("EARLIEST_BY_OFFSET(I, 0, true)", "NOT_POSITIVE"),
        ("TOPK(I)", "NO_SUCH_SIGNATURE"),
        ("TOPK(I, 'a')", "NO_SUCH_SIGNATURE"),
        ("TOPK(I, 3000000000)", "NO_SUCH_SIGNATURE"),
        ("TOPK(B, 3)", "NO_SUCH_SIGNATURE"),
        ("TOPK(A, I, 3)", "NO_SUCH_SIGNATURE"),
        ("TOPKDISTINCT(I, L, 3)", "NO_SUCH_SIGNATURE"),
        ("LATEST_BY_OFFSET(I, true, 2)", "NO_SUCH_SIGNATURE"),
        ("LATEST_BY_OFFSET(I, 2, true, 3)", "NO_SUCH_SIGNATURE"),
        ("MIN(B)", "NO_SUCH_SIGNATURE"),
        ("MAX(ST)", "NO_SUCH_SIGNATURE"),
        ("SUM(S)", "NO_SUCH_SIGNATURE"),
        ("SUM(I, L)", "NO_SUCH_SIGNATURE"),
        ("AVG(TS)", "NO_SUCH_SIGNATURE"),
        ("SUM_LIST(I)", "NO_SUCH_SIGNATURE"),
        ("HISTOGRAM(I)", "NO_SUCH_SIGNATURE"),
        ("CORRELATION(I)", "NO_SUCH_SIGNATURE"),
        ("COLLECT_LIST(I, 3)", "NO_SUCH_SIGNATURE"),
        ("COUNT(I, L)", "NO_SUCH_SIGNATURE"),
    ],
)
def test_refused(text: str, code: str) -> None:
    with pytest.raises(BindError) as refused:
        bound(text)
    assert refused.value.code == code
    assert refused.value.span is not None


def test_a_flat_format_holds_no_nested_state() -> None:
    for text in ("AVG(I)", "TOPK(I, 3)", "COLLECT_LIST(I)", "CORRELATION(I, I)", "LATEST_BY_OFFSET(I)"):
        with pytest.raises(BindError) as refused:
            bound(text, value_format="DELIMITED")
        assert refused.value.code == "STATE_NEEDS_NESTING"
    for text in ("COUNT(*)", "SUM(I)", "MIN(I)", "MAX(S)", "SUM_LIST(A)"):
        bound(text, value_format="DELIMITED")


def test_spark_does_what_needs_no_order() -> None:
    assert bound("SUM(N)").native == "CAST(coalesce(sum(`N`), 0) AS DECIMAL(6,2))"
    assert bound("TOPK(I, 3)").native == "coalesce(max_by(`I`, `I`, 3), array())"
    assert bound("LATEST_BY_OFFSET(I)").native is None
    latest = bound("LATEST_BY_OFFSET(I, true)", in_order=True).native
    assert latest == "max_by(`I`, if(`I` IS NULL, NULL, `ROWOFFSET`))"
    assert latest == bound("LATEST_BY_OFFSET(I)", in_order=True).native
    assert bound("EARLIEST_BY_OFFSET(I, false)", in_order=True).native == "min_by(`I`, `ROWOFFSET`)"
    for text in ("LATEST_BY_OFFSET(I, 2)", "COLLECT_LIST(I)", "TOPK(I, L, 2)", "COUNT_DISTINCT(M)"):
        assert bound(text, in_order=True).native is None


def test_a_property_limits_what_is_gathered() -> None:
    assert bound("COLLECT_LIST(I)", collect_list__limit="5").parameters == (5,)
    assert bound("COLLECT_SET(I)", collect_list__limit="5").parameters == ()
    with pytest.raises(BindError) as refused:
        bound("COLLECT_SET(I)", collect_set__limit="many")
    assert refused.value.code == "INVALID_PROPERTY"

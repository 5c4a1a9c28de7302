"""An aggregate as written: which overload it is, what is constant, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.aggregate_calls import bound_call
from orion.ksql.functions import functions
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


def bound(text: str, *, value_format: str = "JSON", **properties: str) -> AggregateCall:
    node = Parser(text).expression()
    assert isinstance(node, ast.Call)
    settings = {"ksql.functions." + name.replace("__", "."): value for name, value in properties.items()}
    return bound_call(node, "a0", Scope(COLUMNS), value_format=value_format, properties=settings)


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


def fold_rows(call: AggregateCall, rows: list[tuple[Any, ...]]) -> Any:
    fold = functions()[call.function].fold
    assert fold is not None
    state = fold.zero(*call.parameters)
    for row in rows:
        state = fold.add(state, *row)
    return fold.result(state)


NUMBERS = [(3,), (1,), (2,), (3,)]
PAIRS = [(3, 1), (1, 2), (3, 4), (2, 2)]
TEXTS = [("a",), ("b",), (None,)]
MANY = [(str(number),) for number in range(1001)]
MAPS = [({"a": 1},), ({"b": 2},), ({"a": 1},)]


@pytest.mark.parametrize(
    ("text", "rows", "ordered"),
    [
        ("LATEST_BY_OFFSET(I)", NUMBERS[:2], True),
        ("LATEST_BY_OFFSET(S, false)", TEXTS, True),
        ("LATEST_BY_OFFSET(I, 2)", NUMBERS, True),
        ("EARLIEST_BY_OFFSET(I)", NUMBERS[:2], True),
        ("EARLIEST_BY_OFFSET(I, 2, true)", NUMBERS, True),
        ("COLLECT_LIST(I)", NUMBERS[:3], True),
        ("COLLECT_SET(S)", TEXTS, True),
        ("HISTOGRAM(S)", MANY, True),
        ("TOPK_FREQUENT(S, 2)", TEXTS, True),
        ("TOPK(I, L, 2)", PAIRS, True),
        ("TOPK(I, 3)", NUMBERS, False),
        ("TOPKDISTINCT(I, 2)", NUMBERS, False),
        ("COUNT_DISTINCT(M)", MAPS, False),
        ("ATTR(I)", NUMBERS, False),
        ("COUNT(S)", TEXTS, False),
        ("SUM(I)", NUMBERS, False),
        ("AVG(I)", NUMBERS, False),
        ("MIN(I)", NUMBERS, False),
        ("MAX(I)", NUMBERS, False),
        ("CORRELATION(I, L)", PAIRS, False),
    ],
)
def test_a_call_is_ordered_when_the_same_rows_in_another_order_come_to_something_else(
    text: str, rows: list[tuple[Any, ...]], ordered: bool
) -> None:
    call = bound(text)
    assert call.ordered is ordered
    assert (fold_rows(call, rows) != fold_rows(call, rows[::-1])) is ordered


def test_a_property_limits_what_is_gathered() -> None:
    assert bound("COLLECT_LIST(I)", collect_list__limit="5").parameters == (5,)
    assert bound("COLLECT_SET(I)", collect_list__limit="5").parameters == ()
    with pytest.raises(BindError) as refused:
        bound("COLLECT_SET(I)", collect_set__limit="many")
    assert refused.value.code == "INVALID_PROPERTY"

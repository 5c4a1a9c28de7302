"""Aggregates. Each is told twice, in Spark SQL and as a fold in Python; the tests hold the two against each other."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import Any

from orion.ksql.functions.declare import Fold, aggregate, overload
from orion.schema import Array, Field, Scalar, SqlType, Struct

COUNT = aggregate(
    "COUNT",
    "How many rows; with a column, how many rows where it isn't NULL.",
    overload("() -> BIGINT", "count(1)"),
    overload("(ANY) -> BIGINT", "count({0})"),
    fold=Fold(
        zero=lambda: 0,
        add=lambda state, *values: state + (not values or values[0] is not None),
        merge=lambda left, right: left + right,
        result=lambda state: state,
    ),
)

SUM = aggregate(
    "SUM",
    "The sum of the values that aren't NULL; 0 while there are none. It keeps the column's type.",
    overload("(INTEGER) -> INTEGER", "CAST(coalesce(sum({0}), 0) AS INT)"),
    overload("(BIGINT) -> BIGINT", "coalesce(sum({0}), 0)"),
    overload("(DOUBLE) -> DOUBLE", "coalesce(sum({0}), 0D)"),
    overload("(DECIMAL) -> DECIMAL", "coalesce(sum({0}), 0)"),
    fold=Fold(
        zero=lambda: 0,
        add=lambda state, value: state if value is None else state + value,
        merge=lambda left, right: left + right,
        result=lambda state: state,
    ),
)

AVG = aggregate(
    "AVG",
    "The mean of the values that aren't NULL.",
    overload("(DOUBLE) -> DOUBLE", "coalesce(avg({0}), 0D)"),
    fold=Fold(
        zero=lambda: (0.0, 0),
        add=lambda state, value: state if value is None else (state[0] + float(value), state[1] + 1),
        merge=lambda left, right: (left[0] + right[0], left[1] + right[1]),
        result=lambda state: state[0] / state[1] if state[1] else 0.0,
    ),
)

MIN = aggregate(
    "MIN",
    "The smallest value.",
    overload("(T) -> T", "min({0})"),
    fold=Fold(
        zero=lambda: None,
        add=lambda state, value: state if value is None else value if state is None else min(state, value),
        merge=lambda left, right: left if right is None else right if left is None else min(left, right),
        result=lambda state: state,
    ),
)

MAX = aggregate(
    "MAX",
    "The largest value.",
    overload("(T) -> T", "max({0})"),
    fold=Fold(
        zero=lambda: None,
        add=lambda state, value: state if value is None else value if state is None else max(state, value),
        merge=lambda left, right: left if right is None else right if left is None else max(left, right),
        result=lambda state: state,
    ),
)


def _largest(k: int, values: list[Any]) -> list[Any]:
    return heapq.nlargest(k, values)


TOPK = aggregate(
    "TOPK",
    "The k largest values, largest first.",
    overload("(T, INTEGER)", "max_by({0}, {0}, {1})", returns=lambda types: Array(types[0])),
    fold=Fold(
        zero=lambda k: (k, []),
        add=lambda state, value: state if value is None else (state[0], _largest(state[0], [*state[1], value])),
        merge=lambda left, right: (left[0], _largest(left[0], [*left[1], *right[1]])),
        result=lambda state: state[1],
    ),
    parameters=1,
)


def _items_and_counts(types: list[SqlType]) -> SqlType:
    return Array(Struct((Field("ITEM", types[0]), Field("COUNT", Scalar.BIGINT))))


def _by_count(state: tuple[int, dict[Any, int]]) -> list[dict[str, Any]]:
    return [{"ITEM": item, "COUNT": count} for item, count in Counter(state[1]).most_common(state[0])]


def _counted(state: tuple[int, dict[Any, int]], value: Any) -> tuple[int, dict[Any, int]]:
    return state if value is None else (state[0], {**state[1], value: state[1].get(value, 0) + 1})


TOPK_FREQUENT = aggregate(
    "TOPK_FREQUENT",
    "The k values that come most often, with their counts, most frequent first. Counts are exact up to some thousand "
    "different values a group; beyond that the rare ones are estimated.",
    overload(
        "(T, INTEGER)",
        "transform(approx_top_k({0}, {1}), x -> named_struct('ITEM', x.item, 'COUNT', x.count))",
        returns=_items_and_counts,
    ),
    fold=Fold(
        zero=lambda k: (k, {}),
        add=_counted,
        merge=lambda left, right: (left[0], dict(Counter(left[1]) + Counter(right[1]))),
        result=_by_count,
    ),
    parameters=1,
)

LATEST_BY_OFFSET = aggregate(
    "LATEST_BY_OFFSET",
    "The value of the row that arrived last, NULLs left out.",
    overload("(T) -> T", "max_by({0}, if({0} IS NULL, NULL, {order}))"),
    fold=Fold(
        zero=lambda: None,
        add=lambda state, value: state if value is None else value,
        merge=lambda left, right: left if right is None else right,
        result=lambda state: state,
    ),
    ordered=True,
)

EARLIEST_BY_OFFSET = aggregate(
    "EARLIEST_BY_OFFSET",
    "The value of the row that arrived first, NULLs left out.",
    overload("(T) -> T", "min_by({0}, if({0} IS NULL, NULL, {order}))"),
    fold=Fold(
        zero=lambda: None,
        add=lambda state, value: value if state is None else state,
        merge=lambda left, right: right if left is None else left,
        result=lambda state: state,
    ),
    ordered=True,
)

"""Aggregates by size: the smallest, the largest, the k largest."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from orion.ksql.functions.declare import Fold, Overload, aggregate, overload
from orion.schema import Array, Field, Scalar, SqlType, Struct

# What has an order.
ORDERED = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")


def _rank(value: Any) -> Any:
    """What values are ordered by: themselves, with NaN after all other numbers, as in Java and Spark."""
    if not isinstance(value, float):
        return value
    return (False, value) if value == value else (True, 0.0)  # one NaN is as good as another


def _smaller(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    return right if _rank(right) < _rank(left) else left


def _larger(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    return right if _rank(left) < _rank(right) else left


MIN = aggregate(
    "MIN",
    "The smallest value.",
    *(overload(f"({t}) -> {t}", "min({0})", duckdb="min({0})") for t in ORDERED),
    fold=Fold(zero=lambda: None, add=_smaller, merge=_smaller, result=lambda state: state, columns=("min",)),
)

MAX = aggregate(
    "MAX",
    "The largest value.",
    *(overload(f"({t}) -> {t}", "max({0})", duckdb="max({0})") for t in ORDERED),
    fold=Fold(zero=lambda: None, add=_larger, merge=_larger, result=lambda state: state, columns=("max",)),
)


# ---- the k largest ---------------------------------------------------------------------------------------------------

# k, and the rows that are in, smallest first; of equal ones the one that came later stands first, and goes first.
Top = tuple[int, list[tuple[Any, ...]]]


def _rank_of_row(row: tuple[Any, ...]) -> Any:
    return _rank(row[0])


def _topped(state: Top, *row: Any) -> Top:
    k, rows = state
    if row[0] is None:
        return state
    rank = _rank(row[0])
    if len(rows) == k:
        if rank <= _rank_of_row(rows[0]):
            return state
        del rows[0]
    rows.insert(bisect_left(rows, rank, key=_rank_of_row), row)
    return state


def _topped_by_all(left: Top, right: Top) -> Top:
    for row in reversed(right[1]):
        _topped(left, *row)
    return left


def _columns(row: tuple[Any, ...]) -> Any:
    return row[0] if len(row) == 1 else row


def _sorted_structs(types: list[SqlType]) -> SqlType:
    others = (Field(f"col{at}", type_) for at, type_ in enumerate(types[1:]))
    return Array(Struct((Field("sort_col", types[0]), *others)))


def _topk_overloads() -> list[Overload]:
    k = (Scalar.INTEGER,)
    alone = [overload(f"({t}) -> ARRAY<{t}>", "coalesce(max_by({0}, {0}, {1}), array())", constants=k) for t in ORDERED]
    return alone + [overload(f"({t}, ANY...)", None, _sorted_structs, k, ordered=True) for t in ORDERED]


TOPK = aggregate(
    "TOPK",
    "The k largest values, largest first. With more columns, a STRUCT for each: sort_col is the first column, by which "
    "they are ordered, and col0, col1 ... are the others; of equal ones the one that came first stands first.",
    *_topk_overloads(),
    fold=Fold(
        zero=lambda k: (k, []),
        add=_topped,
        merge=_topped_by_all,
        result=lambda state: [_columns(row) for row in reversed(state[1])],
    ),
    nested=True,
)


def _topped_if_new(state: Top, value: Any) -> Top:
    k, rows = state
    if value is None:
        return state
    rank = _rank(value)
    if len(rows) == k and rank <= _rank_of_row(rows[0]):
        return state
    at = bisect_left(rows, rank, key=_rank_of_row)
    if at < len(rows) and _rank_of_row(rows[at]) == rank:
        return state
    rows.insert(at, (value,))
    if len(rows) > k:
        del rows[0]
    return state


def _topped_by_all_new(left: Top, right: Top) -> Top:
    for row in right[1]:
        _topped_if_new(left, *row)
    return left


TOPKDISTINCT = aggregate(
    "TOPKDISTINCT",
    "The k largest different values, largest first.",
    *(overload(f"({t}) -> ARRAY<{t}>", None, constants=(Scalar.INTEGER,)) for t in ORDERED),
    fold=Fold(
        zero=lambda k: (k, []),
        add=_topped_if_new,
        merge=_topped_by_all_new,
        result=lambda state: [row[0] for row in reversed(state[1])],
    ),
    nested=True,
)

"""Aggregates of numbers. Each is told twice, in Spark SQL and as a fold in Python; the tests hold the two against each
other."""

from __future__ import annotations

import math
from decimal import Context
from decimal import Decimal as Number
from typing import Any

from orion.ksql.functions.declare import Fold, aggregate, overload

# Python's own decimals round at 28 digits; sums of DECIMAL(38, x) need more.
_EXACT = Context(prec=80)


def _plus(left: Any, right: Any) -> Any:
    return _EXACT.add(left, right) if isinstance(left, Number) or isinstance(right, Number) else left + right


def _minus(left: Any, right: Any) -> Any:
    return _EXACT.subtract(left, right) if isinstance(left, Number) or isinstance(right, Number) else left - right


COUNT = aggregate(
    "COUNT",
    "How many rows; with a column, how many rows where it isn't NULL.",
    overload("() -> BIGINT", "count(1)", duckdb="count(*)"),
    overload("(ANY) -> BIGINT", "count({0})", duckdb="count({0})"),
    fold=Fold(
        zero=lambda: 0,
        add=lambda state, *values: state + (not values or values[0] is not None),
        merge=lambda left, right: left + right,
        result=lambda state: state,
        undo=lambda state, *values: state - (not values or values[0] is not None),
        columns=("count",),
    ),
)

# A sum of whole numbers may leave its type while it is folded: it wraps when it becomes a column, as Java's does.
SUM = aggregate(
    "SUM",
    "The sum of the values that aren't NULL; 0 while there are none. It keeps the column's type, and whole numbers "
    "wrap around at its ends.",
    overload("(INTEGER) -> INTEGER", "CAST(coalesce(sum({0}), 0) AS INT)", duckdb="coalesce(sum({0}), 0)"),
    overload("(BIGINT) -> BIGINT", "coalesce(sum({0}), 0)", duckdb="coalesce(sum({0}), 0)"),
    overload("(DOUBLE) -> DOUBLE", "coalesce(sum({0}), 0D)", duckdb="coalesce(sum({0}), 0)"),
    overload("(DECIMAL) -> DECIMAL", "coalesce(sum({0}), 0)", duckdb="coalesce(sum({0}), 0)"),
    fold=Fold(
        zero=lambda: 0,
        add=lambda state, value: state if value is None else _plus(state, value),
        merge=_plus,
        result=lambda state: state,
        undo=lambda state, value: state if value is None else _minus(state, value),
        columns=("sum",),
    ),
)


def _total(values: list[Any] | None) -> Any:
    return sum(v for v in values if v is not None) if values else 0


_ELEMENTS = "aggregate(coalesce({{0}}, array()), {zero}, (total, x) -> total + coalesce(x, {zero}))"

SUM_LIST = aggregate(
    "SUM_LIST",
    "The sum of all elements of all arrays, NULLs left out; 0 while there are none.",
    overload("(ARRAY<INTEGER>) -> INTEGER", f"CAST(coalesce(sum({_ELEMENTS.format(zero='0L')}), 0) AS INT)"),
    overload("(ARRAY<BIGINT>) -> BIGINT", f"coalesce(sum({_ELEMENTS.format(zero='0L')}), 0)"),
    overload("(ARRAY<DOUBLE>) -> DOUBLE", f"coalesce(sum({_ELEMENTS.format(zero='0D')}), 0D)"),
    fold=Fold(
        zero=lambda: 0,
        add=lambda state, values: state + _total(values),
        merge=lambda left, right: left + right,
        result=lambda state: state,
        undo=lambda state, values: state - _total(values),
    ),
)

AVG = aggregate(
    "AVG",
    "The mean of the values that aren't NULL; 0 while there are none.",
    overload("(INTEGER) -> DOUBLE", "coalesce(avg({0}), 0D)", duckdb="coalesce(avg({0}), 0)"),
    overload("(BIGINT) -> DOUBLE", "coalesce(avg({0}), 0D)", duckdb="coalesce(avg({0}), 0)"),
    overload("(DOUBLE) -> DOUBLE", "coalesce(avg({0}), 0D)", duckdb="coalesce(avg({0}), 0)"),
    fold=Fold(
        zero=lambda: [0, 0],
        add=lambda state, value: state if value is None else [state[0] + value, state[1] + 1],
        merge=lambda left, right: [left[0] + right[0], left[1] + right[1]],
        result=lambda state: float(state[0]) / state[1] if state[1] else 0.0,
        undo=lambda state, value: state if value is None else [state[0] - value, state[1] - 1],
        columns=("sum", "count"),
    ),
    nested=True,
)


# ---- spread ----------------------------------------------------------------------------------------------------------

# Count, sum, and the sum of squared distances from the mean, kept up by the method of Youngs and Cramer.
Spread = tuple[int, Any, float]


def _spread_with(state: Spread, value: Any) -> Spread:
    if value is None:
        return state
    count, total, squares = state
    if count:
        away = float(value * (count + 1) - (total + value))
        squares += away * away / ((count + 1) * count)
    return count + 1, total + value, squares


def _spread_without(state: Spread, value: Any) -> Spread:
    if value is None:
        return state
    count, total, squares = state
    if count > 1:
        away = float(value * count - total)
        squares -= away * away / (count * (count - 1))
    else:
        squares = 0.0
    return count - 1, total - value, squares


def _spread_of_both(left: Spread, right: Spread) -> Spread:
    if not left[0] or not right[0]:
        return left if left[0] else right
    count = left[0] + right[0]
    apart = left[1] / left[0] - right[1] / right[0]
    return count, left[1] + right[1], left[2] + right[2] + left[0] * right[0] * apart * apart / count


def _variance(state: Spread) -> float:
    # Taking rows back may leave a speck below zero.
    return max(0.0, state[2]) / (state[0] - 1) if state[0] > 1 else 0.0


STDDEV_SAMP = aggregate(
    "STDDEV_SAMP",
    "The sample variance, not its root: that is STDDEV_SAMPLE. Its name is ksqlDB's.",
    overload("(INTEGER) -> DOUBLE", "coalesce(var_samp({0}), 0D)", duckdb="coalesce(var_samp({0}), 0)"),
    overload("(BIGINT) -> DOUBLE", "coalesce(var_samp({0}), 0D)", duckdb="coalesce(var_samp({0}), 0)"),
    overload("(DOUBLE) -> DOUBLE", "coalesce(var_samp({0}), 0D)", duckdb="coalesce(var_samp({0}), 0)"),
    fold=Fold(
        zero=lambda: (0, 0, 0.0),
        add=_spread_with,
        merge=_spread_of_both,
        result=_variance,
        undo=_spread_without,
    ),
    nested=True,
)

STDDEV_SAMPLE = aggregate(
    "STDDEV_SAMPLE",
    "The sample standard deviation; 0 while there are fewer than two values.",
    overload("(INTEGER) -> DOUBLE", "coalesce(stddev_samp({0}), 0D)", duckdb="coalesce(stddev_samp({0}), 0)"),
    overload("(BIGINT) -> DOUBLE", "coalesce(stddev_samp({0}), 0D)", duckdb="coalesce(stddev_samp({0}), 0)"),
    overload("(DOUBLE) -> DOUBLE", "coalesce(stddev_samp({0}), 0D)", duckdb="coalesce(stddev_samp({0}), 0)"),
    fold=Fold(
        zero=lambda: (0, 0, 0.0),
        add=_spread_with,
        merge=_spread_of_both,
        result=lambda state: math.sqrt(_variance(state)),
        undo=_spread_without,
    ),
    nested=True,
)

# Count, and the sums of x, y, x², y² and xy.
Sums = tuple[float, ...]


def _moments(x: float, y: float) -> Sums:
    return 1, x, y, x * x, y * y, x * y


def _correlation(state: Sums) -> float:
    count, x, y, xx, yy, xy = state
    product = (count * xx - x * x) * (count * yy - y * y)
    shared = count * xy - x * y
    if product > 0:
        return shared / math.sqrt(product)
    # As Java divides by zero.
    return math.copysign(math.inf, shared) if product == 0 and shared and not math.isnan(shared) else math.nan


CORRELATION = aggregate(
    "CORRELATION",
    "Pearson's correlation of two columns, of the rows where neither is NULL; NaN while it isn't defined.",
    overload("(DOUBLE, DOUBLE) -> DOUBLE", "coalesce(corr({0}, {1}), double('NaN'))"),
    fold=Fold(
        zero=lambda: (0, 0.0, 0.0, 0.0, 0.0, 0.0),
        add=lambda state, x, y: (
            state if x is None or y is None else tuple(a + b for a, b in zip(state, _moments(x, y), strict=True))
        ),
        merge=lambda left, right: tuple(a + b for a, b in zip(left, right, strict=True)),
        result=_correlation,
        undo=lambda state, x, y: (
            state if x is None or y is None else tuple(a - b for a, b in zip(state, _moments(x, y), strict=True))
        ),
    ),
    nested=True,
)

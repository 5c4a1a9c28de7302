"""Aggregates by arrival: the first rows, the last rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from orion.ksql.functions.declare import Fold, Overload, aggregate, overload
from orion.plan.sources import ROWTIME
from orion.schema import Scalar, quote

# How many are kept, whether the result is all of them or the one, whether NULLs are left out, and the values that are
# in, each with a number that tells which came before which: two sessions that merge may have grown in turns.
Kept = tuple[int, bool, bool, list[tuple[int, Any]]]

_TIME = quote(ROWTIME)

_last_arrival = 0


def _arrival() -> int:
    """A number above all given out before: the clock's, so that it is after those of other processes, too."""
    global _last_arrival
    _last_arrival = max(_last_arrival + 1, time.time_ns())
    return _last_arrival


def _none_yet(*parameters: int | bool) -> Kept:
    """The constants are how many, and whether NULLs are left out; both may be missing."""
    counts = [p for p in parameters if not isinstance(p, bool)]
    flags = [p for p in parameters if isinstance(p, bool)]
    return (counts[0] if counts else 1), bool(counts), all(flags), []


def _with_last(state: Kept, value: Any) -> Kept:
    count, _, skips_nulls, values = state
    if value is None and skips_nulls:
        return state
    values.append((_arrival(), value))
    if len(values) > count:
        del values[0]
    return state


def _with_first(state: Kept, value: Any) -> Kept:
    count, _, skips_nulls, values = state
    if len(values) < count and not (value is None and skips_nulls):
        values.append((_arrival(), value))
    return state


def _in_turn(left: Kept, right: Kept) -> list[tuple[int, Any]]:
    return sorted((*left[3], *right[3]), key=lambda v: v[0])


def _result(state: Kept) -> Any:
    _, many, _, values = state
    if many:
        return [value for _, value in values]
    return values[0][1] if values else None


def _overloads(one_by: str) -> list[Overload]:
    """`one_by` is Spark's function for one value. It has no order of arrival and takes that of the rows' times."""

    def flagged(args: Sequence[str]) -> str:
        return (not_null if args[1] == "TRUE" else any_).format(*args)

    any_ = f"{one_by}({{0}}, {_TIME})"
    not_null = f"{one_by}({{0}}, if({{0}} IS NULL, NULL, {_TIME}))"
    return [
        overload("(T) -> T", not_null, ordered=True),
        overload("(T) -> T", flagged, constants=(Scalar.BOOLEAN,), ordered=True),
        overload("(T) -> ARRAY<T>", None, constants=(Scalar.INTEGER,), ordered=True),
        overload("(T) -> ARRAY<T>", None, constants=(Scalar.INTEGER, Scalar.BOOLEAN), ordered=True),
    ]


LATEST_BY_OFFSET = aggregate(
    "LATEST_BY_OFFSET",
    "The value of the row that arrived last; with a number, those of that many rows, oldest first. NULLs are left out "
    "unless the last argument is false.",
    *_overloads("max_by"),
    fold=Fold(
        zero=_none_yet,
        add=_with_last,
        merge=lambda left, right: (*left[:3], _in_turn(left, right)[-left[0] :]),
        result=_result,
    ),
    nested=True,
)

EARLIEST_BY_OFFSET = aggregate(
    "EARLIEST_BY_OFFSET",
    "The value of the row that arrived first; with a number, those of that many rows, oldest first. NULLs are left out "
    "unless the last argument is false.",
    *_overloads("min_by"),
    fold=Fold(
        zero=_none_yet,
        add=_with_first,
        merge=lambda left, right: (*left[:3], _in_turn(left, right)[: left[0]]),
        result=_result,
    ),
    nested=True,
)

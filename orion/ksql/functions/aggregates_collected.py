"""Aggregates that gather values: lists and sets of them, and how often each comes."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any

from orion.ksql.functions.declare import Fold, aggregate, overload
from orion.schema import Array, Field, Scalar, SqlType, Struct

# How many values COLLECT_LIST and COLLECT_SET hold unless their property says otherwise, and HISTOGRAM always.
LIMIT = 1000


def _identity(value: Any) -> Any:
    """What a value is told from others by: hashable, and the same for equal ones, NaN and -0 as in Java."""
    if isinstance(value, float):
        return ("float", repr(value)) if value != value or value == 0 else value
    if isinstance(value, list):
        return tuple(_identity(v) for v in value)
    if isinstance(value, tuple):
        return ("struct", *(_identity(v) for v in value))
    if isinstance(value, dict):
        return frozenset((_identity(k), _identity(v)) for k, v in value.items())
    if isinstance(value, bytearray):
        return bytes(value)
    return value


# ---- lists and sets --------------------------------------------------------------------------------------------------

Listed = tuple[int, list[Any]]


def _limit(limit: int) -> int:
    return limit if limit >= 0 else 2**31 - 1


def _listed(state: Listed, value: Any) -> Listed:
    if len(state[1]) < state[0]:
        state[1].append(value)
    return state


def _both_listed(left: Listed, right: Listed) -> Listed:
    left[1].extend(right[1][: left[0] - len(left[1])])
    return left


def _unlisted(state: Listed, value: Any) -> Listed:
    """Without the last one like it. Where there is none, the list was full when it came."""
    values, wanted = state[1], _identity(value)
    for at in range(len(values) - 1, -1, -1):
        if _identity(values[at]) == wanted:
            del values[at]
            break
    return state


COLLECT_LIST = aggregate(
    "COLLECT_LIST",
    "All values as they arrived, NULLs too. What comes after the first 1000 is left out, or after as many as the "
    "property ksql.functions.collect_list.limit says (-1: all are kept).",
    overload("(T) -> ARRAY<T>", None, ordered=True),
    fold=Fold(
        zero=lambda limit=LIMIT: (_limit(limit), []),
        add=_listed,
        merge=_both_listed,
        result=lambda state: state[1],
        undo=_unlisted,
    ),
    nested=True,
    setting="ksql.functions.collect_list.limit",
)

Members = tuple[int, dict[Any, Any]]


def _joined(state: Members, value: Any) -> Members:
    if len(state[1]) < state[0]:
        state[1].setdefault(_identity(value), value)
    return state


def _both_joined(left: Members, right: Members) -> Members:
    for value in right[1].values():
        _joined(left, value)
    return left


COLLECT_SET = aggregate(
    "COLLECT_SET",
    "The different values in the order they first arrived, NULL among them. What comes after the first 1000 is left "
    "out, or after as many as the property ksql.functions.collect_set.limit says (-1: all are kept).",
    overload("(T) -> ARRAY<T>", None, ordered=True),
    fold=Fold(
        zero=lambda limit=LIMIT: (_limit(limit), {}),
        add=_joined,
        merge=_both_joined,
        result=lambda state: list(state[1].values()),
    ),
    nested=True,
    setting="ksql.functions.collect_set.limit",
)


# ---- how often -------------------------------------------------------------------------------------------------------

# By what values are told apart: the value, and how often it came.
Counts = dict[Any, list[Any]]


def _counted(counts: Counts, value: Any, times: int = 1) -> Counts:
    known = counts.get(identity := _identity(value))
    if known is None:
        counts[identity] = [value, times]
    else:
        known[1] += times
    return counts


def _uncounted(counts: Counts, value: Any) -> Counts:
    known = counts.get(identity := _identity(value))
    if known is not None:
        known[1] -= 1
        if known[1] < 1:
            del counts[identity]
    return counts


def _both_counted(left: Counts, right: Counts) -> Counts:
    for value, times in right.values():
        _counted(left, value, times)
    return left


def _in_histogram(counts: dict[str, int], value: str | None, times: int = 1) -> dict[str, int]:
    if value is not None and (len(counts) < LIMIT or value in counts):
        counts[value] = counts.get(value, 0) + times
    return counts


def _out_of_histogram(counts: dict[str, int], value: str | None) -> dict[str, int]:
    if value in counts:
        counts[value] -= 1
        if counts[value] < 1:
            del counts[value]
    return counts


def _both_histograms(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    for value, times in right.items():
        _in_histogram(left, value, times)
    return left


HISTOGRAM = aggregate(
    "HISTOGRAM",
    "How often each text came, of the first 1000 different ones.",
    overload("(STRING) -> MAP<STRING, BIGINT>", None, ordered=True),
    fold=Fold(
        zero=dict,
        add=_in_histogram,
        merge=_both_histograms,
        result=lambda state: state,
        undo=_out_of_histogram,
    ),
    nested=True,
)

ATTR = aggregate(
    "ATTR",
    "The value that all rows have, NULL among them; NULL where they differ.",
    overload("(T) -> T", None),
    fold=Fold(
        zero=dict,
        add=lambda state, value: _counted(state, value),
        merge=_both_counted,
        result=lambda state: next(iter(state.values()))[0] if len(state) == 1 else None,
        undo=_uncounted,
    ),
    nested=True,
)


def _items_and_counts(types: list[SqlType]) -> SqlType:
    return Array(Struct((Field("ITEM", types[0]), Field("COUNT", Scalar.BIGINT))))


def _most_frequent(state: tuple[int, Counts]) -> list[tuple[Any, ...]]:
    ranked = sorted(state[1].values(), key=lambda known: -known[1])
    return [(value, times) for value, times in ranked[: state[0]]]


TOPK_FREQUENT = aggregate(
    "TOPK_FREQUENT",
    "The k values that come most often, with their counts, most frequent first. Counts are exact up to some thousand "
    "different values a group; beyond that the rare ones are estimated.",
    overload(
        "(T)",
        "transform(approx_top_k({0}, {1}) FILTER (WHERE {0} IS NOT NULL), "
        "x -> named_struct('ITEM', x.item, 'COUNT', x.count))",
        _items_and_counts,
        (Scalar.INTEGER,),
        ordered=True,  # of two that come equally often the first one stands first
    ),
    fold=Fold(
        zero=lambda k: (k, {}),
        add=lambda state, value: state if value is None else (state[0], _counted(state[1], value)),
        merge=lambda left, right: (left[0], _both_counted(left[1], right[1])),
        result=_most_frequent,
        undo=lambda state, value: state if value is None else (state[0], _uncounted(state[1], value)),
    ),
    nested=True,
)


# ---- how many different ones -----------------------------------------------------------------------------------------

# The hashes of up to so many values are kept, and their number is exact. Beyond, a HyperLogLog of 2^14 registers
# estimates it, within 1% as a rule.
_EXACT_UP_TO = 2048
_REGISTER_BITS = 14
_REGISTERS = 1 << _REGISTER_BITS
_REST_BITS = 64 - _REGISTER_BITS

# Registers that come from a store are bytes.
Different = set[int] | bytearray | bytes


def _hash(value: Any) -> int:
    """The same in every process, which Python's own isn't."""
    text = value if isinstance(value, str) else repr(_ordered(value))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _ordered(value: Any) -> Any:
    """The value with its maps in an order that hangs on nothing but what is in them."""
    if isinstance(value, dict):
        return sorted((repr(_ordered(k)), _ordered(v)) for k, v in value.items())
    return [_ordered(v) for v in value] if isinstance(value, list | tuple) else value


def _register(registers: bytearray, hashed: int) -> None:
    at, rest = hashed >> _REST_BITS, hashed & ((1 << _REST_BITS) - 1)
    registers[at] = max(registers[at], _REST_BITS - rest.bit_length() + 1)


def _hashed_in(state: Different, hashed: int) -> Different:
    if not isinstance(state, set):
        registers = state if isinstance(state, bytearray) else bytearray(state)
        _register(registers, hashed)
        return registers
    state.add(hashed)
    return state if len(state) <= _EXACT_UP_TO else _estimated(state)


def _estimated(hashes: set[int]) -> bytearray:
    registers = bytearray(_REGISTERS)
    for hashed in hashes:
        _register(registers, hashed)
    return registers


def _different_in_both(left: Different, right: Different) -> Different:
    if isinstance(left, set) and isinstance(right, set):
        left |= right
        return left if len(left) <= _EXACT_UP_TO else _estimated(left)
    both = [_estimated(s) if isinstance(s, set) else s for s in (left, right)]
    return bytearray(map(max, *both))


def _cardinality(state: Different) -> int:
    if isinstance(state, set):
        return len(state)
    empty = state.count(0)
    estimate = 0.7213 / (1 + 1.079 / _REGISTERS) * _REGISTERS**2 / sum(math.ldexp(1, -r) for r in state)
    if estimate <= 2.5 * _REGISTERS and empty:
        estimate = _REGISTERS * math.log(_REGISTERS / empty)
    return round(estimate)


COUNT_DISTINCT = aggregate(
    "COUNT_DISTINCT",
    "How many different values there are, NULL not among them. It is exact up to about 2000; larger numbers are "
    "estimated, within 1% as a rule.",
    *(
        overload(f"({t}) -> BIGINT", "approx_count_distinct({0}, 0.01)", duckdb="count(DISTINCT {0})")
        for t in ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")
    ),
    # Spark has no hash of a MAP.
    overload("(ANY) -> BIGINT", None),
    fold=Fold(
        zero=set,
        add=lambda state, value: state if value is None else _hashed_in(state, _hash(value)),
        merge=_different_in_both,
        result=_cardinality,
    ),
    nested=True,
)

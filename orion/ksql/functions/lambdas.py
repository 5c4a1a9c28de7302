"""Functions that take lambdas: what is done with each element of an ARRAY or each entry of a MAP."""

from __future__ import annotations

from orion.ksql.functions.declare import example, overload, scalar

_KEYS = "transform(map_entries({0}), {1})"
_VALUES = "transform(map_entries({0}), {2})"
_PAIRS = f"zip_with({_KEYS}, {_VALUES}, (__k, __v) -> named_struct('k', __k, 'v', __v))"

FILTER = scalar(
    "FILTER",
    "The elements, or the entries of a map, for which a lambda is true.",
    overload("(ARRAY<T>, LAMBDA<T, BOOLEAN>) -> ARRAY<T>", "filter({0}, {1})"),
    overload(
        "(MAP<K, V>, LAMBDA<ENTRY<K, V>, BOOLEAN>) -> MAP<K, V>", "map_from_entries(filter(map_entries({0}), {1}))"
    ),
    examples=[
        example("FILTER(ARRAY[1, 5, NULL, 7], x => x > 4)", [5, 7]),
        example("FILTER(MAP('a' := 1, 'bc' := 2), (k, v) => LEN(k) = v AND v > 1)", {"bc": 2}),
        example("FILTER(CAST(NULL AS ARRAY<INT>), x => x > 4)", None),
    ],
)

REDUCE = scalar(
    "REDUCE",
    "A state, changed by a lambda with each element of an array or each entry of a map. It starts as the second "
    "argument; what the lambda gives is the next state.",
    overload(
        "(ARRAY<T>, S, LAMBDA<S, T, S>) -> S",
        "CASE WHEN {0} IS NULL OR {1} IS NULL THEN {1} ELSE reduce({0}, {1}, {2}) END",
    ),
    overload(
        "(MAP<K, V>, S, LAMBDA<S, ENTRY<K, V>, S>) -> S",
        "CASE WHEN {0} IS NULL OR {1} IS NULL THEN {1} ELSE reduce(map_entries({0}), {1}, {2}) END",
    ),
    examples=[
        example("REDUCE(ARRAY[2, 3, 4], 1, (product, x) => product * x)", 24),
        example("REDUCE(MAP('a' := 1, 'bc' := 2), '', (s, k, v) => s + k + CAST(v AS STRING))", "a1bc2"),
        example("REDUCE(CAST(NULL AS ARRAY<INT>), 5, (s, x) => s + x)", 5),
    ],
)

TRANSFORM = scalar(
    "TRANSFORM",
    "What a lambda makes of each element of an array; of a map, what one lambda makes of the keys and another of the "
    "values. NULL where a lambda does arithmetic on NULL, or where two keys become the same.",
    overload("(ARRAY<T>, LAMBDA<T, R>) -> ARRAY<R>", "transform({0}, {1})"),
    overload(
        "(MAP<K, V>, LAMBDA<ENTRY<K, V>, R>, LAMBDA<ENTRY<K, V>, S>) -> MAP<R, S>",
        f"if(size(array_distinct({_KEYS})) < size({{0}}), NULL, "
        f"map_from_entries(filter({_PAIRS}, __p -> __p.k IS NOT NULL)))",
    ),
    examples=[
        example("TRANSFORM(ARRAY[1, 2], x => x * 10)", [10, 20]),
        example("TRANSFORM(ARRAY['a', NULL], x => UCASE(x))", ["A", None]),
        example("TRANSFORM(ARRAY[1, NULL], x => x * 10)", None),
        example("TRANSFORM(MAP('a' := 1), (k, v) => UCASE(k), (k, v) => v + 1)", {"A": 2}),
        example("TRANSFORM(MAP('a' := 1, 'A' := 2), (k, v) => UCASE(k), (k, v) => v)", None),
        example("TRANSFORM(ARRAY[ARRAY[1], ARRAY[2, 3]], x => REDUCE(x, 0, (s, y) => s + y))", [1, 5]),
    ],
)

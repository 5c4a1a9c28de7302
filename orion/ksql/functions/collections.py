"""Arrays and maps. An array's places start at 1; NULL is an element like any other."""

from __future__ import annotations

from orion.ksql.functions.declare import Overload, example, overload, scalar
from orion.schema import Array, Field, Map, Scalar, SqlType, Struct

_SERIES = "CASE WHEN abs(CAST({1} AS DOUBLE) - {0}) < {most} THEN sequence({0}, {1}) END"
_STEPS = (
    "CASE WHEN ({2} > 0 AND {0} <= {1} OR {2} < 0 AND {0} >= {1}) AND abs((CAST({1} AS DOUBLE) - {0}) / {2}) < {most} "
    "THEN sequence({0}, {1}, CAST({2} AS %s)) END"
)


def _entries(types: list[SqlType]) -> SqlType:
    value = types[0].value if isinstance(types[0], Map) else Scalar.STRING
    return Array(Struct((Field("K", Scalar.STRING), Field("V", value))))


def _entries_of(value: str) -> Overload:
    return overload(
        f"(MAP<STRING, {value}>, BOOLEAN)",
        "transform(if({1}, array_sort(map_entries({0})), map_entries({0})), "
        "__e -> named_struct('K', __e.key, 'V', __e.value))",
        returns=_entries,
    )


ARRAY_CONCAT = scalar(
    "ARRAY_CONCAT",
    "The elements of one array and then of the other. A NULL array is left out.",
    overload("(ARRAY<T>, ARRAY<T>) -> ARRAY<T>", "coalesce(concat({0}, {1}), {0}, {1})"),
    examples=[
        example("ARRAY_CONCAT(ARRAY[1, 2], ARRAY[2, 3])", [1, 2, 2, 3]),
        example("ARRAY_CONCAT(ARRAY['a', NULL], NULL)", ["a", None]),
    ],
)

ARRAY_CONTAINS = scalar(
    "ARRAY_CONTAINS",
    "Whether a value is among the elements. NULL can be found too; in a NULL array there is nothing.",
    overload("(ARRAY<T>, T) -> BOOLEAN", "coalesce(exists({0}, __x -> __x <=> {1}), false)"),
    examples=[
        example("ARRAY_CONTAINS(ARRAY[1, 2, 3], 3)", True),
        example("ARRAY_CONTAINS(ARRAY['a', NULL], NULL)", True),
        example("ARRAY_CONTAINS(ARRAY['a'], NULL)", False),
        example("ARRAY_CONTAINS(CAST(NULL AS ARRAY<INT>), 1)", False),
    ],
    by_value=True,
)

ARRAY_DISTINCT = scalar(
    "ARRAY_DISTINCT",
    "Each element once, where it first comes.",
    overload("(ARRAY<T>) -> ARRAY<T>", "array_distinct({0})"),
    examples=[example("ARRAY_DISTINCT(ARRAY['b', 'a', NULL, 'b', NULL])", ["b", "a", None])],
    by_value=True,
)

ARRAY_EXCEPT = scalar(
    "ARRAY_EXCEPT",
    "Each element of the first array once, without those that are in the second.",
    overload("(ARRAY<T>, ARRAY<T>) -> ARRAY<T>", "array_except({0}, {1})"),
    examples=[
        example("ARRAY_EXCEPT(ARRAY[1, 2, 3, 1], ARRAY[2, 3])", [1]),
        example("ARRAY_EXCEPT(ARRAY[1], CAST(NULL AS ARRAY<INT>))", None),
    ],
    by_value=True,
)

ARRAY_INTERSECT = scalar(
    "ARRAY_INTERSECT",
    "Each element once that is in both arrays, in the first one's order.",
    overload("(ARRAY<T>, ARRAY<T>) -> ARRAY<T>", "array_intersect({0}, {1})"),
    examples=[
        example("ARRAY_INTERSECT(ARRAY[1, 2, 3, 1], ARRAY[2, 1])", [1, 2]),
        example("ARRAY_INTERSECT(ARRAY['a', NULL], ARRAY[NULL, 'b'])", [None]),
    ],
    by_value=True,
)

ARRAY_JOIN = scalar(
    "ARRAY_JOIN",
    "The elements as one text, with a comma or the given delimiter between them. NULL is written as null.",
    overload("(ARRAY<T>) -> STRING", "array_join(CAST({0} AS ARRAY<STRING>), ',', 'null')"),
    overload("(ARRAY<T>, STRING) -> STRING", "array_join(CAST({0} AS ARRAY<STRING>), coalesce({1}, ''), 'null')"),
    examples=[
        example("ARRAY_JOIN(ARRAY[1, NULL, 3])", "1,null,3"),
        example("ARRAY_JOIN(ARRAY['a', 'b'], ' - ')", "a - b"),
        example("ARRAY_JOIN(ARRAY[true, false], NULL)", "truefalse"),
        example("ARRAY_JOIN(CAST(NULL AS ARRAY<STRING>))", None),
    ],
)

ARRAY_LENGTH = scalar(
    "ARRAY_LENGTH",
    "How many elements the array has.",
    overload("(ARRAY<T>) -> INTEGER", "array_size({0})", duckdb="len({0})"),
    examples=[
        example("ARRAY_LENGTH(ARRAY[1, NULL, 3])", 3),
        example("ARRAY_LENGTH(CAST(NULL AS ARRAY<INT>))", None),
    ],
)

ARRAY_MAX = scalar(
    "ARRAY_MAX",
    "The largest element; NULL where there are only NULLs.",
    overload("(ARRAY<T>) -> T", "array_max({0})", duckdb="list_max({0})"),
    examples=[
        example("ARRAY_MAX(ARRAY[-1, 2, NULL, 0])", 2),
        example("ARRAY_MAX(ARRAY['Foo', 'Bar', NULL, 'baz'])", "baz"),
        example("ARRAY_MAX(ARRAY[CAST(NULL AS INT)])", None),
    ],
)

ARRAY_MIN = scalar(
    "ARRAY_MIN",
    "The smallest element; NULL where there are only NULLs.",
    overload("(ARRAY<T>) -> T", "array_min({0})", duckdb="list_min({0})"),
    examples=[
        example("ARRAY_MIN(ARRAY[-1, 2, NULL, 0])", -1),
        example("ARRAY_MIN(ARRAY[false, NULL, true])", False),
    ],
)

ARRAY_REMOVE = scalar(
    "ARRAY_REMOVE",
    "The array without the elements equal to a value, which may be NULL.",
    overload("(ARRAY<T>, T) -> ARRAY<T>", "filter({0}, __x -> NOT (__x <=> {1}))"),
    examples=[
        example("ARRAY_REMOVE(ARRAY[1, 2, 3, 2], 2)", [1, 3]),
        example("ARRAY_REMOVE(ARRAY['a', NULL, 'b'], NULL)", ["a", "b"]),
        example("ARRAY_REMOVE(ARRAY[false, NULL], false)", [None]),
    ],
    by_value=True,
)

ARRAY_SORT = scalar(
    "ARRAY_SORT",
    "The elements in order, 'ASC' (also said by nothing) or 'DESC'. NULLs come last either way.",
    overload("(ARRAY<T>) -> ARRAY<T>", "array_sort({0})"),
    overload(
        "(ARRAY<T>, STRING) -> ARRAY<T>",
        "CASE WHEN upper({1}) IN ('ASC', 'ASCENDING') THEN array_sort({0}) "
        "WHEN upper({1}) IN ('DESC', 'DESCENDING') THEN sort_array({0}, false) END",
    ),
    examples=[
        example("ARRAY_SORT(ARRAY[2, NULL, -1])", [-1, 2, None]),
        example("ARRAY_SORT(ARRAY['Foo', NULL, 'baz'], 'desc')", ["baz", "Foo", None]),
        example("ARRAY_SORT(ARRAY[1], 'sideways')", None),
    ],
)

ARRAY_UNION = scalar(
    "ARRAY_UNION",
    "Each element of either array once, in the order they come.",
    overload("(ARRAY<T>, ARRAY<T>) -> ARRAY<T>", "array_union({0}, {1})"),
    examples=[
        example("ARRAY_UNION(ARRAY[1, 2, 1], ARRAY[4, 1])", [1, 2, 4]),
        example("ARRAY_UNION(ARRAY['a', NULL], ARRAY['b'])", ["a", None, "b"]),
        example("ARRAY_UNION(ARRAY[1], CAST(NULL AS ARRAY<INT>))", None),
    ],
    by_value=True,
)

AS_MAP = scalar(
    "AS_MAP",
    "A map from an array of keys and one of values. Values that are missing are NULL, those too many are dropped; a "
    "NULL key is 'null'.",
    overload(
        "(ARRAY<STRING>, ARRAY<T>) -> MAP<STRING, T>",
        "map_from_entries(arrays_zip(transform({0}, __k -> coalesce(__k, 'null')), slice({1}, 1, array_size({0}))))",
    ),
    examples=[
        example("AS_MAP(ARRAY['a', 'b'], ARRAY[1, 2, 3])", {"a": 1, "b": 2}),
        example("AS_MAP(ARRAY['a', 'b'], ARRAY[1])", {"a": 1, "b": None}),
        example("AS_MAP(ARRAY['a', NULL], ARRAY[1, 2])", {"a": 1, "null": 2}),
    ],
)

ENTRIES = scalar(
    "ENTRIES",
    "A map's entries as an array of STRUCT<K, V>, in the order of the keys if the second argument is true.",
    *map(_entries_of, ("INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "STRING")),
    examples=[
        example("ENTRIES(MAP('b' := 2, 'a' := 1), true)", [{"K": "a", "V": 1}, {"K": "b", "V": 2}]),
        example("ENTRIES(CAST(NULL AS MAP<STRING, INT>), false)", None),
    ],
)

GENERATE_SERIES = scalar(
    "GENERATE_SERIES",
    "The numbers from the first to the second, both included, by the third or else by 1 towards it. NULL where the "
    "step leads away or is 0, or where there are more than 100000 (100 inside of a lambda).",
    overload("(INTEGER, INTEGER) -> ARRAY<INTEGER>", _SERIES),
    overload("(BIGINT, BIGINT) -> ARRAY<BIGINT>", _SERIES),
    overload("(INTEGER, INTEGER, INTEGER) -> ARRAY<INTEGER>", _STEPS % "INT"),
    overload("(BIGINT, BIGINT, INTEGER) -> ARRAY<BIGINT>", _STEPS % "BIGINT"),
    examples=[
        example("GENERATE_SERIES(1, 3)", [1, 2, 3]),
        example("GENERATE_SERIES(3, 1)", [3, 2, 1]),
        example("GENERATE_SERIES(0, 5, 2)", [0, 2, 4]),
        example("GENERATE_SERIES(1, 5, -1)", None),
        example("GENERATE_SERIES(1, LEN('abc') * 40000)", None),
        example("TRANSFORM(ARRAY[2, 200], X => GENERATE_SERIES(1, X))", [[1, 2], None]),
    ],
)

MAP_KEYS = scalar(
    "MAP_KEYS",
    "The map's keys.",
    overload("(MAP<K, V>) -> ARRAY<K>", "map_keys({0})", duckdb="map_keys({0})"),
    examples=[
        example("MAP_KEYS(MAP('apple' := 10, 'banana' := 20))", ["apple", "banana"]),
        example("MAP_KEYS(CAST(NULL AS MAP<STRING, INT>))", None),
    ],
)

MAP_UNION = scalar(
    "MAP_UNION",
    "The entries of both maps; where they share a key, the second map's. A NULL map is left out.",
    overload("(MAP<K, V>, MAP<K, V>) -> MAP<K, V>", "coalesce(map_concat({0}, {1}), {0}, {1})"),
    examples=[
        example("MAP_UNION(MAP('a' := 1, 'b' := 2), MAP('a' := 50))", {"a": 50, "b": 2}),
        example("MAP_UNION(MAP('a' := 1), NULL)", {"a": 1}),
    ],
)

MAP_VALUES = scalar(
    "MAP_VALUES",
    "The map's values.",
    overload("(MAP<K, V>) -> ARRAY<V>", "map_values({0})", duckdb="map_values({0})"),
    examples=[example("MAP_VALUES(MAP('apple' := 10, 'banana' := 20))", [10, 20])],
)

SLICE = scalar(
    "SLICE",
    "The elements from one place to another, both included; NULL where the array doesn't reach that far. A NULL place "
    "is the beginning or the end.",
    overload(
        "(ARRAY<T>, INTEGER, INTEGER) -> ARRAY<T>",
        "CASE WHEN coalesce({1}, 1) >= 1 AND coalesce({2}, array_size({0})) <= array_size({0}) "
        "AND coalesce({1}, 1) <= coalesce({2}, array_size({0})) + 1 "
        "THEN slice({0}, coalesce({1}, 1), coalesce({2}, array_size({0})) - coalesce({1}, 1) + 1) END",
    ),
    examples=[
        example("SLICE(ARRAY['a', 'b', 'c'], 2, 3)", ["b", "c"]),
        example("SLICE(ARRAY['a', 'b', 'c'], NULL, 1)", ["a"]),
        example("SLICE(ARRAY['a', 'b', 'c'], 2, 9)", None),
    ],
)

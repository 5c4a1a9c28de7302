"""Functions that make many rows of one. In Spark SQL each is an ARRAY; the query makes a row of each element."""

from __future__ import annotations

from orion.ksql.functions.declare import overload, table

# Row by row the numbers 0, 1, 2 ... in binary: a digit 1 keeps the element of its place, 0 leaves NULL. Where the
# element is NULL already both say the same, so that such rows would come twice.
_PLACES = "array_size({0}) - __i - 1"
_ROW = f"transform({{0}}, (__x, __i) -> if(shiftright(__n, {_PLACES}) & 1 = 1, __x, NULL))"
_CUBE = f"transform(sequence(0L, shiftleft(1L, array_size({{0}})) - 1), __n -> {_ROW})"
_SMALL = f"WHEN array_size({{0}}) <= 16 THEN array_distinct({_CUBE})"

CUBE_EXPLODE = table(
    "CUBE_EXPLODE",
    "A row for every combination of the array's elements, each of which is there or NULL: the rows of a cube. An "
    "element that is NULL anyway adds none. An array of more than 16 elements gives no rows.",
    overload("(ARRAY<T>) -> ARRAY<T>", f"CASE WHEN array_size({{0}}) = 0 THEN array({{0}}) {_SMALL} END"),
)

EXPLODE = table(
    "EXPLODE",
    "A row for every element of the array; none where it is empty or NULL.",
    overload("(ARRAY<T>) -> T", "{0}", duckdb="{0}"),
)

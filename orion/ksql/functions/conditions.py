"""Which of several values: about NULLs, and the largest and smallest."""

from __future__ import annotations

from decimal import Decimal as Number

from orion.ksql.functions.declare import Overload, example, overload, scalar


def _ordered(spark: str) -> list[Overload]:
    """One for each type that has an order. Numbers of several types must fit just one of them."""
    types = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")
    return [overload(f"({t}, {t}...) -> {t}", spark, duckdb=spark) for t in types]


AS_VALUE = scalar(
    "AS_VALUE",
    "The same value, as a column of the record's value: a copy of a key column.",
    overload("(T) -> T", "{0}", duckdb="{0}"),
    examples=[example("AS_VALUE('key')", "key")],
)

COALESCE = scalar(
    "COALESCE",
    "The first argument that isn't NULL. What is inside an ARRAY, MAP or STRUCT isn't looked at.",
    overload("(T, T...) -> T", "coalesce({args})", duckdb="coalesce({args})"),
    examples=[
        example("COALESCE(NULL, 'b', 'c')", "b"),
        example("COALESCE(NULL, 1, 2.5)", Number("1.0")),
        example("COALESCE(CAST(NULL AS INT), CAST(NULL AS INT))", None),
    ],
)

GREATEST = scalar(
    "GREATEST",
    "The largest of the arguments that aren't NULL.",
    *_ordered("greatest({args})"),
    examples=[
        example("GREATEST(3, NULL, 7)", 7),
        example("GREATEST(1.5, 22.75)", Number("22.75")),
        example("GREATEST('apple', 'Pear')", "apple"),
        example("GREATEST(FROM_DAYS(1), '1970-01-03')", "1970-01-03"),
        example("GREATEST(CAST(NULL AS INT), NULL)", None),
    ],
)

IFNULL = scalar(
    "IFNULL",
    "The first argument, or the second where that is NULL.",
    overload("(T, T) -> T", "coalesce({0}, {1})", duckdb="coalesce({0}, {1})"),
    examples=[example("IFNULL(NULL, 'none')", "none"), example("IFNULL(5, 0)", 5)],
)

LEAST = scalar(
    "LEAST",
    "The smallest of the arguments that aren't NULL.",
    *_ordered("least({args})"),
    examples=[
        example("LEAST(3, NULL, 7)", 3),
        example("LEAST(2, 1.5e0)", 1.5),
        example("LEAST('apple', 'Pear')", "Pear"),
    ],
)

NULLIF = scalar(
    "NULLIF",
    "NULL where the two arguments are equal, and else the first.",
    overload("(T, T) -> T", "nullif({0}, {1})", duckdb="nullif({0}, {1})"),
    examples=[
        example("NULLIF('n/a', 'n/a')", None),
        example("NULLIF(5, 0)", 5),
        example("NULLIF(CAST(NULL AS INT), 1)", None),
    ],
    by_value=True,
)

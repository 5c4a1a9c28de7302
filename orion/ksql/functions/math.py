"""Numbers: rounding, roots, powers and logarithms. What Java's Math gives for odd arguments (NaN, infinity) is kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal as Number

from orion.ksql.functions.declare import example, overload, scalar
from orion.schema import Decimal, SqlType

# Doubles are rounded as the decimal they are written as: 1.005 to two places is 1.01, as people expect.
_AS_WRITTEN = "CAST({0} AS DECIMAL(36, 17))"


def _whole_decimal(types: list[SqlType]) -> SqlType:
    """DECIMAL(5, 2) without its places is DECIMAL(3, 0)."""
    given = types[0]
    return Decimal(max(1, given.precision - given.scale), 0) if isinstance(given, Decimal) else given


def _constant(text: str) -> int | None:
    """The number where an argument is written out; Spark rounds only to a constant number of places."""
    return int(text) if re.fullmatch(r"-?\d{1,3}", text) else None


def _half(places: int) -> str:
    """Half of the last place kept: 0.005 for two places, 50 for minus two."""
    return f"0.{'0' * places}5BD" if places >= 0 else f"5{'0' * (-places - 1)}BD"


def _round_up(value: str, places: int) -> str:
    """The nearest number with so many places; of two as near, the larger."""
    return f"floor({value} + {_half(places)}, {places})"


def _cut(value: str, places: int) -> str:
    return f"if({value} < 0, ceil({value}, {places}), floor({value}, {places}))"


def _round_by(value: str, places: str) -> str:
    """Rounding to places that differ by row, with the digits of a double."""
    return f"floor({value} * pow(10D, {places}) + 0.5D) / pow(10D, {places})"


def _cut_by(value: str, places: str) -> str:
    return f"CAST({value} * pow(10D, {places}) AS BIGINT) / pow(10D, {places})"


def _round_double(args: Sequence[str]) -> str:
    value, places = args
    if (constant := _constant(places)) is None:
        return _round_by(value, places)
    # Beyond 19 digits a double has no places left to round.
    return f"coalesce(CAST({_round_up(_AS_WRITTEN.format(value), constant)} AS DOUBLE), {value})"


def _round_decimal(args: Sequence[str]) -> str:
    value, places = args
    if (constant := _constant(places)) is None:
        return f"CAST({_round_by(value, places)} AS DECIMAL(38, 18))"
    return _round_up(value, constant)


def _trunc_double(args: Sequence[str]) -> str:
    value, places = args
    if (constant := _constant(places)) is None:
        return _cut_by(value, places)
    return f"coalesce(CAST({_cut(_AS_WRITTEN.format(value), constant)} AS DOUBLE), {value})"


def _trunc_decimal(args: Sequence[str]) -> str:
    value, places = args
    if (constant := _constant(places)) is None:
        return f"CAST({_cut_by(value, places)} AS DECIMAL(38, 18))"
    return _cut(value, constant)


ABS = scalar(
    "ABS",
    "The number without its sign.",
    overload("(INTEGER) -> INTEGER", "abs({0})", duckdb="abs({0})"),
    overload("(BIGINT) -> BIGINT", "abs({0})", duckdb="abs({0})"),
    overload("(DOUBLE) -> DOUBLE", "abs({0})", duckdb="abs({0})"),
    overload("(DECIMAL) -> DECIMAL", "abs({0})", duckdb="abs({0})"),
    examples=[
        example("ABS(-5)", 5),
        example("ABS(-1.5e0)", 1.5),
        example("ABS(-1.50)", Number("1.50")),
        example("ABS(CAST(NULL AS INT))", None),
    ],
)

CBRT = scalar(
    "CBRT",
    "The cube root.",
    overload("(DOUBLE) -> DOUBLE", "cbrt({0})", duckdb="cbrt({0})"),
    examples=[example("CBRT(27)", 3.0), example("CBRT(-8)", -2.0)],
)

CEIL = scalar(
    "CEIL",
    "The smallest whole number that isn't below the value, in the value's own type.",
    overload("(INTEGER) -> INTEGER", "{0}", duckdb="{0}"),
    overload("(BIGINT) -> BIGINT", "{0}", duckdb="{0}"),
    overload("(DOUBLE) -> DOUBLE", "if(abs({0}) < 9e15D, CAST(ceil({0}) AS DOUBLE), {0})", duckdb="ceil({0})"),
    overload("(DECIMAL) -> DECIMAL", "ceil({0})", duckdb="ceil({0})"),
    examples=[
        example("CEIL(1.2e0)", 2.0),
        example("CEIL(-1.2e0)", -1.0),
        example("CEIL(1.25)", Number("2.00")),
        example("CEIL(7)", 7),
    ],
)

EXP = scalar(
    "EXP",
    "e to the power of the value.",
    overload("(DOUBLE) -> DOUBLE", "exp({0})", duckdb="exp({0})"),
    examples=[example("EXP(0)", 1.0), example("EXP(1)", 2.718281828459045)],
)

FLOOR = scalar(
    "FLOOR",
    "The largest whole number that isn't above the value, in the value's own type.",
    overload("(INTEGER) -> INTEGER", "{0}", duckdb="{0}"),
    overload("(BIGINT) -> BIGINT", "{0}", duckdb="{0}"),
    overload("(DOUBLE) -> DOUBLE", "if(abs({0}) < 9e15D, CAST(floor({0}) AS DOUBLE), {0})", duckdb="floor({0})"),
    overload("(DECIMAL) -> DECIMAL", "floor({0})", duckdb="floor({0})"),
    examples=[
        example("FLOOR(1.9e0)", 1.0),
        example("FLOOR(-1.2e0)", -2.0),
        example("FLOOR(1.25)", Number("1.00")),
        example("FLOOR(CAST(NULL AS DOUBLE))", None),
    ],
)

LN = scalar(
    "LN",
    "The natural logarithm: minus infinity at 0, NaN below it.",
    overload(
        "(DOUBLE) -> DOUBLE",
        "CASE WHEN {0} > 0 THEN ln({0}) WHEN {0} = 0 THEN DOUBLE('-Infinity') WHEN {0} < 0 THEN DOUBLE('NaN') END",
    ),
    examples=[
        example("LN(1)", 0.0),
        example("LN(0)", float("-inf")),
        example("LN(-1)", float("nan")),
        example("LN(CAST(NULL AS DOUBLE))", None),
    ],
)

LOG = scalar(
    "LOG",
    "The logarithm of a value to a base, which stands first; with the value alone, the natural one. NaN where the "
    "base is 1 or isn't positive, or the value is negative.",
    overload(
        "(DOUBLE) -> DOUBLE",
        "CASE WHEN {0} > 0 THEN ln({0}) WHEN {0} = 0 THEN DOUBLE('-Infinity') WHEN {0} < 0 THEN DOUBLE('NaN') END",
    ),
    overload(
        "(DOUBLE, DOUBLE) -> DOUBLE",
        "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL WHEN {0} <= 0 OR {0} = 1 OR {1} < 0 THEN DOUBLE('NaN') "
        "WHEN {1} = 0 THEN if({0} > 1, DOUBLE('-Infinity'), DOUBLE('Infinity')) ELSE ln({1}) / ln({0}) END",
    ),
    examples=[
        example("LOG(2, 8)", 3.0),
        example("LOG(1)", 0.0),
        example("LOG(10, 0)", float("-inf")),
        example("LOG(1, 5)", float("nan")),
    ],
)

POWER = scalar(
    "POWER",
    "The first number to the power of the second.",
    overload("(DOUBLE, DOUBLE) -> DOUBLE", "pow({0}, {1})", duckdb="pow({0}, {1})"),
    examples=[example("POWER(2, 10)", 1024.0), example("POWER(2, -1)", 0.5), example("POWER(10, 400)", float("inf"))],
)

RANDOM = scalar(
    "RANDOM",
    "A random number, at least 0 and less than 1.",
    overload("() -> DOUBLE", "rand()"),
)

ROUND = scalar(
    "ROUND",
    "The nearest number with so many places (none by default, tens and hundreds if negative). Of two as near it is "
    "the larger: -1.5 becomes -1.",
    overload("(INTEGER) -> BIGINT", "CAST({0} AS BIGINT)"),
    overload("(BIGINT) -> BIGINT", "{0}", duckdb="{0}"),
    overload("(DOUBLE) -> BIGINT", "floor({0}) + CAST({0} - floor({0}) BETWEEN 0.5D AND 1D AS INT)"),
    overload("(DECIMAL)", "floor({0} + 0.5BD)", returns=_whole_decimal),
    overload("(DOUBLE, INTEGER) -> DOUBLE", _round_double),
    overload("(DECIMAL, INTEGER) -> DECIMAL", _round_decimal),
    examples=[
        example("ROUND(2.5e0)", 3),
        example("ROUND(-1.5e0)", -1),
        example("ROUND(1.005e0, 2)", 1.01),
        example("ROUND(-12.345, 2)", Number("-12.340")),
        example("ROUND(1250., -2)", Number("1300")),
        example("ROUND(CAST(NULL AS DOUBLE), 2)", None),
    ],
)

SIGN = scalar(
    "SIGN",
    "-1 below zero, 0 at zero, 1 above.",
    overload("(DOUBLE) -> INTEGER", "CAST(sign({0}) AS INT)", duckdb="CAST(sign({0}) AS INTEGER)"),
    examples=[example("SIGN(-7)", -1), example("SIGN(0)", 0), example("SIGN(0.1)", 1), example("SIGN(NULL)", None)],
)

SQRT = scalar(
    "SQRT",
    "The square root; NaN below zero.",
    overload("(DOUBLE) -> DOUBLE", "sqrt({0})", duckdb="sqrt({0})"),
    examples=[example("SQRT(16)", 4.0), example("SQRT(-1)", float("nan"))],
)

TRUNC = scalar(
    "TRUNC",
    "The number cut off after so many places (none by default), towards zero.",
    overload("(INTEGER) -> BIGINT", "CAST({0} AS BIGINT)"),
    overload("(BIGINT) -> BIGINT", "{0}", duckdb="{0}"),
    overload("(DOUBLE) -> BIGINT", "CAST({0} AS BIGINT)"),
    overload("(DECIMAL)", _cut("{0}", 0), returns=_whole_decimal),
    overload("(DOUBLE, INTEGER) -> DOUBLE", _trunc_double),
    overload("(DECIMAL, INTEGER) -> DECIMAL", _trunc_decimal),
    examples=[
        example("TRUNC(-1.9e0)", -1),
        example("TRUNC(1.999e0, 2)", 1.99),
        example("TRUNC(-1.999, 1)", Number("-1.900")),
        example("TRUNC(19.99)", Number("19")),
    ],
)

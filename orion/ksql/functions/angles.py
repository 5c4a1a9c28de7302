"""Angles, in radians unless said otherwise, and distances on the globe."""

from __future__ import annotations

from collections.abc import Sequence

from orion.ksql.functions.declare import example, overload, scalar

_PI = 3.141592653589793


def _distance(args: Sequence[str]) -> str:
    """The haversine formula; NULL outside of the globe's coordinates or for a unit that doesn't exist."""
    lat1, lon1, lat2, lon2, *unit = args
    radius = "6371D"
    if unit:
        word = f"lower(trim(coalesce({unit[0]}, '')))"
        radius = (
            f"CASE WHEN {word} IN ('mi', 'mile', 'miles') THEN 3959D WHEN {word} IN "
            "('', 'km', 'kilometer', 'kilometers', 'kilometre', 'kilometres') THEN 6371D END"
        )
    chord = (
        f"pow(sin(radians({lat2} - {lat1}) / 2), 2) + "
        f"pow(sin(radians({lon2} - {lon1}) / 2), 2) * cos(radians({lat1})) * cos(radians({lat2}))"
    )
    inside = " AND ".join(
        [f"{lat} BETWEEN -90 AND 90" for lat in (lat1, lat2)] + [f"{lon} BETWEEN -180 AND 180" for lon in (lon1, lon2)]
    )
    return f"CASE WHEN {inside} THEN 2 * asin(sqrt({chord})) * {radius} END"


ACOS = scalar(
    "ACOS",
    "The angle with this cosine; NaN outside of -1 to 1.",
    overload("(DOUBLE) -> DOUBLE", "acos({0})", duckdb="acos({0})"),
    examples=[example("ACOS(1)", 0.0), example("ACOS(2)", float("nan"))],
)

ASIN = scalar(
    "ASIN",
    "The angle with this sine; NaN outside of -1 to 1.",
    overload("(DOUBLE) -> DOUBLE", "asin({0})", duckdb="asin({0})"),
    examples=[example("ASIN(1)", _PI / 2), example("ASIN(-2)", float("nan"))],
)

ATAN = scalar(
    "ATAN",
    "The angle with this tangent.",
    overload("(DOUBLE) -> DOUBLE", "atan({0})", duckdb="atan({0})"),
    examples=[example("ATAN(1)", _PI / 4)],
)

ATAN2 = scalar(
    "ATAN2",
    "The angle of the point whose y is the first number and whose x the second.",
    overload("(DOUBLE, DOUBLE) -> DOUBLE", "atan2({0}, {1})", duckdb="atan2({0}, {1})"),
    examples=[example("ATAN2(1, 0)", _PI / 2), example("ATAN2(0, -1)", _PI)],
)

COS = scalar(
    "COS",
    "The cosine.",
    overload("(DOUBLE) -> DOUBLE", "cos({0})", duckdb="cos({0})"),
    examples=[example("COS(0)", 1.0), example("COS(PI())", -1.0)],
)

COSH = scalar(
    "COSH",
    "The hyperbolic cosine.",
    overload("(DOUBLE) -> DOUBLE", "cosh({0})", duckdb="cosh({0})"),
    examples=[example("COSH(0)", 1.0)],
)

COT = scalar(
    "COT",
    "The cotangent: infinity at 0.",
    overload("(DOUBLE) -> DOUBLE", "cot({0})"),
    examples=[example("COT(PI() / 4)", 1.0), example("COT(0)", float("inf"))],
)

DEGREES = scalar(
    "DEGREES",
    "Radians as degrees.",
    overload("(DOUBLE) -> DOUBLE", "degrees({0})", duckdb="degrees({0})"),
    examples=[example("DEGREES(PI())", 180.0)],
)

GEO_DISTANCE = scalar(
    "GEO_DISTANCE",
    "The great-circle distance of two points given as latitude, longitude, latitude, longitude in degrees: in "
    "kilometres, or in miles where the unit is 'MI' or 'miles'.",
    overload("(DOUBLE, DOUBLE, DOUBLE, DOUBLE) -> DOUBLE", _distance),
    overload("(DOUBLE, DOUBLE, DOUBLE, DOUBLE, STRING) -> DOUBLE", _distance),
    examples=[
        example("GEO_DISTANCE(0, 0, 0, 180)", 6371 * _PI),
        example("GEO_DISTANCE(0, 0, 0, 180, 'miles')", 3959 * _PI),
        example("GEO_DISTANCE(52.52, 13.4, 52.52, 13.4, 'KM')", 0.0),
        example("GEO_DISTANCE(91, 0, 0, 0)", None),
    ],
)

PI = scalar(
    "PI",
    "The number pi.",
    overload("() -> DOUBLE", "pi()", duckdb="pi()"),
    examples=[example("PI()", _PI)],
)

RADIANS = scalar(
    "RADIANS",
    "Degrees as radians.",
    overload("(DOUBLE) -> DOUBLE", "radians({0})", duckdb="radians({0})"),
    examples=[example("RADIANS(180)", _PI)],
)

SIN = scalar(
    "SIN",
    "The sine.",
    overload("(DOUBLE) -> DOUBLE", "sin({0})", duckdb="sin({0})"),
    examples=[example("SIN(0)", 0.0), example("SIN(PI() / 2)", 1.0)],
)

SINH = scalar(
    "SINH",
    "The hyperbolic sine.",
    overload("(DOUBLE) -> DOUBLE", "sinh({0})", duckdb="sinh({0})"),
    examples=[example("SINH(0)", 0.0)],
)

TAN = scalar(
    "TAN",
    "The tangent.",
    overload("(DOUBLE) -> DOUBLE", "tan({0})", duckdb="tan({0})"),
    examples=[example("TAN(0)", 0.0), example("TAN(PI() / 4)", 1.0)],
)

TANH = scalar(
    "TANH",
    "The hyperbolic tangent.",
    overload("(DOUBLE) -> DOUBLE", "tanh({0})", duckdb="tanh({0})"),
    examples=[example("TANH(0)", 0.0)],
)

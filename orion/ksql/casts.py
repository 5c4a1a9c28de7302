"""From one type to another: what happens by itself, what CAST may do, and how it is said in Spark SQL."""

from __future__ import annotations

from orion.errors import BindError, Span
from orion.ksql import ast
from orion.ksql.functions.signatures import common_type
from orion.plan.relations import Expr
from orion.schema import (
    TEMPORAL,
    Array,
    Decimal,
    Map,
    Scalar,
    SqlType,
    Struct,
    is_numeric,
    spark_type,
)

_DIGITS = {Scalar.INTEGER: 10, Scalar.BIGINT: 19}


def as_decimal(type_: SqlType) -> Decimal:
    """A number's type as a decimal that holds all of it."""
    if isinstance(type_, Decimal):
        return type_
    assert isinstance(type_, Scalar)
    return Decimal(_DIGITS[type_], 0)


def decimal_result(op: str, left: Decimal, right: Decimal) -> Decimal:
    """The type of decimal arithmetic: the digits the exact result may need, capped at 38."""
    whole = max(left.precision - left.scale, right.precision - right.scale)
    scale = max(left.scale, right.scale)
    match op:
        case "+" | "-":
            precision = whole + scale + 1
        case "*":
            scale = left.scale + right.scale
            precision = left.precision + right.precision + 1
        case "/":
            scale = max(6, left.scale + right.precision + 1)
            precision = left.precision - left.scale + right.scale + scale
        case _:
            precision = min(left.precision - left.scale, right.precision - right.scale) + scale
    return Decimal(min(38, precision), min(38, scale))


def implicit(expr: Expr, type_: SqlType, *, null: bool = False) -> Expr:
    """The expression as `type_`, which it is known to fit."""
    if expr.type == type_ and not null:
        return expr
    return Expr(f"CAST({expr.spark} AS {spark_type(type_)})", type_, expr.text)


def comparable(node: ast.Expression, expr: Expr, other: Expr) -> Expr:
    """A text constant beside a point in time is read as one; ROWTIME and its like take it as milliseconds."""
    if not (isinstance(node, ast.Literal) and isinstance(node.value, str)):
        return expr
    if other.type is Scalar.TIMESTAMP:
        return Expr(f"CAST({expr.spark} AS TIMESTAMP)", Scalar.TIMESTAMP, expr.text)
    if other.type is Scalar.DATE:
        return Expr(f"CAST({expr.spark} AS DATE)", Scalar.DATE, expr.text)
    if other.type is Scalar.TIME:
        return Expr(_time_of_text(expr.spark), Scalar.TIME, expr.text)
    if other.type is Scalar.BIGINT and other.text in ("ROWTIME", "WINDOWSTART", "WINDOWEND"):
        return Expr(f"unix_millis(CAST({expr.spark} AS TIMESTAMP))", Scalar.BIGINT, expr.text)
    return expr


def _time_of_text(spark: str) -> str:
    """HH:mm[:ss[.SSS]] as milliseconds of the day."""
    return f"CAST(unix_millis(CAST(concat('1970-01-01 ', {spark}) AS TIMESTAMP)) AS INT)"


def _time_as_text(spark: str) -> str:
    full = f"date_format(timestamp_millis({spark}), 'HH:mm:ss.SSS')"
    return f"regexp_replace(regexp_replace({full}, '[.]000$', ''), ':00$', '')"


def explicit(expr: Expr, type_: SqlType, span: Span) -> str:
    """CAST(expr AS type) in Spark SQL. A value that can't be read as the type gives NULL."""
    source, spark = expr.type, expr.spark
    if source == type_ or spark == "NULL":
        return f"CAST({spark} AS {spark_type(type_)})"
    match source, type_:
        case (_, Scalar.STRING):
            return _to_text(spark, source)
        case (Scalar.STRING, Scalar.TIME):
            return _time_of_text(spark)
        case (Scalar.STRING, Scalar.BOOLEAN):
            return f"(lower({spark}) = 'true')"
        case (
            Scalar.STRING,
            Scalar.INTEGER | Scalar.BIGINT | Scalar.DOUBLE | Decimal() | Scalar.DATE | Scalar.TIMESTAMP,
        ):
            return f"CAST({spark} AS {spark_type(type_)})"
        case (Scalar.TIMESTAMP, Scalar.TIME):
            return f"CAST(pmod(unix_millis({spark}), 86400000) AS INT)"
        case (Scalar.TIMESTAMP, Scalar.DATE) | (Scalar.DATE, Scalar.TIMESTAMP):
            return f"CAST({spark} AS {spark_type(type_)})"
        case _ if is_numeric(source) and is_numeric(type_):
            return f"CAST({spark} AS {spark_type(type_)})"
        case (Array(inner), Array(wanted)):
            return f"transform({spark}, x -> {_inside('x', inner, wanted, span)})"
        case (Map(_, inner), Map(_, wanted)):
            return f"transform_values({spark}, (k, x) -> {_inside('x', inner, wanted, span)})"
        case (Struct(), Struct()) if common_type(source, type_) is not None:
            return f"CAST({spark} AS {spark_type(type_)})"
        case _:
            raise BindError("INVALID_CAST", f"{source} can't be cast to {type_}.", span=span)


def _inside(name: str, inner: SqlType, wanted: SqlType, span: Span) -> str:
    return explicit(Expr(name, inner, name), wanted, span)


def _to_text(spark: str, source: SqlType) -> str:
    match source:
        case Scalar.TIME:
            return _time_as_text(spark)
        case Scalar.TIMESTAMP:
            return f"date_format({spark}, \"yyyy-MM-dd'T'HH:mm:ss.SSS\")"
        case Scalar.BYTES:
            return f"base64({spark})"
        case _:
            return f"CAST({spark} AS STRING)"


def insertable(given: SqlType, wanted: SqlType) -> bool:
    """Whether a value of one type may be written into a column of another by INSERT."""
    if common_type(given, wanted) == wanted:
        return True
    if given is Scalar.STRING and wanted in (*TEMPORAL, Scalar.BYTES):
        return True
    return (
        is_numeric(given)
        and isinstance(wanted, Decimal | Scalar)
        and (isinstance(wanted, Decimal) or wanted is Scalar.DOUBLE)
    )

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
    quote,
    spark_type,
)

MAX_PRECISION = 38
_LEAST_SCALE = 6  # of a result that has too many digits: those of the fraction go first, down to these
_DIGITS = {Scalar.INTEGER: 10, Scalar.BIGINT: 19}


def as_decimal(type_: SqlType) -> Decimal:
    """A number's type as a decimal that holds all of it."""
    if isinstance(type_, Decimal):
        return type_
    assert isinstance(type_, Scalar)
    return Decimal(_DIGITS[type_], 0)


def decimal_result(op: str, left: Decimal, right: Decimal) -> Decimal:
    """The type of decimal arithmetic: the digits the exact result may need, as far as 38 go.

    Digits of the fraction are given up before those of the whole, as Spark does: a large result is better rounded
    than lost.
    """
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
    if precision > MAX_PRECISION:
        scale = max(MAX_PRECISION - (precision - scale), min(scale, _LEAST_SCALE))
    return Decimal(min(MAX_PRECISION, precision), scale)


def contains_map(type_: SqlType) -> bool:
    match type_:
        case Map():
            return True
        case Array(element):
            return contains_map(element)
        case Struct(fields):
            return any(contains_map(f.type) for f in fields)
        case _:
            return False


def quoted(text: str) -> str:
    """A text constant of Spark."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


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
        case (Map(key, inner), Map(wanted_key, wanted)):
            if key != wanted_key:
                spark = f"transform_keys({spark}, (k, x) -> {_inside('k', key, wanted_key, span)})"
            return f"transform_values({spark}, (k, x) -> {_inside('x', inner, wanted, span)})"
        case (Struct(), Struct(fields)) if {f.name for f in source.fields} <= {f.name for f in fields}:
            return _restructured(spark, source, type_, span)
        case _:
            raise BindError("INVALID_CAST", f"{source} can't be cast to {type_}.", span=span)


def _inside(name: str, inner: SqlType, wanted: SqlType, span: Span) -> str:
    return explicit(Expr(name, inner, name), wanted, span)


def _restructured(spark: str, source: Struct, wanted: Struct, span: Span) -> str:
    """Each field cast; one that wasn't there is NULL."""
    parts = []
    for field in wanted.fields:
        given = source.get(field.name)
        value = f"CAST(NULL AS {spark_type(field.type)})"
        if given is not None:
            value = _inside(f"{spark}.{quote(field.name)}", given, field.type, span)
        parts.append(f"{quoted(field.name)}, {value}")
    made = f"named_struct({', '.join(parts)})"
    return f"if({spark} IS NULL, NULL, {made})" if source.fields else made


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
    match given, wanted:
        case Struct(), Struct():
            names = {f.name: f.type for f in wanted.fields}
            return all(f.name in names and insertable(f.type, names[f.name]) for f in given.fields)
        case Array(inner), Array(element):
            return insertable(inner, element)
        case Map(key, inner), Map(wanted_key, value):
            return insertable(key, wanted_key) and insertable(inner, value)
        case _:
            pass
    if common_type(given, wanted) == wanted:
        return True
    if given is Scalar.STRING and wanted in (*TEMPORAL, Scalar.BYTES):
        return True
    return (
        is_numeric(given)
        and isinstance(wanted, Decimal | Scalar)
        and (isinstance(wanted, Decimal) or wanted is Scalar.DOUBLE)
    )

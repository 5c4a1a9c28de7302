"""From one type to another: what happens by itself, what CAST may do, and how it is said in Spark SQL."""

from __future__ import annotations

import re

from orion.errors import BindError, Span
from orion.ksql import ast
from orion.ksql.functions.signatures import common_type
from orion.moments import midnight_sql
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
    literal,
    quote,
    spark_type,
)

MAX_PRECISION = 38
_LEAST_SCALE = 6  # of a result that has too many digits: those of the fraction go first, down to these
_WHOLE = r"^\\s*[+-]?[0-9]+\\s*$"
# With an exponent of three digits at most: Java would write out all digits of 1e600000000, for minutes.
_DECIMAL = r"^\\s*[+-]?[0-9.]+([eE][+-]?[0-9]{1,3})?\\s*$"
_CLOCK = r"^[0-9]{1,2}(:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]{1,9})?)?)?$"
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


def implicit(expr: Expr, type_: SqlType, *, null: bool = False) -> Expr:
    """The expression as `type_`, which it is known to fit."""
    if expr.type == type_ and not null:
        return expr
    if not null and (isinstance(type_, Array | Map | Struct) or type_ in TEMPORAL):
        return Expr(explicit(expr, type_, ast.NOWHERE), type_, expr.text)
    return Expr(f"CAST({expr.spark} AS {spark_type(type_)})", type_, expr.text)


# How a constant says a point in time: any part of it from the right may be missing, but for the first.
_DATE = r"\d{4}(-\d{1,2}(-\d{1,2})?)?"
_TIME = r"\d{1,2}(:\d{1,2}(:\d{1,2}([.]\d{1,9})?)?)?"
_WRITTEN = {
    Scalar.DATE: _DATE,
    Scalar.TIME: _TIME,
    Scalar.TIMESTAMP: rf"{_DATE}|\d{{4}}-\d{{1,2}}-\d{{1,2}}[T ]({_TIME})?( ?([+-]\d{{1,2}}(:?\d\d)?|Z|[A-Za-z_/]+))?",
}
_TIMES_IN_MS = ("ROWTIME", "WINDOWSTART", "WINDOWEND")


def comparable(node: ast.Expression, expr: Expr, other: Expr) -> Expr:
    """Text beside a point in time is read as one; ROWTIME and its like take a text constant as milliseconds."""
    if expr.type is Scalar.DATE and other.type is Scalar.TIMESTAMP:
        return implicit(expr, Scalar.TIMESTAMP)
    if expr.type is not Scalar.STRING:
        return expr
    text = node.value if isinstance(node, ast.Literal) and isinstance(node.value, str) else None
    if isinstance(other.type, Scalar) and other.type in TEMPORAL:
        if text is not None:
            require_moment(text, other.type, node.span)
        return implicit(expr, other.type)
    if text is not None and other.type is Scalar.BIGINT and other.text.rpartition(".")[2] in _TIMES_IN_MS:
        require_moment(text, Scalar.TIMESTAMP, node.span)
        return Expr(f"unix_millis(CAST({expr.spark} AS TIMESTAMP))", Scalar.BIGINT, expr.text)
    return expr


def require_moment(text: str, type_: Scalar, span: Span) -> None:
    """Refuse a constant that doesn't say a date, a time or a timestamp."""
    if not re.fullmatch(_WRITTEN[type_], text, re.ASCII):
        raise BindError("INVALID_TEXT", f"'{text}' can't be read as {type_}.", span=span)


def canonical(spark: str, type_: SqlType) -> str:
    """A value that Spark can compare: it doesn't compare maps, but their entries in the order of the keys."""
    if not contains_map(type_):
        return spark
    match type_:
        case Map(_, value):
            entry = f"named_struct('key', e.key, 'value', {canonical('e.value', value)})"
            return f"array_sort(transform(map_entries({spark}), e -> {entry}))"
        case Array(element):
            return f"transform({spark}, e -> {canonical('e', element)})"
        case Struct(fields):
            parts = [f"{literal(f.name)}, {canonical(f'{spark}.{quote(f.name)}', f.type)}" for f in fields]
            return f"if({spark} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case _:
            return spark


def restored(spark: str, type_: SqlType) -> str:
    """What `canonical` gave, as the value it was."""
    if not contains_map(type_):
        return spark
    match type_:
        case Map(_, value):
            return f"map_from_entries(transform({spark}, e -> struct(e.key, {restored('e.value', value)})))"
        case Array(element):
            return f"transform({spark}, e -> {restored('e', element)})"
        case Struct(fields):
            parts = [f"{literal(f.name)}, {restored(f'{spark}.{quote(f.name)}', f.type)}" for f in fields]
            return f"if({spark} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case _:
            return spark


def _time_of_text(spark: str) -> str:
    """HH:mm[:ss[.SSS]] as milliseconds of the day."""
    clock = f"regexp_substr({spark}, '{_CLOCK}')"  # Spark would take an empty text for midnight
    return f"CAST(unix_millis(CAST(concat('1970-01-01 ', {clock}) AS TIMESTAMP)) AS INT)"


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
        case (Scalar.STRING, Scalar.INTEGER | Scalar.BIGINT):
            # Spark would read 12.7 as 12, where Java reads no whole number.
            return f"CAST(regexp_substr({spark}, '{_WHOLE}') AS {spark_type(type_)})"
        case (Scalar.STRING, Decimal()):
            return f"CAST(regexp_substr({spark}, '{_DECIMAL}') AS {spark_type(type_)})"
        case (Scalar.STRING, Scalar.DOUBLE | Scalar.DATE | Scalar.TIMESTAMP):
            return f"CAST({spark} AS {spark_type(type_)})"
        case (Scalar.TIMESTAMP, Scalar.TIME):
            return f"CAST(pmod(unix_millis({spark}), 86400000) AS INT)"
        case (Scalar.TIMESTAMP, Scalar.DATE):
            return f"CAST({spark} AS DATE)"
        case (Scalar.DATE, Scalar.TIMESTAMP):
            return midnight_sql(spark)
        case (Scalar.DOUBLE, Decimal(precision, scale)) if precision > _SHORT_DOUBLE and scale <= _PLACES:
            return _decimal_of_double(spark, type_)
        case _ if is_numeric(source) and is_numeric(type_):
            return f"CAST({spark} AS {spark_type(type_)})"
        case (Array(inner), Array(wanted)):
            return f"transform({spark}, x -> {_inside('x', inner, wanted, span)})"
        case (Map(key, inner), Map(wanted_key, wanted)):
            if key != wanted_key:
                # A key that can't be read goes with its value: Spark has no NULL keys, and stops at one.
                entry = f"named_struct('k', {_inside('x.key', key, wanted_key, span)}, 'v', x.value)"
                entries = f"filter(transform(map_entries({spark}), x -> {entry}), x -> x.k IS NOT NULL)"
                spark = f"map_from_entries({entries})"
            return f"transform_values({spark}, (k, x) -> {_inside('x', inner, wanted, span)})"
        case (Struct(), Struct()) if {f.name for f in source.fields} & {f.name for f in type_.fields}:
            return _restructured(spark, source, type_, span)
        case _:
            raise BindError("INVALID_CAST", f"{source} can't be cast to {type_}.", span=span)


# Spark takes a double for the shortest text that reads as it, of up to 17 digits. As a decimal with more digits than
# the double tells apart, it is what its bits say: 0.1e0 is 0.1000000000000000055511151231257827...
_SHORT_DOUBLE = 15
_PLACES = 37


def _decimal_of_double(spark: str, type_: Decimal) -> str:
    """The whole digits as they are, and 37 of the fraction: out of 26, 27 and 27 bits of it."""
    shifts = ("__d", "__d * 67108864D", "__d * 9007199254740992D")
    first, second, third = (
        f"CAST(floor((abs({x}) % 1D) * {1 << (26 + (x != '__d'))}D) AS DECIMAL(9,0))" for x in shifts
    )
    five = f"{5**_PLACES}BD"
    fraction = (
        f"CAST({first} * {five} * {1 << 11}BD AS DECIMAL(38,0)) + CAST(floor({second} * {five} / {1 << 16}BD) AS "
        f"DECIMAL(38,0)) + CAST(floor({third} * {five} / {1 << 43}BD) AS DECIMAL(38,0))"
    )
    digits = f"lpad(CAST(CAST({fraction} AS DECIMAL(38,0)) AS STRING), {_PLACES}, '0')"
    exact = f"CAST(concat(if(__d < 0, '-', ''), floor(abs(__d)), '.', {digits}) AS {spark_type(type_)})"
    large = f"CAST(__d AS {spark_type(type_)})"
    body = f"if(abs(__d) < 9.0E18D, {exact}, {large})"
    return f"element_at(transform(array({spark}), __d -> {body}), 1)"


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
        parts.append(f"{literal(field.name)}, {value}")
    made = f"named_struct({', '.join(parts)})"
    return f"if({spark} IS NULL, NULL, {made})" if source.fields else made


# Decimals with more places than these Spark writes as 1E-7 when they are small.
_PLAIN_SCALE = 6


def _plain(spark: str, scale: int) -> str:
    """A decimal with all its places: the sign, the whole, the fraction."""
    whole = f"CAST(floor(abs({spark})) AS DECIMAL(38,0))"
    fraction = f"lpad(CAST(CAST((abs({spark}) % 1) * 1{'0' * scale} AS DECIMAL(38,0)) AS STRING), {scale}, '0')"
    return f"concat(if({spark} < 0, '-', ''), {whole}, '.', {fraction})"


def _to_text(spark: str, source: SqlType) -> str:
    """The text of a value. That of structured ones is what Java writes: [1, 2], {k=v}, Struct{A=1,B=2}."""
    match source:
        case Scalar.STRING:
            return spark
        case Scalar.TIME:
            return _time_as_text(spark)
        case Scalar.TIMESTAMP:
            return f"date_format({spark}, \"yyyy-MM-dd'T'HH:mm:ss.SSS\")"
        case Scalar.BYTES:
            return f"base64({spark})"
        case Decimal(_, scale) if scale > _PLAIN_SCALE:
            return _plain(spark, scale)
        case Array(element):
            return f"concat('[', array_join(transform({spark}, x -> {_to_text('x', element)}), ', ', 'null'), ']')"
        case Map(key, value):
            pair = f"concat({_to_text('x.key', key)}, '=', coalesce({_to_text('x.value', value)}, 'null'))"
            return f"concat('{{', array_join(transform(map_entries({spark}), x -> {pair}), ', '), '}}')"
        case Struct(fields):
            # A field that is NULL isn't written.
            parts = [f"concat({literal(f.name + '=')}, {_to_text(f'{spark}.{quote(f.name)}', f.type)})" for f in fields]
            inside = ", ".join(["','", *parts])
            return f"if({spark} IS NULL, NULL, concat('Struct{{', concat_ws({inside}), '}}'))"
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

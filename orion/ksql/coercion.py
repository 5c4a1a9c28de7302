"""Several values in one place: the elements of an array, the keys and values of a map, what IN compares.

The first that isn't NULL says what the others must be. Numbers widen to what holds all of them; a text constant among
numbers, booleans or points in time is read as one; any constant among texts becomes text. What isn't a constant must
fit as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal as Number
from decimal import InvalidOperation

from orion.errors import BindError, Span
from orion.ksql import ast, casts
from orion.ksql.functions.signatures import common_type
from orion.plan.relations import Expr
from orion.schema import TEMPORAL, Array, Field, Map, Scalar, SqlType, Struct, is_numeric, literal, spark_type
from orion.schema import Decimal as DecimalType

Bind = Callable[[ast.Expression], Expr]


def is_null(node: ast.Expression) -> bool:
    return isinstance(node, ast.Literal) and node.value is None


def common(nodes: Sequence[ast.Expression], bind: Bind) -> SqlType | None:
    """The type that all of them take; None where all are NULL."""
    shared: SqlType | None = None
    for node in nodes:
        if not is_null(node):
            shared = bind(node).type if shared is None else _joined(shared, node, bind)
    return shared


def shaped(node: ast.Expression, type_: SqlType, bind: Bind) -> Expr:
    """An expression as the type that `common` found."""
    match node, type_:
        case ast.Literal(None), _:
            return Expr(f"CAST(NULL AS {spark_type(type_)})", type_, "null")
        case ast.Literal(str() as text), _ if type_ is not Scalar.STRING:
            return _constant(text, type_, bind(node))
        case ast.ArrayOf(items), Array(element):
            return array_of([shaped(i, element, bind) for i in items], element)
        case ast.MapOf(pairs), Map(key, value):
            keys, values = [shaped(k, key, bind) for k, _ in pairs], [shaped(v, value, bind) for _, v in pairs]
            return map_of(keys, values, type_)
        case ast.StructOf(items), Struct(fields):
            given = dict(items)
            missing = ast.Literal(None)
            return struct_of([(f.name, shaped(given.get(f.name, missing), f.type, bind)) for f in fields])
        case _:
            bound = bind(node)
            if type_ is Scalar.STRING and bound.type is not Scalar.STRING:
                return Expr(casts.explicit(bound, type_, node.span), type_, bound.text)
            return casts.implicit(bound, type_)


# ---- constructors ----------------------------------------------------------------------------------------------


def array_of(items: Sequence[Expr], element: SqlType) -> Expr:
    spark = f"array({', '.join(i.spark for i in items)})"
    return Expr(spark, Array(element), f"ARRAY[{', '.join(i.text for i in items)}]")


def map_of(keys: Sequence[Expr], values: Sequence[Expr], type_: Map) -> Expr:
    """A text key that is NULL is 'null', as ksqlDB writes it: Spark has no NULL keys, and stops at one."""
    text = ", ".join(f"{k.text}:={v.text}" for k, v in zip(keys, values, strict=True))
    if type_.key is Scalar.STRING:
        named = [k.spark if k.spark.startswith("'") else f"coalesce({k.spark}, 'null')" for k in keys]
        entries = [f"{k}, {v.spark}" for k, v in zip(named, values, strict=True)]
        return Expr(f"map({', '.join(entries)})", type_, f"MAP({text})")
    entries = [f"struct({k.spark}, {v.spark})" for k, v in zip(keys, values, strict=True)]
    known = f"filter(array({', '.join(entries)}), e -> e.col1 IS NOT NULL)"
    return Expr(f"map_from_entries({known})", type_, f"MAP({text})")


def struct_of(fields: Sequence[tuple[str, Expr]]) -> Expr:
    type_ = Struct(tuple(Field(name, e.type) for name, e in fields))
    spark = ", ".join(f"{literal(name)}, {e.spark}" for name, e in fields)
    text = ", ".join(f"{name}:={e.text}" for name, e in fields)
    return Expr(f"named_struct({spark})", type_, f"STRUCT({text})")


# ---- the common type -------------------------------------------------------------------------------------------


def _joined(shared: SqlType, node: ast.Expression, bind: Bind) -> SqlType:
    """The type so far together with one more expression's."""
    match node, shared:
        case ast.Literal(None), _:
            return shared
        case ast.Literal(str() as text), _ if shared is not Scalar.STRING:
            return _read(text, shared, node.span)
        case ast.Literal(), Scalar.STRING:
            return shared
        case ast.ArrayOf(items), Array(element):
            for item in items:
                element = _joined(element, item, bind)
            return Array(element)
        case ast.MapOf(pairs), Map(key, value):
            for k, v in pairs:
                key, value = _joined(key, k, bind), _joined(value, v, bind)
            return Map(key, value)
        case ast.StructOf(items), Struct():
            return _joined_struct(shared, items, bind)
        case _:
            type_ = bind(node).type
            wider = common_type(shared, type_)
            if wider is None:
                raise BindError(
                    "TYPE_MISMATCH",
                    f"{shared} and {type_} don't go together.",
                    span=node.span,
                    hint="CAST one of them to the other's type.",
                )
            return wider


def _joined_struct(shared: Struct, items: Sequence[tuple[str, ast.Expression]], bind: Bind) -> Struct:
    types = {f.name: f.type for f in shared.fields}
    for name, item in items:
        types[name] = _joined(types[name], item, bind) if name in types else bind(item).type
    return Struct(tuple(Field(name, type_) for name, type_ in types.items()))


def _read(text: str, shared: SqlType, span: Span) -> SqlType:
    """The type of a text constant among values of another type."""
    if is_numeric(shared):
        number = _number(text)
        wider = None if number is None else common_type(shared, number)
        if wider is not None:
            return wider
    elif shared is Scalar.BOOLEAN:
        if _boolean(text) is not None:
            return shared
    elif isinstance(shared, Scalar) and shared in TEMPORAL:
        casts.require_moment(text, shared, span)
        return shared
    raise BindError("INVALID_TEXT", f"'{text}' can't be read as {shared}.", span=span)


def _number(text: str) -> SqlType | None:
    """The narrowest type of the number that a text spells; with a point or an exponent it is a decimal."""
    try:
        value = Number(text.strip())
    except InvalidOperation:
        return None
    if not value.is_finite():
        return None
    if value == value.to_integral_value() and not set(text) & set(".eE"):
        fits = [t for t, bits in ((Scalar.INTEGER, 31), (Scalar.BIGINT, 63)) if -(2**bits) <= value < 2**bits]
        if fits:
            return fits[0]
    digits = value.as_tuple()
    exponent = int(digits.exponent)
    scale = max(0, -exponent)
    precision = scale + 1 if abs(value) < 1 else len(digits.digits) + max(0, exponent)
    return DecimalType(precision, scale) if precision <= casts.MAX_PRECISION else None


def _boolean(text: str) -> bool | None:
    """As PostgreSQL reads it: true or yes, false or no, or how these begin."""
    word = text.strip().lower()
    if word and ("true".startswith(word) or "yes".startswith(word)):
        return True
    return False if word and ("false".startswith(word) or "no".startswith(word)) else None


def _constant(text: str, type_: SqlType, bound: Expr) -> Expr:
    if type_ is Scalar.BOOLEAN:
        return Expr(str(_boolean(text)).upper(), type_, bound.text)
    if is_numeric(type_):
        return Expr(f"CAST({literal(text.strip())} AS {spark_type(type_)})", type_, bound.text)
    return casts.implicit(bound, type_)

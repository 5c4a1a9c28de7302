"""Names and types: an expression as written becomes an expression that Spark runs, with its type, or is refused.

`bind` is the one door. A NULL literal has no type of its own; it takes its neighbour's, and STRING where nothing says.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as Number
from math import isfinite
from typing import NoReturn, assert_never

from orion.errors import BindError, Span, UnsupportedError, hint_nearest
from orion.ksql import ast, casts
from orion.ksql.functions import functions, signatures
from orion.ksql.functions.declare import Function, Kind, Overload
from orion.ksql.parser import Parser
from orion.ksql.scope import CONSTANTS, Scope
from orion.plan.relations import Expr
from orion.schema import (
    Array,
    Decimal,
    Field,
    Map,
    Scalar,
    SqlType,
    Struct,
    is_numeric,
    quote,
    spark_type,
)


def constant(text: str) -> Expr:
    """A constant expression, from its text."""
    parser = Parser(text)
    return bind(parser.expression(), CONSTANTS)


def bind(node: ast.Expression, scope: Scope) -> Expr:
    match node:
        case ast.Literal():
            return _literal(node)
        case ast.Name():
            return scope.resolve(node)
        case ast.Unary():
            return _unary(node, scope)
        case ast.Binary():
            return _binary(node, scope)
        case ast.Between(operand, low, high, negated):
            inside = ast.Binary(
                "AND",
                ast.Binary(">=", operand, low, span=node.span),
                ast.Binary("<=", operand, high, span=node.span),
                span=node.span,
            )
            return bind(ast.Unary("NOT", inside, span=node.span) if negated else inside, scope)
        case ast.In():
            return _in(node, scope)
        case ast.Like():
            return _like(node, scope)
        case ast.IsNull(operand, negated):
            inner = bind(operand, scope)
            word = "IS NOT NULL" if negated else "IS NULL"
            return Expr(f"({inner.spark} {word})", Scalar.BOOLEAN, f"({inner.text} {word})")
        case ast.Case():
            return _case(node, scope)
        case ast.Cast(operand, type_):
            inner = bind(operand, scope)
            return Expr(casts.explicit(inner, type_, node.span), type_, f"CAST({inner.text} AS {type_})")
        case ast.Call():
            return _call(node, scope)
        case ast.Deref():
            return _deref(node, scope)
        case ast.Index():
            return _index(node, scope)
        case ast.ArrayOf() | ast.MapOf() | ast.StructOf():
            return _constructor(node, scope)
        case ast.Lambda():
            raise UnsupportedError("LAMBDA", "Lambdas are not run yet.", span=node.span)
        case ast.Star():
            raise BindError("STAR_NOT_HERE", "* stands only in a select list or in COUNT(*).", span=node.span)
        case _:
            assert_never(node)


# ---- constants -------------------------------------------------------------------------------------------------


def _literal(node: ast.Literal) -> Expr:
    value = node.value
    match value:
        case None:
            return Expr("NULL", Scalar.STRING, "null")
        case bool():
            return Expr(str(value).upper(), Scalar.BOOLEAN, str(value).lower())
        case int():
            return _whole(value, node.span)
        case float():
            if not isfinite(value):
                raise BindError("NUMBER_TOO_LARGE", "The number doesn't fit into DOUBLE.", span=node.span)
            return Expr(f"{value!r}D", Scalar.DOUBLE, repr(value))
        case Number():
            digits = value.as_tuple()
            scale = max(0, -int(digits.exponent))
            precision = max(len(digits.digits), scale) or 1
            if precision > casts.MAX_PRECISION:
                raise BindError("NUMBER_TOO_LARGE", f"{value:f} doesn't fit into DECIMAL.", span=node.span)
            return Expr(f"{value:f}BD", Decimal(precision, scale), f"{value:f}")
        case str():
            return Expr(casts.quoted(value), Scalar.STRING, "'" + value.replace("'", "''") + "'")
        case _:
            assert_never(value)


def _whole(value: int, span: Span) -> Expr:
    if -(2**31) <= value < 2**31:
        return Expr(str(value), Scalar.INTEGER, str(value))
    if -(2**63) <= value < 2**63:
        return Expr(f"{value}L", Scalar.BIGINT, str(value))
    raise BindError("NUMBER_TOO_LARGE", f"{value} doesn't fit into BIGINT.", span=span)


def is_null(node: ast.Expression) -> bool:
    return isinstance(node, ast.Literal) and node.value is None


# ---- operators -------------------------------------------------------------------------------------------------


def _unary(node: ast.Unary, scope: Scope) -> Expr:
    inner = bind(node.operand, scope)
    if node.op == "NOT":
        _require(inner, Scalar.BOOLEAN, "NOT", node.operand.span)
        return Expr(f"(NOT {inner.spark})", Scalar.BOOLEAN, f"(NOT {inner.text})")
    if not is_numeric(inner.type):
        _mismatch(f"{node.op} needs a number, not {inner.type}.", node.span)
    text = f"({inner.text})" if inner.text.startswith(("-", "+")) else inner.text  # -- would start a comment
    return Expr(f"({node.op}{inner.spark})", inner.type, f"{node.op}{text}")


def _binary(node: ast.Binary, scope: Scope) -> Expr:
    left, right = bind(node.left, scope), bind(node.right, scope)
    match node.op:
        case "AND" | "OR":
            _require(left, Scalar.BOOLEAN, node.op, node.left.span)
            _require(right, Scalar.BOOLEAN, node.op, node.right.span)
            return _joined(left, node.op, right, Scalar.BOOLEAN)
        case "+" | "-" | "*" | "/" | "%" | "||":
            return _arithmetic(node, left, right)
        case _:
            return _comparison(node, left, right)


def _joined(left: Expr, op: str, right: Expr, type_: SqlType, *, spark: str | None = None) -> Expr:
    return Expr(spark or f"({left.spark} {op} {right.spark})", type_, f"({left.text} {op} {right.text})")


def _arithmetic(node: ast.Binary, left: Expr, right: Expr) -> Expr:
    op = node.op
    if op in ("+", "||") and Scalar.STRING in (left.type, right.type) and left.type == right.type:
        return _joined(left, op, right, Scalar.STRING, spark=f"concat({left.spark}, {right.spark})")
    if op == "||" or not (is_numeric(left.type) and is_numeric(right.type)):
        _mismatch(f"{op} doesn't work on {left.type} and {right.type}.", node.span)
    if Scalar.DOUBLE in (left.type, right.type):
        spark = f"(CAST({left.spark} AS DOUBLE) {op} CAST({right.spark} AS DOUBLE))"
        return _joined(left, op, right, Scalar.DOUBLE, spark=spark)
    if isinstance(left.type, Decimal) or isinstance(right.type, Decimal):
        result = casts.decimal_result(op, casts.as_decimal(left.type), casts.as_decimal(right.type))
        spark = f"CAST(({left.spark} {op} {right.spark}) AS {spark_type(result)})"
        return _joined(left, op, right, result, spark=spark)
    result_type = Scalar.BIGINT if Scalar.BIGINT in (left.type, right.type) else Scalar.INTEGER
    # Whole numbers divide into whole numbers, as in Java.
    spark_op = "DIV" if op == "/" else op
    spark = f"CAST(({left.spark} {spark_op} {right.spark}) AS {spark_type(result_type)})"
    return _joined(left, op, right, result_type, spark=spark)


def _comparison(node: ast.Binary, left: Expr, right: Expr) -> Expr:
    left, right = casts.comparable(node.left, left, right), casts.comparable(node.right, right, left)
    nothing = is_null(node.left) or is_null(node.right)
    if not nothing and signatures.common_type(left.type, right.type) is None:
        _mismatch(
            f"{left.type} can't be compared with {right.type}.", node.span, hint="CAST one side to the other's type."
        )
    _refuse_unordered(node, left.type)
    spark = None
    if node.op.endswith("DISTINCT FROM"):
        same = f"({left.spark} <=> {right.spark})"
        spark = same if "NOT" in node.op else f"(NOT {same})"
    return _joined(left, node.op, right, Scalar.BOOLEAN, spark=spark)


def _refuse_unordered(node: ast.Binary, type_: SqlType) -> None:
    if node.op in ("<", "<=", ">", ">=") and isinstance(type_, Array | Map | Struct):
        _mismatch(f"{type_} has no order: only = and <> work on it.", node.span)
    if casts.contains_map(type_):
        raise UnsupportedError("MAP_COMPARISON", "Comparing a MAP is not run yet.", span=node.span)


def _in(node: ast.In, scope: Scope) -> Expr:
    operand = bind(node.operand, scope)
    if casts.contains_map(operand.type):
        raise UnsupportedError("MAP_COMPARISON", "Comparing a MAP is not run yet.", span=node.span)
    choices = []
    for choice in node.choices:
        bound = casts.comparable(choice, bind(choice, scope), operand)
        if not is_null(choice) and signatures.common_type(operand.type, bound.type) is None:
            _mismatch(f"{bound.type} can't be in a list compared with {operand.type}.", choice.span)
        choices.append(bound)
    word = "NOT IN" if node.negated else "IN"
    spark = f"({operand.spark} {word} ({', '.join(c.spark for c in choices)}))"
    return Expr(spark, Scalar.BOOLEAN, f"({operand.text} {word} ({', '.join(c.text for c in choices)}))")


def _like(node: ast.Like, scope: Scope) -> Expr:
    operand, pattern = bind(node.operand, scope), bind(node.pattern, scope)
    for side, expr in ((node.operand, operand), (node.pattern, pattern)):
        _require(expr, Scalar.STRING, "LIKE", side.span)
    if node.escape is not None and len(node.escape) != 1:
        raise BindError("INVALID_ESCAPE", "ESCAPE takes one character.", span=node.span)
    # Without ESCAPE no character escapes, where Spark's would be the backslash: one that no text holds stands in.
    mark = "'\\u0001'" if node.escape is None else casts.quoted(node.escape)
    word = "NOT LIKE" if node.negated else "LIKE"
    shown = "" if node.escape is None else f" ESCAPE '{node.escape}'"
    spark = f"({operand.spark} {word} {pattern.spark} ESCAPE {mark})"
    return Expr(spark, Scalar.BOOLEAN, f"({operand.text} {word} {pattern.text}{shown})")


def _case(node: ast.Case, scope: Scope) -> Expr:
    whens = []
    for condition, result in node.whens:
        test = condition if node.operand is None else ast.Binary("=", node.operand, condition, span=condition.span)
        bound = bind(test, scope)
        _require(bound, Scalar.BOOLEAN, "WHEN", condition.span)
        whens.append((bound, result))
    results = [result for _, result in node.whens] + ([node.otherwise] if node.otherwise else [])
    if all(is_null(r) for r in results):
        raise BindError("NULL_TYPE", "Every branch of CASE is NULL.", span=node.span, hint="CAST one of them.")
    bound_results, type_ = _alike(results, scope, "The branches of CASE", node.span)
    branches = " ".join(f"WHEN {test.spark} THEN {r.spark}" for (test, _), r in zip(whens, bound_results, strict=False))
    texts = " ".join(f"WHEN {test.text} THEN {r.text}" for (test, _), r in zip(whens, bound_results, strict=False))
    if node.otherwise:
        branches += f" ELSE {bound_results[-1].spark}"
        texts += f" ELSE {bound_results[-1].text}"
    return Expr(f"(CASE {branches} END)", type_, f"(CASE {texts} END)")


def _alike(nodes: Sequence[ast.Expression], scope: Scope, what: str, span: Span) -> tuple[list[Expr], SqlType]:
    """Expressions brought to the one type they share."""
    bound = [bind(n, scope) for n in nodes]
    shared: SqlType | None = None
    for node, expr in zip(nodes, bound, strict=True):
        if is_null(node):
            continue
        wider = expr.type if shared is None else signatures.common_type(shared, expr.type)
        if wider is None:
            _mismatch(f"{what} must have one type: {shared} and {expr.type} don't go together.", node.span)
        shared = wider
    type_ = shared or Scalar.STRING
    return [casts.implicit(e, type_, null=is_null(n)) for n, e in zip(nodes, bound, strict=True)], type_


# ---- structure -------------------------------------------------------------------------------------------------


def _deref(node: ast.Deref, scope: Scope) -> Expr:
    base = bind(node.base, scope)
    if not isinstance(base.type, Struct):
        _mismatch(f"-> needs a STRUCT, not {base.type}.", node.span)
    type_ = base.type.get(node.field)
    if type_ is None:
        names = [f.name for f in base.type.fields]
        raise BindError(
            "UNKNOWN_FIELD",
            f"The STRUCT has no field {node.field}.",
            span=node.span,
            hint=hint_nearest(node.field, names) or f"Fields are {', '.join(names)}.",
        )
    return Expr(f"{base.spark}.{quote(node.field)}", type_, f"{base.text}->{node.field}")


def _index(node: ast.Index, scope: Scope) -> Expr:
    base, index = bind(node.base, scope), bind(node.index, scope)
    text = f"{base.text}[{index.text}]"
    if isinstance(base.type, Array):
        if index.type not in (Scalar.INTEGER, Scalar.BIGINT):
            _mismatch(f"An ARRAY is indexed by a whole number, not {index.type}.", node.index.span)
        # 1 is the first, -1 the last; outside of it is NULL, and so is 0.
        return Expr(f"try_element_at({base.spark}, CAST(nullif({index.spark}, 0) AS INT))", base.type.element, text)
    if isinstance(base.type, Map):
        if signatures.common_type(base.type.key, index.type) != base.type.key:
            _mismatch(f"This MAP's keys are {base.type.key}, not {index.type}.", node.index.span)
        wanted = casts.implicit(index, base.type.key)
        return Expr(f"try_element_at({base.spark}, {wanted.spark})", base.type.value, text)
    _mismatch(f"[] works on an ARRAY or a MAP, not on {base.type}.", node.span)


def _constructor(node: ast.ArrayOf | ast.MapOf | ast.StructOf, scope: Scope) -> Expr:
    match node:
        case ast.ArrayOf(items):
            if not items or all(is_null(i) for i in items):
                raise BindError("EMPTY_ARRAY", "An ARRAY needs an element that isn't NULL.", span=node.span)
            bound, type_ = _alike(items, scope, "The elements of an ARRAY", node.span)
            text = ", ".join(b.text for b in bound)
            return Expr(f"array({', '.join(b.spark for b in bound)})", Array(type_), f"ARRAY[{text}]")
        case ast.MapOf(pairs):
            if not pairs or all(is_null(v) for _, v in pairs) or all(is_null(k) for k, _ in pairs):
                raise BindError("EMPTY_MAP", "A MAP needs a key and a value that aren't NULL.", span=node.span)
            keys, key_type = _alike([k for k, _ in pairs], scope, "The keys of a MAP", node.span)
            values, value_type = _alike([v for _, v in pairs], scope, "The values of a MAP", node.span)
            entries = [f"{k.spark}, {v.spark}" for k, v in zip(keys, values, strict=True)]
            text = ", ".join(f"{k.text}:={v.text}" for k, v in zip(keys, values, strict=True))
            return Expr(f"map({', '.join(entries)})", Map(key_type, value_type), f"MAP({text})")
        case ast.StructOf(fields):
            names = [name for name, _ in fields]
            twice = next((n for n in names if names.count(n) > 1), None)
            if twice is not None:
                raise BindError("DUPLICATE_FIELD", f"The STRUCT has two fields {twice}.", span=node.span)
            bare = [(bind(value, scope), is_null(value)) for _, value in fields]
            exprs = [(name, casts.implicit(e, e.type, null=n)) for name, (e, n) in zip(names, bare, strict=True)]
            type_struct = Struct(tuple(Field(name, e.type) for name, e in exprs))
            spark = ", ".join(f"{casts.quoted(name)}, {e.spark}" for name, e in exprs)
            return Expr(
                f"named_struct({spark})", type_struct, f"STRUCT({', '.join(f'{n}:={e.text}' for n, e in exprs)})"
            )


# ---- functions -------------------------------------------------------------------------------------------------


def function_of(node: ast.Call) -> Function:
    found = functions().get(node.name)
    if found is None:
        raise BindError(
            "UNKNOWN_FUNCTION",
            f"There is no function {node.name}.",
            span=node.span,
            hint=hint_nearest(node.name, list(functions())) or "SHOW FUNCTIONS; lists them.",
        )
    return found


def choose(
    function: Function, args: Sequence[ast.Expression], bound: list[Expr], span: Span
) -> tuple[Overload, list[Expr], SqlType]:
    """The overload that fits best, its arguments brought to its types, and the type of the result."""
    given: list[SqlType | None] = [None if is_null(n) else e.type for n, e in zip(args, bound, strict=True)]
    fitting = [(f[0], o, f[1]) for o in function.overloads if (f := signatures.fit(o.signature, given)) is not None]
    if not fitting:
        shown = ", ".join("NULL" if t is None else str(t) for t in given)
        raise BindError(
            "NO_SUCH_SIGNATURE",
            f"{function.name} doesn't take ({shown}).",
            span=span,
            hint=f"It takes {' or '.join(function.signatures)}.",
        )
    _, chosen, bindings = min(fitting, key=lambda f: f[0])
    wanted = [signatures.instantiate(chosen.signature.param(at), bindings) or e.type for at, e in enumerate(bound)]
    ready = [casts.implicit(e, w, null=g is None) for e, w, g in zip(bound, wanted, given, strict=True)]
    if chosen.returns:
        return chosen, ready, chosen.returns([e.type for e in ready])
    returned = signatures.instantiate(chosen.signature.returns, bindings) if chosen.signature.returns else None
    return chosen, ready, returned or Scalar.STRING


def _call(node: ast.Call, scope: Scope) -> Expr:
    function = function_of(node)
    if function.kind is not Kind.SCALAR:
        raise BindError(
            "AGGREGATE_NOT_HERE" if function.kind is Kind.AGGREGATE else "TABLE_FUNCTION_NOT_HERE",
            f"{function.name} can't stand here.",
            span=node.span,
            hint="Aggregates belong into the SELECT list or HAVING of a query with GROUP BY."
            if function.kind is Kind.AGGREGATE
            else None,
        )
    bound = [bind(a, scope) for a in node.args]
    chosen, ready, type_ = choose(function, node.args, bound, node.span)
    text = f"{function.name}({', '.join(b.text for b in bound)})"
    try:
        spark = f"({chosen.lower([r.spark for r in ready])})"
    except BindError as error:
        error.span = error.span or node.span
        raise
    # Spark gives some decimals other digits than ksqlDB does.
    return Expr(f"CAST({spark} AS {spark_type(type_)})" if isinstance(type_, Decimal) else spark, type_, text)


# ---- refusals --------------------------------------------------------------------------------------------------


def _require(expr: Expr, type_: SqlType, what: str, span: Span) -> None:
    if expr.type != type_ and expr.spark != "NULL":
        _mismatch(f"{what} needs {type_}, not {expr.type}.", span)


def require_boolean(node: ast.Expression, scope: Scope, what: str) -> Expr:
    """A condition: WHERE, HAVING."""
    expr = bind(node, scope)
    _require(expr, Scalar.BOOLEAN, what, node.span)
    return expr


def _mismatch(message: str, span: Span, *, hint: str | None = None) -> NoReturn:
    raise BindError("TYPE_MISMATCH", message, span=span, hint=hint)

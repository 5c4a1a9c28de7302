"""Names and types: an expression as written becomes an expression that Spark runs, with its type, or is refused.

`bind` is the one door. A NULL literal has no type of its own; it takes its neighbour's, and STRING where nothing says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal as Number
from math import isfinite
from typing import NoReturn, assert_never

from orion.errors import BindError, Span, hint_nearest
from orion.ksql import ast, casts, coercion, lambdas, limits
from orion.ksql.coercion import is_null as is_null
from orion.ksql.extents import most_values, refuse_too_large
from orion.ksql.functions import functions, signatures
from orion.ksql.functions.declare import Function, Kind, Overload
from orion.ksql.parser import Parser
from orion.ksql.python_functions import refuse_in_lambda
from orion.ksql.scope import Scope, constants
from orion.plan.relations import Expr
from orion.schema import (
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


def constant(text: str) -> Expr:
    """A constant expression, from its text."""
    parser = Parser(text)
    return bind(parser.expression(), constants())


def bind(node: ast.Expression, scope: Scope) -> Expr:
    known = scope.bound.get(id(node))
    if known is not None:
        return known[1]
    made = _bind(node, scope)
    limits.refuse_large(made.spark, node.span)
    scope.bound[id(node)] = (node, made)
    return made


def _bind(node: ast.Expression, scope: Scope) -> Expr:
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
        case ast.Over():
            raise BindError(
                "WINDOW_FUNCTION_NOT_HERE",
                "A window function can only stand in the SELECT list of a pull query.",
                span=node.span,
                hint="Leave out EMIT, or use a sub-query in FROM.",
            )
        case ast.Deref():
            return _deref(node, scope)
        case ast.Index():
            return _index(node, scope)
        case ast.ArrayOf() | ast.MapOf() | ast.StructOf():
            return _constructor(node, scope)
        case ast.Lambda():
            raise BindError("LAMBDA_NOT_HERE", "A lambda can only be an argument of a function.", span=node.span)
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
            # Below one the zero before the point counts: 0.5 and 0.05 are DECIMAL(2, 1) and DECIMAL(3, 2).
            precision = min(scale + 1, casts.MAX_PRECISION) if abs(value) < 1 else len(digits.digits)
            precision = max(precision, scale)
            if precision > casts.MAX_PRECISION:
                raise BindError(
                    "NUMBER_TOO_LARGE", f"The number has {precision} digits, and DECIMAL holds 38.", span=node.span
                )
            type_ = Decimal(precision, scale)
            spark = f"{value:f}BD" if abs(value) >= 1 else f"CAST({value:f}BD AS {spark_type(type_)})"
            return Expr(spark, type_, f"{value:f}")
        case str():
            return Expr(literal(value), Scalar.STRING, "'" + value.replace("'", "''") + "'")
        case _:
            assert_never(value)


def _whole(value: int, span: Span) -> Expr:
    if -(2**31) <= value < 2**31:
        return Expr(str(value), Scalar.INTEGER, str(value))
    if -(2**63) <= value < 2**63:
        return Expr(f"{value}L", Scalar.BIGINT, str(value))
    raise BindError("NUMBER_TOO_LARGE", f"{value} doesn't fit into BIGINT.", span=span)


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
    if is_null(node.left) or is_null(node.right):
        _mismatch(f"{op} doesn't work on NULL.", node.span, hint="CAST it to the type that is meant.")
    if op in ("+", "||") and Scalar.STRING in (left.type, right.type) and left.type == right.type:
        return _joined(left, op, right, Scalar.STRING, spark=f"concat({left.spark}, {right.spark})")
    if op == "||" or not (is_numeric(left.type) and is_numeric(right.type)):
        _mismatch(f"{op} doesn't work on {left.type} and {right.type}.", node.span)
    if Scalar.DOUBLE in (left.type, right.type):
        one, other = f"CAST({left.spark} AS DOUBLE)", f"CAST({right.spark} AS DOUBLE)"
        spark = f"({one} {op} {other})"
        if op in "/%" and (not isinstance(node.right, ast.Literal) or node.right.value == 0):
            spark = f"if({other} = 0, {_by_zero(op, one, other)}, {one} {op} {other})"
        return _joined(left, op, right, Scalar.DOUBLE, spark=spark)
    if isinstance(left.type, Decimal) or isinstance(right.type, Decimal):
        # Spark takes 3 as a decimal of one digit, and would divide by it with fewer places.
        first, second = (casts.implicit(e, casts.as_decimal(e.type)) for e in (left, right))
        result = casts.decimal_result(op, casts.as_decimal(left.type), casts.as_decimal(right.type))
        spark = f"CAST(({first.spark} {op} {second.spark}) AS {spark_type(result)})"
        return _joined(left, op, right, result, spark=spark)
    result_type = Scalar.BIGINT if Scalar.BIGINT in (left.type, right.type) else Scalar.INTEGER
    # Whole numbers divide into whole numbers, as in Java.
    spark_op = "DIV" if op == "/" else op
    spark = f"CAST(({left.spark} {spark_op} {right.spark}) AS {spark_type(result_type)})"
    return _joined(left, op, right, result_type, spark=spark)


def _by_zero(op: str, left: str, right: str) -> str:
    """A DOUBLE by zero, which Spark makes NULL, is infinite or not a number."""
    if op == "%":
        return f"{left} * DOUBLE('NaN')"
    return f"{left} * if(CAST({right} AS STRING) = '-0.0', DOUBLE('-Infinity'), DOUBLE('Infinity'))"


def _comparison(node: ast.Binary, left: Expr, right: Expr) -> Expr:
    """Two-valued: with NULL on a side it is false, whatever the operator."""
    distinct = node.op.endswith("DISTINCT FROM")
    if is_null(node.left) or is_null(node.right):
        if not distinct:
            _mismatch(f"{node.op} doesn't work on NULL.", node.span, hint="Write IS NULL or IS NOT NULL.")
        left, right = (right, right) if is_null(node.left) else (left, left)
    one, other = casts.comparable(node.left, left, right), casts.comparable(node.right, right, left)
    shared = signatures.common_type(one.type, other.type)
    if shared is None:
        _mismatch(
            f"{one.type} can't be compared with {other.type}.", node.span, hint="CAST one side to the other's type."
        )
    _refuse_unordered(node, shared)
    sides = [_side(n, e, shared) for n, e in ((node.left, one), (node.right, other))]
    if distinct:
        same = f"({sides[0]} <=> {sides[1]})"
        spark = same if "NOT" in node.op else f"(NOT {same})"
    else:
        spark = f"coalesce({sides[0]} {node.op} {sides[1]}, false)"
    texts = ["null" if is_null(n) else e.text for n, e in ((node.left, left), (node.right, right))]
    return Expr(spark, Scalar.BOOLEAN, f"({texts[0]} {node.op} {texts[1]})")


def _side(node: ast.Expression, expr: Expr, shared: SqlType) -> str:
    if is_null(node):
        return "NULL"
    # Spark widens numbers by itself; what is inside of an ARRAY, MAP or STRUCT has to be brought to one type.
    if isinstance(shared, Array | Map | Struct):
        return casts.canonical(casts.implicit(expr, shared).spark, shared)
    return expr.spark


def _refuse_unordered(node: ast.Binary, type_: SqlType) -> None:
    if node.op not in ("<", "<=", ">", ">="):
        return
    if isinstance(type_, Array | Map | Struct) or type_ is Scalar.BOOLEAN:
        _mismatch(f"{type_} has no order: only = and <> work on it.", node.span)


def _in(node: ast.In, scope: Scope) -> Expr:
    """Two-valued as well: NULL is in no list."""
    nodes = (node.operand, *node.choices)
    shared = coercion.common(nodes, lambda n: bind(n, scope))
    if is_null(node.operand) or shared is None:
        _mismatch("NULL is in no list.", node.operand.span, hint="Write IS NULL or IS NOT NULL.")
    operand, *choices = [coercion.shaped(n, shared, lambda n: bind(n, scope)) for n in nodes]
    values = [casts.canonical(e.spark, shared) for e in (operand, *choices)]
    spark = f"coalesce({values[0]} IN ({', '.join(values[1:])}), false)"
    text = f"({operand.text} {'NOT IN' if node.negated else 'IN'} ({', '.join(c.text for c in choices)}))"
    return Expr(f"(NOT {spark})" if node.negated else spark, Scalar.BOOLEAN, text)


def _like(node: ast.Like, scope: Scope) -> Expr:
    operand, pattern = bind(node.operand, scope), bind(node.pattern, scope)
    for side, expr in ((node.operand, operand), (node.pattern, pattern)):
        _require(expr, Scalar.STRING, "LIKE", side.span)
    if node.escape is not None and len(node.escape) != 1:
        raise BindError("INVALID_ESCAPE", "ESCAPE takes one character.", span=node.span)
    # Without ESCAPE no character escapes, where Spark's would be the backslash: one that no text holds stands in.
    mark = "'\\u0001'" if node.escape is None else literal(node.escape)
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
    bound_results, type_ = _alike(results, scope, "The branches of CASE")
    branches = " ".join(f"WHEN {test.spark} THEN {r.spark}" for (test, _), r in zip(whens, bound_results, strict=False))
    texts = " ".join(f"WHEN {test.text} THEN {r.text}" for (test, _), r in zip(whens, bound_results, strict=False))
    if node.otherwise:
        branches += f" ELSE {bound_results[-1].spark}"
        texts += f" ELSE {bound_results[-1].text}"
    return Expr(f"(CASE {branches} END)", type_, f"(CASE {texts} END)")


def _alike(nodes: Sequence[ast.Expression], scope: Scope, what: str) -> tuple[list[Expr], SqlType]:
    """Expressions brought to the one type they share."""
    bound = [bind(n, scope) for n in nodes]
    shared: SqlType | None = None
    for node, expr in zip(nodes, bound, strict=True):
        if is_null(node):
            continue
        wider = expr.type if shared is None else signatures.common_type(shared, expr.type)
        # Numbers widen; anything else must be the same.
        if wider is None or (wider not in (shared, expr.type) and not is_numeric(wider)):
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
    def inside(inner: ast.Expression) -> Expr:
        return bind(inner, scope)

    match node:
        case ast.ArrayOf(items):
            element = coercion.common(items, inside)
            if element is None:
                raise BindError("EMPTY_ARRAY", "An ARRAY needs an element that isn't NULL.", span=node.span)
            return coercion.array_of([coercion.shaped(i, element, inside) for i in items], element)
        case ast.MapOf(pairs):
            key, value = (coercion.common([pair[at] for pair in pairs], inside) for at in (0, 1))
            if key is None or value is None:
                raise BindError("EMPTY_MAP", "A MAP needs a key and a value that aren't NULL.", span=node.span)
            return coercion.map_of(
                [coercion.shaped(k, key, inside) for k, _ in pairs],
                [coercion.shaped(v, value, inside) for _, v in pairs],
                Map(key, value),
            )
        case ast.StructOf(fields):
            names = [name for name, _ in fields]
            twice = next((n for n, times in Counter(names).items() if times > 1), None)
            if twice is not None:
                raise BindError("DUPLICATE_FIELD", f"The STRUCT has two fields {twice}.", span=node.span)
            return coercion.struct_of([(name, coercion.shaped(v, inside(v).type, inside)) for name, v in fields])


# ---- functions -------------------------------------------------------------------------------------------------


def function_of(node: ast.Call) -> Function:
    found = node.declared or functions().get(node.name)
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
    cost, chosen, bindings = min(fitting, key=lambda f: f[0])
    rivals = [o for _, o, _ in fitting if o.signature.variadic == chosen.signature.variadic]
    if function.kind is Kind.SCALAR and cost >= signatures.CAST and len(rivals) > 1:
        raise BindError(
            "AMBIGUOUS_CALL",
            f"{function.name} takes none of these types as they are, and more than one by turning them into others.",
            span=span,
            hint=f"CAST the arguments: it takes {' or '.join(function.signatures)}.",
        )
    wanted = [signatures.instantiate(chosen.signature.param(at), bindings) or e.type for at, e in enumerate(bound)]
    ready = [casts.implicit(e, w, null=g is None) for e, w, g in zip(bound, wanted, given, strict=True)]
    if chosen.returns:
        return chosen, ready, chosen.returns([e.type for e in ready])
    returned = signatures.instantiate(chosen.signature.returns, bindings) if chosen.signature.returns else None
    return chosen, ready, returned or Scalar.STRING


def _call(node: ast.Call, scope: Scope) -> Expr:
    function = function_of(node)
    refuse_in_lambda(node, within=bool(scope.lambdas))
    if function.kind is not Kind.SCALAR:
        raise BindError(
            "AGGREGATE_NOT_HERE" if function.kind is Kind.AGGREGATE else "TABLE_FUNCTION_NOT_HERE",
            f"{function.name} can't stand here.",
            span=node.span,
            hint="Aggregates belong into the SELECT list or HAVING of a query with GROUP BY."
            if function.kind is Kind.AGGREGATE
            else None,
        )
    if any(isinstance(a, ast.Lambda) for a in node.args):
        return lambdas.call(function, node, scope, bind)
    refuse_too_large(node, len(scope.lambdas))
    bound = [bind(a, scope) for a in node.args]
    chosen, ready, type_ = choose(function, node.args, bound, node.span)
    text = f"{function.name}({', '.join(b.text for b in bound)})"
    try:
        args = [casts.canonical(r.spark, r.type) if function.by_value else r.spark for r in ready]
        spark = f"({chosen.lower(args, most_values(function.name, len(scope.lambdas)))})"
    except BindError as error:
        error.span = error.span or node.span
        raise
    if function.by_value:
        spark = casts.restored(spark, type_)
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

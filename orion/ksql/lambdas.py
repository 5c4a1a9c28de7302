"""Calls with lambdas: the types of their parameters come from the other arguments, that of the body from the body.

In ksqlDB arithmetic on NULL stops the whole lambda, and with it the function: its result is NULL, not an ARRAY with a
NULL inside. `_fails` says in Spark SQL when that is so.
"""

from __future__ import annotations

from collections.abc import Callable

from orion.errors import BindError
from orion.ksql import ast, casts
from orion.ksql.coercion import is_null
from orion.ksql.functions import signatures
from orion.ksql.functions.declare import Function, Overload
from orion.ksql.functions.signatures import Bindings, EntryOf, LambdaOf, Pattern
from orion.ksql.scope import Scope
from orion.plan.relations import Expr
from orion.schema import Scalar, SqlType

Bind = Callable[[ast.Expression, Scope], Expr]


def call(function: Function, node: ast.Call, scope: Scope, bind: Bind) -> Expr:
    bound = [None if isinstance(a, ast.Lambda) else bind(a, scope) for a in node.args]
    chosen, bindings = _choose(function, node, bound)
    args: list[str] = []
    texts: list[str] = []
    failing: list[str] = []
    for at, (arg, expr) in enumerate(zip(node.args, bound, strict=True)):
        pattern = chosen.signature.param(at)
        if isinstance(arg, ast.Lambda) and isinstance(pattern, LambdaOf):
            body, fails = _body(arg, pattern, bindings, scope, bind)
            args.append(body.spark)
            texts.append(body.text)
            if fails and len(pattern.params) == 1:
                items = f"map_entries({args[0]})" if isinstance(pattern.params[0], EntryOf) else args[0]
                failing.append(f"exists({items}, {fails})")
        elif expr is not None:
            wanted = signatures.instantiate(pattern, bindings) or expr.type
            args.append(casts.implicit(expr, wanted, null=is_null(arg)).spark)
            texts.append(expr.text)
    assert chosen.signature.returns is not None
    type_ = signatures.instantiate(chosen.signature.returns, bindings)
    assert type_ is not None
    spark = chosen.lower(args)
    if failing:
        spark = f"if({' OR '.join(failing)}, NULL, {spark})"
    return Expr(f"({spark})", type_, f"{function.name}({', '.join(texts)})")


def _choose(function: Function, node: ast.Call, bound: list[Expr | None]) -> tuple[Overload, Bindings]:
    given: list[SqlType | None] = [
        None if e is None or is_null(a) else e.type for a, e in zip(node.args, bound, strict=True)
    ]
    for overload in function.overloads:
        fitting = signatures.fit(overload.signature, given)
        if fitting is not None and all(_takes(overload.signature.param(at), a) for at, a in enumerate(node.args)):
            return overload, fitting[1]
    shown = [
        "LAMBDA" if e is None else "NULL" if is_null(a) else str(e.type) for a, e in zip(node.args, bound, strict=True)
    ]
    raise BindError(
        "NO_SUCH_SIGNATURE",
        f"{function.name} doesn't take ({', '.join(shown)}).",
        span=node.span,
        hint=f"It takes {' or '.join(function.signatures)}.",
    )


def _takes(pattern: Pattern, arg: ast.Expression) -> bool:
    if isinstance(pattern, LambdaOf) and isinstance(arg, ast.Lambda):
        return pattern.arity == len(arg.params)
    return not isinstance(pattern, LambdaOf) and not isinstance(arg, ast.Lambda)


def _body(node: ast.Lambda, pattern: LambdaOf, bindings: Bindings, scope: Scope, bind: Bind) -> tuple[Expr, str | None]:
    """The lambda in Spark SQL, and the one that says whether it fails. What it returns is added to the bindings."""
    _refuse_taken(node, scope)
    names, parameters = _parameters(node, pattern, bindings, len(scope.lambdas))
    inner = scope.inside(parameters)
    body = bind(node.body, inner)
    if is_null(node.body):
        raise BindError("NULL_TYPE", "A lambda can't be just NULL.", span=node.body.span, hint="CAST it to a type.")
    wanted = signatures.instantiate(pattern.returns, bindings)
    if wanted is None and isinstance(pattern.returns, signatures.Var):
        bindings[pattern.returns.name] = wanted = body.type
    if wanted is None or signatures.common_type(wanted, body.type) != wanted:
        raise BindError(
            "TYPE_MISMATCH",
            f"The lambda must give {wanted}, not {body.type}.",
            span=node.body.span,
            hint=f"CAST it to {wanted}.",
        )
    head = names[0] if len(names) == 1 else f"({', '.join(names)})"
    fails = _fails(node.body, inner, bind)
    shown = f"({', '.join(node.params)}) => {body.text}"
    ready = Expr(f"{head} -> {casts.implicit(body, wanted).spark}", wanted, shown)
    return ready, f"{head} -> {fails}" if fails else None


def _refuse_taken(node: ast.Lambda, scope: Scope) -> None:
    for name in node.params:
        if node.params.count(name) > 1 or name in scope.lambdas or name in scope.columns:
            what = "a column's name" if name in scope.columns else "used already"
            raise BindError(
                "LAMBDA_PARAMETER",
                f"The lambda's parameter {name} is {what}.",
                span=node.span,
                hint="Give it another name.",
            )


def _parameters(
    node: ast.Lambda, pattern: LambdaOf, bindings: Bindings, depth: int
) -> tuple[list[str], dict[str, Expr]]:
    """Names that no column and no lambda around has, and what the parameters are in terms of them."""
    names: list[str] = []
    parts: list[tuple[str, Pattern]] = []
    for at, param in enumerate(pattern.params):
        name = f"__l{depth}_{at}"
        names.append(name)
        if isinstance(param, EntryOf):
            parts += [(f"{name}.key", param.key), (f"{name}.value", param.value)]
        else:
            parts.append((name, param))
    parameters = {}
    for written, (spark, param) in zip(node.params, parts, strict=True):
        type_ = signatures.instantiate(param, bindings)
        if type_ is None:
            raise BindError(
                "NULL_TYPE", f"The type of {written} isn't known.", span=node.span, hint="CAST the NULL before it."
            )
        parameters[written] = Expr(spark, type_, written)
    return names, parameters


# ---- arithmetic on NULL ------------------------------------------------------------------------------------------


def _fails(node: ast.Expression, scope: Scope, bind: Bind) -> str | None:
    """Whether evaluating the expression does arithmetic on NULL; None where it never does.

    What functions and constructors are given is not looked at: there a failure is only a NULL.
    """

    def any_of(*nodes: ast.Expression) -> str | None:
        return " OR ".join(f"({f})" for n in nodes if (f := _fails(n, scope, bind))) or None

    match node:
        case ast.Binary("AND" | "OR" as op, left, right):
            first, second = any_of(left), any_of(right)
            if second:
                reached = bind(left, scope).spark
                second = f"({reached if op == 'AND' else f'NOT {reached}'}) AND ({second})"
            return " OR ".join(f"({f})" for f in (first, second) if f) or None
        case ast.Binary("+" | "-" | "*" | "/" | "%"):
            bound = bind(node, scope)
            return any_of(node.left, node.right) if bound.type is Scalar.STRING else f"{bound.spark} IS NULL"
        case ast.Binary(_, left, right):
            return any_of(left, right)
        case ast.Unary(op, operand):
            return any_of(operand) if op == "NOT" else f"{bind(node, scope).spark} IS NULL"
        case ast.Between(operand, low, high):
            return any_of(operand, low, high)
        case ast.In(operand, choices):
            return any_of(operand, *choices)
        case ast.IsNull(operand) | ast.Cast(operand):
            return any_of(operand)
        case ast.Case():
            return _case_fails(node, scope, bind)
        case _:
            return None


def _case_fails(node: ast.Case, scope: Scope, bind: Bind) -> str | None:
    """Branches are reached one after the other."""
    branches = []
    possible = False
    for condition, result in node.whens:
        test = condition if node.operand is None else ast.Binary("=", node.operand, condition, span=condition.span)
        if failed := _fails(test, scope, bind):
            branches.append(f"WHEN {failed} THEN true")
            possible = True
        failed = _fails(result, scope, bind)
        possible = possible or failed is not None
        branches.append(f"WHEN {bind(test, scope).spark} THEN {failed or 'false'}")
    failed = _fails(node.otherwise, scope, bind) if node.otherwise else None
    if not possible and failed is None:
        return None
    return f"CASE {' '.join(branches)} ELSE {failed or 'false'} END"

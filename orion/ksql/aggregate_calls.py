"""One aggregate as written becomes one that is ready to run: its columns told from its constants, and both checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orion.errors import BindError, Span
from orion.ksql import ast
from orion.ksql.bind import bind, choose, function_of
from orion.ksql.functions.declare import Function, Overload
from orion.ksql.scope import Scope
from orion.plan.relations import AggregateCall, Expr
from orion.plan.sources import ROWTIME
from orion.schema import Scalar, SqlType

# ksqlDB keeps an aggregate's state in the source's format, and these hold neither a STRUCT nor an ARRAY nor a MAP.
_FLAT_FORMATS = ("DELIMITED", "KAFKA")


def bound_call(
    node: ast.Call,
    name: str,
    scope: Scope,
    *,
    value_format: str,
    properties: Mapping[str, str],
) -> AggregateCall:
    function = function_of(node)
    if function.nested and value_format in _FLAT_FORMATS:
        raise BindError(
            "STATE_NEEDS_NESTING",
            f"{function.name} keeps a state that the value format {value_format} can't hold.",
            span=node.span,
            hint="Use a source in another format, such as JSON.",
        )
    chosen, _, constants, ready, type_ = chosen_call(function, node, scope)
    parameters = (*(_parameter(function, c) for c in constants), *_set(function, properties, node.span))
    return AggregateCall(name, function.name, tuple(ready), parameters, type_, chosen.ordered)


def chosen_call(
    function: Function, node: ast.Call, scope: Scope
) -> tuple[Overload, tuple[ast.Expression, ...], tuple[ast.Expression, ...], list[Expr], SqlType]:
    """The overload that a call means, its columns and constants, the columns as it takes them, and its type."""
    candidates, columns, constants = _split(function, _arguments(function, node), node.span)
    bound = [bind(c, scope) for c in columns]
    chosen, ready, type_ = choose(replace(function, overloads=candidates), columns, bound, node.span)
    return chosen, columns, constants, ready, type_


def _arguments(function: Function, node: ast.Call) -> tuple[ast.Expression, ...]:
    """The arguments; * and nothing stand for ROWTIME, save where an aggregate needs no column, like COUNT."""
    written = tuple(a for a in node.args if not isinstance(a, ast.Star))
    starred = len(written) < len(node.args) or not written
    if not starred or any(not o.signature.params for o in function.overloads):
        return written
    return (ast.Name(ROWTIME, span=node.span), *written)


def _split(
    function: Function, args: tuple[ast.Expression, ...], span: Span
) -> tuple[tuple[Overload, ...], tuple[ast.Expression, ...], tuple[ast.Expression, ...]]:
    """The overloads whose constants the last arguments are, and the arguments as columns and constants."""
    varying: ast.Expression | None = None
    for shape in sorted({o.constants for o in function.overloads}, key=len, reverse=True):
        at = len(args) - len(shape)
        candidates = [o for o in function.overloads if o.constants == shape and at >= 0 and o.signature.takes(at)]
        if not candidates:
            continue
        constants = args[at:]
        if all(_is_constant(c, type_) for c, type_ in zip(constants, shape, strict=True)):
            return tuple(candidates), args[:at], constants
        varying = varying or next((c for c in constants if not isinstance(c, ast.Literal)), None)
    if varying is not None:
        raise BindError("NOT_CONSTANT", f"{function.name} needs a constant here.", span=varying.span)
    raise BindError(
        "NO_SUCH_SIGNATURE",
        f"{function.name} doesn't take {_counted(args)}.",
        span=span,
        hint=f"It takes {' or '.join(function.signatures)}.",
    )


def _counted(args: Sequence[ast.Expression]) -> str:
    return "these arguments" if args else "no arguments"


def _is_constant(node: ast.Expression, type_: Scalar) -> bool:
    if not isinstance(node, ast.Literal):
        return False
    if type_ is Scalar.BOOLEAN:
        return isinstance(node.value, bool)
    return isinstance(node.value, int) and not isinstance(node.value, bool) and abs(node.value) < 2**31


def _parameter(function: Function, node: ast.Expression) -> int | bool:
    assert isinstance(node, ast.Literal)
    assert isinstance(node.value, int)
    if not isinstance(node.value, bool) and node.value < 1:
        raise BindError("NOT_POSITIVE", f"{function.name} needs a number above zero here.", span=node.span)
    return node.value


def _set(function: Function, properties: Mapping[str, str], span: Span) -> tuple[int, ...]:
    """What the function's property says, where it is set."""
    if function.setting is None or function.setting not in properties:
        return ()
    text = properties[function.setting]
    try:
        return (int(text),)
    except ValueError:
        raise BindError("INVALID_PROPERTY", f"{function.setting} must be a whole number.", span=span) from None

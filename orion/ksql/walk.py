"""Moving over expression trees."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, cast

from orion.ksql import ast
from orion.ksql.functions import functions
from orion.ksql.functions.declare import Kind


def walk(node: ast.Expression) -> Iterator[ast.Expression]:
    """The node and everything below it."""
    waiting: list[Any] = [node]
    while waiting:
        value = waiting.pop()
        if isinstance(value, ast.Node):
            yield cast(ast.Expression, value)
            waiting.extend(reversed(ast.held(value)))
        elif isinstance(value, tuple):
            waiting.extend(reversed(value))


def rewrite(node: ast.Expression, change: Callable[[ast.Expression], ast.Expression | None]) -> ast.Expression:
    """The tree with every node that `change` gives a substitute for replaced, from the top down."""
    substitute = change(node)
    if substitute is not None:
        return substitute
    fields = {f.name: _rewritten(getattr(node, f.name), change) for f in dataclasses.fields(node)}
    return type(node)(**fields)


def _rewritten(value: Any, change: Callable[[ast.Expression], ast.Expression | None]) -> Any:
    if isinstance(value, ast.Node):
        return rewrite(cast(ast.Expression, value), change)
    if isinstance(value, tuple):
        return tuple(_rewritten(item, change) for item in value)
    return value


def is_aggregate(node: ast.Expression) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = functions().get(node.name)
    return function is not None and function.kind is Kind.AGGREGATE


def contains_aggregate(node: ast.Expression) -> bool:
    return any(is_aggregate(n) for n in walk(node))

"""What a pull query can't hold."""

from __future__ import annotations

from collections.abc import Sequence

from orion.errors import BindError, UnsupportedError
from orion.ksql import ast
from orion.ksql.bind import function_of
from orion.ksql.functions.declare import Kind as FunctionKind
from orion.ksql.walk import contains_aggregate, walk
from orion.plan.sources import ROWOFFSET, ROWPARTITION

NOT_KEPT = (ROWPARTITION, ROWOFFSET)


def refuse_clauses(query: ast.Query) -> None:
    hint = "Add EMIT CHANGES for a push query."
    if query.window is not None:
        raise BindError("WINDOW_IN_PULL", "Pull queries don't support WINDOW.", span=query.window.span, hint=hint)
    if query.partition_by:
        raise BindError("PARTITION_BY_IN_PULL", "Pull queries don't support PARTITION BY.", span=query.span, hint=hint)
    if query.unions:
        raise UnsupportedError("UNION_IN_PULL", "Pull queries don't support UNION ALL.", span=query.span, hint=hint)


def refuse_unkept(query: ast.Query) -> None:
    written = [i.expression for i in query.items] + ([query.where] if query.where is not None else [])
    for node in written:
        for inner in walk(node):
            if isinstance(inner, ast.Name) and inner.name.rpartition(".")[2] in NOT_KEPT:
                raise BindError(
                    "PSEUDO_COLUMN_NOT_HERE",
                    f"Pull queries don't know {inner.name.rpartition('.')[2]}.",
                    span=inner.span,
                    hint="Add EMIT CHANGES for a push query, which does.",
                )
            if isinstance(inner, ast.Call) and function_of_or_none(inner) is FunctionKind.TABLE:
                raise BindError("TABLE_FUNCTION_NOT_HERE", f"Pull queries don't support {inner.name}.", span=inner.span)


def function_of_or_none(node: ast.Call) -> FunctionKind | None:
    """The kind of a function; None for what isn't one, such as a window function."""
    try:
        return function_of(node).kind
    except BindError:
        return None


def refuse_aggregates(node: ast.Expression) -> None:
    if contains_aggregate(node):
        raise BindError("AGGREGATE_NOT_HERE", "WHERE can't hold an aggregate.", span=node.span, hint="Use HAVING.")


def refuse_twice(names: Sequence[str], items: Sequence[ast.SelectItem]) -> None:
    seen: set[str] = set()
    for at, name in enumerate(names):
        if name in seen:
            raise BindError(
                "DUPLICATE_COLUMN",
                f"The column {name} comes out twice.",
                span=items[at].span,
                hint=f"Give one of them another name: {name} AS other.",
            )
        seen.add(name)

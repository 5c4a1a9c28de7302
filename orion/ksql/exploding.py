"""Table functions in a SELECT list: their arrays are exploded side by side before the list is evaluated."""

from __future__ import annotations

from dataclasses import replace

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.bind import bind, choose, function_of
from orion.ksql.functions import functions
from orion.ksql.functions.declare import Kind as FunctionKind
from orion.ksql.inputs import Rows
from orion.ksql.projection import names_of
from orion.ksql.scope import Scope
from orion.ksql.walk import rewrite, walk
from orion.plan.relations import Explode, Expr, Named, Relation
from orion.plan.sources import Kind
from orion.schema import Array


def exploded(
    query: ast.Query, items: list[ast.SelectItem], relation: Relation, rows: Rows, scope: Scope
) -> tuple[Relation, list[ast.SelectItem], Scope]:
    """The relation with the rows multiplied, and the list over their new columns."""
    if not any(_is_table_function(n) for item in items for n in walk(item.expression)):
        return relation, items, scope
    if rows.kind is Kind.TABLE:
        raise BindError("TABLE_FUNCTION_NOT_HERE", "Table functions work on streams only.", span=query.span)
    if query.group_by:
        raise BindError("TABLE_FUNCTION_NOT_HERE", "Table functions and GROUP BY exclude each other.", span=query.span)
    made: list[Named] = []

    def change(node: ast.Expression) -> ast.Expression | None:
        if not _is_table_function(node):
            return None
        assert isinstance(node, ast.Call)
        if any(_is_table_function(n) for arg in node.args for n in walk(arg)):
            raise BindError("NESTED_TABLE_FUNCTION", "A table function can't hold another one.", span=node.span)
        name = f"__t{len(made)}"
        made.append(Named(name, _array(node, scope)))
        return ast.Name(name, span=node.span)

    opened = [replace(item, expression=rewrite(item.expression, change)) for item in items]
    # The new columns' own names are ours alone: the list's are those of what was written.
    names = names_of(items, rows.schema.names)
    named = [replace(item, alias=name) for item, name in zip(opened, names, strict=True)]
    elements = {n.name: n.expr.type.element for n in made if isinstance(n.expr.type, Array)}
    return Explode(relation, tuple(made)), named, replace(scope, columns={**scope.columns, **elements})


def _is_table_function(node: ast.Expression) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = functions().get(node.name)
    return function is not None and function.kind is FunctionKind.TABLE


def _array(node: ast.Call, scope: Scope) -> Expr:
    function = function_of(node)
    bound = [bind(a, scope) for a in node.args]
    chosen, ready, element = choose(function, node.args, bound, node.span)
    text = f"{function.name}({', '.join(b.text for b in bound)})"
    return Expr(chosen.lower([r.spark for r in ready]), Array(element), text)

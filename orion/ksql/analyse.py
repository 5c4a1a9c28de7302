"""A query as written becomes a relation: sources found, stars opened, columns bound, aggregates told apart."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, UnsupportedError
from orion.ksql import ast
from orion.ksql.aggregation import aggregate
from orion.ksql.bind import bind, require_boolean
from orion.ksql.context import Context
from orion.ksql.projection import check_columns, key_items, keys_first, names_of, refuse_untyped, same
from orion.ksql.scope import Scope
from orion.ksql.walk import contains_aggregate
from orion.plan.relations import Filter, Named, Project, Relation, Scan
from orion.plan.sources import Kind, Source, Window
from orion.schema import Column, Role, Schema, Struct


@dataclass(frozen=True)
class Analysed:
    """A relation, the columns that come out of it, and what kind of thing it makes."""

    relation: Relation
    schema: Schema
    kind: Kind
    window: Window | None
    source: Source


def analyse(query: ast.Query, context: Context, *, transient: bool = False) -> Analysed:
    """`transient`: the rows go to a client, which needs no key among them."""
    if query.emit is ast.Emit.FINAL:
        raise UnsupportedError("EMIT_FINAL", "EMIT FINAL is not run yet.", span=query.span)
    source = context.source(query.source.source, query.source.span)
    scope = Scope.of(source.row, query.source.alias, source.name)
    relation: Relation = Scan(source)
    if query.where is not None:
        _refuse_aggregates(query.where, "WHERE")
        relation = Filter(relation, require_boolean(query.where, scope, "WHERE"))
    items = _open_stars(query, source)
    refuse_untyped(items)
    if query.group_by:
        aggregated, schema, window = aggregate(query, items, relation, source, scope, transient=transient)
        return Analysed(aggregated, schema, Kind.TABLE, window, source)
    return _plain(query, items, relation, source, scope, transient=transient)


def _plain(
    query: ast.Query, items: list[ast.SelectItem], relation: Relation, source: Source, scope: Scope, *, transient: bool
) -> Analysed:
    """A query without GROUP BY."""
    _refuse_stray_clauses(query, items)
    names = names_of(items, source)
    named = [Named(name, bind(item.expression, scope)) for name, item in zip(names, items, strict=True)]
    if source.kind is Kind.TABLE and query.partition_by:
        raise BindError("PARTITION_BY_TABLE", "PARTITION BY works on streams only.", span=query.span)
    wanted: list[ast.Expression] = (
        list(query.partition_by) if query.partition_by else [ast.Name(c.name) for c in source.schema.key]
    )
    keys = [] if transient else key_items(wanted, items, scope)
    columns = tuple(Column(n.name, n.expr.type, Role.KEY if at in keys else Role.VALUE) for at, n in enumerate(named))
    if transient:
        schema = Schema(columns)
    else:
        check_columns(columns, items, query)
        schema = keys_first(columns, [names[at] for at in keys])
    return Analysed(Project(relation, tuple(named)), schema, source.kind, source.window, source)


def _refuse_stray_clauses(query: ast.Query, items: list[ast.SelectItem]) -> None:
    for item in items:
        if contains_aggregate(item.expression):
            raise BindError(
                "AGGREGATE_WITHOUT_GROUP_BY",
                "An aggregate needs GROUP BY.",
                span=item.span,
                hint="Add GROUP BY with the columns that make a group.",
            )
    if query.having is not None:
        raise BindError("HAVING_WITHOUT_GROUP_BY", "HAVING needs GROUP BY.", span=query.having.span, hint="Use WHERE.")
    if query.window is not None:
        raise BindError("WINDOW_WITHOUT_GROUP_BY", "WINDOW needs GROUP BY.", span=query.window.span)


def _refuse_aggregates(node: ast.Expression, clause: str) -> None:
    if contains_aggregate(node):
        raise BindError("AGGREGATE_NOT_HERE", f"{clause} can't hold an aggregate.", span=node.span, hint="Use HAVING.")


def _open_stars(query: ast.Query, source: Source) -> list[ast.SelectItem]:
    """`*` becomes the source's columns."""
    opened: list[ast.SelectItem] = []
    for item in query.items:
        match item.expression:
            case ast.Star(qualifier):
                if qualifier not in (None, query.source.alias, source.name):
                    raise BindError("UNKNOWN_SOURCE", f"{qualifier} is not a source of this query.", span=item.span)
                opened += [ast.SelectItem(node, span=item.span) for node in _every_column(query, source, item)]
            case ast.Deref(base, "*"):
                opened += _open_struct(base, query, source, item)
            case _:
                opened.append(item)
    return opened


def _every_column(query: ast.Query, source: Source, item: ast.SelectItem) -> list[ast.Expression]:
    """What a star stands for. A new key that is no column of the source comes in by it, and the old one moves back."""
    columns: list[ast.Expression] = [ast.Name(c.name, span=item.span) for c in source.schema]
    if not query.partition_by:
        return columns
    others = [*columns, *(i.expression for i in query.items)]
    new = [key for key in query.partition_by if not any(same(key, other) for other in others)]
    keys = len(source.schema.key)
    return [*new, *columns[keys:], *columns[:keys]]


def _open_struct(base: ast.Expression, query: ast.Query, source: Source, item: ast.SelectItem) -> list[ast.SelectItem]:
    bound = bind(base, Scope.of(source.row, query.source.alias, source.name))
    if not isinstance(bound.type, Struct):
        raise BindError("TYPE_MISMATCH", f"->* needs a STRUCT, not {bound.type}.", span=item.span)
    return [ast.SelectItem(ast.Deref(base, f.name, span=item.span), span=item.span) for f in bound.type.fields]

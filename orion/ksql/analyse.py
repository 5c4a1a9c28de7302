"""A query as written becomes a relation: sources found, stars opened, columns bound, aggregates told apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.aggregation import aggregate, window_of
from orion.ksql.bind import bind, is_null, require_boolean
from orion.ksql.context import Context
from orion.ksql.exploding import exploded
from orion.ksql.inputs import InputColumn, Rows, canonical, renamed, rows_of, select_items
from orion.ksql.joining import join
from orion.ksql.projection import check_columns, identity, key_items, keys_first, names_of, refuse_untyped
from orion.ksql.scope import Scope
from orion.ksql.walk import contains_aggregate
from orion.plan.prune import pruned
from orion.plan.relations import Distinct, Expr, Filter, Named, Project, Relation, Settle, Union
from orion.plan.sources import WINDOW_BOUNDS, Kind, Source, Window, WindowKind
from orion.schema import Column, Role, Schema, Struct, quote


@dataclass(frozen=True)
class Analysed:
    """A relation, the columns that come out of it, and what kind of thing it makes."""

    relation: Relation
    schema: Schema
    kind: Kind
    window: Window | None
    inputs: tuple[Source, ...]

    @property
    def source(self) -> Source:
        """The source whose formats the result has, unless the statement says otherwise."""
        return self.inputs[0]

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(s.name for s in self.inputs))


def analyse(query: ast.Query, context: Context, *, transient: bool = False) -> Analysed:
    """`transient`: the rows go to a client, which needs no key among them."""
    analysed = _all(query, context, transient=transient)
    return replace(analysed, relation=pruned(analysed.relation))


def _all(query: ast.Query, context: Context, *, transient: bool) -> Analysed:
    """The query and what UNION ALL puts beside it."""
    first = _select(query, context, transient=transient)
    if not query.unions:
        return first
    others = [_select(other, context, transient=transient) for other in query.unions]
    for written, other in zip(query.unions, others, strict=True):
        _check_alike(first, other, written)
    relation = Union((first.relation, *(o.relation for o in others)))
    return replace(first, relation=relation, inputs=tuple(s for a in (first, *others) for s in a.inputs))


def _check_alike(first: Analysed, other: Analysed, written: ast.Query) -> None:
    if Kind.TABLE in (first.kind, other.kind):
        raise BindError("INVALID_UNION", "UNION ALL joins streams only.", span=written.span)
    columns = [[(c.name, c.type, c.role) for c in a.schema] for a in (first, other)]
    if columns[0] != columns[1]:
        shown = ", ".join(f"{c.name} {c.type}" for c in first.schema)
        raise BindError(
            "INVALID_UNION",
            "The queries of UNION ALL must have the same columns with the same types.",
            span=written.span,
            hint=f"The first one has {shown}.",
        )


def _select(query: ast.Query, context: Context, *, transient: bool) -> Analysed:
    _refuse_order(query)
    rows = _rows(query, context)
    query = _canonical(query, rows)
    if rows.joined:
        scope = Scope.of(rows.row, "", "")
        items = open_structs(list(query.items), scope)
    else:
        scope = Scope.of(rows.row, query.source.alias, rows.first.name if isinstance(query.source.source, str) else "")
        shows_window = transient and not query.group_by
        items = open_structs(open_stars(query, rows, bounds=shows_window), scope)
    relation = rows.relation
    if query.where is not None:
        _refuse_aggregates(query.where, "WHERE")
        condition = require_boolean(query.where, scope, "WHERE")
        relation = Filter(relation, condition, of_table=rows.kind is Kind.TABLE)
    refuse_untyped(items)
    relation, items, scope = exploded(query, items, relation, rows, scope)
    if query.emit is ast.Emit.FINAL and not (query.group_by and query.window):
        raise BindError("INVALID_EMIT", "EMIT FINAL is only supported for windowed aggregations.", span=query.span)
    if query.group_by:
        aggregated, schema, window = aggregate(query, items, relation, rows, scope, context, transient=transient)
        return Analysed(aggregated, schema, Kind.TABLE, window, rows.sources)
    return _plain(query, items, relation, rows, scope, transient=transient)


# ---- FROM ------------------------------------------------------------------------------------------------------


def _rows(query: ast.Query, context: Context) -> Rows:
    """What the query works on: one source under its own names, or the sources of a join under their aliases'."""
    rows = _input(query.source, context)
    if not query.joins:
        return rows
    aliases = [query.source.alias, *(j.right.alias for j in query.joins)]
    for at, alias in enumerate(aliases):
        if alias in aliases[:at]:
            raise BindError(
                "DUPLICATE_ALIAS",
                f"The source {alias} is named twice.",
                span=query.joins[at - 1].right.span,
                hint=f"Give one of them another name: {alias} AS other.",
            )
    rows = renamed(rows, query.source.alias)
    for clause in query.joins:
        rows = join(rows, renamed(_input(clause.right, context), clause.right.alias), clause)
    return rows


def _input(written: ast.From, context: Context) -> Rows:
    if isinstance(written.source, str):
        return rows_of(context.source(written.source, written.span), written.alias)
    inner = analyse(written.source, context)
    columns = tuple(InputColumn(written.alias, c.name, c.name, c.type, c.role) for c in inner.schema)
    pseudo = [("ROWTIME", Scope.of(inner.inputs[0].row, "", "").columns["ROWTIME"])]
    pseudo += list(WINDOW_BOUNDS.items()) if inner.window else []
    columns += tuple(InputColumn(written.alias, n, n, t, pseudo=True) for n, t in pseudo)
    keys = tuple((c.name,) for c in inner.schema.key)
    return Rows(inner.relation, columns, inner.kind, inner.window, keys, inner.inputs)


def _canonical(query: ast.Query, rows: Rows) -> ast.Query:
    if not rows.joined:
        return query
    return replace(
        query,
        items=tuple(select_items(query, rows)),
        where=canonical(query.where, rows) if query.where else None,
        group_by=tuple(canonical(g, rows) for g in query.group_by),
        partition_by=tuple(canonical(p, rows) for p in query.partition_by),
        having=canonical(query.having, rows) if query.having else None,
    )


# ---- a query without GROUP BY ----------------------------------------------------------------------------------


def _plain(
    query: ast.Query, items: list[ast.SelectItem], relation: Relation, rows: Rows, scope: Scope, *, transient: bool
) -> Analysed:
    _refuse_stray_clauses(query, items)
    names = names_of(items, rows.schema.names)
    named = tuple(Named(name, bind(item.expression, scope)) for name, item in zip(names, items, strict=True))
    if rows.kind is Kind.TABLE and query.partition_by:
        raise BindError("PARTITION_BY_TABLE", "PARTITION BY works on streams only.", span=query.span)
    keys = [] if transient else key_items(_wanted_keys(query, rows), items, scope)
    if rows.made and not query.partition_by:
        own = dict(zip(keys, rows.key, strict=False))
        named = tuple(
            Named(n.name, replace(n.expr, spark=own[at].spark)) if at in own else n for at, n in enumerate(named)
        )
    columns = tuple(Column(n.name, n.expr.type, Role.KEY if at in keys else Role.VALUE) for at, n in enumerate(named))
    if transient:
        schema = Schema(columns)
    else:
        check_columns(columns, items, query)
        schema = keys_first(columns, [names[at] for at in keys])
    made: Relation = Project(relation, named, rekeyed=bool(query.partition_by))
    window = None if query.partition_by else rows.window
    if query.distinct:
        return _distinct(query, made, schema, rows)
    if rows.kind is Kind.TABLE and query.where is not None and not transient:
        made = settled(made, schema, window)
    return Analysed(made, schema, rows.kind, window, rows.sources)


def _wanted_keys(query: ast.Query, rows: Rows) -> list[tuple[ast.Expression, ...]]:
    """For each column of the key the expressions that are it, of which one must be selected."""
    if query.partition_by:
        return [] if all(is_null(p) for p in query.partition_by) else [(p,) for p in query.partition_by]
    return [tuple(ast.Name(n) for n in names) for names in rows.keys]


def settled(relation: Relation, schema: Schema, window: Window | None) -> Settle:
    """The table with only those deletions that delete something."""
    if isinstance(relation, Settle):
        return relation
    bounds = [Column(n, t, Role.KEY) for n, t in WINDOW_BOUNDS.items()] if window else []
    columns = [*schema.key, *bounds, *schema.value]
    named = tuple(Named(c.name, Expr(quote(c.name), c.type, c.name)) for c in columns)
    return Settle(relation, named, len(schema.key) + len(bounds))


def _distinct(query: ast.Query, relation: Relation, schema: Schema, rows: Rows) -> Analysed:
    window = window_of(query.window)
    if window is None or window.kind is not WindowKind.TUMBLING or rows.kind is Kind.TABLE:
        raise BindError(
            "INVALID_DISTINCT",
            "SELECT DISTINCT needs a stream and a TUMBLING window: without one it would have to keep all rows forever.",
            span=query.span,
            hint="For example: SELECT DISTINCT ... FROM s WINDOW TUMBLING (SIZE 1 HOUR).",
        )
    columns = tuple(Named(c.name, Expr(quote(c.name), c.type, c.name)) for c in schema)
    return Analysed(Distinct(relation, columns, window), schema, Kind.STREAM, None, rows.sources)


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
    if query.window is not None and not query.distinct:
        raise BindError("WINDOW_WITHOUT_GROUP_BY", "WINDOW needs GROUP BY.", span=query.window.span)


def _refuse_order(query: ast.Query) -> None:
    if query.order_by or query.offset is not None:
        raise BindError(
            "ORDER_NOT_HERE",
            "ORDER BY and OFFSET need all rows, and a stream has no end: they stand in pull queries only.",
            span=query.order_by[0].span if query.order_by else query.span,
            hint="Pull what is there now: a SELECT without EMIT.",
        )


def _refuse_aggregates(node: ast.Expression, clause: str) -> None:
    if contains_aggregate(node):
        raise BindError("AGGREGATE_NOT_HERE", f"{clause} can't hold an aggregate.", span=node.span, hint="Use HAVING.")


# ---- stars -----------------------------------------------------------------------------------------------------


def open_stars(query: ast.Query, rows: Rows, *, bounds: bool = False) -> list[ast.SelectItem]:
    """`*` becomes the source's columns; `bounds`: with those of the window that its keys carry."""
    opened: list[ast.SelectItem] = []
    known = (None, query.source.alias, rows.first.name)
    for item in query.items:
        if isinstance(item.expression, ast.Star):
            if item.expression.source not in known:
                raise BindError(
                    "UNKNOWN_SOURCE", f"{item.expression.source} is not a source of this query.", span=item.span
                )
            opened += [ast.SelectItem(node, span=item.span) for node in _every_column(query, rows, item, bounds)]
        else:
            opened.append(item)
    return opened


def _every_column(query: ast.Query, rows: Rows, item: ast.SelectItem, bounds: bool) -> list[ast.Expression]:
    """What a star stands for. A new key that is no column of the source comes in by it, and the old one moves back."""
    columns: list[ast.Expression] = [ast.Name(c.name, span=item.span) for c in rows.schema]
    if bounds and rows.window:
        at = len(rows.schema.key)
        columns[at:at] = [ast.Name(name, span=item.span) for name in WINDOW_BOUNDS]
    if not query.partition_by or all(is_null(p) for p in query.partition_by):
        return columns
    others = {identity(other) for other in (*columns, *(i.expression for i in query.items))}
    new = [key for key in query.partition_by if identity(key) not in others]
    keys = len(rows.schema.key)
    return [*new, *columns[keys:], *columns[:keys]]


def open_structs(items: list[ast.SelectItem], scope: Scope) -> list[ast.SelectItem]:
    """`struct->*` becomes the struct's fields."""
    opened: list[ast.SelectItem] = []
    for item in items:
        if not (isinstance(item.expression, ast.Deref) and item.expression.field == "*"):
            opened.append(item)
            continue
        base = item.expression.base
        bound = bind(base, scope)
        if not isinstance(bound.type, Struct):
            raise BindError("TYPE_MISMATCH", f"->* needs a STRUCT, not {bound.type}.", span=item.span)
        opened += [ast.SelectItem(ast.Deref(base, f.name, span=item.span), span=item.span) for f in bound.type.fields]
    return opened

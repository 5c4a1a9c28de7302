"""What a pull query asks, understood: where rows come from, what is computed of them at which stage, what comes out.

Stages, each over the columns of the one before: the rows of FROM; groups (`__k0` ... and aggregates `__a0` ...);
window functions (`__w0` ...); the SELECT list.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.analyse import open_stars, open_structs
from orion.ksql.bind import bind, require_boolean
from orion.ksql.casts import contains_map
from orion.ksql.context import Context
from orion.ksql.inputs import InputColumn, Rows, canonical, renamed, rows_of, select_items
from orion.ksql.projection import names_of, refuse_untyped
from orion.ksql.pull.refusals import NOT_KEPT, refuse_aggregates, refuse_clauses, refuse_twice, refuse_unkept
from orion.ksql.pull.stages import Stages
from orion.ksql.pull.windows import type_of
from orion.ksql.scope import Scope
from orion.plan.relations import Scan
from orion.plan.sources import ROWTIME, WINDOW_BOUNDS, Kind, Source
from orion.schema import Column, Role


@dataclass(frozen=True)
class Table:
    """One source, the `at`-th that the query reads; in a join each column gets another name."""

    at: int
    source: Source
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Derived:
    """A query in place of a source; `at` tells it from others."""

    at: int
    shape: Shape
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Joined:
    left: From
    right: From
    type: str
    on: ast.Expression
    scope: Scope
    times: tuple[str, ...]  # the columns whose latest is the row's ROWTIME


From = Table | Derived | Joined


@dataclass(frozen=True)
class Ordered:
    """A sort key: the place of a column of the result, from 1, or an expression over the last stage."""

    by: int | ast.Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Shape:
    rows: From
    scope: Scope
    where: ast.Expression | None
    grouped: bool
    groups: tuple[ast.Expression, ...]
    calls: tuple[ast.Call, ...]
    group_scope: Scope
    having: ast.Expression | None
    windows: tuple[ast.Over, ...]
    last_scope: Scope
    items: tuple[ast.Expression, ...]
    columns: tuple[Column, ...]
    distinct: bool
    order_by: tuple[Ordered, ...]
    limit: int | None
    offset: int | None
    key: str | None = None  # of the one table that it reads: the first column of its key


def shape_of(query: ast.Query, context: Context, reads: list[Source]) -> Shape:
    """`reads` gets the sources that the query reads, in the order of their numbers."""
    refuse_clauses(query)
    rows, origin = _rows(query, context, reads)
    query = _canonical(query, rows)
    refuse_unkept(query)
    if rows.joined:
        scope = Scope.of(rows.row, "", "")
        items = open_structs(list(query.items), scope)
    else:
        name = rows.first.name if isinstance(query.source.source, str) else ""
        scope = Scope.of(rows.row, query.source.alias, name)
        items = open_structs(open_stars(query, rows, bounds=True), scope)
    refuse_untyped(items)
    names = names_of(items, rows.schema.names)
    refuse_twice(names, items)
    return _staged(query, origin, rows, scope, items, names)


def _staged(
    query: ast.Query, origin: From, rows: Rows, scope: Scope, items: list[ast.SelectItem], names: list[str]
) -> Shape:
    if query.where is not None:
        refuse_aggregates(query.where)
        require_boolean(query.where, scope, "WHERE")
    stages = Stages(scope, query.group_by)
    listed = [stages.taken(i.expression) for i in items]
    places = [_place(o, names) for o in query.order_by]
    ordered = [stages.taken(o.expression) if p is None else p for o, p in zip(query.order_by, places, strict=True)]
    having = stages.taken(query.having) if query.having is not None else None
    grouped = stages.grouped
    if grouped:
        listed = [stages.folded(n) for n in listed]
        ordered = [n if isinstance(n, int) else stages.folded(n) for n in ordered]
    group_scope = stages.group_scope()
    if having is not None:
        if not grouped:
            raise BindError("HAVING_WITHOUT_GROUP_BY", "HAVING needs GROUP BY.", span=having.span, hint="Use WHERE.")
        having = stages.folded(having)
        group_scope = stages.group_scope()
        require_boolean(having, group_scope, "HAVING")
    windows = tuple(stages.over(w) for w in stages.windows)
    group_scope = stages.group_scope()
    last = replace(
        group_scope,
        columns={**group_scope.columns, **{f"__w{n}": type_of(w, group_scope) for n, w in enumerate(windows)}},
    )
    types = [bind(n, last).type for n in listed]
    single = isinstance(origin, Table) and not grouped
    keys = _key_names(rows) if single and rows.kind is Kind.TABLE else set()
    columns = tuple(
        Column(
            name,
            type_,
            Role.KEY if isinstance(item.expression, ast.Name) and item.expression.name in keys else Role.VALUE,
        )
        for name, type_, item in zip(names, types, items, strict=True)
    )
    order = tuple(_order(o, n, last) for o, n in zip(query.order_by, ordered, strict=True))
    if single and not query.distinct and not order and (query.limit is not None or query.offset is not None):
        order = _by_key(rows, last)  # the first rows of a table are those of its first keys
    if query.distinct and any(not isinstance(o.by, int) for o in order):
        raise BindError("INVALID_DISTINCT", "SELECT DISTINCT is ordered by columns it selects.", span=query.span)
    return Shape(
        origin,
        scope,
        query.where,
        grouped,
        query.group_by,
        tuple(stages.calls),
        group_scope,
        having,
        windows,
        last,
        tuple(listed),
        columns,
        query.distinct,
        order,
        query.limit,
        query.offset,
        rows.schema.key[0].name if isinstance(origin, Table) and not rows.joined and rows.schema.key else None,
    )


def _key_names(rows: Rows) -> set[str]:
    return {c.name for c in rows.schema.key} | (set(WINDOW_BOUNDS) if rows.window else set())


def _place(item: ast.OrderItem, names: list[str]) -> int | None:
    """Which column of the result a sort key means, from 1, if it means one."""
    match item.expression:
        case ast.Literal(int(place)) if not isinstance(place, bool):
            if not 1 <= place <= len(names):
                raise BindError("INVALID_ORDER", f"There is no column {place} to order by.", span=item.span)
            return place
        case ast.Name(name, None) if name in names:
            return names.index(name) + 1
        case _:
            return None


def _order(item: ast.OrderItem, by: int | ast.Expression, scope: Scope) -> Ordered:
    if not isinstance(by, int):
        bind(by, scope)
    return Ordered(by, item.descending, item.descending if item.nulls_first is None else item.nulls_first)


def _by_key(rows: Rows, scope: Scope) -> tuple[Ordered, ...]:
    if rows.kind is Kind.STREAM:
        return ()
    names = [c.name for c in rows.schema.key if not contains_map(c.type)] + [n for n in WINDOW_BOUNDS if rows.window]
    return tuple(_order(ast.OrderItem(ast.Name(n)), ast.Name(n), scope) for n in names)


# ---- FROM ------------------------------------------------------------------------------------------------------


def _rows(query: ast.Query, context: Context, reads: list[Source]) -> tuple[Rows, From]:
    rows, origin = _input(query.source, context, reads)
    if not query.joins:
        return rows, origin
    aliases = [query.source.alias, *(j.right.alias for j in query.joins)]
    if len(set(aliases)) < len(aliases):
        hint = "Give one of them another name: source AS other."
        raise BindError("DUPLICATE_ALIAS", "A source is named twice.", span=query.span, hint=hint)
    rows, origin = _side(rows, origin, query.source.alias)
    for clause in query.joins:
        _refuse_stream(rows, clause)
        found, right = _input(clause.right, context, reads)
        _refuse_stream(found, clause)
        found, right = _side(found, right, clause.right.alias)
        columns = (*rows.columns, *found.columns)
        rows = replace(rows, columns=columns, keys=(), window=None, sources=(*rows.sources, *found.sources))
        scope = Scope.of(rows.row, "", "")
        on = canonical(clause.on, rows)
        require_boolean(on, scope, "ON")
        times = tuple(c.inside for c in columns if c.name == ROWTIME and c.pseudo)
        origin = Joined(origin, right, clause.type, on, scope, times)
    return rows, origin


def _refuse_stream(rows: Rows, clause: ast.JoinClause) -> None:
    if rows.kind is Kind.STREAM or clause.within is not None:
        raise BindError(
            "JOIN_OF_STREAM",
            "Pull queries join tables; a stream is read alone.",
            span=clause.span,
            hint="Let a CREATE TABLE AS make a table of the stream, or add EMIT CHANGES.",
        )


def _input(written: ast.From, context: Context, reads: list[Source]) -> tuple[Rows, From]:
    if isinstance(written.source, str):
        source = context.source(written.source, written.span)
        _refuse_unserved(source, written)
        reads.append(source)
        rows = rows_of(source, written.alias)
        kept = tuple(c for c in rows.columns if c.name not in NOT_KEPT)
        return replace(rows, columns=kept), Table(len(reads) - 1, source)
    inner = shape_of(written.source, context, reads)
    columns = tuple(InputColumn(written.alias, c.name, c.name, c.type) for c in inner.columns)
    rows = Rows(Scan(reads[-1]), columns, Kind.TABLE, None, (), (reads[-1],))
    return rows, Derived(len(reads), inner)


def _refuse_unserved(source: Source, written: ast.From) -> None:
    if source.kind is Kind.STREAM or source.is_served:
        return
    name = source.name
    raise BindError(
        "NOT_MATERIALISED",
        f"The {name} table isn't queryable: nothing keeps its rows.",
        span=written.span,
        hint=f"Keep them: CREATE TABLE QUERYABLE_{name} AS SELECT * FROM {name}; or declare it as SOURCE TABLE.",
    )


def _side(rows: Rows, origin: From, alias: str) -> tuple[Rows, From]:
    """One side of a join: each column behind its alias."""
    has_time = any(c.name == ROWTIME for c in rows.columns)
    side = renamed(rows, alias)
    columns = side.columns if has_time else tuple(c for c in side.columns if c.name != ROWTIME)
    assert not isinstance(origin, Joined)
    names = tuple((c.name, c.inside) for c in columns)
    return replace(side, columns=columns, keys=()), replace(origin, names=names)


def _canonical(query: ast.Query, rows: Rows) -> ast.Query:
    if not rows.joined:
        return query
    out = {i.alias for i in query.items if i.alias}

    def ordering(item: ast.OrderItem) -> ast.OrderItem:
        named = isinstance(item.expression, ast.Name) and item.expression.name in out
        return item if named else replace(item, expression=canonical(item.expression, rows))

    return replace(
        query,
        items=tuple(select_items(query, rows)),
        where=canonical(query.where, rows) if query.where else None,
        group_by=tuple(canonical(g, rows) for g in query.group_by),
        having=canonical(query.having, rows) if query.having else None,
        order_by=tuple(map(ordering, query.order_by)),
    )

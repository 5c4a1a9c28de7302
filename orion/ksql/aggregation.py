"""GROUP BY: which expressions are keys, which are aggregates, and the window they are folded in."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.aggregate_calls import bound_call
from orion.ksql.bind import bind, function_of, require_boolean
from orion.ksql.context import Context
from orion.ksql.functions import functions
from orion.ksql.inputs import Rows
from orion.ksql.late_rows import default_grace_ms
from orion.ksql.projection import check_columns, identity, key_items, keys_first, names_of
from orion.ksql.scope import Scope
from orion.ksql.walk import contains_aggregate, is_aggregate, rewrite, walk
from orion.plan.relations import Aggregate, AggregateCall, Expr, Named, Relation
from orion.plan.sources import WINDOW_BOUNDS, Kind, Window, WindowKind
from orion.schema import Column, Role, Schema, SqlType, quote


def aggregate(
    query: ast.Query,
    items: list[ast.SelectItem],
    relation: Relation,
    rows: Rows,
    scope: Scope,
    context: Context,
    *,
    transient: bool,
) -> tuple[Relation, Schema, Window | None]:
    """The folded relation, its output columns, and the window its keys carry."""
    _refuse(query, rows)
    names = names_of(items, rows.schema.names)
    keys = [] if transient else key_items([(g,) for g in query.group_by], items, scope)
    folding = Folding(scope, [(g, bind(g, scope)) for g in query.group_by], rows, context.properties)
    window = window_of(query.window)
    having = folding.condition(query.having, window) if query.having is not None else None
    out = tuple(Named(name, folding.item(i.expression, window)) for name, i in zip(names, items, strict=True))
    calls = tuple(folding.calls)
    if not calls and not transient:
        raise BindError(
            "NO_AGGREGATE",
            "GROUP BY requires aggregate functions in either the SELECT or HAVING clause.",
            span=query.span,
        )
    columns = tuple(Column(n.name, n.expr.type, Role.KEY if at in keys else Role.VALUE) for at, n in enumerate(out))
    if transient:
        schema = Schema(columns)
    else:
        check_columns(columns, items, query)
        schema = keys_first(columns, [names[at] for at in keys])
    folded = Aggregate(
        relation,
        folding.key_columns(),
        calls,
        window,
        having,
        out,
        of_table=_table_key(rows, calls, query) if rows.kind is Kind.TABLE else (),
        final=query.emit is ast.Emit.FINAL,
        each=context.properties.get("cache.max.bytes.buffering") == "0",
    )
    return folded, schema, window


def _refuse(query: ast.Query, rows: Rows) -> None:
    if query.partition_by:
        raise BindError("PARTITION_BY_WITH_GROUP_BY", "PARTITION BY and GROUP BY exclude each other.", span=query.span)
    for group in query.group_by:
        if contains_aggregate(group):
            raise BindError("AGGREGATE_NOT_HERE", "GROUP BY can't hold an aggregate.", span=group.span)
    if rows.kind is Kind.TABLE and query.window is not None:
        raise BindError("WINDOW_OF_TABLE", "WINDOW clause is only supported for streams.", span=query.window.span)
    if query.distinct:
        raise BindError("INVALID_DISTINCT", "DISTINCT and GROUP BY exclude each other.", span=query.span)


def _table_key(rows: Rows, calls: tuple[AggregateCall, ...], query: ast.Query) -> tuple[Expr, ...]:
    """The key of the rows that are folded: by it their changes take back what they gave."""
    once = [c.function for c in calls if (fold := functions()[c.function].fold) and fold.undo is None]
    if once:
        raise BindError(
            "AGGREGATE_OF_TABLE",
            f"The aggregation function(s) ({', '.join(once)}) cannot be applied to a table source, only to a stream "
            "source.",
            span=query.span,
            hint="What they have taken in can't be taken back when a row changes.",
        )
    bounds = WINDOW_BOUNDS.items() if rows.window else ()
    return (*rows.key, *(Expr(quote(n), t, n) for n, t in bounds))


def window_of(clause: ast.WindowClause | None) -> Window | None:
    if clause is None:
        return None
    advance = clause.size_ms if clause.advance_ms is None else clause.advance_ms
    if clause.size_ms <= 0 or advance <= 0:
        raise BindError("INVALID_WINDOW", "A window's size and advance must be above zero.", span=clause.span)
    if advance > clause.size_ms:
        raise BindError("INVALID_WINDOW", "ADVANCE BY can't be more than SIZE.", span=clause.span)
    kept = clause.size_ms + (clause.grace_ms or 0)
    if clause.retention_ms is not None and clause.retention_ms < kept:
        raise BindError("INVALID_WINDOW", "RETENTION must be at least SIZE plus GRACE PERIOD.", span=clause.span)
    grace = default_grace_ms(clause.size_ms) if clause.grace_ms is None else clause.grace_ms
    return Window(WindowKind(clause.kind), clause.size_ms, advance, grace)


def _call_text(call: AggregateCall) -> str:
    arguments = [a.text for a in call.args] + [repr(p) for p in call.parameters]
    return f"{call.function}({', '.join(arguments) or '*'})"


@dataclass
class Folding:
    """Collects the aggregates of one query while its expressions are bound over the folded columns."""

    scope: Scope
    groups: list[tuple[ast.Expression, Expr]]
    source: Rows
    properties: Mapping[str, str] = field(default_factory=dict)
    calls: list[AggregateCall] = field(default_factory=list)
    _seen: dict[ast.Expression, str] = field(default_factory=dict)
    _columns: dict[str, SqlType] = field(init=False)  # of the folded rows
    _places: dict[ast.Expression, int] = field(init=False)  # of the groups

    def __post_init__(self) -> None:
        self._columns = {f"__k{at}": expr.type for at, (_, expr) in enumerate(self.groups)}
        self._places = {identity(group): at for at, (group, _) in reversed(list(enumerate(self.groups)))}

    def key_columns(self) -> tuple[Named, ...]:
        return tuple(Named(f"__k{at}", expr) for at, (_, expr) in enumerate(self.groups))

    def item(self, node: ast.Expression, window: Window | None) -> Expr:
        over = self._over_folded(node, window)
        return self._shown(bind(over, self._scope(window)))

    def condition(self, node: ast.Expression, window: Window | None) -> Expr:
        over = self._over_folded(node, window)
        return self._shown(require_boolean(over, self._scope(window), "HAVING"))

    def _shown(self, expr: Expr) -> Expr:
        """The expression with what the folded columns stand for in its text, as it was written."""

        def written(found: re.Match[str]) -> str:
            at = int(found[2])
            return self.groups[at][1].text if found[1] == "k" else _call_text(self.calls[at])

        return replace(expr, text=re.sub(r"__([ka])(\d+)", written, expr.text))

    def _scope(self, window: Window | None) -> Scope:
        return Scope(ChainMap(self._columns, dict(WINDOW_BOUNDS)) if window else self._columns)

    def _over_folded(self, node: ast.Expression, window: Window | None) -> ast.Expression:
        """The expression with groups and aggregates replaced by the columns that hold them."""

        def change(inner: ast.Expression) -> ast.Expression | None:
            at = self._places.get(identity(inner))
            if at is not None:
                return ast.Name(f"__k{at}", span=inner.span)
            if is_aggregate(inner):
                assert isinstance(inner, ast.Call)
                return ast.Name(self._call(inner), span=inner.span)
            if isinstance(inner, ast.Name) and inner.name in WINDOW_BOUNDS and window:
                return ast.Name(inner.name, span=inner.span)  # the window's own, whatever source stands before it
            return None

        folded = rewrite(node, change)
        self._refuse_ungrouped(folded, self._scope(window).columns)
        return folded

    def _refuse_ungrouped(self, folded: ast.Expression, known: Container[str]) -> None:
        for inner in walk(folded):
            # An unknown function or column is that, first of all.
            if isinstance(inner, ast.Call):
                function_of(inner)
            if isinstance(inner, ast.Name) and inner.name not in known:
                self.scope.resolve(inner)
                raise BindError(
                    "NOT_GROUPED",
                    f"{inner} is neither grouped by nor inside an aggregate.",
                    span=inner.span,
                    hint=f"Add it to GROUP BY, or use e.g. LATEST_BY_OFFSET({inner.name}).",
                )

    def _call(self, node: ast.Call) -> str:
        if node in self._seen:
            return self._seen[node]
        for arg in node.args:
            if contains_aggregate(arg):
                raise BindError("NESTED_AGGREGATE", "An aggregate can't hold another one.", span=arg.span)
        name = f"__a{len(self.calls)}"
        self.calls.append(self._bound_call(node, name))
        self._columns[name] = self.calls[-1].type
        self._seen[node] = name
        return name

    def _bound_call(self, node: ast.Call, name: str) -> AggregateCall:
        return bound_call(
            node,
            name,
            self.scope,
            value_format=self.source.first.value.format,
            properties=self.properties,
        )

"""JOIN: which kind it is, what its sides are equal in, and what key its rows have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.bind import bind
from orion.ksql.inputs import Rows, canonical, synthetic_name
from orion.ksql.late_rows import default_grace_ms
from orion.ksql.scope import Scope
from orion.ksql.walk import walk
from orion.plan.relations import Expr, Join, JoinKind, JoinType, Named, Project, Side, Within
from orion.plan.sources import WINDOW_BOUNDS, WINDOWEND, WINDOWSTART, Kind, WindowKind
from orion.schema import quote

# How long a stream-stream join without GRACE PERIOD waits for late rows.


def join(left: Rows, right: Rows, clause: ast.JoinClause) -> Rows:
    both = _side_by_side(left, right)
    pairs = [_pair(left, right, both, condition) for condition in _conditions(clause.on)]
    kind = _kind(left, right, clause, pairs)
    type_ = JoinType(clause.type)
    within = _within(clause, kind)
    _check_windowed(left, right, pairs, clause)
    pairs += _window_pairs(left, right, clause)
    names, key, synthetic = _key(left, right, pairs, kind, type_)
    left_side = Side(left.relation, _columns(left), tuple(_held(left, pair[0]) for pair in pairs))
    right_side = Side(right.relation, _columns(right), tuple(pair[1] for pair in pairs))
    foreign = kind is JoinKind.FOREIGN_KEY
    relation = Join(left_side, right_side, kind, type_, within, key, left.key if foreign else ())
    return Rows(
        Project(relation, _carried(both, key, left)) if left.window else relation,
        both.columns,
        left.kind,
        left.window if not foreign else None,
        names,
        (*left.sources, *right.sources),
        joined=True,
        synthetic=synthetic,
        made=tuple(k.name for k in key[: len(names)]),
    )


def _side_by_side(left: Rows, right: Rows) -> Rows:
    return Rows(
        left.relation,
        (*left.columns, *right.columns),
        left.kind,
        None,
        (),
        left.sources,
        joined=True,
        synthetic=left.synthetic,
    )


def _columns(rows: Rows) -> tuple[Named, ...]:
    own = tuple(Named(c.inside, Expr(quote(c.inside), c.type, c.inside)) for c in rows.columns)
    return (*(Named(n.name, Expr(quote(n.name), n.expr.type, n.name)) for n in rows.synthetic), *own)


def _carried(both: Rows, key: tuple[Named, ...], left: Rows) -> tuple[Named, ...]:
    """All columns, and the window that the rows' keys carry."""
    alias = left.columns[0].alias
    bounds = (Named(n, Expr(quote(f"{alias}.{n}"), t, n)) for n, t in WINDOW_BOUNDS.items())
    own = tuple(Named(c.inside, Expr(quote(c.inside), c.type, c.inside)) for c in both.columns)
    return (*(Named(k.name, Expr(quote(k.name), k.expr.type, k.name)) for k in key), *own, *bounds)


def _held(rows: Rows, expr: Expr) -> Expr:
    """The expression; where it is the key of a join, the key itself, which is there even where its side has no row."""
    for names, key in zip(rows.keys, rows.key, strict=True):
        if expr.spark in {quote(n) for n in names}:
            return replace(expr, spark=key.spark)
    return expr


def _conditions(node: ast.Expression) -> Iterator[ast.Expression]:
    if isinstance(node, ast.Binary) and node.op == "AND":
        yield from _conditions(node.left)
        yield from _conditions(node.right)
    else:
        yield node


def _pair(left: Rows, right: Rows, both: Rows, node: ast.Expression) -> tuple[Expr, Expr]:
    """The two expressions of one condition, the left input's first."""
    if not isinstance(node, ast.Binary) or node.op != "=":
        raise BindError(
            "INVALID_JOIN",
            "A join condition compares an expression of one side with one of the other by =.",
            span=node.span,
            hint="Other conditions belong into WHERE.",
        )
    sides = [canonical(n, both) for n in (node.left, node.right)]
    of = [_side_of(n, left, right, node) for n in sides]
    if of[0] == of[1]:
        raise BindError("INVALID_JOIN", "Both sides of the condition belong to the same source.", span=node.span)
    if of[0] == "right":
        sides.reverse()
    first, second = bind(sides[0], _scope(left)), bind(sides[1], _scope(right))
    if first.type != second.type:
        raise BindError(
            "INVALID_JOIN",
            f"The sides of a join condition must have one type: {first.text} is {first.type}, "
            f"{second.text} is {second.type}.",
            span=node.span,
            hint="CAST one of them.",
        )
    return first, second


def _scope(rows: Rows) -> Scope:
    return Scope.of(rows.row, "", "")


def _side_of(node: ast.Expression, left: Rows, right: Rows, condition: ast.Expression) -> str:
    names = {n.name for n in walk(node) if isinstance(n, ast.Name)}
    on_left = names & {c.name for c in left.row}
    on_right = names & {c.name for c in right.row}
    if on_left and on_right:
        raise BindError("INVALID_JOIN", "One side of the condition names columns of both sources.", span=condition.span)
    if not on_left and not on_right:
        raise BindError("INVALID_JOIN", "One side of the condition names no column.", span=condition.span)
    return "left" if on_left else "right"


def _kind(left: Rows, right: Rows, clause: ast.JoinClause, pairs: list[tuple[Expr, Expr]]) -> JoinKind:
    if left.kind is Kind.STREAM and right.kind is Kind.STREAM:
        return JoinKind.STREAM_STREAM
    if left.kind is Kind.TABLE and right.kind is Kind.STREAM:
        raise BindError(
            "INVALID_JOIN",
            "Invalid join order: table-stream joins are not supported; only stream-table joins.",
            span=clause.span,
            hint="Write the stream first.",
        )
    if left.kind is Kind.STREAM and clause.type in ("RIGHT", "FULL"):
        raise BindError(
            "INVALID_JOIN",
            f"Invalid join type: {clause.type} OUTER between a stream and a table.",
            span=clause.span,
            hint="INNER and LEFT joins are possible.",
        )
    compared = " AND ".join(f"{first.text} = {second.text}" for first, second in pairs)
    if not _is_key(right, [second for _, second in pairs]):
        raise BindError(
            "INVALID_JOIN",
            f"Invalid join condition: {left.kind.lower()}-table joins require to join on the primary key of the right "
            f"input table. Got {compared}.",
            span=clause.on.span,
        )
    if left.kind is Kind.STREAM:
        return JoinKind.STREAM_TABLE
    if _is_key(left, [first for first, _ in pairs]):
        return JoinKind.TABLE_TABLE
    if clause.type not in ("INNER", "LEFT"):
        raise BindError(
            "INVALID_JOIN",
            f"Invalid join type: {clause.type} OUTER join over a foreign key is not supported.",
            span=clause.span,
        )
    if left.window or right.window:
        raise BindError("INVALID_JOIN", "A foreign-key join of windowed tables is not possible.", span=clause.span)
    return JoinKind.FOREIGN_KEY


def _is_key(rows: Rows, given: list[Expr]) -> bool:
    """Whether the expressions are the rows' key, all of it."""
    texts = {e.spark for e in given}
    return len(texts) == len(rows.keys) and all(texts & {quote(n) for n in names} for names in rows.keys)


def _within(clause: ast.JoinClause, kind: JoinKind) -> Within | None:
    if kind is not JoinKind.STREAM_STREAM:
        if clause.within is not None:
            raise BindError(
                "INVALID_JOIN", f"A {kind.lower()} join has no WITHIN: tables hold what is there now.", span=clause.span
            )
        return None
    if clause.within is None:
        raise BindError(
            "INVALID_JOIN",
            "A stream-stream join must have a WITHIN clause.",
            span=clause.span,
            hint="For example: ... JOIN b WITHIN 1 HOUR ON a.id = b.id",
        )
    written = clause.within
    grace = default_grace_ms(2 * written.before_ms) if written.grace_ms is None else written.grace_ms
    return Within(written.before_ms, written.after_ms, grace, written.grace_ms is not None)


def _check_windowed(left: Rows, right: Rows, pairs: list[tuple[Expr, Expr]], clause: ast.JoinClause) -> None:
    """Windows stand in keys: rows that are moved under another key would lose theirs."""
    for side, (rows, alias) in enumerate(((left, "left"), (right, "right"))):
        if rows.window is not None and not _is_key(rows, [pair[side] for pair in pairs]):
            raise BindError(
                "INVALID_JOIN",
                f"The {alias} source is windowed, and is joined by something else than its key.",
                span=clause.on.span,
                hint="Windowed sources can't be repartitioned: join by the key.",
            )


def _window_pairs(left: Rows, right: Rows, clause: ast.JoinClause) -> list[tuple[Expr, Expr]]:
    """Rows with a window in their keys are equal only in the same window."""
    if left.window is None and right.window is None:
        return []
    one_session = [r.window is not None and r.window.kind is WindowKind.SESSION for r in (left, right)]
    if left.window is None or right.window is None or one_session[0] != one_session[1]:
        raise BindError(
            "INVALID_JOIN",
            "A windowed source joins only with another that has windows of the same kind.",
            span=clause.span,
        )
    names = (WINDOWSTART, WINDOWEND) if one_session[0] else (WINDOWSTART,)
    aliases = left.columns[0].alias, right.columns[0].alias
    pairs = []
    for name in names:
        type_ = WINDOW_BOUNDS[name]
        first, second = (Expr(quote(f"{alias}.{name}"), type_, f"{alias}.{name}") for alias in aliases)
        pairs.append((first, second))
    return pairs


def _key(
    left: Rows, right: Rows, pairs: list[tuple[Expr, Expr]], kind: JoinKind, type_: JoinType
) -> tuple[tuple[tuple[str, ...], ...], tuple[Named, ...], tuple[Named, ...]]:
    """For each key column the names it goes by; the key as the join makes it; what of it is no source's column."""
    if kind is JoinKind.FOREIGN_KEY:
        return left.keys, tuple(Named(f"__on{at}", k) for at, k in enumerate(left.key)), left.synthetic
    insides = {quote(c.name): c.name for c in (*left.row, *right.row)}
    names: list[tuple[str, ...]] = []
    key_columns: list[Named] = []
    synthetic: list[Named] = []
    for at, (first, second) in enumerate(pairs):
        bounds = first.text.endswith((f".{WINDOWSTART}", f".{WINDOWEND}"))
        found = [insides[e.spark] for e in (first, second) if e.spark in insides]
        if bounds:
            key_columns.append(Named(f"__on{at}", first))
            continue
        if type_ is JoinType.FULL or not found:
            name = synthetic_name((left, right), synthetic)
            made = Named(name, Expr(quote(name), first.type, name))
            key_columns.append(made)
            synthetic.append(made)
            names.append((made.name,))
            continue
        alike = [n for e in found for group in (*left.keys, *right.keys) if e in group for n in group]
        names.append(tuple(dict.fromkeys([*found, *alike])))
        key_columns.append(Named(f"__on{at}", first))
    kept = [n for n in left.synthetic if any(n.name in group for group in names)]
    return tuple(names), tuple(key_columns), (*kept, *synthetic)

"""A pull query as SQL: one text a dialect, from the same shape."""

from __future__ import annotations

from orion.ksql import ast
from orion.ksql.context import Context
from orion.ksql.pull.dialects import Dialect, InDuckDb, InSpark
from orion.ksql.pull.duckdb import Foreign
from orion.ksql.pull.scans import check, parts
from orion.ksql.pull.shape import Derived, From, Joined, Ordered, Shape, Table, shape_of
from orion.ksql.scope import Scope
from orion.ksql.walk import is_aggregate, walk
from orion.plan.sources import ROWTIME, Kind, Source
from orion.plan.steps import Parameter, Pull
from orion.schema import PLAIN


def pulled(query: ast.Query, context: Context) -> Pull:
    """The plan of a SELECT without EMIT."""
    reads: list[Source] = []
    shape = shape_of(query, context, reads)
    check(shape, context.properties)
    spark = _select(shape, InSpark())
    if any(source.kind is Kind.STREAM for source in reads):
        return Pull(shape.columns, tuple(reads), None, spark, why="a stream's records are read from its topic")
    dialect = InDuckDb()
    try:
        text = _select(shape, dialect)
    except Foreign as missing:
        condition, parameters = _fetched(shape)
        why = f"DuckDB has no equal for {missing}"
        return Pull(shape.columns, tuple(reads), None, spark, parameters, fetched=condition, why=why)
    found = _lookup(shape)
    parameters = tuple(dialect.writer.parameters)
    # What WHERE says of the key is written first.
    is_lookup = found is not None and bool(parameters) and _holds(found[0], parameters[0].at)
    key, row = (shape.key, _row(shape, found[1])) if found is not None else (None, None)
    return Pull(
        shape.columns,
        tuple(reads),
        text,
        spark,
        parameters,
        key=key,
        is_lookup=is_lookup,
        row=row if is_lookup else None,
    )


def _row(shape: Shape, others: list[ast.Expression]) -> tuple[str, ...] | None:
    """The columns of the one row under a key, where a look-up wants these and nothing else is to be done."""
    if not isinstance(shape.rows, Table) or shape.rows.source.window or len(shape.rows.source.schema.key) != 1:
        return None
    if others or shape.grouped or shape.windows or shape.distinct or shape.limit is not None or shape.offset:
        return None
    names = tuple(item.name for item in shape.items if isinstance(item, ast.Name))
    kept = {*shape.rows.source.schema.names, ROWTIME}
    plain = len(names) == len(shape.items) and all(column.type in PLAIN for column in shape.columns)
    return names if plain and kept.issuperset(names) else None


def _fetched(shape: Shape) -> tuple[str | None, tuple[Parameter, ...]]:
    """The parts of WHERE that DuckDB can judge, of a query on one table."""
    if shape.where is None or not isinstance(shape.rows, Table):
        return None, ()
    dialect, conditions = InDuckDb(), []
    for part in parts(shape.where, "AND"):
        known = len(dialect.writer.parameters)
        try:
            conditions.append(dialect.expression(part, shape.scope, condition=True))
        except Foreign:
            del dialect.writer.parameters[known:]
    return " AND ".join(conditions) or None, tuple(dialect.writer.parameters)


def _holds(node: ast.Expression, at: int) -> bool:
    return any(isinstance(inner, ast.Literal) and inner.span.start == at for inner in walk(node))


def _select(shape: Shape, d: Dialect) -> str:
    rows = f"FROM {_rows(shape, d)}"
    if shape.grouped:
        rows = f"FROM ({_grouped(shape, d, rows)}) AS __g"
        if shape.having is not None:
            rows += f" WHERE {d.expression(shape.having, shape.group_scope, condition=True)}"
    if shape.windows:
        made = ", ".join(f"{_over(w, shape.group_scope, d)} AS __w{n}" for n, w in enumerate(shape.windows))
        rows = f"FROM (SELECT *, {made} {rows}) AS __v"
    items = [
        f"{d.expression(node, shape.last_scope)} AS {d.name(column.name)}"
        for node, column in zip(shape.items, shape.columns, strict=True)
    ]
    hidden = [(n, o.by) for n, o in enumerate(shape.order_by) if not isinstance(o.by, int)]
    items += [f"{d.expression(node, shape.last_scope)} AS __o{n}" for n, node in hidden]
    text = f"SELECT {'DISTINCT ' if shape.distinct else ''}{', '.join(items)} {rows}"
    if hidden:
        names = ", ".join(d.name(c.name) for c in shape.columns)
        text = f"SELECT {names} FROM ({text}) AS __s"
    if shape.order_by:
        text += f" ORDER BY {', '.join(_sorted(o, n) for n, o in enumerate(shape.order_by))}"
    if shape.limit is not None:
        text += f" LIMIT {shape.limit}"
    return text if shape.offset is None else f"{text} OFFSET {shape.offset}"


def _sorted(key: Ordered, at: int) -> str:
    by = str(key.by) if isinstance(key.by, int) else f"__o{at}"
    return f"{by} {'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _grouped(shape: Shape, d: Dialect, rows: str) -> str:
    keys = [f"{d.expression(g, shape.scope)} AS __k{n}" for n, g in enumerate(shape.groups)]
    calls = [f"{d.aggregate(c, shape.scope)} AS __a{n}" for n, c in enumerate(shape.calls)]
    by = ", ".join(str(n + 1) for n in range(len(keys)))
    return f"SELECT {', '.join([*keys, *calls]) or '1 AS __one'} {rows}" + (f" GROUP BY {by}" if keys else "")


def _over(window: ast.Over, scope: Scope, d: Dialect) -> str:
    call = window.call
    if is_aggregate(call):
        made = d.aggregate(call, scope)
        # What is around an aggregate (a cast, a coalesce) can't stand between it and its OVER.
        return _with_over(made, _window(window, scope, d))
    args = ", ".join(d.expression(a, scope) for a in call.args)
    return f"{call.name.lower()}({args}) OVER ({_window(window, scope, d)})"


def _with_over(text: str, window: str) -> str:
    """The OVER behind the innermost call of an aggregate, such as the sum of CAST(coalesce(sum(x), 0) AS INT)."""
    for name in ("count", "sum", "avg", "min", "max"):
        at = text.find(f"{name}(")
        if at < 0 or (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
            continue
        depth, end = 0, at
        for end in range(at, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0 and text[end] == ")":
                break
        return f"{text[: end + 1]} OVER ({window}){text[end + 1 :]}"
    raise Foreign("this aggregate OVER a window")


def _window(window: ast.Over, scope: Scope, d: Dialect) -> str:
    parts = []
    if window.partition_by:
        parts.append(f"PARTITION BY {', '.join(d.expression(p, scope) for p in window.partition_by)}")
    if window.order_by:
        parts.append(f"ORDER BY {', '.join(_sort_key(o, scope, d) for o in window.order_by)}")
    return " ".join([*parts, *([window.frame] if window.frame else [])])


def _sort_key(item: ast.OrderItem, scope: Scope, d: Dialect) -> str:
    nulls_first = item.descending if item.nulls_first is None else item.nulls_first
    way = f"{'DESC' if item.descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
    return f"{d.expression(item.expression, scope)} {way}"


# ---- FROM and WHERE ----------------------------------------------------------------------------------------------


def _rows(shape: Shape, d: Dialect) -> str:
    """What FROM and WHERE give."""
    if shape.where is None:
        return _from(shape.rows, d)
    found = _lookup(shape)
    if found is None or not isinstance(shape.rows, Table):
        return f"{_from(shape.rows, d)} WHERE {d.expression(shape.where, shape.scope, condition=True)}"
    conjunct, others = found
    first = d.expression(conjunct, shape.scope, condition=True)
    table = d.table(shape.rows.at, shape.rows.source)
    if not others:
        return f"{table} WHERE {first}"
    rest = " AND ".join(d.expression(o, shape.scope, condition=True) for o in others)
    return f"{d.looked_up(table, first)} AS __l WHERE {rest}"


def _lookup(shape: Shape) -> tuple[ast.Expression, list[ast.Expression]] | None:
    """The part of WHERE that says which key, and the others; None where the query is no look-up."""
    if shape.key is None or shape.where is None:
        return None
    found = list(parts(shape.where, "AND"))
    for part in found:
        if isinstance(part, ast.Binary) and part.op == "=":
            sides = (part.left, part.right)
            named = any(isinstance(s, ast.Name) and s.name == shape.key for s in sides)
            if named and any(isinstance(s, ast.Literal) for s in sides):
                return part, [p for p in found if p is not part]
    return None


def _from(rows: From, d: Dialect) -> str:
    match rows:
        case Table(at, source, names):
            table = d.table(at, source)
            return table if not names else f"(SELECT {_renamed(names, d)} FROM {table}) AS __j{at}"
        case Derived(at, shape, names):
            inner = f"({_select(shape, d)}) AS __d{at}"
            return inner if not names else f"(SELECT {_renamed(names, d)} FROM {inner}) AS __e{at}"
        case Joined(left, right, type_, on, scope, times):
            condition = d.expression(on, scope, condition=True)
            both = f"{_from(left, d)} {type_} JOIN {_from(right, d)} ON {condition}"
            if not times:
                return f"(SELECT * FROM {both}) AS __f"
            latest = ", ".join(d.name(t) for t in times)
            time = f"greatest({latest})" if len(times) > 1 else latest
            return f"(SELECT *, {time} AS {d.name(ROWTIME)} FROM {both}) AS __f"


def _renamed(names: tuple[tuple[str, str], ...], d: Dialect) -> str:
    return ", ".join(f"{d.name(name)} AS {d.name(inside)}" for name, inside in names)

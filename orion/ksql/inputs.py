"""FROM: the rows a query works on. Of one source they are its own; joins make them of several.

A column of a join is known inside of the plan as `ALIAS.NAME`. The rest of the compiler sees one source with such
columns: `canonical` rewrites what people wrote into those names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count

from orion.errors import BindError, hint_nearest
from orion.ksql import ast
from orion.ksql.walk import rewrite
from orion.plan.relations import Expr, Named, Project, Relation, Scan
from orion.plan.sources import PSEUDO, ROWTIME, WINDOW_BOUNDS, Kind, Source, Window
from orion.schema import Column, Role, Schema, SqlType, quote


@dataclass(frozen=True)
class InputColumn:
    alias: str
    name: str
    inside: str  # its name inside of the plan
    type: SqlType
    role: Role = Role.VALUE
    pseudo: bool = False


@dataclass(frozen=True)
class Rows:
    """What FROM gives. `keys` are, for each column of the rows' key, the columns that hold it, the preferred first."""

    relation: Relation
    columns: tuple[InputColumn, ...]
    kind: Kind
    window: Window | None
    keys: tuple[tuple[str, ...], ...]
    sources: tuple[Source, ...]
    joined: bool = False
    synthetic: tuple[Named, ...] = ()  # key columns that no source has
    made: tuple[str, ...] = ()  # of a join: the columns that hold its rows' key, even where a side has no row

    @cached_property
    def schema(self) -> Schema:
        """The rows' own columns under their names inside of the plan, the key's first."""
        keys = {names[0] for names in self.keys}
        own = [c for c in self.columns if not c.pseudo]
        made = [Column(n.name, n.expr.type, Role.KEY) for n in self.synthetic]
        roles = {c.inside: Role.KEY if c.inside in keys else Role.VALUE if c.role is Role.KEY else c.role for c in own}
        columns = [*made, *(Column(c.inside, c.type, roles[c.inside]) for c in own)]
        return Schema(tuple(sorted(columns, key=lambda c: c.role is not Role.KEY)))

    @property
    def row(self) -> Schema:
        """All that an expression may name."""
        columns = [*self.schema.columns, *(Column(c.inside, c.type) for c in self.columns if c.pseudo)]
        if self.joined:
            columns.append(Column(ROWTIME, PSEUDO[ROWTIME]))
            if self.window:
                columns += [Column(n, t) for n, t in WINDOW_BOUNDS.items()]
        return Schema(tuple(columns))

    @property
    def key(self) -> tuple[Expr, ...]:
        """The rows' key. Of a join it is the join's own: a column that stands for it may be of a side without a row."""
        types = {c.name: c.type for c in self.row}
        held = self.made or tuple(names[0] for names in self.keys)
        return tuple(Expr(quote(h), types[n[0]], n[0]) for h, n in zip(held, self.keys, strict=True))

    @property
    def first(self) -> Source:
        """The source whose formats a result has, unless the statement says otherwise."""
        return self.sources[0]

    @property
    def aliases(self) -> list[str]:
        return list(dict.fromkeys(c.alias for c in self.columns))


def rows_of(source: Source, alias: str) -> Rows:
    """One source by itself: columns have their own names."""
    own = {c.name for c in source.schema}
    columns = tuple(InputColumn(alias, c.name, c.name, c.type, c.role, c.name not in own) for c in source.row)
    keys = tuple((c.name,) for c in source.schema.key)
    return Rows(Scan(source), columns, source.kind, source.window, keys, (source,))


def renamed(rows: Rows, alias: str) -> Rows:
    """The rows as one side of a join: each column behind its alias."""
    columns = tuple(replace(c, alias=alias, inside=f"{alias}.{c.name}") for c in rows.columns)
    if not any(c.name == ROWTIME for c in columns):
        columns = (*columns, InputColumn(alias, ROWTIME, f"{alias}.{ROWTIME}", PSEUDO[ROWTIME], pseudo=True))
    items = tuple(Named(c.inside, Expr(quote(c.name), c.type, f"{alias}.{c.name}")) for c in columns)
    keys = tuple((f"{alias}.{names[0]}",) for names in rows.keys)
    return replace(rows, relation=Project(rows.relation, items), columns=columns, keys=keys, joined=True)


def column_of(name: ast.Name, rows: Rows) -> InputColumn | None:
    """The column a name means in a join; None where it is none of the inputs' (a key that the join makes, ROWTIME)."""
    if name.source is not None and name.source not in rows.aliases:
        raise BindError(
            "UNKNOWN_SOURCE",
            f"{name.source} is not a source of this query.",
            span=name.span,
            hint=hint_nearest(name.source, rows.aliases) or f"Sources are {', '.join(rows.aliases)}.",
        )
    found = [c for c in rows.columns if c.name == name.name and name.source in (None, c.alias)]
    if name.source is None and any(c.pseudo for c in found):
        return None
    if len(found) > 1:
        shown = " or ".join(f"{c.alias}.{c.name}" for c in found)
        raise BindError(
            "AMBIGUOUS_COLUMN",
            f"Column {name.name} is ambiguous: it could be {shown}.",
            span=name.span,
            hint="Write which.",
        )
    if found:
        return found[0]
    if name.source is not None or not any(n.name == name.name for n in rows.synthetic):
        known = [f"{c.alias}.{c.name}" for c in rows.columns]
        if name.source is None and name.name in (*PSEUDO, *WINDOW_BOUNDS):
            return None
        shown = f"{name.source}.{name.name}" if name.source else name.name
        raise BindError(
            "UNKNOWN_COLUMN", f"There is no column {shown}.", span=name.span, hint=hint_nearest(shown, known)
        )
    return None


def canonical(node: ast.Expression, rows: Rows) -> ast.Expression:
    """The expression with every column under its name inside of the plan."""
    if not rows.joined:
        return node

    def change(inner: ast.Expression) -> ast.Expression | None:
        match inner:
            case ast.Name():
                column = column_of(inner, rows)
                return replace(inner, name=column.inside, source=None) if column else inner
            case ast.Lambda(params, body):
                hidden = replace(rows, columns=tuple(c for c in rows.columns if c.name not in params))
                known = {p: InputColumn("", p, p, PSEUDO[ROWTIME], pseudo=True) for p in params}
                hidden = replace(hidden, columns=(*hidden.columns, *known.values()))
                return replace(inner, body=canonical(body, hidden))
            case _:
                return None

    return rewrite(node, change)


def select_items(query: ast.Query, rows: Rows) -> list[ast.SelectItem]:
    """The SELECT list of a join: stars opened, columns canonical, each with the name it has in the result.

    A star's columns are all named ALIAS_NAME; one that was written out only where several sources have such a name.
    """
    opened: list[ast.SelectItem] = []
    for item in query.items:
        match item.expression:
            case ast.Star(qualifier):
                if qualifier is not None and qualifier not in rows.aliases:
                    raise BindError("UNKNOWN_SOURCE", f"{qualifier} is not a source of this query.", span=item.span)
                opened += _opened(item, qualifier, rows)
            case ast.Name():
                opened.append(_named(item, item.expression, rows))
            case _:
                opened.append(replace(item, expression=canonical(item.expression, rows)))
    return opened


def _opened(item: ast.SelectItem, qualifier: str | None, rows: Rows) -> list[ast.SelectItem]:
    made = [ast.SelectItem(ast.Name(n.name, span=item.span), n.name, span=item.span) for n in rows.synthetic]
    columns = [c for c in rows.columns if qualifier in (None, c.alias) and (not c.pseudo or _is_bound(c))]
    # Each source's window is shown behind its key; sorting leaves the sources and their columns in order otherwise.
    ranks = {alias: at for at, alias in enumerate(rows.aliases)}
    columns.sort(key=lambda c: (ranks[c.alias], c.role is not Role.KEY, not _is_bound(c)))
    return [
        *(made if qualifier is None else []),
        *(ast.SelectItem(ast.Name(c.inside, span=item.span), f"{c.alias}_{c.name}", span=item.span) for c in columns),
    ]


def _named(item: ast.SelectItem, name: ast.Name, rows: Rows) -> ast.SelectItem:
    column = column_of(name, rows)
    if column is None:
        return replace(item, alias=item.alias or name.name)
    clashes = sum(c.name == column.name for c in rows.columns) > 1
    alias = item.alias or (f"{column.alias}_{column.name}" if clashes else column.name)
    return ast.SelectItem(replace(name, name=column.inside, source=None), alias, span=item.span)


def synthetic_name(rows: tuple[Rows, ...], others: Sequence[Named]) -> str:
    """ROWKEY, or what is left of it."""
    taken = {c.name for r in rows for c in r.columns} | {n.name for r in rows for n in (*r.synthetic, *others)}
    names = chain(("ROWKEY",), (f"ROWKEY_{n}" for n in count(1)))
    return next(n for n in names if n not in taken)


def _is_bound(column: InputColumn) -> bool:
    return column.pseudo and column.name in WINDOW_BOUNDS

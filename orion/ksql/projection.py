"""What a SELECT list makes: names of the columns, which of them are the key, and whether they can be a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from math import inf

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.bind import bind, is_null
from orion.ksql.casts import contains_map
from orion.ksql.scope import Scope
from orion.plan.sources import PSEUDO, WINDOW_BOUNDS
from orion.schema import Column, Role, Schema

RESERVED_COLUMNS = frozenset((*PSEUDO, *WINDOW_BOUNDS))
MAP_AS_KEY, MAP_AS_KEY_HINT = "A MAP can't be in a key.", "Its entries have no order to compare by."


def names_of(items: list[ast.SelectItem], known: Sequence[str]) -> list[str]:
    """The output's names: the alias or the column; else a new one, that neither the rows (`known`) nor the output has.

    A field's new name is FIELD, FIELD_1 ...; that of any other expression KSQL_COL_0, KSQL_COL_1 ...
    """
    given = [i.alias or (i.expression.name if isinstance(i.expression, ast.Name) else None) for i in items]
    taken = {*known, *(g for g in given if g is not None)}
    series: dict[str | None, Iterator[str]] = {None: (f"KSQL_COL_{n}" for n in count())}
    return [name or _new_name(item.expression, taken, series) for name, item in zip(given, items, strict=True)]


def _new_name(node: ast.Expression, taken: set[str], series: dict[str | None, Iterator[str]]) -> str:
    """The next name of its series that is free: what was taken once stays so, so none is looked at twice."""
    field = node.field if isinstance(node, ast.Deref) else None
    if field is not None and field not in series:
        series[field] = chain((field,), (f"{field}_{n}" for n in count(1)))
    name = next(c for c in series[field] if c not in taken)
    taken.add(name)
    return name


def keys_first(columns: Iterable[Column], keys: Sequence[str] = ()) -> Schema:
    """The columns as a source has them: the key's, in the order of `keys` where that says one, then the value's."""
    ranks = {name: at for at, name in enumerate(keys)}
    ordered = sorted(columns, key=lambda c: ranks.get(c.name, len(ranks)) if c.role is Role.KEY else inf)
    return Schema(tuple(ordered))


def key_items(wanted: Sequence[tuple[ast.Expression, ...]], items: list[ast.SelectItem], scope: Scope) -> list[int]:
    """Which select items are the key's columns: for each of them the first of its expressions that is selected."""
    found: list[int] = []
    places_of: dict[ast.Expression, list[int]] = {}
    for at, item in enumerate(items):
        places_of.setdefault(identity(item.expression), []).append(at)
    for choices in wanted:
        places = next((p for p in (places_of.get(identity(c)) for c in choices) if p), [])
        if not places:
            shown = " or ".join(bind(c, scope).text for c in choices)
            raise BindError(
                "KEY_MISSING",
                f"Key missing from projection: the query must select {shown}.",
                span=items[0].span,
                hint=f"Add {shown} to the SELECT list.",
            )
        if len(places) > 1:
            key = items[places[0]].expression
            raise BindError(
                "KEY_TWICE",
                f"The key {bind(key, scope).text} stands more than once in the SELECT list.",
                span=items[places[1]].span,
                hint="Use AS_VALUE(...) for the copy in the value.",
            )
        found.append(places[0])
    return found


def identity(node: ast.Expression) -> ast.Expression:
    """Equal for expressions that are one: written alike, or columns that differ only by the source before them."""
    return ast.Name(node.name) if isinstance(node, ast.Name) else node


def refuse_untyped(items: list[ast.SelectItem]) -> None:
    for item in items:
        if is_null(item.expression):
            hint = "CAST it, for example CAST(NULL AS STRING)."
            raise BindError("NULL_TYPE", "A column that is NULL has no type.", span=item.span, hint=hint)


def check_columns(columns: tuple[Column, ...], items: list[ast.SelectItem], query: ast.Query) -> None:
    """The output's columns make a source: unique names, none reserved, something in the value, no MAP in the key."""
    seen: set[str] = set()
    for column, item in zip(columns, items, strict=True):
        if column.name in seen:
            raise BindError("DUPLICATE_COLUMN", f"The column {column.name} comes out twice.", span=item.span)
        if column.name in RESERVED_COLUMNS and column.role is not Role.KEY:
            raise BindError(
                "RESERVED_COLUMN",
                f"{column.name} is a system column: give it an alias.",
                span=item.span,
                hint=f"For example {column.name} AS {column.name}_.",
            )
        if column.role is Role.KEY and contains_map(column.type):
            raise BindError("INVALID_KEY", MAP_AS_KEY, span=item.span, hint=MAP_AS_KEY_HINT)
        seen.add(column.name)
    if not any(c.role is Role.VALUE for c in columns):
        raise BindError(
            "NO_VALUE_COLUMN",
            "The projection has no value column.",
            span=query.span,
            hint="Select something besides the key; AS_VALUE(key) copies it.",
        )

"""What a SELECT list makes: names of the columns, which of them are the key, and whether they can be a source."""

from __future__ import annotations

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.bind import bind
from orion.ksql.scope import Scope
from orion.plan.sources import PSEUDO, WINDOW_BOUNDS
from orion.schema import Column, Role

RESERVED_COLUMNS = frozenset((*PSEUDO, *WINDOW_BOUNDS))


def names_of(items: list[ast.SelectItem]) -> list[str]:
    """The output's names: the alias, the column or field, else KSQL_COL_n."""
    names: list[str] = []
    for at, item in enumerate(items):
        match item.alias, item.expression:
            case str(alias), _:
                names.append(alias)
            case _, ast.Name(name=name):
                names.append(name)
            case _, ast.Deref(field=name):
                names.append(name)
            case _:
                names.append(f"KSQL_COL_{at}")
    return names


def key_items(wanted: list[ast.Expression], items: list[ast.SelectItem], scope: Scope) -> list[int]:
    """Which select items are the key's columns. Every key column must be among them, once."""
    found: list[int] = []
    for key in wanted:
        places = [at for at, item in enumerate(items) if same(item.expression, key)]
        if not places:
            shown = bind(key, scope).text
            raise BindError(
                "KEY_MISSING",
                f"Key missing from projection: the query must select {shown}.",
                span=items[0].span,
                hint=f"Add {shown} to the SELECT list.",
            )
        if len(places) > 1:
            raise BindError(
                "KEY_TWICE",
                f"The key {bind(key, scope).text} stands more than once in the SELECT list.",
                span=items[places[1]].span,
                hint="Use AS_VALUE(...) for the copy in the value.",
            )
        found.append(places[0])
    return found


def same(left: ast.Expression, right: ast.Expression) -> bool:
    """Whether two expressions are one: written alike, or columns that differ only by the source's name before them."""
    if isinstance(left, ast.Name) and isinstance(right, ast.Name):
        return left.name == right.name
    return left == right


def check_columns(columns: tuple[Column, ...], query: ast.Query) -> None:
    """The output's columns make a source: unique names, none reserved, something in the value."""
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise BindError("DUPLICATE_COLUMN", f"The column {column.name} comes out twice.", span=query.span)
        if column.name in RESERVED_COLUMNS:
            raise BindError(
                "RESERVED_COLUMN",
                f"{column.name} is a system column: give it an alias.",
                span=query.span,
                hint=f"For example {column.name} AS {column.name}_.",
            )
        seen.add(column.name)
    if not any(c.role is Role.VALUE for c in columns):
        raise BindError(
            "NO_VALUE_COLUMN",
            "The projection has no value column.",
            span=query.span,
            hint="Select something besides the key; AS_VALUE(key) copies it.",
        )

"""Which names an expression may use, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from orion.errors import BindError, hint_nearest
from orion.ksql import ast
from orion.plan.relations import Expr
from orion.schema import Schema, SqlType, quote


@dataclass(frozen=True)
class Scope:
    """The columns of one source under its alias, and the parameters of the lambdas around."""

    columns: Mapping[str, SqlType]
    alias: str | None = None
    source: str | None = None
    lambdas: Mapping[str, Expr] = field(default_factory=dict)
    # What was bound in this scope, by the node's identity: many look at a node, and what is below it is bound once.
    bound: dict[int, tuple[ast.Expression, Expr]] = field(default_factory=dict, init=False, compare=False, repr=False)

    @classmethod
    def of(cls, schema: Schema, alias: str, source: str) -> Scope:
        return cls({c.name: c.type for c in schema}, alias, source)

    def inside(self, parameters: Mapping[str, Expr]) -> Scope:
        """The scope of a lambda's body."""
        return replace(self, lambdas={**self.lambdas, **parameters})

    def resolve(self, name: ast.Name) -> Expr:
        if name.source is None and name.name in self.lambdas:
            return self.lambdas[name.name]
        if name.source is not None and name.source not in (self.alias, self.source):
            known = [n for n in (self.alias, self.source) if n]
            raise BindError(
                "UNKNOWN_SOURCE",
                f"{name.source} is not a source of this query.",
                span=name.span,
                hint=hint_nearest(name.source, known),
            )
        type_ = self.columns.get(name.name)
        if type_ is None:
            raise BindError(
                "UNKNOWN_COLUMN",
                f"There is no column {name.name}" + (f" in {self.source}." if self.source else "."),
                span=name.span,
                hint=hint_nearest(name.name, list(self.columns)) or self._list_columns(),
            )
        return Expr(quote(name.name), type_, name.name)

    def _list_columns(self) -> str | None:
        names = list(self.columns)
        return f"Columns are {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}." if names else None


def constants() -> Scope:
    """Where no name stands for anything."""
    return Scope({})

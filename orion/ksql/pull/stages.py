"""What a pull query computes before its SELECT list, found in that list: groups, aggregates, window functions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from orion.errors import BindError
from orion.ksql import ast
from orion.ksql.aggregate_calls import chosen_call
from orion.ksql.bind import bind, function_of
from orion.ksql.projection import identity
from orion.ksql.scope import Scope
from orion.ksql.walk import contains_aggregate, is_aggregate, rewrite, walk
from orion.schema import SqlType


@dataclass
class Stages:
    """`__k0` ... are the columns of groups, `__a0` ... of aggregates, `__w0` ... of window functions."""

    scope: Scope
    groups: tuple[ast.Expression, ...]
    calls: list[ast.Call] = field(default_factory=list)
    windows: list[ast.Over] = field(default_factory=list)
    aggregated: bool = False

    def __post_init__(self) -> None:
        for group in self.groups:
            if contains_aggregate(group):
                raise BindError("AGGREGATE_NOT_HERE", "GROUP BY can't hold an aggregate.", span=group.span)

    @property
    def grouped(self) -> bool:
        return bool(self.groups) or self.aggregated

    def taken(self, node: ast.Expression) -> ast.Expression:
        """The expression with the columns of window functions in their place."""

        def change(inner: ast.Expression) -> ast.Expression | None:
            if not isinstance(inner, ast.Over):
                return None
            if inner not in self.windows:
                self.windows.append(inner)
            parts = (*inner.call.args, *inner.partition_by, *(o.expression for o in inner.order_by))
            self.aggregated |= any(contains_aggregate(p) for p in parts)
            return ast.Name(f"__w{self.windows.index(inner)}", span=inner.span)

        changed = rewrite(node, change)
        self.aggregated |= contains_aggregate(changed)
        return changed

    def folded(self, node: ast.Expression) -> ast.Expression:
        """The expression over the columns of groups and aggregates."""

        places = {identity(group): at for at, group in reversed(list(enumerate(self.groups)))}

        def change(inner: ast.Expression) -> ast.Expression | None:
            at = places.get(identity(inner))
            if at is not None:
                return ast.Name(f"__k{at}", span=inner.span)
            if is_aggregate(inner):
                assert isinstance(inner, ast.Call)
                return ast.Name(f"__a{self._call(inner)}", span=inner.span)
            return None

        found = rewrite(node, change)
        for inner in walk(found):
            if isinstance(inner, ast.Call):
                function_of(inner)
            if isinstance(inner, ast.Name) and not inner.name.startswith(("__k", "__a", "__w")):
                self.scope.resolve(inner)
                raise BindError(
                    "NOT_GROUPED",
                    f"{inner} is neither grouped by nor inside an aggregate.",
                    span=inner.span,
                    hint=f"Add it to GROUP BY, or use e.g. MAX({inner.name}).",
                )
        return found

    def _call(self, node: ast.Call) -> int:
        for arg in node.args:
            if contains_aggregate(arg):
                raise BindError("NESTED_AGGREGATE", "An aggregate can't hold another one.", span=arg.span)
        if node not in self.calls:
            self.calls.append(node)
        return self.calls.index(node)

    def over(self, window: ast.Over) -> ast.Over:
        """The window function over the stage below it."""
        if not self.grouped:
            return window
        call = replace(window.call, args=tuple(self.folded(a) for a in window.call.args))
        order = tuple(replace(o, expression=self.folded(o.expression)) for o in window.order_by)
        return replace(window, call=call, partition_by=tuple(map(self.folded, window.partition_by)), order_by=order)

    def group_scope(self) -> Scope:
        if not self.grouped:
            return self.scope
        columns: dict[str, SqlType] = {f"__k{n}": bind(g, self.scope).type for n, g in enumerate(self.groups)}
        columns |= {f"__a{n}": chosen_call(function_of(c), c, self.scope)[4] for n, c in enumerate(self.calls)}
        return Scope(columns)

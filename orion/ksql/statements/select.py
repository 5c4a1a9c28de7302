"""SELECT ... EMIT CHANGES: rows to the one who asks."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import UnsupportedError
from orion.ksql import ast
from orion.ksql.analyse import analyse
from orion.ksql.context import Context
from orion.ksql.parser import Parser
from orion.ksql.queries import parse_query
from orion.plan.relations import Expr, Named, Transient
from orion.plan.steps import Ask, Push, Step
from orion.schema import quote

STARTS = (("SELECT",),)


@dataclass(frozen=True)
class Select:
    query: ast.Query

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.query.emit is None:
            raise UnsupportedError(
                "PULL_QUERY",
                "Pull queries are not run yet.",
                span=self.query.span,
                hint="Add EMIT CHANGES to follow the rows as they come.",
            )
        analysed = analyse(self.query, context, transient=True)
        columns = tuple(Named(c.name, Expr(quote(c.name), c.type, c.name)) for c in analysed.schema)
        return Push(
            Transient(
                analysed.relation,
                columns,
                analysed.kind,
                analysed.source.name,
                self.query.limit,
                context.properties.get("auto.offset.reset", "latest") == "earliest",
                context.tasks,
            )
        )


def parse(parser: Parser) -> Select:
    return Select(parse_query(parser))

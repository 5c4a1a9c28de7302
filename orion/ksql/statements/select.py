"""SELECT ... EMIT CHANGES: rows to the one who asks."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import UnsupportedError
from orion.ksql import ast
from orion.ksql.analyse import analyse
from orion.ksql.context import Context
from orion.ksql.parser import Parser
from orion.ksql.queries import parse_query
from orion.plan.relations import Aggregate, Project, Transient
from orion.plan.steps import Ask, Push, Step

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
        relation = analysed.relation
        assert isinstance(relation, Project | Aggregate)
        return Push(
            Transient(
                relation,
                relation.items,
                analysed.kind,
                analysed.source.name,
                self.query.limit,
                context.properties.get("auto.offset.reset", "latest") == "earliest",
            )
        )


def parse(parser: Parser) -> Select:
    return Select(parse_query(parser))

"""TERMINATE | PAUSE | RESUME query id | ALL."""

from __future__ import annotations

from dataclasses import dataclass

from orion.ksql.context import Context, missing
from orion.ksql.parser import Parser
from orion.plan.steps import Ask, Nothing, PauseQuery, ResumeQuery, Step, StopQuery

_STEPS: dict[str, type[StopQuery] | type[PauseQuery] | type[ResumeQuery]] = {
    "TERMINATE": StopQuery,
    "PAUSE": PauseQuery,
    "RESUME": ResumeQuery,
}
STARTS = tuple((word,) for word in _STEPS)


@dataclass(frozen=True)
class Lifecycle:
    verb: str
    query_id: str | None  # None: all of them

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        known = context.catalog.queries
        if self.query_id is None:
            return tuple(_STEPS[self.verb](id) for id in known) or (Nothing("There are no queries."),)
        if self.query_id not in known:
            raise missing("query", self.query_id, list(known))
        return (_STEPS[self.verb](self.query_id),)


def parse(parser: Parser) -> Lifecycle:
    verb = parser.advance().text
    return Lifecycle(verb, None if parser.accept("ALL") else parser.identifier("a query's id, or ALL"))

"""TERMINATE | PAUSE | RESUME query id | ALL; PAUSE | RESUME CONNECTOR name."""

from __future__ import annotations

from dataclasses import dataclass

from orion.ksql.context import Context, Statement, missing
from orion.ksql.parser import Parser
from orion.plan.sources import Wanted
from orion.plan.steps import Ask, Nothing, PauseQuery, ResumeQuery, SteerConnector, Step, StopQuery

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


@dataclass(frozen=True)
class ConnectorLifecycle:
    name: str
    wanted: Wanted

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.name not in context.catalog.connectors:
            raise missing("connector", self.name, list(context.catalog.connectors))
        return (SteerConnector(self.name, self.wanted),)


def parse(parser: Parser) -> Statement:
    verb = parser.advance().text
    if verb != "TERMINATE" and parser.accept("CONNECTOR"):
        wanted = Wanted.PAUSED if verb == "PAUSE" else Wanted.RUNNING
        return ConnectorLifecycle(parser.string_or_name("a connector's name"), wanted)
    return Lifecycle(verb, None if parser.accept("ALL") else parser.identifier("a query's id, or ALL"))

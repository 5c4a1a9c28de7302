"""SHOW CREATE STREAM | TABLE | CONNECTOR name: the statement by which it is made again, without secrets."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import Span
from orion.ksql.context import Context, check_kind, missing
from orion.ksql.parser import Parser
from orion.plan.sources import Kind
from orion.plan.steps import Ask, ShowCreate, Step

STARTS = (("SHOW", "CREATE"),)
_WHAT = ("STREAM", "TABLE", "CONNECTOR")


@dataclass(frozen=True)
class ShowCreateStatement:
    what: str
    name: str
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.what == "CONNECTOR":
            connectors = context.catalog.connectors
            if self.name not in connectors:
                raise missing("connector", self.name, list(connectors))
            return ShowCreate("CONNECTOR", self.name)
        source = context.source(self.name, self.span)
        check_kind(source, Kind(self.what), "SHOW CREATE", self.span)
        return ShowCreate(source.kind.value, self.name)


def parse(parser: Parser) -> ShowCreateStatement:
    parser.expect("SHOW", "CREATE")
    if not parser.is_word(*_WHAT):
        parser.fail("STREAM, TABLE or CONNECTOR", *_WHAT)
    what = parser.advance().text
    at = parser.at
    name = parser.string_or_name("a connector") if what == "CONNECTOR" else parser.identifier("a stream or table")
    return ShowCreateStatement(what, name, parser.span_from(at))

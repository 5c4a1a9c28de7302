"""DROP STREAM | TABLE [IF EXISTS] name [DELETE TOPIC]: the source goes, and the query that writes it with it."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, Span
from orion.ksql.context import Context, SqlErrorConflict, check_kind
from orion.ksql.parser import Parser
from orion.plan.sources import Kind
from orion.plan.steps import Ask, DropSource, Nothing, Step, StopQuery

STARTS = (("DROP", "STREAM"), ("DROP", "TABLE"))


@dataclass(frozen=True)
class Drop:
    kind: Kind
    name: str
    if_exists: bool
    delete_topic: bool
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        catalog = context.catalog
        if self.if_exists and self.name not in catalog.sources:
            return (Nothing(f"{self.kind.capitalize()} {self.name} does not exist."),)
        source = context.source(self.name, self.span)
        check_kind(source, self.kind, "DROP", self.span)
        if source.read_only and self.delete_topic:
            raise BindError(
                "READ_ONLY",
                f"Cannot delete the topic of {self.name}: a source {self.kind.lower()} is read only.",
                span=self.span,
                hint=f"DROP {self.kind} {self.name} leaves the topic as it is.",
            )
        own = source.query_id
        others = [q for q in catalog.readers_of(self.name) + catalog.writers_of(self.name) if q != own]
        if others:
            raise SqlErrorConflict(
                "IN_USE",
                f"Cannot drop {self.name}: {', '.join(sorted(set(others)))} still use it.",
                span=self.span,
                hint="TERMINATE those queries or DROP those connectors first.",
            )
        stop: tuple[Step, ...] = (StopQuery(own),) if own in catalog.queries and own else ()
        return (*stop, DropSource(self.name, self.kind, source.topic if self.delete_topic else None))


def parse(parser: Parser) -> Drop:
    parser.expect("DROP")
    kind = Kind(parser.advance().text)
    if_exists = parser.accept("IF", "EXISTS")
    at = parser.at
    name = parser.identifier("a name")
    return Drop(kind, name, if_exists, parser.accept("DELETE", "TOPIC"), parser.span_from(at))

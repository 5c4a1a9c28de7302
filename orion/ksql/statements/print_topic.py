"""PRINT topic [FROM BEGINNING] [INTERVAL n] [LIMIT n]: the records of a topic as they are."""

from __future__ import annotations

from dataclasses import dataclass

from orion.ksql.context import Context
from orion.ksql.parser import Parser
from orion.ksql.tokens import Kind
from orion.plan.steps import Ask, PrintTopic, Step

STARTS = (("PRINT",),)


@dataclass(frozen=True)
class Print:
    ask: PrintTopic

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        return self.ask


def parse(parser: Parser) -> Print:
    parser.expect("PRINT")
    token = parser.token
    # A bare topic name keeps its case: Kafka tells upper from lower.
    topic = parser.advance().raw if token.kind is Kind.WORD else parser.string_or_name("a topic")
    beginning = parser.accept("FROM", "BEGINNING")
    interval = parser.integer() if parser.accept("INTERVAL") or parser.accept("SAMPLE") else 1
    limit = parser.integer() if parser.accept("LIMIT") else None
    return Print(PrintTopic(topic, beginning, interval, limit))

"""EXPLAIN statement | query id: what would be done, or is being done."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import Span
from orion.ksql.context import Context, Statement, missing
from orion.ksql.parser import Parser
from orion.ksql.tokens import Kind
from orion.plan.steps import Ask, Explain, Plan, Step

STARTS = (("EXPLAIN",),)


@dataclass(frozen=True)
class ExplainStatement:
    statement: Statement | None
    query_id: str | None
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.query_id is not None:
            if self.query_id not in context.catalog.queries:
                raise missing("query", self.query_id, list(context.catalog.queries))
            return Explain(None, self.query_id)
        assert self.statement is not None
        text = context.text[self.span.start : self.span.end]
        outcome = self.statement.plan(context)
        inner = Plan(text, outcome) if isinstance(outcome, tuple) else Plan(text, (), outcome)
        return Explain(inner)


def parse(parser: Parser) -> ExplainStatement:
    from orion.ksql.statements import parse_statement

    parser.expect("EXPLAIN")
    start = parser.at
    alone = parser.peek().kind is Kind.END or parser.peek().is_symbol(";")
    if alone and parser.token.kind in (Kind.WORD, Kind.QUOTED):
        return ExplainStatement(None, parser.identifier("a query's id"), parser.span_from(start))
    statement = parse_statement(parser)
    return ExplainStatement(statement, None, parser.span_from(start))

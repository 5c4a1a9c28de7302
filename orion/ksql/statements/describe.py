"""DESCRIBE name [EXTENDED] | FUNCTION name | CONNECTOR name."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, Span, hint_nearest
from orion.ksql.context import Context, missing
from orion.ksql.functions import functions
from orion.ksql.parser import Parser
from orion.ksql.tokens import Kind
from orion.plan.steps import Ask, Describe, Step

STARTS = (("DESCRIBE",),)


@dataclass(frozen=True)
class DescribeStatement:
    ask: Describe
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        name = self.ask.name
        match self.ask.what:
            case "SOURCE":
                context.source(name, self.span)
            case "FUNCTION" if name not in functions():
                raise BindError(
                    "UNKNOWN_FUNCTION",
                    f"There is no function {name}.",
                    span=self.span,
                    hint=hint_nearest(name, list(functions())),
                )
            case "CONNECTOR" if name not in context.catalog.connectors:
                raise missing("connector", name, list(context.catalog.connectors))
            case _:
                pass
        return self.ask


def parse(parser: Parser) -> DescribeStatement:
    parser.expect("DESCRIBE")
    what = "SOURCE"
    for word in ("FUNCTION", "CONNECTOR"):
        named = parser.peek().kind in (Kind.WORD, Kind.QUOTED, Kind.STRING) and not parser.peek().is_word("EXTENDED")
        if parser.is_word(word) and named:
            parser.advance()
            what = word
    at = parser.at
    name = parser.string_or_name("a name") if what == "CONNECTOR" else parser.identifier("a name")
    span = parser.span_from(at)
    extended = parser.accept("EXTENDED")
    if what == "FUNCTION":
        return DescribeStatement(Describe("FUNCTION", name), span)
    return DescribeStatement(Describe("CONNECTOR" if what == "CONNECTOR" else "SOURCE", name, extended), span)

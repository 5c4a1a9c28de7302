"""DESCRIBE name [EXTENDED] | STREAMS [EXTENDED] | TABLES [EXTENDED] | FUNCTION name | CONNECTOR name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

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
            case "FUNCTION" if name not in functions() and name not in context.catalog.functions:
                raise BindError(
                    "UNKNOWN_FUNCTION",
                    f"There is no function {name}.",
                    span=self.span,
                    hint=hint_nearest(name, [*functions(), *context.catalog.functions]),
                )
            case "CONNECTOR" if name not in context.catalog.connectors:
                raise missing("connector", name, list(context.catalog.connectors))
            case _:
                pass
        return self.ask


def parse(parser: Parser) -> DescribeStatement:
    parser.expect("DESCRIBE")
    at = parser.at
    following = parser.peek()
    ends = following.kind is Kind.END or following.is_symbol(";")
    if parser.is_word("STREAMS", "TABLES") and (ends or following.is_word("EXTENDED")):
        all_of = cast(Literal["STREAMS", "TABLES"], parser.advance().text)
        return DescribeStatement(Describe(all_of, "", parser.accept("EXTENDED")), parser.span_from(at))
    what: Literal["SOURCE", "FUNCTION", "CONNECTOR"] = "SOURCE"
    # A stream may be called FUNCTION: a word behind it, save EXTENDED, says that it isn't meant.
    named = following.kind in (Kind.WORD, Kind.QUOTED, Kind.STRING) and not following.is_word("EXTENDED")
    if parser.is_word("FUNCTION", "CONNECTOR") and named:
        what = cast(Literal["FUNCTION", "CONNECTOR"], parser.advance().text)
    at = parser.at
    name = parser.string_or_name("a name") if what == "CONNECTOR" else parser.identifier("a name")
    span = parser.span_from(at)
    return DescribeStatement(Describe(what, name, what == "SOURCE" and parser.accept("EXTENDED")), span)

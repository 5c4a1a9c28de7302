"""DEFINE name = 'value', UNDEFINE name: variables of the session, written ${name} in statements."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, Span, hint_nearest
from orion.ksql.context import Context
from orion.ksql.parser import Parser
from orion.plan.steps import Ask, SetVariable, Step

STARTS = (("DEFINE",), ("UNDEFINE",))


@dataclass(frozen=True)
class Variable:
    step: SetVariable
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.step.value is None and self.step.name not in context.variables:
            raise BindError(
                "UNDEFINED_VARIABLE",
                f"There is no variable {self.step.name}.",
                span=self.span,
                hint=hint_nearest(self.step.name, list(context.variables)) or "SHOW VARIABLES; lists them.",
            )
        return (self.step,)


def parse(parser: Parser) -> Variable:
    verb = parser.advance().text
    at = parser.at
    name = parser.identifier("a variable's name").upper()
    if verb == "UNDEFINE":
        return Variable(SetVariable(name, None), parser.span_from(at))
    parser.expect_symbol("=")
    return Variable(SetVariable(name, parser.string("a quoted value")), parser.span_from(at))

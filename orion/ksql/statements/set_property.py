"""SET 'name' = 'value', UNSET 'name': properties of the session. ALTER SYSTEM is told that settings are a file here."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, Span, UnsupportedError
from orion.ksql import session
from orion.ksql.context import Context
from orion.ksql.parser import Parser
from orion.plan.steps import Ask, SetProperty, Step

STARTS = (("SET",), ("UNSET",), ("ALTER", "SYSTEM"))


@dataclass(frozen=True)
class Set:
    step: SetProperty
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        name, value = self.step.name, self.step.value
        if not session.is_known(name):
            raise BindError(
                "UNKNOWN_PROPERTY", f"There is no property '{name}'.", span=self.span, hint=session.nearest(name)
            )
        problem = None if value is None else session.refused(name, value)
        if problem:
            raise BindError("INVALID_PROPERTY", problem, span=self.span)
        return (self.step,)


def parse(parser: Parser) -> Set:
    start = parser.at
    verb = parser.advance().text
    if verb == "ALTER":
        parser.expect("SYSTEM")
        raise UnsupportedError(
            "ALTER_SYSTEM",
            "The settings of a server are not changed while it runs.",
            span=parser.span_from(start),
            text=parser.text,
            hint="Write them into orion.yaml and start again, or SET them for this session.",
        )
    at = parser.at
    name = session.canonical(parser.string("a quoted property"))
    if verb == "UNSET":
        return Set(SetProperty(name, None), parser.span_from(at))
    parser.expect_symbol("=")
    value = parser.string("a quoted value")
    return Set(SetProperty(name, value), parser.span_from(at))

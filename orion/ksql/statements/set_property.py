"""SET 'name' = 'value', UNSET 'name': properties of the session."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, Span, hint_nearest
from orion.ksql.context import Context
from orion.ksql.parser import Parser
from orion.plan.steps import Ask, SetProperty, Step

STARTS = (("SET",), ("UNSET",))

# What a session may set, with the values it may have (None: any).
PROPERTIES: dict[str, tuple[str, ...] | None] = {
    "auto.offset.reset": ("earliest", "latest"),
    "orion.max.records.per.batch": None,
    "orion.trigger.ms": None,
}


@dataclass(frozen=True)
class Set:
    step: SetProperty
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        name, value = self.step.name, self.step.value
        if name not in PROPERTIES:
            raise BindError(
                "UNKNOWN_PROPERTY",
                f"There is no property '{name}'.",
                span=self.span,
                hint=hint_nearest(name, list(PROPERTIES)) or f"Properties are {', '.join(PROPERTIES)}.",
            )
        allowed = PROPERTIES[name]
        if value is not None and allowed is not None and value not in allowed:
            raise BindError("INVALID_PROPERTY", f"'{name}' is {' or '.join(allowed)}.", span=self.span)
        if value is not None and allowed is None and not value.isdecimal():
            raise BindError("INVALID_PROPERTY", f"'{name}' is a whole number.", span=self.span)
        return (self.step,)


def parse(parser: Parser) -> Set:
    verb = parser.advance().text
    at = parser.at
    # Kafka Streams' prefix is what ksqlDB scripts write for the same property.
    name = parser.string("a quoted property").removeprefix("ksql.streams.")
    if verb == "UNSET":
        return Set(SetProperty(name, None), parser.span_from(at))
    parser.expect_symbol("=")
    value = parser.string("a quoted value")
    return Set(SetProperty(name, value), parser.span_from(at))

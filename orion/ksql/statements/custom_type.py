"""CREATE TYPE [IF NOT EXISTS] name AS type, DROP TYPE [IF EXISTS] name: other names for types."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, Span, hint_nearest
from orion.ksql.context import Context, SqlErrorConflict, Statement
from orion.ksql.parser import TYPE_NAMES, Parser
from orion.plan.definitions import CustomType
from orion.plan.steps import Ask, DefineType, DropType, Nothing, Step
from orion.schema import SqlType

STARTS = (("CREATE", "TYPE"), ("DROP", "TYPE"))
_OWN = frozenset((*TYPE_NAMES, "DECIMAL", "DEC", "ARRAY", "MAP", "STRUCT"))


@dataclass(frozen=True)
class CreateType:
    name: str
    type: SqlType
    if_not_exists: bool
    span: Span

    def defined(self, text: str) -> CustomType:
        return CustomType(self.name, self.type, text)

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.name in _OWN:
            raise BindError("RESERVED_TYPE", f"{self.name} is a type of the language.", span=self.span)
        if self.name in context.catalog.types:
            if self.if_not_exists:
                return (Nothing(f"Type {self.name} already exists."),)
            raise SqlErrorConflict(
                "TYPE_EXISTS",
                f"Cannot register custom type {self.name}: it is {context.catalog.types[self.name].type} already.",
                span=self.span,
                hint="DROP TYPE it first; what was declared with it stays as it is.",
            )
        return (DefineType(self.defined(context.text)),)


@dataclass(frozen=True)
class Drop:
    name: str
    if_exists: bool
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.name not in context.catalog.types:
            if self.if_exists:
                return (Nothing(f"Type {self.name} does not exist."),)
            raise BindError(
                "UNKNOWN_TYPE",
                f"There is no type {self.name}.",
                span=self.span,
                hint=hint_nearest(self.name, list(context.catalog.types)) or "SHOW TYPES; lists them.",
            )
        return (DropType(self.name),)


def parse(parser: Parser) -> Statement:
    verb = parser.advance().text
    parser.expect("TYPE")
    if verb == "DROP":
        if_exists = parser.accept("IF", "EXISTS")
        at = parser.at
        return Drop(parser.identifier("a type's name"), if_exists, parser.span_from(at))
    if_not_exists = parser.accept("IF", "NOT", "EXISTS")
    at = parser.at
    name = parser.identifier("a type's name")
    span = parser.span_from(at)
    parser.expect("AS")
    return CreateType(name, parser.type(), if_not_exists, span)

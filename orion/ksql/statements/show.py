"""SHOW | LIST [ALL] TOPICS | STREAMS | TABLES | QUERIES | FUNCTIONS | PROPERTIES | CONNECTORS [EXTENDED]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast, get_args

from orion.errors import UnsupportedError
from orion.ksql.context import Context
from orion.ksql.parser import Parser
from orion.plan.steps import Ask, Show, Step, What

STARTS = (("SHOW",), ("LIST",))
_LATER = ("TYPES", "VARIABLES", "CONNECTOR")


@dataclass(frozen=True)
class ShowStatement:
    ask: Show

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        return self.ask


def parse(parser: Parser) -> ShowStatement:
    parser.advance()
    everything = parser.accept("ALL")
    at = parser.at
    if parser.accept("SINK") or parser.accept("SOURCE"):
        parser.expect("CONNECTORS")
        return ShowStatement(Show("CONNECTORS"))
    if parser.is_word(*_LATER):
        word = parser.advance().text
        raise UnsupportedError(
            "SHOW_NOT_YET", f"SHOW {word} is not run yet.", span=parser.span_from(at), text=parser.text
        )
    if not parser.is_word(*get_args(What)):
        parser.fail(f"one of {', '.join(get_args(What))}", *get_args(What))
    what = cast(What, parser.advance().text)
    return ShowStatement(Show(what, parser.accept("EXTENDED"), everything))

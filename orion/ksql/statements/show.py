"""SHOW | LIST what there is: [ALL] TOPICS, STREAMS, TABLES, QUERIES, FUNCTIONS, TYPES and so on, [EXTENDED]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast, get_args

from orion.ksql.context import Context
from orion.ksql.parser import Parser
from orion.plan.steps import Ask, Show, Step, What

STARTS = (("SHOW",), ("LIST",))
_WORDS = tuple(what for what in get_args(What) if " " not in what)
_EXTENDED = ("TOPICS", "STREAMS", "TABLES", "QUERIES")


@dataclass(frozen=True)
class ShowStatement:
    ask: Show

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        return self.ask


def parse(parser: Parser) -> ShowStatement:
    parser.advance()
    if parser.accept("ALL"):
        parser.expect("TOPICS")
        return ShowStatement(Show("TOPICS", parser.accept("EXTENDED"), True))
    if parser.is_word("SINK", "SOURCE"):
        kind = parser.advance().text
        parser.expect("CONNECTORS")
        return ShowStatement(Show("CONNECTORS", only=kind))
    if parser.accept("CONNECTOR"):
        parser.expect("PLUGINS")
        return ShowStatement(Show("CONNECTOR PLUGINS"))
    if not parser.is_word(*_WORDS):
        parser.fail(f"one of {', '.join(_WORDS)}", *_WORDS)
    what = cast(What, parser.advance().text)
    return ShowStatement(Show(what, what in _EXTENDED and parser.accept("EXTENDED")))

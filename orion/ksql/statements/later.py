"""Statements of ksqlDB that Orion doesn't run yet: told apart from a typo, so that nobody looks for one."""

from __future__ import annotations

from orion.errors import UnsupportedError
from orion.ksql.context import Statement
from orion.ksql.parser import Parser

STARTS = (
    ("ALTER",),
    ("ASSERT",),
    ("DEFINE",),
    ("UNDEFINE",),
    ("RUN", "SCRIPT"),
    ("SPOOL",),
    ("CREATE", "TYPE"),
    ("DROP", "TYPE"),
    ("CREATE", "FUNCTION"),
    ("DROP", "FUNCTION"),
)


def parse(parser: Parser) -> Statement:
    start = parser.at
    words = next(w for w in STARTS if w[0] == parser.token.text and (len(w) == 1 or parser.peek().is_word(w[1])))
    parser.expect(*words)
    raise UnsupportedError(
        "STATEMENT_NOT_YET",
        f"{' '.join(words)} is not run yet.",
        span=parser.span_from(start),
        text=parser.text,
    )

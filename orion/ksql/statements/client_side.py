"""RUN SCRIPT and SPOOL: statements of a client, which a server can't run for it."""

from __future__ import annotations

from orion.errors import ParseError
from orion.ksql.context import Statement
from orion.ksql.parser import Parser

STARTS = (("RUN", "SCRIPT"), ("SPOOL",))


def parse(parser: Parser) -> Statement:
    start = parser.at
    parser.advance()
    parser.accept("SCRIPT")
    words = " ".join(t.text for t in parser.tokens[start : parser.at])
    raise ParseError(
        "CLIENT_STATEMENT",
        f"{words} is for the files of a client: `orion sql` runs it, a server doesn't.",
        span=parser.span_from(start),
        text=parser.text,
    )

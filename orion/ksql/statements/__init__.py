"""Every statement of the dialect. A statement is one file here and one name in NAMES.

# statements/ping.py
STARTS = (("PING",),)                     # the words it begins with; the longest match wins

@dataclass(frozen=True)
class Ping:
    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        return (Nothing("pong"),)

def parse(parser: Parser) -> Ping:        # the cursor stands on the first of those words
    parser.expect("PING")
    return Ping()
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import takewhile

from orion.ksql.context import Statement
from orion.ksql.parser import Parser
from orion.ksql.tokens import Kind

NAMES = (
    "alter",
    "assertion",
    "client_side",
    "connector",
    "create_source",
    "custom_type",
    "describe",
    "drop",
    "explain",
    "insert",
    "lifecycle",
    "print_topic",
    "python_function",
    "select",
    "set_property",
    "show",
    "show_create",
    "variable",
)


@cache
def _starts() -> dict[tuple[str, ...], Callable[[Parser], Statement]]:
    return {
        words: module.parse
        for module in (import_module(f"orion.ksql.statements.{name}") for name in NAMES)
        for words in module.STARTS
    }


def parse_statement(parser: Parser) -> Statement:
    """The one statement at the cursor, without its semicolon."""
    starts = _starts()
    ahead = tuple(t.text for t in takewhile(lambda t: t.kind is Kind.WORD, map(parser.peek, range(4))))
    for length in range(len(ahead), 0, -1):
        found = starts.get(ahead[:length])
        if found:
            return found(parser)
    # The first words may be right and a later one misspelt: that one is pointed at.
    right = max(n for n in range(len(ahead) + 1) if any(words[:n] == ahead[:n] for words in starts))
    known = sorted({words[right] for words in starts if words[:right] == ahead[:right] and len(words) > right})
    parser.at += right
    parser.fail(f"{'a statement: ' if right == 0 else ''}{' or '.join(known)}", *known)

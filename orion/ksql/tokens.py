"""Text into tokens. Keywords are not told from names: ksqlDB lets most keywords be names, so the parser decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from orion.errors import ParseError, Span

_SHOWN = 80  # characters of a token in a message


class Kind(Enum):
    WORD = "name"
    QUOTED = "quoted name"
    STRING = "string"
    INTEGER = "whole number"
    DECIMAL = "decimal number"
    FLOAT = "number with exponent"
    VARIABLE = "variable"
    SYMBOL = "symbol"
    END = "end of statement"


class Token(NamedTuple):
    kind: Kind
    text: str  # as meant: unquoted, unescaped; words in upper case
    span: Span
    raw: str = ""

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is Kind.SYMBOL and self.text in symbols

    def is_word(self, *words: str) -> bool:
        return self.kind is Kind.WORD and self.text in words

    @property
    def shown(self) -> str:
        if self.kind is Kind.END:
            return "the end of the statement"
        return f"'{self.raw}'" if len(self.raw) <= _SHOWN else f"'{self.raw[:_SHOWN]}...'"


_PATTERN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?\*/)
  | (?P<float>(?:\d++(?:\.\d*+)?|\.\d++)[eE][+-]?\d+(?![\w@]))
  | (?P<word>\d*[A-Za-z_@][\w@]*)
  | (?P<decimal>\d+\.\d*|\.\d+)
  | (?P<integer>\d+)
  | (?P<variable>\$\{\w+\})
  | (?P<body>\$\$.*?\$\$)
  | (?P<string>'(?:[^']++|'')*+')
  | (?P<backquoted>`(?:[^`]++|``)*+`)
  | (?P<doublequoted>"(?:[^"]++|"")*+")
  | (?P<symbol>->|=>|:=|<>|!=|<=|>=|\|\||/(?!\*)|[-+*%=<>(),;.\[\]:{}])
    """,
    re.VERBOSE | re.DOTALL,
)

_KINDS = {
    "float": Kind.FLOAT,
    "decimal": Kind.DECIMAL,
    "integer": Kind.INTEGER,
    "variable": Kind.VARIABLE,
    "symbol": Kind.SYMBOL,
}


def tokenize(text: str) -> list[Token]:
    """All tokens of a script; comments and white space fall away."""
    tokens = list(map(_token, scan(text)))
    tokens.append(Token(Kind.END, "", Span(len(text), len(text))))
    return tokens


def scan(text: str) -> Iterator[re.Match[str]]:
    """Where the tokens of a script stand, without making anything of them."""
    at = 0
    match = _PATTERN.match
    while at < len(text):
        found = match(text, at)
        if found is None:
            raise ParseError("UNEXPECTED_CHARACTER", *_complaint(text, at), span=Span(at, at + 1), text=text)
        at = found.end()
        if found.lastgroup != "space":
            yield found


def _complaint(text: str, at: int) -> tuple[str]:
    character = text[at]
    if character in "'`\"":
        return (f"The {character} that opens here is never closed.",)
    if text.startswith("/*", at):
        return ("The comment that opens here is never closed.",)
    return (f"{character!r} can't stand here.",)


def _token(found: re.Match[str]) -> Token:
    raw, group = found.group(), found.lastgroup or ""
    span = Span(*found.span())
    match group:
        case "word":
            return Token(Kind.WORD, raw.upper(), span, raw)
        case "string":
            return Token(Kind.STRING, raw[1:-1].replace("''", "'"), span, raw)
        case "body":
            return Token(Kind.STRING, raw[2:-2], span, raw)
        case "backquoted" | "doublequoted":
            mark = raw[0]
            return Token(Kind.QUOTED, raw[1:-1].replace(mark * 2, mark), span, raw)
        case _:
            return Token(_KINDS[group], raw, span, raw)

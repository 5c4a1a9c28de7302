"""${name} in a statement becomes the value that DEFINE gave it, before the statement is parsed.

It stands for a name, a number or a string of its own, and inside of quotes for a piece of text. What a value holds is
not looked through again. Comments and the bodies of functions stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from orion.errors import BindError, Span, hint_nearest
from orion.ksql.limits import MAX_STATEMENT, refuse_long
from orion.ksql.tokens import Kind, Token, tokenize

_REFERENCE = re.compile(r"\$\{(\w+)\}")
# What options of connectors have filled in row by row, as in 'table.name.format' = 'hub_${topic}'.
OF_CONNECTORS = ("topic", "timestamp")
_CONNECTOR = re.compile(r"\bCONNECTOR\b", re.IGNORECASE)
_VALUES = (Kind.WORD, Kind.QUOTED, Kind.STRING, Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)


def substitute(text: str, variables: Mapping[str, str]) -> str:
    refuse_long(text)
    if "${" not in text:
        return text
    for_connectors = OF_CONNECTORS if _CONNECTOR.search(text) else ()
    parts: list[str] = []
    at = length = 0
    for token in tokenize(text):
        parts += [text[at : token.span.start], _replaced(token, variables, text, for_connectors)]
        at = token.span.end
        length += len(parts[-1])
        if length > MAX_STATEMENT:
            break
    made = "".join([*parts, text[at:]])
    refuse_long(made)
    return made


def _replaced(token: Token, variables: Mapping[str, str], text: str, for_connectors: Sequence[str]) -> str:
    raw = token.raw
    if token.kind is Kind.VARIABLE:
        return _alone(_value(raw[2:-1], token.span, variables, text), token, text)
    if token.kind not in (Kind.STRING, Kind.QUOTED) or raw.startswith("$$"):
        return raw
    mark = raw[0]
    length = 0

    def inside(found: re.Match[str]) -> str:
        nonlocal length
        if length > MAX_STATEMENT:
            return ""  # the statement will be refused: no more of it is made
        if found[1] in for_connectors and found[1].upper() not in variables:
            return found[0]
        start = token.span.start + found.start()
        value = _value(found[1], Span(start, start + len(found[0])), variables, text)
        length += len(value)
        return value.replace(mark, mark * 2)

    return _REFERENCE.sub(inside, raw)


def _value(name: str, span: Span, variables: Mapping[str, str], text: str) -> str:
    value = variables.get(name.upper())
    if value is None:
        raise BindError(
            "UNDEFINED_VARIABLE",
            f"${{{name}}} is not defined.",
            span=span,
            text=text,
            hint=hint_nearest(name, list(variables)) or f"DEFINE {name} = '...'; defines it.",
        )
    return value


def _alone(value: str, token: Token, text: str) -> str:
    """A value that stands by itself is one word of SQL: a variable is no way to write a statement's grammar."""
    unsigned = value.removeprefix("-")
    words = tokenize(unsigned)
    if len(words) != 2 or words[0].kind not in _VALUES or words[0].raw != unsigned:
        raise BindError(
            "INVALID_VARIABLE",
            f"{token.raw} is {value!r}, which is neither a name, nor a number, nor a quoted string.",
            span=token.span,
            text=text,
            hint=f"In quotes it can be any text: '{token.raw}'.",
        )
    return value

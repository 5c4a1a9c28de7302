"""A statement's words, as PostgreSQL cuts them: enough to split a text, to know a command, to replace a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto


class Sort(Enum):
    SPACE = auto()  # comments too
    NAME = auto()
    QUOTED = auto()
    TEXT = auto()
    NUMBER = auto()
    PARAMETER = auto()
    SIGN = auto()


@dataclass(frozen=True, slots=True)
class Token:
    sort: Sort
    text: str

    @property
    def word(self) -> str:
        """A name as it is looked up: without quotes, and small where it had none."""
        if self.sort is Sort.QUOTED:
            return self.text[1:-1].replace('""', '"')
        return self.text.lower()


_PATTERNS = (
    (Sort.SPACE, r"\s+|--[^\n]*"),
    (Sort.TEXT, r"[eE]'(?:[^'\\]++|''|\\.)*+(?:'|$)|(?:[bBxXnN]|[uU]&)?'(?:[^']++|'')*+(?:'|$)"),
    (Sort.TEXT, r"\$(?P<dollar>(?:[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)?)\$.*?(?:\$(?P=dollar)\$|$)"),
    (Sort.PARAMETER, r"\$\d+"),
    (Sort.QUOTED, r'"(?:[^"]++|"")*+(?:"|$)'),
    (Sort.NAME, r"[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*"),
    (Sort.NUMBER, r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+"),
    (Sort.SIGN, r"::|:=|[<>!=~|@&#^%*/+-]+?(?=--|/\*)|[<>!=~|@&#^%*/+-]+|."),
)
_PATTERN = re.compile("|".join(f"(?P<s{at}>{pattern})" for at, (_, pattern) in enumerate(_PATTERNS)), re.DOTALL)
_SORTS = {f"s{at}": sort for at, (sort, _) in enumerate(_PATTERNS)}
_COMMENT = re.compile(r"/\*|\*/")


def tokens(text: str) -> Iterator[Token]:
    """All of the text, spaces too: joined, the tokens are the text again."""
    at = 0
    while at < len(text):
        if text.startswith("/*", at):
            end = _comment_end(text, at)
            yield Token(Sort.SPACE, text[at:end])
            at = end
            continue
        found = _PATTERN.match(text, at)
        assert found is not None  # the last pattern takes anything
        sort = next(_SORTS[name] for name, part in found.groupdict().items() if name != "dollar" and part is not None)
        yield Token(sort, found.group())
        at = found.end()


def _comment_end(text: str, start: int) -> int:
    """Comments nest."""
    depth = 0
    for found in _COMMENT.finditer(text, start):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(text)


def statements(text: str) -> list[tuple[Token, ...]]:
    """The statements of a text. Those with nothing in them are left out."""
    found: list[tuple[Token, ...]] = []
    current: list[Token] = []
    for token in (*tokens(text), Token(Sort.SIGN, ";")):
        if token.text == ";" and token.sort is Sort.SIGN:
            if any(t.sort is not Sort.SPACE for t in current):
                found.append(tuple(current))
            current = []
        else:
            current.append(token)
    return found


def with_arguments(
    statement: Sequence[Token], arguments: Sequence[Sequence[Token]], types: Sequence[str] = ()
) -> tuple[Token, ...]:
    """A statement with expressions instead of its parameters, cast to types where there are any."""
    out: list[Token] = []
    for token in statement:
        if token.sort is not Sort.PARAMETER:
            out.append(token)
            continue
        number = int(token.text[1:])
        inner = [Token(Sort.SIGN, "("), *arguments[number - 1], Token(Sort.SIGN, ")")]
        if number <= len(types) and types[number - 1].lower() != "unknown":
            inner += [Token(Sort.SIGN, "::"), *tokens(types[number - 1])]
        out += [Token(Sort.SIGN, "("), *inner, Token(Sort.SIGN, ")")]
    return tuple(out)


def words(statement: Sequence[Token]) -> list[Token]:
    return [token for token in statement if token.sort is not Sort.SPACE]


def joined(statement: Sequence[Token]) -> str:
    return "".join(token.text for token in statement)

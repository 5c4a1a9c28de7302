"""The words of a .proto file, and a cursor over them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from orion.registry.errors import InvalidSchema

_TOKENS = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))"
    r"|(?P<name>[A-Za-z_]\w*)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
    r"|(?P<sign>[{}\[\]()<>=;,.:+\-/])",
    re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(r"\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
END = "end of file"


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    at: int


def tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        found = _TOKENS.match(text, at)
        if found is None or found.lastgroup is None:
            raise InvalidSchema(f"{text[at : at + 20]!r} is no Protobuf", path=_place(text, at))
        if found.lastgroup != "space":
            yield Token(found.lastgroup, found.group(), at)
        at = found.end()
    yield Token("end", END, at)


class Cursor:
    """Where in the words a parser is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(tokens(text))
        self._at = 0

    @property
    def now(self) -> Token:
        return self._tokens[self._at]

    @property
    def following(self) -> Token:
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self.now
        if token.kind != "end":
            self._at += 1
        return token

    def skip(self, word: str) -> bool:
        """Go past a word or sign if it is next."""
        if self.now.text == word and self.now.kind in ("name", "sign"):
            self._at += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.skip(word):
            raise self.wrong(f"{word!r}")

    def name(self) -> str:
        if self.now.kind != "name":
            raise self.wrong("a name")
        return self.take().text

    def dotted(self) -> str:
        """`a.b.c` or `.a.b.c`."""
        parts = "." if self.skip(".") else ""
        parts += self.name()
        while self.skip("."):
            parts += "." + self.name()
        return parts

    def integer(self) -> int:
        sign = -1 if self.skip("-") else 1
        token = self.now
        if token.kind != "number":
            raise self.wrong("a number")
        try:
            octal = len(token.text) > 1 and token.text.isdigit() and token.text[0] == "0"
            number = int(token.text, 8 if octal else 0)
        except ValueError:
            raise self.wrong("a whole number") from None
        self.take()
        return sign * number

    def string(self) -> str:
        """One string, or several next to each other."""
        if self.now.kind != "string":
            raise self.wrong("a string")
        parts = []
        while self.now.kind == "string":
            parts.append(_ESCAPE.sub(_unescaped, self.take().text[1:-1]))
        return "".join(parts)

    def wrong(self, wanted: str) -> InvalidSchema:
        token = self.now
        return InvalidSchema(f"{wanted} was expected, not {token.text[:40]!r}", path=_place(self._text, token.at))


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "01234567":
        return chr(int(code, 8))
    if code[0] in "xXuU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _SIMPLE.get(code, code)


def _place(text: str, at: int) -> str:
    before = text[:at]
    return f"line {before.count(chr(10)) + 1}, column {at - (before.rfind(chr(10)) + 1) + 1}"

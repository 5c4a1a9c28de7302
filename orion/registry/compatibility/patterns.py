"""Whether a regular expression of JSON Schema is found in a text, in time that no expression can blow up.

Python's own matcher tries ways one after the other, and an expression such as `(a+)+$` has more ways than anybody has
time for. This one follows all ways at once: its time is the length of the text times that of the expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from orion.registry.compatibility.effort import Effort

_MOST_STATES = 5_000
_DEEPEST = 60
_HEXADECIMAL = re.compile("[0-9a-fA-F]{1,5}")

Test = Callable[[str], bool]


class Unsupported(ValueError):
    """No regular expression, or one that looks around or back, which isn't regular."""


@dataclass(eq=False, slots=True)
class _State:
    """A place in the expression: a character leads on, or one of several places is reached without any."""

    test: Test | None = None
    anchor: str = ""
    then: list[_State] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Part:
    start: _State
    end: _State


def found_in(pattern: str, text: str, effort: Effort) -> bool:
    """Whether any part of a text matches; raises Unsupported."""
    effort.spend(20 * len(pattern))
    start, end = _compiled(pattern)
    now: set[_State] = set()
    for index in range(len(text) + 1):
        # A match may begin anywhere.
        now = _reached({*now, start}, text, index)
        effort.spend(1 + len(now))
        if end in now:
            return True
        if index < len(text):
            now = {after for state in now if state.test and state.test(text[index]) for after in state.then}
    return False


def _reached(states: set[_State], text: str, index: int) -> set[_State]:
    """These places, and all that lie behind them without a character in between."""
    found, waiting = set(states), list(states)
    while waiting:
        state = waiting.pop()
        if state.test is not None or not _holds(state.anchor, text, index):
            continue
        for after in state.then:
            if after not in found:
                found.add(after)
                waiting.append(after)
    return found


def _holds(anchor: str, text: str, index: int) -> bool:
    match anchor:
        case "^":
            return index == 0
        case "$":
            return index == len(text)
        case "b" | "B":
            left = index > 0 and _word(text[index - 1])
            right = index < len(text) and _word(text[index])
            return (left != right) == (anchor == "b")
        case _:
            return True


@lru_cache(maxsize=100)
def _compiled(pattern: str) -> tuple[_State, _State]:
    parser = _Parser(pattern)
    part = parser.whole()
    return part.start, part.end


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._states = 0
        self._depth = 0

    def whole(self) -> _Part:
        part = self._choice()
        if self._at < len(self._pattern):
            raise Unsupported(f"')' without '(' at {self._at}")
        return part

    # -- the grammar

    def _choice(self) -> _Part:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unsupported("nested too deep")
        branches = [self._sequence()]
        while self._skip("|"):
            branches.append(self._sequence())
        self._depth -= 1
        return branches[0] if len(branches) == 1 else self._any(branches)

    def _sequence(self) -> _Part:
        part = self._empty()
        while self._now not in ("", "|", ")"):
            start = self._at
            following = self._atom()
            least, most = self._times()
            if (least, most) != (1, 1):
                following = self._repeated(start, following, least, most)
            part.end.then.append(following.start)
            part = _Part(part.start, following.end)
        return part

    def _repeated(self, start: int, first: _Part, least: int, most: int | None) -> _Part:
        """So many copies in a row; each is read from the text again, for states can't be shared."""
        behind = self._at

        def copy() -> _Part:
            self._at = start
            return self._atom()

        parts = [first]
        for _ in range(max(least, 1 if most is None else most) - 1):
            parts.append(copy())
        self._at = behind
        end = self._empty().start
        begin = self._empty().start
        previous = begin
        for index, part in enumerate(parts):
            if index >= least:
                previous.then.append(end)
            previous.then.append(part.start)
            previous = part.end
        if most is None:
            if least == 0:
                begin.then.append(end)
            previous.then.append(parts[-1].start)
        if most != 0:
            previous.then.append(end)
        return _Part(begin, end)

    def _atom(self) -> _Part:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return self._one(self._class())
        if character == ".":
            return self._one(lambda one: one not in "\n\r\u2028\u2029")
        if character in "^$":
            return self._anchor(character)
        if character == "\\":
            return self._escape()
        if character in "*+?":
            raise Unsupported(f"nothing to repeat at {self._at - 1}")
        return self._one(lambda one: one == character)

    def _group(self) -> _Part:
        if self._skip("?") and not self._skip(":"):
            if not self._skip("<") or self._now in ("=", "!"):
                raise Unsupported("it looks ahead or behind")
            while self._take() != ">":  # a name
                pass
        part = self._choice()
        if not self._skip(")"):
            raise Unsupported("'(' without ')'")
        return part

    def _times(self) -> tuple[int, int | None]:
        bounds: tuple[int, int | None] = (1, 1)
        sign = self._now
        if sign and sign in "*+?":
            self._at += 1
            bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif sign == "{" and (counted := self._counted()) is not None:
            bounds = counted
        else:
            return bounds
        self._skip("?")  # whether as few as possible: all the same, for a match is a match
        if self._now and self._now in "*+":
            raise Unsupported(f"nothing to repeat at {self._at}")
        return bounds

    def _counted(self) -> tuple[int, int | None] | None:
        """`{2}`, `{2,}` or `{2,3}`; anything else in braces is meant literally."""
        inside, brace, _ = self._pattern[self._at + 1 :].partition("}")
        low, comma, high = inside.partition(",")
        if not brace or not _digits(low) or (high and not _digits(high)):
            return None
        self._at += len(inside) + 2
        least = int(low)
        most = int(high) if high else None if comma else least
        if most is not None and most < least:
            raise Unsupported("a range the wrong way round")
        if max(least, most or 0) > _MOST_STATES:
            raise Unsupported("too large")
        return least, most

    # -- single characters

    def _escape(self) -> _Part:
        character = self._take()
        if character in ("b", "B"):
            return self._anchor(character)
        if character.isdigit() and character != "0":
            raise Unsupported("it looks back")
        return self._one(self._escaped(character))

    def _escaped(self, character: str) -> Test:
        known = _CLASSES.get(character)
        if known is not None:
            return known
        if character in "pPk":
            raise Unsupported(f"\\{character}")
        wanted = self._literal(character)
        return lambda one: one == wanted

    def _literal(self, character: str) -> str:
        if character in ("x", "u"):
            size = 2 if character == "x" else 4
            if character == "u" and self._skip("{"):
                size = 1
                digits, _, _ = self._pattern[self._at :].partition("}")
                self._at += len(digits) + 1
            else:
                digits = self._pattern[self._at : self._at + size]
                self._at += size
            if not _HEXADECIMAL.fullmatch(digits) or len(digits) < size:
                raise Unsupported(f"\\{character}{digits[:8]}")
            return chr(int(digits, 16))
        if character == "c":
            return chr(ord(self._take()) % 32)
        return _CONTROLS.get(character, character)

    def _class(self) -> Test:
        negated = self._skip("^")
        singles: set[str] = set()
        ranges: list[tuple[str, str]] = []
        tests: list[Test] = []
        while not self._skip("]"):
            first = self._member(tests)
            if first is None:
                continue
            if self._now == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                last = self._member(tests)
                if last is None:
                    singles |= {first, "-"}
                elif last < first:
                    raise Unsupported("a range the wrong way round")
                else:
                    ranges.append((first, last))
            else:
                singles.add(first)

        def test(one: str) -> bool:
            inside = one in singles or any(a <= one <= b for a, b in ranges) or any(some(one) for some in tests)
            return inside != negated

        return test

    def _member(self, tests: list[Test]) -> str | None:
        """A character of a class; nothing when it is a class itself, such as `\\d`."""
        character = self._take()
        if character != "\\":
            return character
        character = self._take()
        if character in _CLASSES:
            tests.append(_CLASSES[character])
            return None
        if character in "pPk":
            raise Unsupported(f"\\{character}")
        return "\b" if character == "b" else self._literal(character)

    # -- states

    def _state(self, test: Test | None = None, anchor: str = "") -> _State:
        self._states += 1
        if self._states > _MOST_STATES:
            raise Unsupported("too large")
        return _State(test, anchor)

    def _empty(self) -> _Part:
        state = self._state()
        return _Part(state, state)

    def _one(self, test: Test) -> _Part:
        start, end = self._state(test), self._state()
        start.then.append(end)
        return _Part(start, end)

    def _anchor(self, anchor: str) -> _Part:
        start, end = self._state(anchor=anchor), self._state()
        start.then.append(end)
        return _Part(start, end)

    def _any(self, branches: list[_Part]) -> _Part:
        start, end = self._state(), self._state()
        for branch in branches:
            start.then.append(branch.start)
            branch.end.then.append(end)
        return _Part(start, end)

    # -- the text

    @property
    def _now(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _skip(self, sign: str) -> bool:
        if self._now != sign:
            return False
        self._at += 1
        return True

    def _take(self) -> str:
        if not self._now:
            raise Unsupported("it ends too early")
        self._at += 1
        return self._pattern[self._at - 1]


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _word(one: str) -> bool:
    return one == "_" or (one.isascii() and one.isalnum())


def _space(one: str) -> bool:
    return one.isspace() or one == "\ufeff"


_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_CLASSES: dict[str, Test] = {
    "d": lambda one: _digits(one),
    "D": lambda one: not _digits(one),
    "w": _word,
    "W": lambda one: not _word(one),
    "s": _space,
    "S": lambda one: not _space(one),
}

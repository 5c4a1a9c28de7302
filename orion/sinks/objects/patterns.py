"""Patterns of times as Java writes them ('year'=YYYY/'month'=MM), for the names of folders.

A pattern is read once into pieces; a piece is text, or a function of a time. Letters mean what Joda-Time says they do,
which Kafka Connect's partitioners use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "d": lambda t: t.day,
    "D": lambda t: t.timetuple().tm_yday,
    "H": lambda t: t.hour,
    "k": lambda t: t.hour or 24,
    "K": lambda t: t.hour % 12,
    "h": lambda t: t.hour % 12 or 12,
    "m": lambda t: t.minute,
    "s": lambda t: t.second,
    "e": lambda t: t.isoweekday(),
    "w": lambda t: t.isocalendar().week,
    "C": lambda t: t.year // 100,
}
_YEARS: dict[str, Callable[[datetime], int]] = {
    "y": lambda t: t.year,
    "Y": lambda t: t.year,
    "x": lambda t: t.isocalendar().year,
}
_NAMED: dict[str, Callable[[datetime], str]] = {"M": lambda t: _MONTHS[t.month - 1], "E": lambda t: _DAYS[t.weekday()]}
_PIECES = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z']+)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that can be read; making one of another raises ValueError."""

    text: str

    def __post_init__(self) -> None:
        self.write(datetime(2000, 1, 1))

    def write(self, time: datetime) -> str:
        """A time of the pattern's zone."""
        told, at = [], 0
        while at < len(self.text):
            found = _PIECES.match(self.text, at)
            if found is None:
                raise ValueError(f"a quote isn't closed in {self.text}")
            at = found.end()
            quoted, letters, _, other = found.groups()
            if letters is not None:
                told.append(_field(letters[0], len(letters), time))
            else:
                told.append(other if other is not None else quoted.replace("''", "'") or "'")
        return "".join(told)

    @property
    def has_names(self) -> bool:
        """Whether it writes words, which other languages have others for."""
        bare = re.sub(r"'(?:[^']|'')*'", " ", self.text)
        return re.search(r"MMM|E|a", bare) is not None


def _field(letter: str, width: int, time: datetime) -> str:
    if letter in _YEARS:
        year = _YEARS[letter](time)
        return f"{year % 100:02}" if width == 2 else f"{year:0{width}}"
    if letter in _NUMBERS:
        return f"{_NUMBERS[letter](time):0{width}}"
    if letter == "M" and width <= 2:
        return f"{time.month:0{width}}"
    if letter in _NAMED:
        name = _NAMED[letter](time)
        return name if width > 3 else name[:3]
    if letter == "S":
        return f"{time.microsecond:06}".ljust(width, "0")[:width]
    if letter == "a":
        return "AM" if time.hour < 12 else "PM"
    raise ValueError(f"the letter {letter} means nothing: quote what is text, as in 'year'=YYYY")

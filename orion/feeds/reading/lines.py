"""Text files, a line at a time: JSON as it is, CSV as cells in the order of the columns that are wanted."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orion.feeds.reading.entries import BROKEN, UNREADABLE_FILE, Entry, Found

# A cell may go on in the next line, in quotes. After so many lines a quote isn't taken to be closed any more.
_MOST_LINES = 1000


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written."""

    separator: str = ","
    quote: str = '"'
    escape: str | None = None
    header: bool = False  # the first line names the columns
    skipped: int = 0  # lines before that
    nulls: frozenset[str] = frozenset({""})
    charset: str = "utf-8"


def json_lines(found: Found) -> Iterator[Entry]:
    """Each line that isn't empty."""
    try:
        with found.open() as file:
            for number, line in enumerate(file, 1):
                raw = line.rstrip(b"\r\n")
                if raw.strip():
                    yield Entry(raw, number)
    except BROKEN as error:
        yield broken(found, error)


def csv_lines(found: Found, dialect: Dialect, columns: Sequence[str]) -> Iterator[Entry]:
    csv.field_size_limit(sys.maxsize)
    charset = "utf-8-sig" if dialect.charset.lower() in ("utf-8", "utf8") else dialect.charset
    try:
        with found.open() as file, io.TextIOWrapper(file, charset, errors="surrogateescape", newline="") as text:
            yield from _rows(_Lines(text, dialect), columns)
    except BROKEN as error:
        yield broken(found, error)


def header_of(found: Found, dialect: Dialect) -> list[str] | None:
    """The names in a CSV file's first line."""
    with found.open() as file, io.TextIOWrapper(file, dialect.charset, newline="") as text:
        return next((cells for _, _, cells, _ in _Lines(text, dialect).records() if cells), None)


def broken(found: Found, error: Exception) -> Entry:
    return Entry(found.path.encode(), 0, bad=f"{UNREADABLE_FILE}: {str(error) or type(error).__name__}")


def _rows(lines: _Lines, columns: Sequence[str]) -> Iterator[Entry]:
    dialect = lines.dialect
    places: list[int | None] = list(range(len(columns)))
    width, named, straight, nulls = len(columns), not dialect.header, True, dialect.nulls
    for raw, number, cells, wrong in lines.records():
        if not wrong and not cells:
            continue  # an empty line
        if not wrong and not named:
            named, width = True, len(cells)
            places = _placed(cells, columns)
            straight = places == list(range(width))
            continue
        if not wrong and not any(place is not None for place in places):
            wrong = "the file's header names none of the columns"
        elif not wrong and len(cells) != width:
            wrong = f"{len(cells)} cells, and there are {width} columns"
        elif not wrong and not raw.isascii() and any(map(_undecoded, cells)):
            wrong = f"not {dialect.charset.upper()}"
        if wrong:
            yield Entry(raw, number, bad=f"VALUE_UNREADABLE: {wrong}")
        else:
            taken = cells if straight else [None if place is None else cells[place] for place in places]
            yield Entry(raw, number, tuple([None if cell in nulls else cell for cell in taken]))


def _placed(header: Sequence[str], columns: Sequence[str]) -> list[int | None]:
    """Where each column stands: under its name, in any case."""
    exact = {name.strip(): at for at, name in reversed(list(enumerate(header)))}
    alike = {name.strip().upper(): at for at, name in reversed(list(enumerate(header)))}
    return [exact.get(column, alike.get(column.upper())) for column in columns]


def _undecoded(cell: str) -> bool:
    return not cell.isascii() and any("\udc80" <= sign <= "\udcff" for sign in cell)


Record = tuple[bytes, int, list[str], str | None]  # as it stands there, its first line's number, cells, what is wrong


class _Lines:
    """Lines on their way through Python's CSV reader, which takes as many as a record has."""

    def __init__(self, text: Iterator[str], dialect: Dialect) -> None:
        self.dialect = dialect
        self._text = text
        self._again: list[str] = []
        self._taken: list[str] = []
        self._number = 0
        for _ in range(dialect.skipped):
            next(self._text, None)
            self._number += 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if len(self._taken) >= _MOST_LINES:
            raise csv.Error("unexpected end of data")
        line = self._again.pop() if self._again else next(self._text)
        self._taken.append(line)
        return line

    def records(self) -> Iterator[Record]:
        told = self.dialect
        reader = csv.reader(self, delimiter=told.separator, quotechar=told.quote, escapechar=told.escape, strict=True)
        while True:
            wrong, cells = None, []
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                wrong = self._judged(error)
            raw = "".join(self._taken).rstrip("\r\n").encode(told.charset, "surrogateescape")
            yield raw, self._number + 1, cells, wrong
            self._number += len(self._taken)
            self._taken.clear()

    def _judged(self, error: csv.Error) -> str:
        """A quote that nothing closes has taken everything behind it: only its own line is bad."""
        if "unexpected end of data" not in str(error):
            return str(error)
        self._again += reversed(self._taken[1:])
        del self._taken[1:]
        return "a quote isn't closed"

"""Turns of phrase of PostgreSQL's that DuckDB writes in another way: arrays as texts, and `to_char`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orion.web.postgres.errors import Refused
from orion.web.postgres.lexer import Sort, Token

Element = str | None | list["Element"]

_NUMBERS = re.compile(r"^'\{-?\d+(,-?\d+)*\}'$")
_ELEMENT = re.compile(r'\s*(?:(?P<open>\{)|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<word>[^,{}"]*))', re.DOTALL)
_SEPARATOR = re.compile(r"\s*([,}])\s*")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ARRAY = re.compile(r"^'\{.*\}'$", re.DOTALL)

# Of to_char's patterns those that strftime has too; the longer ones come first.
_PATTERNS = {
    "YYYY": "%Y", "yyyy": "%Y", "YY": "%y", "yy": "%y", "IYYY": "%G", "MM": "%m", "mm": "%m", "Month": "%B",
    "Mon": "%b", "DDD": "%j", "ddd": "%j", "DD": "%d", "dd": "%d", "Day": "%A", "Dy": "%a", "HH24": "%H",
    "hh24": "%H", "HH12": "%I", "hh12": "%I", "HH": "%I", "hh": "%I", "MI": "%M", "mi": "%M", "SS": "%S", "ss": "%S",
    "MS": "%g", "ms": "%g", "US": "%f", "us": "%f", "AM": "%p", "PM": "%p", "IW": "%V", "ID": "%u", "Q": "\1",
    "FMMonth": "%B", "FMDay": "%A", "FMDD": "%-d", "FMMM": "%-m", "FMHH24": "%-H", "FMHH12": "%-I", "FMMI": "%-M",
    "FMSS": "%-S", "%": "%%",
}  # fmt: skip
_PATTERN = re.compile(r'"([^"]*)"|' + "|".join(sorted(map(re.escape, _PATTERNS), key=len, reverse=True)))
_UNKNOWN = re.compile(r"MONTH|month|MON|mon|DAY|day|DY|dy|TZ|tz|OF|CC|BC|AD|WW|SSSS|RM|RN|J(?!a|u)|TH|th")
_NUMBER = re.compile(r"^(FM)?([09,G]*[09][09,G]*)(?:[.D]([09]+))?$")


def array_literal(text: str, *, cast: bool) -> str | None:
    """`'{1,2}'` as `['1', '2']`, and as `[1, 2]` where no cast follows; none: it isn't one."""
    if not cast and _NUMBERS.match(text):
        return f"[{text[2:-2]}]"
    if not _ARRAY.match(text):
        return None
    try:
        return _bracketed(array_elements(text[1:-1].replace("''", "'")))
    except ValueError:
        return None


def _bracketed(elements: Sequence[Element]) -> str:
    parts = ("NULL" if e is None else _quoted(e) if isinstance(e, str) else _bracketed(e) for e in elements)
    return f"[{', '.join(parts)}]"


def array_elements(text: str) -> list[Element]:
    """The elements of `{a,"b, c",NULL,{d}}`."""
    levels: list[list[Element]] = [[]]
    at = 0
    while at < len(text):
        found = _ELEMENT.match(text, at)
        if found is None or (len(levels) == 1 and (at or found["open"] is None)):
            raise ValueError(text)
        at = found.end()
        if found["open"]:
            levels.append([])
            continue
        if found["quoted"] is not None:
            levels[-1].append(_ESCAPED.sub(r"\1", found["quoted"]))
        elif word := (found["word"] or "").strip():
            levels[-1].append(None if word.upper() == "NULL" else word)
        at = _close_levels(text, at, levels)
    if len(levels) != 1:
        raise ValueError(text)
    (elements,) = levels[0]
    assert isinstance(elements, list)
    return elements


def _close_levels(text: str, at: int, levels: list[list[Element]]) -> int:
    """Behind an element: brackets that end here, and a comma."""
    while (found := _SEPARATOR.match(text, at)) and found[1] == "}":
        if len(levels) == 1:
            raise ValueError(text)
        closed = levels.pop()
        levels[-1].append(closed)
        at = found.end()
    if found is None:
        if at < len(text):
            raise ValueError(text)
        return at
    return found.end()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def to_char(pieces: Sequence[Token], at: int) -> tuple[str, int, str]:
    """What `to_char (` at this place becomes: a function's name, where its format stands, and that format."""
    depth, end = 0, at + 1
    while end < len(pieces):
        depth += {"(": 1, ")": -1}.get(pieces[end].text, 0) if pieces[end].sort is Sort.SIGN else 0
        if depth == 0:
            break
        end += 1
    if end - 2 <= at or pieces[end - 2].text != "," or not pieces[end - 1].text.startswith("'"):
        raise Refused("0A000", "to_char needs its format as a text here", hint="to_char(rowtime, 'YYYY-MM-DD')")
    given = pieces[end - 1].text[1:-1].replace("''", "'")
    if number := _NUMBER.match(given):
        return "orion_number_text", end - 1, _number_format(given, number)
    if _UNKNOWN.search(_PATTERN.sub("", given)):
        raise Refused("0A000", f"to_char doesn't know all of '{given}' here", hint="strftime has other patterns.")
    return "orion_time_text", end - 1, _quoted(_PATTERN.sub(_directive, given))


def _directive(found: re.Match[str]) -> str:
    return found.group(1).replace("%", "%%") if found.group(1) is not None else _PATTERNS[found.group()]


def _number_format(given: str, found: re.Match[str]) -> str:
    """Arguments of `orion_number_text`: the format of DuckDB's `format`, the width, the first number that doesn't fit
    it, how many characters there are at least, and whether a zero before the point is left out."""
    fill, whole, part = found.groups()
    digits = whole.replace(",", "").replace("G", "")
    zeros = len(digits) - digits.index("0") if "0" in digits else 0
    if zeros > 1 and digits != whole:
        raise Refused("0A000", f"to_char doesn't know '{given}' here: zeros in front and groups at once")
    shown = f"'{{:{',' if digits != whole else ''}.{len(part or '')}f}}'"
    least = zeros + len(part or "") + bool(part) if zeros else 0
    return f"{shown}, {0 if fill else len(given) + 1}, {10 ** len(digits)}, {least}, {str(not zeros).lower()}"

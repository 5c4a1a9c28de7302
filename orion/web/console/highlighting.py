"""JSON and SQL in colours, as HTML."""

from __future__ import annotations

import re

from orion.web.console.markup import text

_JSON = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\b\d[\d.eE+-]*\b)|\b(true|false|null)\b')


def json_text(written: str) -> str:
    """JSON over several lines; what isn't JSON stays as it is."""
    told, at = [], 0
    for found in _JSON.finditer(written):
        told.append(text(written[at : found.start()]))
        told.append(_coloured(found))
        at = found.end()
    return "".join([*told, text(written[at:])])


def json_line(written: str) -> str:
    """The same on one line."""
    return json_text(written.replace("\n", " ")) if written[:1] in ("{", "[") else text(written)


def _coloured(found: re.Match[str]) -> str:
    string, colon, number, word = found.groups()
    if string is not None and colon is not None:
        return f'<span class="k">{text(string)}</span>{text(colon)}'
    if string is not None:
        return f'<span class="s">{text(string)}</span>'
    return f'<span class="n">{text(number or word)}</span>'

"""Rows on a terminal as psql shows them: a table where they fit, else record after record; long ones in a pager."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import typer
from rich.cells import cell_len, chop_cells

from orion.cli.values import NULL

Expanded = Literal["auto", "on", "off"]
GAP = "  "
_UNSTYLED = re.compile(r"\x1b\[[0-9;]*m")
_SHORT = 16  # a column up to this width isn't folded
_LEAST = 12  # nor is any other to less than this
_ENDLESS = 100_000
_PAGER = "less -SRFX"


@dataclass(slots=True)
class Display:
    """How a person wants to see rows: `\\x` changes it."""

    expanded: Expanded = "auto"


DISPLAY = Display()


def expansion_for(form: str | None) -> Expanded:
    """What a form that was asked for says of it, else what the person wants."""
    return "on" if form == "expanded" else "off" if form == "table" else DISPLAY.expanded


def terminal_width() -> int:
    """How many columns there are to fill; a file has no end to the right."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return _ENDLESS
    return shutil.get_terminal_size().columns


def draw_rows(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[bool],
    expanded: Expanded,
    *,
    fold: bool = False,
) -> list[str]:
    """The lines of a table, or of records where it is too wide; `fold`: long texts may take several lines first."""
    widths, room = _widths(heads, rows), terminal_width()
    if expanded == "on":
        return draw_records(heads, rows, room)
    if _total(widths) > room and expanded == "auto":
        folded = _folded(widths, right, room) if fold else None
        if folded is None:
            return draw_records(heads, rows, room)
        widths = folded
    lines = [_bold(line) for line in _laid(heads, right, widths)]
    lines.append("─" * _total(widths))
    for row in rows:
        lines += _laid(row, right, widths)
    return lines


def draw_records(heads: Sequence[str], rows: Sequence[Sequence[str]], room: int, first: int = 1) -> list[str]:
    """Each row as lines of name and value."""
    indent = max((cell_len(head) for head in heads), default=0)
    lines: list[str] = []
    for number, row in enumerate(rows, first):
        title = f"-[ RECORD {number} ]"
        lines.append(_bold(title.ljust(min(room, max(indent + 20, len(title) + 4)), "-")))
        for head, value in zip(heads, row, strict=True):
            parts = chop_cells(value, max(_LEAST, room - indent - 3)) or [""]
            for at, part in enumerate(parts):
                name = _padded(head if at == 0 else "", indent, right=False)
                lines.append(f"{name} {'|' if at == 0 else ':'} {_dimmed(part) if value == NULL else part}")
    return lines


def show_lines(lines: Sequence[str], *, pages: bool) -> None:
    """The lines, in a pager where the screen doesn't hold them and somebody is there to turn pages."""
    columns, height = shutil.get_terminal_size()
    held = len(lines) < height and all(cell_len(_UNSTYLED.sub("", line)) <= columns for line in lines)
    command = shlex.split(os.environ.get("PAGER") or _PAGER)
    if held or not pages or not command or not sys.stdin.isatty() or shutil.which(command[0]) is None:
        for line in lines:
            typer.echo(line)
        return
    text = "".join(f"{line}\n" for line in lines)
    # Who leaves the pager early closes its end: nothing is wrong then.
    subprocess.run(command, input=text, text=True, check=False, env={"LESS": "-SRFX", **os.environ})


def fit_cell(text: str, width: int, *, right: bool, cut: bool) -> str:
    """A cell of a row that comes alone; a text that is too long may be cut, a number never is."""
    if cut and cell_len(text) > width:
        text = chop_cells(text, width - 1)[0] + "…"
    return _padded(text, width, right=right)


def _widths(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(cell_len(head), *(cell_len(row[at]) for row in rows), 1) for at, head in enumerate(heads)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _folded(widths: Sequence[int], right: Sequence[bool], room: int) -> list[int] | None:
    """Narrower columns for long texts, such that all fit; None where they can't."""
    long = [at for at, width in enumerate(widths) if width > _SHORT and not right[at]]
    fixed = room - _total(widths) + sum(widths[at] for at in long)
    if not long or fixed < _LEAST * len(long):
        return None
    found, left = list(widths), fixed
    for done, at in enumerate(sorted(long, key=lambda at: widths[at])):
        found[at] = min(widths[at], left // (len(long) - done))
        left -= found[at]
    return found


def _laid(row: Sequence[str], right: Sequence[bool], widths: Sequence[int]) -> list[str]:
    """A row's lines: one, unless a text is folded."""
    parts = [_wrapped(text, width) for text, width in zip(row, widths, strict=True)]
    lines = []
    for texts in zip_longest(*parts, fillvalue=""):
        cells = [_padded(t, w, right=r) for t, w, r in zip(texts, widths, right, strict=True)]
        shown = [c.replace(NULL, _dimmed(NULL), 1) if t == NULL else c for c, t in zip(cells, texts, strict=True)]
        lines.append(GAP.join(shown).rstrip())
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    if cell_len(text) <= width:
        return [text]
    if text.isascii():
        return textwrap.wrap(text, width) or [""]
    return chop_cells(text, width)


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * max(0, width - cell_len(text))
    return space + text if right else text + space


def _bold(text: str) -> str:
    return typer.style(text, bold=True)


def _dimmed(text: str) -> str:
    return typer.style(text, dim=True)

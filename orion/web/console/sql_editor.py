"""The SQL editor: completion by what a statement names, mistakes underlined while somebody writes."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from orion.web.console import markup
from orion.web.console.questions import sql
from orion.web.console.questions.sql import Refused, Statement
from orion.web.console.questions.vocabulary import Vocabulary
from orion.web.console.view import View, error_box, html, replace_with

Act = Callable[[], Awaitable[None]]
# So long nothing is typed before the statement is checked: nobody is interrupted in the middle of a word.
_PAUSE_S = 0.7
# What is in the editor now: what the server has heard of it may be a letter or two behind.
_WRITTEN = (
    "(() => { const s = getElement(%d).editor.state, m = s.selection.main;"
    " return [s.doc.toString(), m.from, m.to]; })()"
)


class SqlEditor:
    """A text with a cursor. `note` under it has what is wrong."""

    def __init__(self, view: View, text: str, *, run: Act, explain: Act) -> None:
        self._view = view
        self._text = text
        self._typed_at: float | None = None
        self._code = ui.codemirror(
            text,
            language="SQL",
            line_wrapping=True,
            on_change=lambda _: self._hear_typing(),
            keymap={"Mod-Enter": lambda _: run(), "Shift-Mod-Enter": lambda _: explain()},
        )

    def place_note(self) -> None:
        """Where mistakes are told; below whatever stands under the editor."""
        self._note = html("")

    def offer(self, words: Vocabulary) -> None:
        ui.run_javascript(f"orionVocabulary({self._code.id}, {json.dumps(words.as_json())})")

    def insert(self, text: str) -> None:
        ui.run_javascript(f"orionInserts({self._code.id}, {json.dumps(text)})")

    def replace_text(self, text: str) -> None:
        self._code.set_value(text)

    async def read_text(self) -> str:
        return (await self._read())[0]

    async def choose(self) -> list[Statement]:
        """The statements that are meant by the cursor or the selection; raises Refused."""
        self._typed_at = None
        text, start, end = await self._read()
        self._mark(None)
        self.show_error("")
        return await self._view.ask(sql.chosen, text, start, end)

    def show_mistake(self, refused: Refused) -> None:
        """Of a statement that somebody wanted to run."""
        self._mark(refused)
        self.show_error(error_box(refused.error))

    def show_error(self, box: str) -> None:
        replace_with(self._note, box)

    async def check_when_idle(self) -> None:
        """Underline a mistake once somebody pauses; called now and then."""
        if self._typed_at is None or time.monotonic() - self._typed_at < _PAUSE_S:
            return
        self._typed_at = None
        text, start, _ = await self._read()
        found = await self._view.ask(sql.find_mistake, self._view.orion, text, start)
        if self._typed_at is None:
            self._mark(found)
            self.show_error("" if found is None else _line(found))

    async def _read(self) -> tuple[str, int, int]:
        found: Any = await ui.run_javascript(_WRITTEN % self._code.id, timeout=5.0)
        self._text = str(found[0])
        return self._text, int(found[1]), int(found[2])

    def _hear_typing(self) -> None:
        self._typed_at = time.monotonic()

    def _mark(self, refused: Refused | None) -> None:
        place = "null"
        if refused is not None and refused.span is not None and self._text:
            start = min(refused.span.start, len(self._text) - 1)
            place = f"[{start}, {min(max(refused.span.end, start + 1), len(self._text))}]"
        ui.run_javascript(f"orionMarks({self._code.id}, {place})")


def _line(refused: Refused) -> str:
    """A mistake while somebody still writes: less loud than one that stopped a statement."""
    return f'<p class="o-hint" role="status">{markup.text(refused.error.message)}</p>'

"""Statements beside the SQL editor: those that people saved under a name, and those that were run last."""

from __future__ import annotations

from orion.web.console import markup
from orion.web.console.dialogs import ask_name, sure
from orion.web.console.questions.sql import Statement
from orion.web.console.sql_editor import SqlEditor
from orion.web.console.tables import on_act
from orion.web.console.view import View, html, panel, replace_with, tell, told

_MOST_REMEMBERED = 50
_MOST_SHOWN = 12


class KeptStatements:
    def __init__(self, view: View, editor: SqlEditor) -> None:
        self._view, self._editor = view, editor
        with panel("Saved", note=markup.muted("for everybody who opens this console")):
            self._saved = html("")
        with panel("History", note=markup.muted("of this server, since it started")):
            self._history = html("")
        on_act(self._saved, self._act_on_saved)
        on_act(self._history, self._write_again)

    async def draw(self) -> None:
        self._show_history()
        with told():
            await self._show_saved()

    async def save(self) -> None:
        """Keep the editor's text under a name."""
        text = await self._editor.read_text()
        name = await ask_name("Save what is in the editor", action="Save")
        if name is not None:
            with told():
                await self._view.ask(self._view.desk.saved.save, name, text)
                await self._show_saved()
                tell(f"Saved as {name}.")

    def remember(self, statement: Statement) -> None:
        history, shown = self._view.desk.history, statement.shown + ";"
        if shown in history:
            history.remove(shown)
        history.insert(0, shown)
        del history[_MOST_REMEMBERED:]
        self._show_history()

    async def _act_on_saved(self, act: str, name: str) -> None:
        with told():
            saved = await self._view.ask(self._view.desk.saved.read)
            if act == "open":
                self._editor.replace_text(saved.get(name, ""))
            elif await sure(f"Delete {name}?", "<p>The saved text is gone afterwards.</p>", action="Delete"):
                await self._view.ask(self._view.desk.saved.delete, name)
                await self._show_saved()

    async def _write_again(self, _: str, at: str) -> None:
        self._editor.replace_text(self._view.desk.history[int(at)] + "\n")

    async def _show_saved(self) -> None:
        saved = await self._view.ask(self._view.desk.saved.read)
        rows = "".join(
            f'<div class="o-saved"><button type="button" class="o-past" data-act="open" data-arg="{markup.text(name)}">'
            f"<b>{markup.text(name)}</b> {markup.text(' '.join(text.split())[:200])}</button>"
            f"{markup.act('delete', name, f'Delete {name}', picture='trash')}</div>"
            for name, text in saved.items()
        )
        replace_with(self._saved, rows or markup.muted("Save keeps what is in the editor under a name."))

    def _show_history(self) -> None:
        rows = "".join(
            f'<button type="button" class="o-past" data-act="again" data-arg="{at}">{markup.text(text)}</button>'
            for at, text in enumerate(self._view.desk.history[:_MOST_SHOWN])
        )
        replace_with(self._history, rows or markup.muted("What you run is kept here."))

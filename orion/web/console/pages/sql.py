"""SQL: an editor that completes and points at mistakes; answers as tables, running results as tables and charts."""

from __future__ import annotations

import json
from collections.abc import Callable

from nicegui import ui

from orion.errors import OrionError
from orion.web.console import amounts, markup
from orion.web.console.page import Page
from orion.web.console.questions import sql
from orion.web.console.questions.sql import Refused, Statement, Stream
from orion.web.console.results import LiveRows, grid_html
from orion.web.console.tables import on_act
from orion.web.console.view import View, button, error_box, heading, html, panel, replace_with, toolbar

_HISTORY = 50
_LOOK_S = 0.5
_FIRST = "SHOW STREAMS;\n"
# What is in the editor now: what the server has heard of it may be a letter or two behind.
_WRITTEN = (
    "(() => { const s = getElement(%d).editor.state, m = s.selection.main;"
    " return [s.doc.toString(), m.from, m.to]; })()"
)


async def draw(view: View) -> None:
    heading(
        "SQL",
        "ksqlDB's dialect. What you create runs for good; SELECT shows rows as they are, EMIT CHANGES as they come.",
    )
    await Workbench(view).draw()


class Workbench:
    """The editor with what came out of it."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._text = ""
        self._close: Callable[[], None] = lambda: None
        self._stream: Stream | None = None
        self._rows: LiveRows | None = None
        with panel(classes="o-editor"):
            self._editor = ui.codemirror(
                view.query.get("text") or _FIRST,
                language="SQL",
                line_wrapping=True,
                keymap={"Mod-Enter": lambda _: self.run(), "Shift-Mod-Enter": lambda _: self.explain()},
            )
            with toolbar():
                button("Run", self.run, tone="primary", picture="play")
                button("Explain", self.explain)
                self._stop = button("Stop", self.stop, picture="stop")
                self._early = ui.checkbox("From the beginning", value=True).props("dense size=xs").classes("o-check")
                html("", classes="o-spacer")
                html("<kbd>Ctrl Enter</kbd> runs the statement at the cursor", classes="o-muted")
        self._stop.set_visibility(False)
        self._note = html("")
        with panel() as self._results:
            self._place = html(_nothing_yet())
        with panel("History", note=markup.muted("of this server, since it started")):
            self._history = html("")
        on_act(self._history, self._again)

    async def draw(self) -> None:
        self._show_history()
        ui.timer(_LOOK_S, self._look)
        words = await self._view.desk.shared("vocabulary", 2.0, lambda: sql.vocabulary(self._view.orion))
        ui.run_javascript(f"orionCompletes({self._editor.id}, {json.dumps(words)})")

    # ---- what people do ----------------------------------------------------------------------------------------

    async def run(self) -> None:
        await self.stop()
        try:
            for statement in await self._chosen():
                self._remember(statement)
                if statement.is_question:
                    await self._follow(statement)
                else:
                    asked = await self._view.ask(sql.run, self._view.orion, statement, self._properties, {})
                    self._answer(asked)
        except Refused as refused:
            self._mark(refused)

    async def explain(self) -> None:
        await self.stop()
        try:
            plans = [
                await self._view.ask(sql.explained, self._view.orion, statement) for statement in await self._chosen()
            ]
        except Refused as refused:
            self._mark(refused)
            return
        replace_with(self._note, "")
        self._clear("".join(f'<pre class="o-code">{markup.text(plan)}</pre>' for plan in plans))

    async def stop(self) -> None:
        self._stream = None
        self._stop.set_visibility(False)
        self._close()

    async def _again(self, _: str, at: str) -> None:
        self._editor.set_value(self._view.desk.history[int(at)] + "\n")

    # ---- what comes of it --------------------------------------------------------------------------------------

    @property
    def _properties(self) -> dict[str, str]:
        return dict(sql.BEGINNING) if self._early.value else {}

    async def _chosen(self) -> list[Statement]:
        self._text, start, end = await ui.run_javascript(_WRITTEN % self._editor.id, timeout=5.0)
        self._mark(None)
        return sql.chosen(self._text, int(start), int(end))

    async def _follow(self, statement: Statement) -> None:
        self._clear()
        self._stream = await self._view.ask(sql.stream, self._view.orion, statement, self._properties, {})
        self._close = self._view.opened(self._stream.close)
        self._stop.set_visibility(True)
        with self._results:
            with toolbar("o-live-bar"):
                self._count = html(markup.muted("starting a stream in Spark …"), classes="o-live-head o-spacer")
                choice = ui.toggle({False: "Table", True: "Chart"}, value=False)
            rows = LiveRows(self._stream.columns, self._stream.types)
            choice.on_value_change(lambda e: rows.draw_as(bool(e.value)))
            choice.props("dense no-caps unelevated").classes("o-toggle").set_visibility(rows.can_be_drawn)
        self._rows = rows

    async def _look(self) -> None:
        stream, rows = self._stream, self._rows
        if stream is None or rows is None:
            return
        try:
            came = await self._view.ask(stream.look)
        except OrionError as error:
            await self.stop()
            replace_with(self._note, error_box(error))
            return
        if self._stream is not stream:
            return
        rows.add(came)
        how = "all there are" if stream.over else "and going on"
        replace_with(self._count, markup.muted(f"{amounts.count(rows.count)} rows, {how}; newest first"))
        if stream.over:
            await self.stop()

    def _answer(self, told: sql.Told) -> None:
        message = f'<p class="o-done">{markup.text(told.message)}</p>' if told.message else ""
        self._clear(message + "".join(map(grid_html, told.grids)) or _nothing_yet())

    def _clear(self, content: str = "") -> None:
        self._rows = None
        self._results.clear()
        with self._results:
            self._place = html(content)

    def _mark(self, refused: Refused | None) -> None:
        """Point at a mistake, in the text and under it; None: there is none."""
        place = "null"
        if refused is not None and refused.span is not None and self._text:
            start = min(refused.span.start, len(self._text) - 1)
            place = f"[{start}, {min(max(refused.span.end, start + 1), len(self._text))}]"
        ui.run_javascript(f"orionMarks({self._editor.id}, {place})")
        replace_with(self._note, "" if refused is None else error_box(refused.error))

    # ---- history -----------------------------------------------------------------------------------------------

    def _remember(self, statement: Statement) -> None:
        history, shown = self._view.desk.history, statement.shown + ";"
        if shown in history:
            history.remove(shown)
        history.insert(0, shown)
        del history[_HISTORY:]
        self._show_history()

    def _show_history(self) -> None:
        rows = "".join(
            f'<button type="button" class="o-past" data-act="again" data-arg="{at}">{markup.text(text)}</button>'
            for at, text in enumerate(self._view.desk.history[:12])
        )
        replace_with(self._history, rows or markup.muted("What you run is kept here."))


def _nothing_yet() -> str:
    return markup.empty("Results show here", "Write a statement and press Ctrl Enter.", "sql")


PAGE = Page("SQL", "sql", {"/sql": draw}, group="Processing", words=("editor", "query", "ksql"))

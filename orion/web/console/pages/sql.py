"""SQL: an editor that completes and points at mistakes; answers as tables, running results as tables and charts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nicegui import ui

from orion.errors import OrionError
from orion.web.console import amounts, markup
from orion.web.console.kept_statements import KeptStatements
from orion.web.console.page import Page
from orion.web.console.questions import sql
from orion.web.console.questions.sql import Refused, Statement, Stream
from orion.web.console.questions.vocabulary import read_vocabulary
from orion.web.console.results import LiveRows, export_buttons, grid_html
from orion.web.console.schema_bar import SchemaBar
from orion.web.console.sql_editor import SqlEditor
from orion.web.console.view import View, button, error_box, heading, html, panel, replace_with, toolbar

_LOOK_S = 0.5
_WORDS_S = 5.0
_FIRST = "SHOW STREAMS;\n"


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
        self._close: Callable[[], None] = lambda: None
        self._stream: Stream | None = None
        self._rows: LiveRows | None = None
        self._is_running = False
        with ui.element("div").classes("o-workbench"):
            self._schema = SchemaBar(lambda name: self._editor.insert(name))
            with ui.element("div").classes("o-rows"):
                with panel(classes="o-editor"):
                    text = view.query.get("text") or _FIRST
                    self._editor = SqlEditor(view, text, run=self.run, explain=self.explain)
                    self._draw_toolbar()
                self._editor.place_note()
                with panel() as self._results:
                    html(_nothing_yet())
                self._kept = KeptStatements(view, self._editor)

    def _draw_toolbar(self) -> None:
        with toolbar():
            button("Run", self.run, tone="primary", picture="play")
            button("Explain", self.explain)
            self._stop = button("Stop", self.stop, picture="stop")
            self._stop.set_visibility(False)
            button("Save", lambda: self._kept.save())
            self._early = ui.checkbox("From the beginning", value=True).props("dense size=xs").classes("o-check")
            html("", classes="o-spacer")
            html("<kbd>Ctrl Enter</kbd> runs the statement at the cursor", classes="o-muted")

    async def draw(self) -> None:
        await self._kept.draw()
        ui.timer(_LOOK_S, self._look)
        await self._refresh_words()
        self._view.every(_WORDS_S, self._refresh_words)

    async def _refresh_words(self) -> None:
        """The catalog may change while somebody writes, by this page or another."""
        words = await self._view.desk.shared("vocabulary", 2.0, lambda: read_vocabulary(self._view.orion))
        self._schema.show(words.sources)
        self._editor.offer(words)

    # ---- what people do ----------------------------------------------------------------------------------------

    async def run(self) -> None:
        if self._is_running:  # pressed twice is meant once: an INSERT would write two rows
            return
        self._is_running = True
        try:
            await self._run()
        finally:
            self._is_running = False

    async def _run(self) -> None:
        await self.stop()
        try:
            for statement in await self._editor.choose():
                self._kept.remember(statement)
                if statement.is_question:
                    await self._follow(statement)
                else:
                    asked = await self._view.ask(sql.run, self._view.orion, statement, self._properties, {})
                    self._answer(asked)
        except Refused as refused:
            self._editor.show_mistake(refused)

    async def explain(self) -> None:
        await self.stop()
        try:
            chosen, properties = await self._editor.choose(), self._properties
            plans = [await self._view.ask(sql.explained, self._view.orion, one, properties) for one in chosen]
        except Refused as refused:
            self._editor.show_mistake(refused)
            return
        self._clear("".join(f'<pre class="o-code">{markup.text(plan)}</pre>' for plan in plans))

    async def stop(self) -> None:
        self._stream = None
        self._stop.set_visibility(False)
        self._close()

    # ---- what comes of it --------------------------------------------------------------------------------------

    @property
    def _properties(self) -> dict[str, str]:
        return dict(sql.BEGINNING if self._early.value else sql.END)

    async def _follow(self, statement: Statement) -> None:
        self._clear(markup.empty("Starting …", "A new stream in Spark takes some seconds.", "queries"))
        stream = self._stream = await self._view.ask(sql.stream, self._view.orion, statement, self._properties, {})
        self._close = self._view.opened(stream.close)
        self._stop.set_visibility(True)
        self._clear()
        with self._results:
            with toolbar("o-live-bar"):
                self._count = html(markup.muted("starting …"), classes="o-live-head o-spacer")
                choice = ui.toggle({False: "Table", True: "Chart"}, value=False)
                export_buttons(stream.columns, stream.types, lambda: rows.kept)
            rows = LiveRows(stream.columns, stream.types)
            choice.on_value_change(lambda e: rows.draw_as(bool(e.value)))
            choice.props("dense no-caps unelevated").classes("o-toggle").set_visibility(rows.can_be_drawn)
        self._rows = rows

    async def _look(self) -> None:
        await self._editor.check_when_idle()
        stream, rows = self._stream, self._rows
        if stream is None or rows is None:
            return
        try:
            came = await self._view.ask(stream.look)
        except OrionError as error:
            await self.stop()
            self._editor.show_error(error_box(error))
            return
        if self._stream is not stream:
            return
        rows.add(came)
        replace_with(self._count, markup.muted(_progress(stream, rows)))
        if stream.over:
            await self.stop()

    def _answer(self, told: sql.Told) -> None:
        message = f'<p class="o-done">{markup.text(told.message)}</p>' if told.message else ""
        self._clear(message + "".join(map(grid_html, told.grids)) or _nothing_yet())
        for grid in told.grids:
            if grid.types and grid.rows:
                with self._results, toolbar("o-export"):
                    html(markup.muted(f"{amounts.count(len(grid.rows))} rows"), classes="o-spacer")
                    export_buttons(grid.columns, grid.types, partial(list, grid.rows))

    def _clear(self, content: str = "") -> None:
        self._rows = None
        self._results.clear()
        with self._results:
            html(content)


def _progress(stream: Stream, rows: LiveRows) -> str:
    if stream.over:
        return f"{amounts.count(rows.count)} rows, all there are; newest first"
    if rows.count:
        return f"{amounts.count(rows.count)} rows, and going on; newest first"
    return "no rows yet" if stream.has_begun else "starting: Spark takes some seconds to begin reading …"


def _nothing_yet() -> str:
    return markup.empty("Results show here", "Write a statement and press Ctrl Enter.", "sql")


PAGE = Page("SQL", "sql", {"/sql": draw}, group="Processing", words=("editor", "query", "ksql"))

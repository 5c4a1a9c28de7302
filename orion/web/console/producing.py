"""Writing one record into a topic: as it is typed, or as a row of what is declared over the topic."""

from __future__ import annotations

from nicegui import ui

from orion.errors import OrionError
from orion.web.console import markup
from orion.web.console.questions import producing as questions
from orion.web.console.questions.topics import Detail
from orion.web.console.view import View, button, error_box, html, replace_with, tell


async def produce_dialog(view: View, found: Detail) -> None:
    """Ask for a record and send it; what the brokers or the format refuse is told in the dialog."""
    name = found.topic.topic.name
    ways = {"": "As typed (UTF-8)", **{s.name: f"As a row of {s.name}, {s.value.format}" for s in found.sources}}
    with ui.dialog() as dialog, ui.element("div").classes("o-dialog o-dialog--wide"):
        html(f"<h2>Produce to {markup.text(name)}</h2>")
        way = ui.select(ways, value=found.sources[0].name if found.sources else "", label="Encoded").classes("o-input")
        key = ui.input(label="Key").classes("o-input o-mono")
        key.bind_visibility_from(way, "value", backward=lambda chosen: not chosen)
        value = ui.textarea(label="Value", value=questions.template(found.sources)).classes("o-input o-mono")
        headers = ui.textarea(label="Headers, name=value one a line").classes("o-input o-mono").props("rows=2")
        for field in (way, key, value, headers):
            field.props("dense outlined")
        error = html("")

        async def send() -> None:
            wanted = questions.Typed(way.value or "", key.value or "", value.value or "", headers.value or "")
            try:
                receipt = await view.ask(questions.send, view.orion, view.desk.outbox, name, wanted)
            except OrionError as refused:
                replace_with(error, error_box(refused))
                return
            dialog.close()
            tell(f"Written to partition {receipt.partition} at offset {receipt.offset}.")

        with ui.element("div").classes("o-dialog__buttons"):
            button("Cancel", dialog.close)
            button("Produce", send, tone="primary", picture="send")
    dialog.on("hide", dialog.delete)
    dialog.open()

"""Writing one record into a topic: as it is typed, or as a row of what is declared over the topic."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from orion.plan.sources import Source
from orion.web.console import markup
from orion.web.console.forms import form_dialog
from orion.web.console.questions import producing as questions
from orion.web.console.questions.decoding import Decoded
from orion.web.console.view import View, html, tell


async def produce_dialog(view: View, name: str, sources: Sequence[Source], again: Decoded | None = None) -> None:
    """Ask for a record and send it; what the brokers or the format refuse is told in the dialog.

    `again` is a record of the topic that is sent once more: as it is, or edited.
    """
    ways = {"": "As typed (UTF-8)", **{s.name: f"As a row of {s.name}, {s.value.format}" for s in sources}}
    if again is None:
        title, chosen = f"Produce to {name}", sources[0].name if sources else ""
        start = questions.Typed(chosen, "", questions.template(sources))
    else:
        ways = {questions.UNCHANGED: "As it was, byte by byte", **ways}
        title, chosen = f"Send {again.record.partition}:{again.record.offset} to {name} again", questions.UNCHANGED
        start = questions.typed_again(sources[0] if sources else None, again)
    declared = {s.name: s for s in sources}
    with form_dialog(wide=True) as form:
        html(f"<h2>{markup.text(title)}</h2>")
        way = ui.select(ways, value=chosen, label="Encoded").classes("o-input")
        key = ui.input(label="Key", value=start.key).classes("o-input o-mono")
        key.bind_visibility_from(way, "value", backward=lambda chosen: not chosen)
        value = ui.textarea(label="Value", value=start.value).classes("o-input o-mono")
        headers = ui.textarea(label="Headers, name=value one a line", value=start.headers)
        headers.classes("o-input o-mono").props("rows=2")
        for hidden in (value, headers):
            hidden.bind_visibility_from(way, "value", backward=lambda chosen: chosen != questions.UNCHANGED)
        for field in (way, key, value, headers):
            field.props("dense outlined")

        proposed = [start]

        def follow() -> None:
            """What nobody has changed is written as the way that was chosen wants it."""
            last = proposed[-1]
            if again is None or way.value == questions.UNCHANGED or (key.value, value.value) != (last.key, last.value):
                return
            proposed.append(questions.typed_again(declared.get(way.value or ""), again))
            key.value, value.value = proposed[-1].key, proposed[-1].value

        way.on_value_change(follow)

        async def send() -> None:
            texts = (key.value or "", value.value or "", headers.value or "")
            wanted = questions.Typed(way.value or "", *texts, original=start.original)
            receipt = await view.ask(questions.send, view.orion, view.desk.outbox, name, wanted)
            form.close()
            tell(f"Written to partition {receipt.partition} at offset {receipt.offset}.")

        with form.buttons():
            form.button("Produce" if again is None else "Send again", send, tone="primary", picture="send")

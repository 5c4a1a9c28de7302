"""Changing a topic: one of its settings, or how many partitions it has."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from orion.errors import UserError
from orion.hub.inspection import Setting
from orion.web.console.forms import form_dialog
from orion.web.console.questions.topics import Detail
from orion.web.console.view import View, html

OWN = "DYNAMIC_TOPIC_CONFIG"  # where the value of a setting comes from that the topic itself has


async def setting_dialog(view: View, found: Detail, settings: Sequence[Setting]) -> None:
    """Set one, or give it back to the broker's default."""
    name = found.topic.topic.name
    known = {s.name: s for s in settings if not s.is_read_only}
    with form_dialog() as form:
        html("<h2>Change a setting</h2><p>Retention and cleanup may delete records: soon, and for good.</p>")
        chosen = ui.select(sorted(known), label="Setting", with_input=True).props("dense outlined").classes("o-input")
        value = ui.input(label="Value").props("dense outlined").classes("o-input o-mono")

        def show() -> None:
            setting = known.get(str(chosen.value))
            value.value = "" if setting is None or setting.is_sensitive else setting.value or ""
            default.set_visibility(setting is not None and setting.source == OWN)

        chosen.on_value_change(show)

        def checked() -> Setting:
            setting = known.get(str(chosen.value))
            if setting is None:
                raise UserError("SETTING_MISSING", "Choose a setting.")
            return setting

        async def put() -> None:
            setting = checked()
            await view.ask(view.orion.kafka.alter_topic, name, {setting.name: str(value.value)})
            ui.navigate.reload()

        async def reset() -> None:
            await view.ask(view.orion.kafka.alter_topic, name, None, (checked().name,))
            ui.navigate.reload()

        with form.buttons():
            default = form.button("Use the default", reset)
            default.set_visibility(False)
            form.button("Set", put, tone="primary")


async def partitions_dialog(view: View, found: Detail) -> None:
    """Add some; there is no way back."""
    name, now = found.topic.topic.name, len(found.topic.partitions)
    with form_dialog() as form:
        html(
            "<h2>Add partitions</h2><p>A topic can't have fewer again. Keys may go to other partitions from then on: "
            "their records are in order before it and after it, not across it.</p>" + _who_minds(found)
        )
        wanted = ui.number(label="Partitions", value=now + 1, min=now + 1, precision=0)
        wanted.props("dense outlined").classes("o-input")

        async def grow() -> None:
            await view.ask(view.orion.kafka.alter_topic, name, None, (), int(wanted.value or 0))
            ui.navigate.reload()

        with form.buttons():
            form.button("Add", grow, tone="danger")


def _who_minds(found: Detail) -> str:
    reads = [name for kind, name in found.readers if kind == "query"]
    return f"<p>{len(reads)} queries read it, and may say that they mind.</p>" if reads else ""

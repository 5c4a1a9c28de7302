"""Making a topic."""

from __future__ import annotations

from nicegui import ui

from orion.errors import OrionError, UserError
from orion.web.console.view import View, button, error_box, html, replace_with, tell

_POLICIES = {"delete": "Delete what is old", "compact": "Keep the last record of every key", "compact,delete": "Both"}


async def create_dialog(view: View) -> None:
    with ui.dialog() as dialog, ui.element("div").classes("o-dialog"):
        html("<h2>Create a topic</h2>")
        name = ui.input(label="Name").classes("o-input o-mono")
        partitions = ui.number(label="Partitions", value=view.orion.engine.config.hub.partitions, min=1, precision=0)
        policy = ui.select(_POLICIES, value="delete", label="Cleanup").classes("o-input")
        for field in (name, partitions, policy):
            field.props("dense outlined").classes("o-input")
        error = html("")

        async def create() -> None:
            try:
                if not name.value:
                    raise UserError("NAME_MISSING", "The topic needs a name.")
                config = {"cleanup.policy": str(policy.value)}
                await view.ask(view.orion.kafka.create_topic, name.value, int(partitions.value or 1), None, config)
            except OrionError as refused:
                replace_with(error, error_box(refused))
                return
            dialog.close()
            tell(f"Created topic {name.value}.")
            view.go("topics", name.value)

        with ui.element("div").classes("o-dialog__buttons"):
            button("Cancel", dialog.close)
            button("Create", create, tone="primary")
    dialog.on("hide", dialog.delete)
    dialog.open()

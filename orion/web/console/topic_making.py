"""Making a topic."""

from __future__ import annotations

from nicegui import ui

from orion.errors import UserError
from orion.web.console.forms import form_dialog
from orion.web.console.view import View, html, tell

_POLICIES = {"delete": "Delete what is old", "compact": "Keep the last record of every key", "compact,delete": "Both"}


async def create_dialog(view: View) -> None:
    with form_dialog() as form:
        html("<h2>Create a topic</h2>")
        name = ui.input(label="Name").classes("o-input o-mono")
        partitions = ui.number(label="Partitions", value=view.orion.engine.config.hub.partitions, min=1, precision=0)
        policy = ui.select(_POLICIES, value="delete", label="Cleanup").classes("o-input")
        for field in (name, partitions, policy):
            field.props("dense outlined").classes("o-input")

        async def create() -> None:
            if not name.value:
                raise UserError("NAME_MISSING", "The topic needs a name.")
            config = {"cleanup.policy": str(policy.value)}
            await view.ask(view.orion.kafka.create_topic, name.value, int(partitions.value or 1), None, config)
            form.close()
            tell(f"Created topic {name.value}.")
            view.go("topics", name.value)

        with form.buttons():
            form.button("Create", create, tone="primary")

"""A connector's form, drawn from the options that its plug-in declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from orion.options import Definition
from orion.web.console import markup
from orion.web.console.forms import Form
from orion.web.console.page import address
from orion.web.console.questions import connectors
from orion.web.console.questions.connectors import Plugin
from orion.web.console.view import View, panel, tell

Field = ui.input | ui.number | ui.select
_CHECKED = "The options are right, and the other side answers. Nothing was made."
_BOOLEANS = {"": "default", "true": "true", "false": "false"}


def plugin_tiles(plugins: Sequence[Plugin], chosen: Plugin | None) -> str:
    """All plug-ins, as links to their forms."""
    rows = []
    for title, is_sink in (("Sinks: from topics", True), ("Sources: into topics", False)):
        links = "".join(_tile(p, chosen == p) for p in plugins if p.is_sink is is_sink)
        rows.append(f'<div class="o-plugins"><h2>{title}</h2><div>{links}</div></div>')
    return f'<section class="o-panel">{"".join(rows)}</section>'


def _tile(plugin: Plugin, here: bool) -> str:
    where = address("connectors", "new", **{"class": plugin.info.class_name})
    return f'<a class="o-plugin{" is-here" if here else ""}" href="{markup.text(where)}">{markup.text(plugin.name)}</a>'


def draw_form(view: View, plugin: Plugin) -> None:
    """Required options first; the others when they are asked for."""
    required, optional = connectors.needed(plugin), connectors.optional(plugin)
    fields: dict[str, Field] = {}
    with panel(f"{plugin.name} {plugin.info.kind}") as box:
        form = Form(box)
        with ui.element("div").classes("o-form"):
            name = (
                ui.input(label="name *")
                .props("dense outlined")
                .props('hint="what it is called, here and in SQL"')
                .classes("o-input")
            )
            fields["name"] = name
            fields |= {definition.name: _field(definition) for definition in required}
        with (
            ui.expansion(f"{len(optional)} more options", value=not required).classes("o-more"),
            ui.element("div").classes("o-form"),
        ):
            fields |= {definition.name: _field(definition) for definition in optional}

        def written() -> dict[str, str]:
            return connectors.config(plugin, {key: f.value for key, f in fields.items() if f is not name})

        async def is_right() -> bool:
            _mark(fields, {})
            form.say("")
            found = await view.ask(connectors.check, view.orion, plugin, name.value or "", written())
            _mark(fields, found)
            form.say(_others(fields, found))
            return not found

        async def check() -> None:
            if await is_right():
                form.say(f"<p>{markup.tag('right', 'ok')} {_CHECKED}</p>")

        async def create() -> None:
            if await is_right():
                made = await view.ask(connectors.create, view.orion, name.value or "", written())
                tell(f"Created {made.name}.")
                view.go("connectors", made.name)

        with form.buttons():
            form.button("Check", check)
            form.button("Create connector", create, tone="primary")


def _field(definition: Definition) -> Field:
    label = f"{definition.name}{' *' if definition.required else ''}"
    field: Field
    if definition.values:
        choices = {"": "default", **{v: v for v in definition.values}}
        field = ui.select(choices, value=definition.default or "", label=label)
    elif definition.type == "BOOLEAN":
        field = ui.select(_BOOLEANS, value=definition.default or "", label=label)
    elif connectors.is_hidden(definition):
        field = ui.input(label=label, password=True).props('autocomplete="new-password"')
    elif definition.type in ("INT", "LONG"):
        field = ui.number(label=label, value=_number(definition.default), precision=0)
    else:
        field = ui.input(label=label, value=definition.default or "")
    # Room for the hint is kept, so that fields stand in line.
    return field.props("dense outlined options-dense").props(f"hint={_quoted(definition.doc)}").classes("o-input")


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'


def _mark(fields: Mapping[str, Field], found: Mapping[str, str]) -> None:
    for name, field in fields.items():
        if name in found:
            field.props(f"error error-message={_quoted(found[name])}")
        else:
            field.props(remove="error error-message")


def _others(fields: Mapping[str, Any], found: Mapping[str, str]) -> str:
    told = "".join(f"<p><b>{markup.text(n)}</b> {markup.text(w)}</p>" for n, w in found.items() if n not in fields)
    return f'<div class="o-error" role="alert"><div>{told}</div></div>' if told else ""

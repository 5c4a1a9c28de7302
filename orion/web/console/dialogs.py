"""Asking before something is lost."""

from __future__ import annotations

from nicegui import ui

from orion.web.console import markup
from orion.web.console.view import button, html


async def sure(title: str, lost: str, *, action: str, typed: str | None = None) -> bool:
    """Whether somebody means it. `lost` is HTML that says what is gone afterwards; `typed` must be written out."""
    with ui.dialog() as dialog, ui.element("div").classes("o-dialog").props('role="alertdialog"'):
        html(f"<h2>{markup.text(title)}</h2><div>{lost}</div>")
        written = None
        if typed is not None:
            html(f"<label>Write <b class='o-mono'>{markup.text(typed)}</b> to go on</label>")
            written = ui.input().props("dense outlined autofocus").classes("o-input o-mono")

        def decide() -> None:
            if written is None or written.value == typed:
                dialog.submit(True)
            else:
                written.props('error error-message="That is another name."')

        with ui.element("div").classes("o-dialog__buttons"):
            button("Cancel", lambda: dialog.submit(False))
            button(action, decide, tone="danger")
    try:
        return bool(await dialog)
    finally:
        dialog.delete()

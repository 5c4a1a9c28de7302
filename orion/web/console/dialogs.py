"""Asking before something is lost, and for a name."""

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


async def say_why_not(title: str, why: str) -> None:
    """Something can't be done: `why` is HTML that says what stands in the way, and nothing else is offered."""
    with ui.dialog() as dialog, ui.element("div").classes("o-dialog").props('role="alertdialog"'):
        html(f"<h2>{markup.text(title)}</h2><div>{why}</div>")
        with ui.element("div").classes("o-dialog__buttons"):
            button("Close", lambda: dialog.submit(None), tone="primary")
    try:
        await dialog
    finally:
        dialog.delete()


async def ask_name(title: str, *, action: str, value: str = "") -> str | None:
    """A name that somebody gives; None: they have left."""
    with ui.dialog() as dialog, ui.element("div").classes("o-dialog").props('role="dialog"'):
        html(f"<h2>{markup.text(title)}</h2>")
        written = ui.input("Name", value=value).props("dense outlined autofocus").classes("o-input")
        written.on("keydown.enter", lambda: dialog.submit(written.value))
        with ui.element("div").classes("o-dialog__buttons"):
            button("Cancel", lambda: dialog.submit(None))
            button(action, lambda: dialog.submit(written.value), tone="primary")
    try:
        given = await dialog
        return str(given).strip() or None if given else None
    finally:
        dialog.delete()

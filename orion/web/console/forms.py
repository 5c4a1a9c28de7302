"""Forms: fields, and what is done with them.

From a press until its answer nothing in a form can be typed or pressed: what was typed meanwhile wouldn't be in what
is sent, and would go with the form. The browser locks it in the moment of the press, before the server has heard of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import ui

from orion.errors import OrionError
from orion.web.console.view import button, draw_button, error_box, html, replace_with


class Form:
    """`answer` is where it says what came of a press; of a form without a dialog, `close` does nothing."""

    def __init__(self, box: ui.element, dialog: ui.dialog | None = None) -> None:
        self._box, self._dialog = box.props("data-form"), dialog
        self._is_busy = self._is_left = False
        if dialog is not None:
            dialog.on("hide", self._leave)

    @contextmanager
    def buttons(self) -> Iterator[None]:
        """The last row of the form, under its answer; the first button leaves the dialog."""
        self._answer = html("")
        with ui.element("div").classes("o-dialog__buttons" if self._dialog else "o-toolbar"):
            if self._dialog is None:
                html("", classes="o-spacer")
            else:
                button("Cancel", self.close)
            yield

    def button(
        self, label: str, do: Callable[[], Awaitable[Any]], *, tone: str = "plain", picture: str = ""
    ) -> ui.element:
        """A button that locks the form until `do` is done. What is refused is told in the form, which stays."""

        async def press(_: Any) -> None:
            if self._is_busy:
                return
            self._is_busy = True
            try:
                await do()
            except OrionError as error:
                self.say(error_box(error))
            finally:
                self._is_busy = False
                self._unlock()

        made = draw_button(label, tone, picture)
        made.on("click", press, js_handler="(event) => { if (orionLocks(event)) emit(); }")
        return made

    def say(self, content: str) -> None:
        if not self._answer.is_deleted:
            replace_with(self._answer, content)

    def close(self) -> None:
        if self._dialog is not None:
            self._dialog.close()

    def _unlock(self) -> None:
        if self._is_left:
            self._leave()
        elif not self._box.is_deleted:
            self._box.client.run_javascript(f"orionUnlocks({self._box.id})")

    def _leave(self) -> None:
        """A dialog that is closed goes, but not before what was pressed in it has been answered."""
        self._is_left = True
        if not self._is_busy and self._dialog is not None and not self._dialog.is_deleted:
            self._dialog.delete()


@contextmanager
def form_dialog(*, wide: bool = False) -> Iterator[Form]:
    """A form in a dialog, which opens once its fields are there."""
    with ui.dialog() as dialog, ui.element("div").classes(f"o-dialog{' o-dialog--wide' if wide else ''}") as box:
        yield Form(box, dialog)
    dialog.open()

"""Going somewhere by its name: Ctrl-K, a few letters, Enter."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from orion.web.console import markup
from orion.web.console.desk import Desk
from orion.web.console.icons import icon
from orion.web.console.pages import pages
from orion.web.console.questions.names import Place, fitting, places
from orion.web.console.tables import on_act
from orion.web.console.view import html, quiet, replace_with

_FRESH_S = 5.0


class Jump:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._all: list[Place] = []
        self._shown: list[Place] = []
        self._at = 0
        self._note = ""  # what isn't among the names, and why
        self._dialog = ui.dialog().props('position="top" transition-duration="120"')
        with self._dialog, ui.element("div").classes("o-jump"):
            self._input = ui.input(placeholder="Pages, topics, streams, queries, connectors, groups")
            self._input.props('borderless autofocus debounce="60" aria-label="Go to"').classes("o-jump__input")
            self._list = html("", classes="o-jump__list")
        self._input.on_value_change(lambda _: self._look())
        self._input.on("keydown.down.prevent", lambda: self._move(1))
        self._input.on("keydown.up.prevent", lambda: self._move(-1))
        self._input.on("keydown.enter", lambda: self._go(self._at))
        on_act(self._list, lambda _, at: self._go(int(at)))

    async def open(self, _: Any = None) -> None:
        self._all, self._note = _pages(), "Looking for names …"
        self._input.set_value("")
        self._look()
        self._dialog.open()
        with quiet():
            found, is_whole = await self._desk.shared("places", _FRESH_S, lambda: places(self._desk.orion))
            self._all = [*_pages(), *found]
            self._note = "" if is_whole else "Kafka doesn't answer: topics and groups aren't among these names."
            self._look()

    def _look(self) -> None:
        self._shown, self._at = fitting(self._all, self._input.value or ""), 0
        self._draw()

    def _move(self, step: int) -> None:
        if self._shown:
            self._at = (self._at + step) % len(self._shown)
            self._draw()

    def _draw(self) -> None:
        rows = "".join(_row(at, place, at == self._at) for at, place in enumerate(self._shown))
        none = "" if self._note else '<p class="o-muted">Nothing has a name like that.</p>'
        note = f'<p class="o-muted">{markup.text(self._note)}</p>' if self._note else ""
        replace_with(self._list, (rows or none) + note)

    def _go(self, at: int) -> None:
        if at < len(self._shown):
            self._dialog.close()
            ui.navigate.to(self._shown[at].href)


def _pages() -> list[Place]:
    return [Place(p.title, " ".join(("page", *p.words)), p.icon, p.path) for p in pages().values()]


def _row(at: int, place: Place, chosen: bool) -> str:
    now = " is-at" if chosen else ""
    kind = place.kind.split(" ")[0]
    return (
        f'<a class="o-jump__row{now}" href="{markup.text(place.href)}" data-act="go" data-arg="{at}">{icon(place.icon)}'
        f"<span>{markup.text(place.name)}</span>{markup.tag(kind)}</a>"
    )

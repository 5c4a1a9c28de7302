"""One person's look at one page: what the address says, and how the page asks, refreshes and tells of errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import structlog
from nicegui import context, ui
from nicegui.elements.html import Html

from orion.app import Orion
from orion.errors import OrionError
from orion.web.console import markup
from orion.web.console.desk import Desk
from orion.web.console.icons import icon
from orion.web.console.page import address

P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger()


@dataclass(frozen=True)
class View:
    """`path` are the names in the address, `query` what stands behind its question mark."""

    desk: Desk
    path: Mapping[str, str]
    query: Mapping[str, str]
    leaving: list[Callable[[], None]] = field(default_factory=list)  # what is done when the page is left

    @property
    def orion(self) -> Orion:
        return self.desk.orion

    async def ask(self, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        return await self.desk.ask(call, *arguments, **named)

    def every(self, seconds: float, refresh: Callable[[], Awaitable[None]]) -> None:
        """Refresh while the page is open; what fails is told once, where it stood, and tried again."""

        async def tick() -> None:
            with quiet():
                await refresh()

        if not context.slot.parent.is_deleted:  # else the page was left while it was drawn
            ui.timer(seconds, tick, immediate=False)

    def opened(self, close: Callable[[], None]) -> Callable[[], None]:
        """Have something closed when the page is left, or the tab; gives what closes it before."""
        leave = self.desk.opened(close)
        self.leaving.append(leave)
        return leave

    def go(self, *parts: object, **query: object) -> None:
        ui.navigate.to(address(*parts, **query))


def html(content: str = "", *, classes: str = "") -> Html:
    """HTML that `markup` has made: names and values in it are escaped already."""
    return ui.html(content, sanitize=False).classes(classes)


def replace_with(place: Html, content: str) -> None:
    """Send HTML again only where it has changed."""
    if place.content != content:
        place.set_content(content)


def heading(title: str, told: str = "", *, above: str = "") -> None:
    """The page's title, and what it is about; both are HTML but for the title."""
    ui.page_title(f"{title} · Orion")
    trail = f'<div class="o-trail">{above}</div>' if above else ""
    about = f'<p class="o-about">{told}</p>' if told else ""
    html(f"{trail}<h1>{markup.text(title)}</h1>{about}", classes="o-heading")


@contextmanager
def panel(title: str = "", *, note: str = "", classes: str = "") -> Iterator[ui.element]:
    """A box with a title; `note` is HTML at its right."""
    with ui.element("section").classes(f"o-panel {classes}") as box:
        if title or note:
            html(f"<h2>{markup.text(title)}</h2><span>{note}</span>", classes="o-panel__head")
        yield box


@contextmanager
def toolbar(classes: str = "") -> Iterator[ui.element]:
    with ui.element("div").classes(f"o-toolbar {classes}") as bar:
        yield bar


def button(label: str, on_click: Callable[[], Any], *, tone: str = "plain", picture: str = "") -> ui.element:
    """A button of the console's own look, reached by Tab like any other."""
    made = draw_button(label, tone, picture)
    made.on("click", lambda _: on_click())
    return made


def draw_button(label: str, tone: str = "plain", picture: str = "") -> ui.element:
    """The look of a button; who draws it hears its clicks."""
    made = ui.element("button").props('type="button"').classes(f"o-button o-button--{tone}")
    with made:
        ui.html((icon(picture) if picture else "") + markup.text(label), sanitize=False, tag="span")
    return made


def error_box(error: OrionError) -> str:
    """An error as it is told everywhere: what happened, what to do, and the code to look it up by."""
    hint = f"<p>{markup.text(error.hint)}</p>" if error.hint else ""
    return (
        f'<div class="o-error" role="alert">{icon("alert")}<div><b>{markup.text(error.message)}</b>{hint}'
        f"<code>{markup.text(error.code)}</code></div></div>"
    )


def warning_box(content: str) -> str:
    """Something to know before going on; `content` is HTML."""
    return f'<div class="o-error o-error--warn" role="alert">{icon("alert")}<div>{content}</div></div>'


def tell(message: str) -> None:
    ui.notify(message, position="bottom-right", classes="o-toast", timeout=4000)


def tell_error(error: OrionError) -> None:
    ui.notify(
        f"{error.message} {error.hint or ''}".strip(),
        caption=error.code,
        position="bottom-right",
        classes="o-toast o-toast--bad",
        timeout=9000,
        close_button="Close",
    )


@contextmanager
def told() -> Iterator[None]:
    """What somebody asked for and Orion refuses is told; the page stays."""
    try:
        yield
    except OrionError as error:
        tell_error(error)


@contextmanager
def quiet() -> Iterator[None]:
    """A refresh that fails is tried again: the light in the head of the page tells that something is wrong."""
    try:
        yield
    except OrionError as error:
        log.debug("console refresh", code=error.code)


def tell_unexpected(error: Exception) -> None:
    """What a press or a refresh has met and nobody has told yet."""
    if isinstance(error, OrionError):
        tell_error(error)
        return
    log.error("console", exc_info=error)
    with suppress(RuntimeError):  # it was no page's: there is nobody to tell
        ui.notify(
            "Something went wrong. The server's log has more.", position="bottom-right", classes="o-toast o-toast--bad"
        )


def desk_of_client() -> Desk:
    """The desk of the platform whose address the browser has opened."""
    found: Desk = context.client.request.scope["orion.desk"]
    return found

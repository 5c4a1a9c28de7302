"""What stands around every page: menu, search, the light that tells how things are, light and dark."""

# Annotations are values here: NiceGUI looks for its own class among those of a page's builder.

from collections.abc import Awaitable, Callable
from urllib.parse import unquote

from nicegui import PageArguments, context, ui

from orion.errors import OrionError
from orion.web.console import markup
from orion.web.console.desk import PULSE_S, Desk
from orion.web.console.icons import LOGO, icon
from orion.web.console.jump import Jump
from orion.web.console.page import Draw
from orion.web.console.pages import pages
from orion.web.console.questions.health import Health, health
from orion.web.console.view import View, desk_of_client, error_box, html, quiet, replace_with


def shell() -> None:
    """NiceGUI's root: built once a browser tab; pages come and go inside of it."""
    desk = desk_of_client()
    client = context.client
    client.content.classes("o-root")
    jump = Jump(desk)
    with ui.element("aside").classes("o-side"):
        menu = html(_menu(client.sub_pages_router.current_path), classes="o-menu")
        html(_keys(), classes="o-side__foot")
    with ui.element("header").classes("o-top"):
        html(
            f'<button type="button" class="o-icon-button o-burger" data-menu aria-label="Menu">{icon("menu")}</button>'
        )
        search = html(
            f'<button type="button" class="o-jump-button" data-jump>{icon("search")}<span>Go to…</span>'
            "<kbd>Ctrl K</kbd></button>"
        )
        light = html("", classes="o-light")
        html(
            f'<button type="button" class="o-icon-button" data-theme aria-label="Light or dark">{icon("moon")}</button>'
        )
    search.on("click", jump.open)
    ui.on("orion_jump", jump.open)
    client.sub_pages_router.on_path_changed(lambda path: replace_with(menu, _menu(path)))
    leaving: list[Callable[[], None]] = []

    def leave(*_: object) -> None:
        while leaving:
            leaving.pop()()

    client.sub_pages_router.on_path_changed(leave)
    client.on_delete(leave)
    with ui.element("main").classes("o-main").props('tabindex="-1"'):
        routes = ((path, draw) for page in pages().values() for path, draw in page.routes.items())
        ConsolePages({path: _builder(draw, desk, leaving) for path, draw in routes})

    async def look() -> None:
        with quiet():
            reading = await desk.reading()
            replace_with(light, _light(health(reading, desk.orion.engine.problems)))

    ui.timer(PULSE_S, look)


class ConsolePages(ui.sub_pages):
    """Pages by their addresses; one that isn't there is said to be so, with where to go instead."""

    def _render_404(self) -> None:
        ui.page_title("Not found · Orion")
        links = " · ".join(markup.link(page.title, page.path.lstrip("/")) for page in pages().values())
        with ui.element("div").classes("o-page"):
            html("<h1>There is no such page</h1>", classes="o-heading")
            asked = markup.mono(self._router.current_path)
            told = f"{asked} is no address of this console.<br>{links}"
            html(f'<section class="o-panel">{markup.empty("Nothing is at this address", told, "search")}</section>')


def _builder(draw: Draw, desk: Desk, leaving: list[Callable[[], None]]) -> Callable[[PageArguments], Awaitable[None]]:
    async def build(arguments: PageArguments) -> None:
        names = {name: unquote(value) for name, value in arguments.path_parameters.items()}
        view = View(desk, names, dict(arguments.query_parameters), leaving)
        with ui.element("div").classes("o-page") as place:
            try:
                await draw(view)
            except OrionError as error:
                with place:
                    html(error_box(error))

    return build


def _menu(path: str) -> str:
    here = "/" + path.split("?")[0].split("#")[0].lstrip("/").split("/")[0]
    told, group = [f'<a class="o-brand" href="/">{LOGO}<b>Orion</b></a><nav aria-label="Pages">'], ""
    for page in pages().values():
        if page.group != group:
            group = page.group
            told.append(f"<h6>{markup.text(group)}</h6>")
        now = ' class="is-here" aria-current="page"' if page.path == here else ""
        told.append(f'<a href="{page.path}"{now}>{icon(page.icon)}<span>{markup.text(page.title)}</span></a>')
    return "".join([*told, "</nav>"])


def _keys() -> str:
    return "<span><kbd>Ctrl K</kbd> go to</span><span><kbd>/</kbd> filter</span>"


def _light(found: Health) -> str:
    told = markup.text("; ".join(found.unknown) or "How everything is doing")
    return f'<a class="o-state o-state--{found.tone}" href="/" title="{told}"><i></i>{markup.text(found.told)}</a>'

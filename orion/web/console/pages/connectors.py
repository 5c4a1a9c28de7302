"""Connectors: other systems kept up to date with topics, and topics with other systems."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial

from orion.plan.connectors import Offset, Task
from orion.plan.sources import Direction
from orion.web.console import amounts, markup, tables
from orion.web.console.connector_form import draw_form, plugin_tiles
from orion.web.console.dialogs import sure
from orion.web.console.page import Page
from orion.web.console.questions import connectors
from orion.web.console.questions.connectors import Row
from orion.web.console.view import View, button, heading, html, panel, replace_with, tell, told, toolbar


async def draw_list(view: View) -> None:
    heading("Connectors", "Sinks keep other systems up to date with topics; sources bring rows in.")
    with toolbar():
        tables.search_box("Filter connectors", lambda text: table.filter(text))
        html("", classes="o-spacer")
        button("New connector", lambda: view.go("connectors", "new"), tone="primary", picture="plus")
    with panel():
        none = "New connector shows what they can be made of."
        table = tables.Table(
            COLUMNS,
            search=lambda r: f"{r.name} {r.plugin} {r.state}",
            empty=markup.empty("No connectors", none, "connectors"),
            acted=lambda what, name: steer(view, what, name, refresh),
        )

    async def refresh() -> None:
        reading = await view.desk.reading()
        table.show(await view.ask(connectors.rows, view.orion, reading))

    await refresh()
    view.every(2.0, refresh)


def _rate(row: Row) -> float:
    return sum(j.rate_in if row.described.direction is Direction.SINK else j.rate_out for j in row.jobs)


def _letters(row: Row) -> int:
    return sum(job.status.dead_letters for job in row.jobs)


COLUMNS: tuple[tables.Column[Row], ...] = (
    tables.Column("Connector", lambda r: markup.link(r.name, "connectors", r.name), lambda r: r.name, "mono"),
    tables.Column("State", lambda r: markup.state(r.state), lambda r: r.state),
    tables.Column("Kind", lambda r: f"{markup.tag(r.plugin)} {markup.muted(r.described.direction.value.lower())}"),
    tables.Column("Topics", lambda r: " ".join(markup.link(t, "topics", t) for t in r.topics[:3]), None, "mono"),
    tables.Column("Rows", lambda r: amounts.rate(_rate(r)), _rate, "num"),
    tables.Column("Dead letters", lambda r: amounts.count(_letters(r)), _letters, "num"),
    tables.Column("Error", lambda r: markup.text((r.error or "").split("\n")[0]), None, "wide"),
    tables.Column("", lambda r: _buttons(r), None, "acts"),
)


def _buttons(row: Row) -> str:
    idle = row.described.wanted.value != "RUNNING"
    first = (
        markup.act("resume", row.name, "Resume", picture="play")
        if idle
        else markup.act("pause", row.name, "Pause", picture="pause")
    )
    return (
        first
        + markup.act("restart", row.name, "Restart", picture="restart")
        + markup.act("drop", row.name, "Drop", picture="trash", tone="danger")
    )


async def steer(view: View, what: str, name: str, then: Callable[[], Awaitable[None]] | None = None) -> None:
    lost = (
        "<p>It stops, and how far it was is forgotten: one that is made again begins anew. What it has written "
        "stays, here and in the other system.</p>"
    )
    if what == "drop" and not await sure(f"Drop {name}?", lost, action="Drop connector"):
        return
    with told():
        tell(await view.ask(connectors.steer, view.orion, what, name))
    if then is not None:
        await then()


async def draw_one(view: View) -> None:
    name = view.path["name"]
    found = await view.ask(connectors.row, view.orion, name, await view.desk.reading())
    name = found.name
    kind = f"{markup.tag(found.plugin)} {found.described.direction.value.lower()}"
    letters = markup.link("dead letters", "dead-letters", name)
    heading(name, f"{kind} · {letters}", above=markup.link("Connectors", "connectors"))
    with toolbar():
        state = html("")
        html("", classes="o-spacer")
        for what, label, picture in (
            ("pause", "Pause", "pause"),
            ("resume", "Resume", "play"),
            ("restart", "Restart", "restart"),
        ):
            button(label, partial(steer, view, what, name, lambda: refresh()), picture=picture)
        button("Drop", partial(_drop, view, name), tone="danger", picture="trash")
    trouble = html("")
    tiles = html("", classes="o-tiles")
    with panel("Tasks"):
        tasks = tables.Table(_TASKS)
    with panel("Options", note=markup.muted("secrets are never shown"), classes="o-half"):
        html(markup.facts({key: markup.mono(value) for key, value in sorted(found.described.config.items())}))
    with panel("How far it is", classes="o-half"):
        places = tables.Table(_OFFSETS, empty=markup.empty("Nothing read yet"))

    async def refresh() -> None:
        now = await view.ask(connectors.row, view.orion, name, await view.desk.reading())
        replace_with(state, markup.state(now.state))
        replace_with(trouble, _trouble(now))
        replace_with(tiles, _tiles(now))
        tasks.show(now.described.tasks)
        places.show(await view.ask(connectors.offsets, view.orion, name))

    await refresh()
    view.every(3.0, refresh)


_TASKS: tuple[tables.Column[Task], ...] = (
    tables.Column("Task", lambda t: str(t.id), None, "num narrow"),
    tables.Column("State", lambda t: markup.state(t.state)),
    tables.Column("Topic", lambda t: markup.link(t.topic, "topics", t.topic) if t.topic else "", None, "mono"),
    tables.Column("Why it doesn't run", lambda t: markup.text(t.trace or ""), None, "wide"),
)
_OFFSETS: tuple[tables.Column[Offset], ...] = (
    tables.Column("Of", lambda o: markup.mono(_plain(o.partition))),
    tables.Column("At", lambda o: markup.mono(_plain(o.at or {}))),
)


def _plain(value: object) -> str:
    return json.dumps(value, default=str).strip("{}").replace('"', "")


def _trouble(row: Row) -> str:
    text = markup.text(row.error or "")
    return f'<div class="o-error" role="alert"><pre>{text}</pre></div>' if text else ""


def _tiles(row: Row) -> str:
    lags = [j.status.lag for j in row.jobs if j.status.lag is not None]
    is_sink = row.described.direction is Direction.SINK
    moved = sum(j.status.rows_in if is_sink else j.status.rows_out for j in row.jobs)
    return "".join(
        (
            markup.tile("Rows", amounts.short(moved), amounts.rate(_rate(row))),
            markup.tile("Lag", amounts.short(sum(lags) if lags else None), "records not read yet"),
            markup.tile("Dead letters", amounts.short(_letters(row)), "refused or unreadable"),
            markup.tile("Restarts", amounts.short(sum(j.status.restarts for j in row.jobs)), "since the start"),
        )
    )


async def _drop(view: View, name: str) -> None:
    await steer(view, "drop", name)
    if name not in view.orion.engine.catalog.connectors:
        view.go("connectors")


async def draw_new(view: View) -> None:
    heading("New connector", "Choose what it is made of.", above=markup.link("Connectors", "connectors"))
    place = html('<div class="o-loading"><i></i><i></i><i></i></div>')
    found = await view.ask(connectors.plugins, view.orion)
    plugin = next((p for p in found if p.info.class_name == view.query.get("class")), None)
    replace_with(place, plugin_tiles(found, plugin))
    if plugin is not None:
        draw_form(view, plugin)


_ROUTES = {"/connectors": draw_list, "/connectors/new": draw_new, "/connectors/{name}": draw_one}
PAGE = Page("Connectors", "connectors", _ROUTES, group="Processing", words=("sinks", "sources", "cdc"))

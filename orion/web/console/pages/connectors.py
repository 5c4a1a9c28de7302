"""Connectors: other systems kept up to date with topics, and topics with other systems."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial

from orion.plan.connectors import Offset, Task
from orion.plan.sources import Direction, Wanted
from orion.web.console import amounts, markup, tables
from orion.web.console.connector_form import draw_form, plugin_tiles
from orion.web.console.dialogs import sure
from orion.web.console.page import Page
from orion.web.console.questions import connectors
from orion.web.console.questions.connectors import Row
from orion.web.console.questions.health import why_no_lag, why_unknown
from orion.web.console.questions.pulse import sum_known
from orion.web.console.view import View, button, heading, html, panel, replace_with, tell, told, toolbar


async def draw_list(view: View) -> None:
    heading("Connectors", "Sinks keep other systems up to date with topics; sources bring rows in.")
    with toolbar():
        tables.search_box("Filter connectors", lambda text: table.filter(text))
        html("", classes="o-spacer")
        button("New connector", lambda: view.go("connectors", "new"), tone="primary", picture="plus")
    with panel():
        none = "New connector shows what they can be made of."
        topics: frozenset[str] | None = None
        table = tables.Table(
            _columns_of(lambda: topics),
            search=lambda r: f"{r.name} {r.plugin} {r.state}",
            empty=markup.empty("No connectors", none, "connectors"),
            acted=lambda what, name: steer(view, what, name, refresh),
        )

    async def refresh() -> None:
        nonlocal topics
        reading, topics = await view.desk.reading(), await view.desk.topic_names()
        table.show(await view.ask(connectors.rows, view.orion, reading))

    await refresh()
    view.every(2.0, refresh)


def _rate(row: Row) -> float | None:
    return sum_known(j.rate_in if row.described.direction is Direction.SINK else j.rate_out for j in row.jobs)


def _or_dash(row: Row, shown: str) -> str:
    unknown = next((job for job in row.jobs if job.rate_in is None or job.status.lag is None), None)
    return markup.or_dash(shown, why_unknown(unknown))


def _letters(row: Row) -> int:
    return sum(job.status.dead_letters for job in row.jobs)


def _columns_of(known: Callable[[], frozenset[str] | None]) -> tuple[tables.Column[Row], ...]:
    def topics(row: Row) -> str:
        return " ".join(markup.link_known(t, known(), "topics", t) for t in row.topics[:3])

    return (
        tables.Column("Connector", lambda r: markup.link(r.name, "connectors", r.name), lambda r: r.name, "mono"),
        tables.Column("State", lambda r: markup.state(r.state), lambda r: r.state),
        tables.Column("Kind", lambda r: f"{markup.tag(r.plugin)} {markup.muted(r.described.direction.value.lower())}"),
        tables.Column("Topics", topics, None, "mono"),
        tables.Column("Rows", lambda r: _or_dash(r, amounts.rate(_rate(r))), _rate, "num"),
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
    # One that is paused has nothing to restart.
    return (
        first
        + ("" if idle else markup.act("restart", row.name, "Restart", picture="restart"))
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
        steering = {
            what: button(label, partial(steer, view, what, name, lambda: refresh()), picture=picture)
            for what, label, picture in (
                ("pause", "Pause", "pause"),
                ("resume", "Resume", "play"),
                ("restart", "Restart", "restart"),
            )
        }
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
        is_wanted = now.described.wanted is Wanted.RUNNING
        for what, one in steering.items():
            one.set_visibility((what == "resume") is not is_wanted)
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
    lag = sum_known(j.status.lag for j in row.jobs)
    is_sink = row.described.direction is Direction.SINK
    counted = all(j.is_measured for j in row.jobs)
    moved = sum(j.status.rows_in if is_sink else j.status.rows_out for j in row.jobs) if counted else None
    letters = _letters(row) if counted else None
    told = "records not read yet" if is_sink else "a source reads no topic"
    return "".join(
        (
            markup.tile("Rows", _or_dash(row, amounts.short(moved)), _or_dash(row, amounts.rate(_rate(row)))),
            markup.tile("Lag", markup.or_dash(amounts.short(lag), why_no_lag(row.jobs[0] if row.jobs else None)), told),
            markup.tile("Dead letters", _or_dash(row, amounts.short(letters)), "refused or unreadable"),
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

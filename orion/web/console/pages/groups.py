"""Groups: members, lag now and over time, and moving a group that nobody reads with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nicegui import ui

from orion.hub.groups import GroupDetail, Member, Moved, Progress
from orion.web.console import amounts, charts, markup, tables
from orion.web.console.dialogs import say_why_not, sure
from orion.web.console.forms import form_dialog
from orion.web.console.page import Page
from orion.web.console.questions import groups
from orion.web.console.questions.groups import Row
from orion.web.console.view import View, button, heading, html, panel, replace_with, tell, told, toolbar

_FRESH_S = 4.0
_UNCOMMITTED = "It has committed nothing in some partition: where it begins there is up to its members."
_PLACES = {"earliest": "the beginning", "latest": "the end", "offset": "an offset", "time": "a time", "shift": "a step"}


async def draw_list(view: View) -> None:
    heading("Groups", "Who reads topics together, and how far they are. Each query has one of its own.")
    with toolbar():
        search = tables.search_box("Filter groups", lambda text: table.filter(text), view.query.get("find", ""))
    with panel():
        none = "A group is there as soon as a consumer joins or commits under its name."
        topics: frozenset[str] | None = None
        table = tables.Table(
            _columns_of(lambda: topics),
            search=lambda r: f"{r.group.name} {r.group.state}",
            empty=markup.empty("No groups", none, "groups"),
        )

    async def refresh() -> None:
        nonlocal topics
        topics = await view.desk.topic_names()
        rows = await view.desk.shared("groups", _FRESH_S, lambda: groups.listing(view.orion))
        table.show(rows)
        seen = tuple(table.visible)
        known = await view.desk.shared(
            ("groups", tuple(r.group.name for r in seen)), _FRESH_S, lambda: groups.looked_at(view.orion, seen)
        )
        table.show([known.get(row.group.name, row) for row in rows])

    await refresh()
    table.filter(search.value or "")
    view.every(5.0, refresh)


def _columns_of(known: Callable[[], frozenset[str] | None]) -> tuple[tables.Column[Row], ...]:
    def topics(row: Row) -> str:
        return " ".join(markup.link_known(t, known(), "topics", t) for t in row.topics[:3])

    return (
        tables.Column("Group", lambda r: markup.link(r.group.name, "groups", r.group.name), _name, "mono"),
        tables.Column("State", lambda r: markup.state(r.group.state), lambda r: r.group.state),
        tables.Column("Members", lambda r: amounts.count(r.members), lambda r: r.members, "num"),
        tables.Column("Topics", topics, None, "mono"),
        tables.Column("Lag", lambda r: markup.or_dash(amounts.count(r.lag), _UNCOMMITTED), lambda r: r.lag, "num"),
    )


def _name(row: Row) -> str:
    return row.group.name


async def draw_one(view: View) -> None:
    name = view.path["name"]
    await view.desk.shared(("group", name), 1.8, lambda: groups.detail(view.orion, name))
    owner = groups.owner(view.orion, name)
    about = f"The group of {markup.link(owner[1], *owner)}, which moves it." if owner else ""
    heading(name, about, above=markup.link("Groups", "groups"))
    with toolbar():
        state = html("")
        html("", classes="o-spacer")
        button("Reset offsets", partial(_move, view, name), picture="restart")
        button("Delete group", partial(_forget, view, name), tone="danger", picture="trash")
    with panel("Lag over time", note=markup.muted("by topic, while somebody looks")):
        chart = charts.TimeChart("", height="200px")
    with panel("Partitions"):
        topics = await view.desk.topic_names()
        parts = tables.Table(_partitions(topics), empty=markup.empty("It has committed nothing"))
    with panel("Members"):
        members = tables.Table(_MEMBERS, empty=markup.empty("Nobody reads with it now", "", "groups"))

    async def refresh() -> None:
        now = await view.desk.shared(("group", name), 1.8, lambda: groups.detail(view.orion, name))
        view.desk.lags.note(now)
        lag = markup.or_dash(amounts.count(groups.lag_of(now.progress)), _UNCOMMITTED)
        replace_with(state, f'{markup.state(now.group.state)} <span class="o-muted">{lag} records behind</span>')
        chart.show(dict(view.desk.lags.lines(name)))
        parts.show(now.progress)
        members.show(now.members)

    await refresh()
    view.every(2.0, refresh)


def _partitions(topics: frozenset[str] | None) -> tuple[tables.Column[Progress], ...]:
    return (
        tables.Column("Topic", lambda p: markup.link_known(p.topic, topics, "topics", p.topic), _topic, "mono"),
        tables.Column("Partition", lambda p: str(p.partition), lambda p: p.partition, "num"),
        tables.Column("Committed", lambda p: amounts.count(p.committed), lambda p: p.committed, "num"),
        tables.Column("End", lambda p: amounts.count(p.end), lambda p: p.end, "num"),
        tables.Column("Lag", lambda p: markup.or_dash(amounts.count(p.lag), _UNCOMMITTED), lambda p: p.lag, "num"),
        tables.Column("Member", lambda p: markup.mono(p.member or amounts.NONE)),
    )


def _topic(part: Progress) -> str:
    return part.topic


_MEMBERS: tuple[tables.Column[Member], ...] = (
    tables.Column("Member", lambda m: markup.mono(m.id)),
    tables.Column("Client", lambda m: markup.mono(m.client)),
    tables.Column("Host", lambda m: markup.mono(m.host)),
    tables.Column("Partitions", lambda m: amounts.count(len(m.partitions)), None, "num"),
)


async def _move(view: View, name: str) -> None:
    """Offer to move a group, or say what stands in the way."""
    found = await view.ask(groups.detail, view.orion, name)
    why = _why_fixed(view, found) or (
        "" if found.progress else "<p>It has committed no offsets that could be moved.</p>"
    )
    if why:
        await say_why_not(f"{name} can't be moved now", why)
    else:
        await reset_dialog(view, found)


def _why_fixed(view: View, found: GroupDetail) -> str:
    """Why Kafka or Orion wouldn't let a group be changed."""
    owner = groups.owner(view.orion, found.group.name)
    if owner is not None:
        return f"<p>It is the group of {markup.link(owner[1], *owner)}, which keeps it where it is itself.</p>"
    if found.members:
        who = ", ".join(sorted({markup.mono(member.client or member.id) for member in found.members}))
        return f"<p>{len(found.members)} members read with it: {who}. Stop them first.</p>"
    return ""


async def reset_dialog(view: View, found: GroupDetail) -> None:
    """Choose a place, see where each partition goes, then move it."""
    topics = sorted({part.topic for part in found.progress})
    with form_dialog(wide=True) as form:
        html(f"<h2>Move {markup.text(found.group.name)}</h2><p>Its members read on from there when they come back.</p>")
        topic = ui.select(topics, value=topics[0] if topics else None, label="In the topic")
        place = ui.select(_PLACES, value="earliest", label="To")
        at = ui.input(label="Offset, time (2026-01-31T12:00:00Z) or step (-100)")
        at.bind_visibility_from(place, "value", backward=lambda kind: kind in ("offset", "time", "shift"))
        for field in (topic, place, at):
            field.props("dense outlined").classes("o-input")

        async def move(apply: bool) -> None:
            to = str(place.value) if place.value in ("earliest", "latest") else f"{place.value}:{at.value or ''}"
            moved = await view.ask(
                partial(groups.reset, view.orion, found.group.name, str(topic.value), to, apply=apply)
            )
            form.say(moved_html(moved))

        async def apply() -> None:
            await move(True)
            form.close()
            tell(f"Moved {found.group.name} in {topic.value}.")

        with form.buttons():
            form.button("Preview", partial(move, False))
            form.button("Move", apply, tone="danger")


def moved_html(moved: list[Moved]) -> str:
    columns: tuple[tables.Column[Moved], ...] = (
        tables.Column("Partition", lambda m: str(m.partition), None, "num"),
        tables.Column("Before", lambda m: amounts.count(m.before), None, "num"),
        tables.Column("After", lambda m: amounts.count(m.after), None, "num"),
        tables.Column("Read again", lambda m: amounts.count(max(0, (m.before or 0) - m.after)), None, "num"),
        tables.Column("Left out", lambda m: amounts.count(max(0, m.after - (m.before or 0))), None, "num"),
    )
    return tables.rendered(columns, moved)


async def _forget(view: View, name: str) -> None:
    found = await view.ask(groups.detail, view.orion, name)
    if why := _why_fixed(view, found):
        await say_why_not(f"{name} can't be deleted now", why)
        return
    lost = "<p>How far it was is forgotten: who joins under this name begins where its own settings say.</p>"
    if await sure(f"Delete the group {found.group.name}?", lost, action="Delete group"):
        with told():
            await view.ask(groups.forget, view.orion, found.group.name)
            tell(f"Deleted {found.group.name}.")
            view.go("groups")


_ROUTES = {"/groups": draw_list, "/groups/{name}": draw_one}
PAGE = Page("Groups", "groups", _ROUTES, group="Data", words=("consumers", "lag", "offsets"))

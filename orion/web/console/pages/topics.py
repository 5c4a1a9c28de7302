"""Topics: all of them, and one with its records, partitions, consumers and settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from orion.hub.groups import GroupDetail
from orion.hub.inspection import Setting
from orion.hub.topics import Partition
from orion.web.console import amounts, markup, tables
from orion.web.console.dialogs import say_why_not, sure
from orion.web.console.page import Page, address
from orion.web.console.producing import produce_dialog
from orion.web.console.questions import topics
from orion.web.console.questions.groups import lag_of
from orion.web.console.questions.topics import Detail, Row
from orion.web.console.record_browser import RecordBrowser
from orion.web.console.topic_changing import OWN, partitions_dialog, setting_dialog
from orion.web.console.topic_making import create_dialog
from orion.web.console.view import View, button, heading, html, panel, tell, told, toolbar

_FRESH_S = 4.0
_SIZES_S = 15.0


# ---- the list ----------------------------------------------------------------------------------------------------


async def draw_list(view: View) -> None:
    heading("Topics", "Where every record lives. Streams and tables are declared over them.")
    own = view.query.get("internal") != "1"
    with toolbar():
        search = tables.search_box("Filter topics", lambda text: table.filter(text), view.query.get("find", ""))
        more = address("topics", internal=1) if own else address("topics")
        html(f'<a class="o-link" href="{more}">{"Show" if own else "Hide"} internal topics</a>')
        html("", classes="o-spacer")
        button("Create topic", partial(create_dialog, view), tone="primary", picture="plus")
    with panel():
        table = tables.Table(
            COLUMNS, search=_words, empty=markup.empty("No topics", "Create one, or a stream with PARTITIONS.")
        )

    async def refresh() -> None:
        desk = view.desk
        found = await desk.shared("topics", _FRESH_S, lambda: topics.listing(view.orion))
        sizes = await desk.shared("topic sizes", _SIZES_S, lambda: topics.sizes(view.orion))
        rows = [replace(row, bytes=sizes.get(row.name)) for row in found if not own or row.kind != "internal"]
        table.show(topics.with_rates(desk.topic_ends, rows))
        unknown = [row for row in table.visible if row.records is None]
        if unknown:  # too many to count all of them: those that are seen
            counted = await view.ask(topics.counts, view.orion, unknown)
            table.show(topics.with_rates(desk.topic_ends, [counted.get(row.name, row) for row in rows]))

    await refresh()
    table.filter(search.value or "")
    view.every(5.0, refresh)


def _words(row: Row) -> str:
    return f"{row.name} {row.kind} {' '.join(row.sources)}"


COLUMNS: tuple[tables.Column[Row], ...] = (
    tables.Column("Topic", lambda r: markup.link(r.name, "topics", r.name), lambda r: r.name, "mono"),
    tables.Column("Kind", lambda r: markup.tag(r.kind) if r.kind else "", lambda r: r.kind),
    tables.Column("Declared as", lambda r: " ".join(markup.link(s, "sources", s) for s in r.sources), None, "mono"),
    tables.Column("Partitions", lambda r: amounts.count(r.topic.partitions), lambda r: r.topic.partitions, "num"),
    tables.Column("Replicas", lambda r: amounts.count(r.topic.replication), lambda r: r.topic.replication, "num"),
    tables.Column("Records", lambda r: amounts.count(r.records), lambda r: r.records, "num", "offsets it holds now"),
    tables.Column("Rate", lambda r: amounts.rate(r.rate), lambda r: r.rate, "num", "records a second, as they come"),
    tables.Column(
        "Size", lambda r: amounts.size(r.bytes), lambda r: r.bytes, "num", "on the disk of an embedded broker"
    ),
)


# ---- one topic ---------------------------------------------------------------------------------------------------


async def draw_one(view: View) -> None:
    name = view.path["name"]
    found = await view.ask(topics.detail, view.orion, name)
    kind = topics.kind_of(name, found.sources)
    heading(name, _about(found), above=markup.link("Topics", "topics"))
    tab = view.query.get("tab", "records")
    with toolbar():
        html(_tabs(name, tab), classes="o-spacer")
        button("Produce", partial(produce_dialog, view, name, found.sources), picture="send")
        button("Delete", partial(_delete, view, found), tone="danger", picture="trash")
    if kind == "dead letters":
        html(_to_letters(name))
    draw = _TABS.get(tab, (_records, ""))[0]
    await draw(view, found)


def _about(found: Detail) -> str:
    parts = [
        f"{amounts.count(found.records)} records",
        f"{len(found.topic.partitions)} partitions",
        f"{found.topic.topic.replication} replicas" if found.topic.topic.replication > 1 else "",
        amounts.size(found.bytes) if found.bytes is not None else "",
        f"cleanup {markup.text(found.topic.config.get('cleanup.policy', 'delete'))}",
    ]
    over = [f"{s.kind.value.lower()} {markup.link(s.name, 'sources', s.name)}" for s in found.sources]
    writes = [markup.link(name, "queries" if kind == "query" else "connectors", name) for kind, name in found.writers]
    reads = [markup.link(name, "queries" if kind == "query" else "connectors", name) for kind, name in found.readers]
    parts += over
    parts += [f"written by {', '.join(writes)}"] if writes else []
    parts += [f"read by {', '.join(reads)}"] if reads else []
    return " · ".join(filter(None, parts))


def _tabs(name: str, here: str) -> str:
    links = (
        f'<a href="{markup.text(address("topics", name, tab=None if tab == "records" else tab))}"'
        f"{' class=is-here' if tab == here else ''}>{title}</a>"
        for tab, (_, title) in _TABS.items()
    )
    return f'<div class="o-tabs">{"".join(links)}</div>'


def _to_letters(name: str) -> str:
    where = markup.link("Dead letters", "dead-letters", name.removeprefix("dlq."))
    return f'<p class="o-muted">These are dead letters: {where} shows why, and sends them back.</p>'


async def _records(view: View, found: Detail) -> None:
    await RecordBrowser(view, found.topic.topic.name, len(found.topic.partitions), found.sources).draw()


async def _partitions(view: View, found: Detail) -> None:
    columns: tuple[tables.Column[Partition], ...] = (
        tables.Column("Partition", lambda p: markup.link(p.id, "topics", found.topic.topic.name, partition=p.id)),
        tables.Column("Leader", lambda p: markup.text("none" if p.leader is None else p.leader), None, "num"),
        tables.Column("Replicas", lambda p: markup.mono(", ".join(map(str, p.replicas)))),
        tables.Column("In sync", lambda p: _in_sync(p)),
        tables.Column("First offset", lambda p: amounts.count(p.earliest), lambda p: p.earliest, "num"),
        tables.Column("End", lambda p: amounts.count(p.end), lambda p: p.end, "num"),
        tables.Column("Records", lambda p: amounts.count(p.end - p.earliest), lambda p: p.end - p.earliest, "num"),
    )
    with toolbar():
        html("", classes="o-spacer")
        button("Add partitions", partial(partitions_dialog, view, found), picture="plus")
    with panel():
        tables.Table(columns).show(found.topic.partitions)


def _in_sync(part: Partition) -> str:
    missing = len(part.replicas) - len(part.isr)
    return markup.tag("all", "ok") if not missing else markup.tag(f"{missing} missing", "bad")


async def _consumers(view: View, found: Detail) -> None:
    name = found.topic.topic.name
    with panel():
        table: tables.Table[GroupDetail] = tables.Table(
            (
                tables.Column("Group", lambda g: markup.link(g.group.name, "groups", g.group.name), None, "mono"),
                tables.Column("State", lambda g: markup.state(g.group.state)),
                tables.Column("Members", lambda g: amounts.count(len(g.members)), None, "num"),
                tables.Column("Lag here", lambda g: amounts.count(lag_in(g, name)), lambda g: lag_in(g, name), "num"),
            ),
            empty=markup.empty("Nobody has read it", "No consumer group has committed an offset here.", "groups"),
        )

    async def refresh() -> None:
        table.show(await view.ask(topics.groups, view.orion, name))

    await refresh()
    view.every(5.0, refresh)


def lag_in(group: GroupDetail, topic: str) -> int | None:
    return lag_of(part for part in group.progress if part.topic == topic)


async def _settings(view: View, found: Detail) -> None:
    rows = await view.ask(topics.settings, view.orion, found.topic.topic.name)
    columns: tuple[tables.Column[Setting], ...] = (
        tables.Column("Setting", lambda s: markup.text(s.name), lambda s: s.name, "mono"),
        tables.Column("Value", lambda s: markup.mono("hidden" if s.is_sensitive else s.value or ""), None),
        tables.Column("From", lambda s: _origin(s), lambda s: s.source),
    )
    with toolbar():
        tables.search_box("Filter settings", lambda text: table.filter(text))
        html("", classes="o-spacer")
        button("Change a setting", partial(setting_dialog, view, found, rows))
    with panel():
        table = tables.Table(columns, search=lambda s: s.name)
        table.show(sorted(rows, key=lambda s: (s.source != OWN, s.name)))


def _origin(setting: Setting) -> str:
    own = setting.source == OWN
    return markup.tag("this topic", "accent") if own else markup.muted(setting.source.lower().replace("_", " "))


async def _delete(view: View, found: Detail) -> None:
    name = found.topic.topic.name
    if found.topic.topic.internal:
        await say_why_not(f"{name} can't be deleted", "<p>It is a topic of Kafka's own, and the brokers keep it.</p>")
        return
    uses = [f"{kind} {markup.mono(who)}" for kind, who in (*found.readers, *found.writers)]
    used = f"<p>It is in use by {', '.join(uses)}, which will fail.</p>" if uses else ""
    lost = f"<p>All <b>{amounts.count(found.records)} records</b> are deleted, for everybody, for good.</p>{used}"
    if await sure(f"Delete the topic {name}?", lost, action="Delete topic", typed=name):
        with told():
            await view.ask(view.orion.kafka.delete_topic, name)
            tell(f"Deleted topic {name}.")
            view.go("topics")


_TABS: dict[str, tuple[Callable[[View, Detail], Awaitable[None]], str]] = {
    "records": (_records, "Records"),
    "partitions": (_partitions, "Partitions"),
    "consumers": (_consumers, "Consumers"),
    "settings": (_settings, "Settings"),
}

PAGE = Page("Topics", "topics", {"/topics": draw_list, "/topics/{name}": draw_one}, group="Data", words=("records",))

"""Streams & tables: columns, lineage, some rows, and asking for more."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from orion.plan.sources import Kind, Source
from orion.schema import Column, Role
from orion.serving.feed import TableStatus
from orion.web.console import amounts, markup, tables
from orion.web.console.dialogs import say_why_not, sure
from orion.web.console.page import Page
from orion.web.console.pages.flow import drawn
from orion.web.console.questions import sources
from orion.web.console.questions.flow import flow
from orion.web.console.questions.sources import Sample
from orion.web.console.results import rows_html
from orion.web.console.view import View, button, error_box, heading, html, panel, replace_with, tell, told, toolbar


async def draw_list(view: View) -> None:
    heading(
        "Streams & tables", "Columns over topics. Of a stream each record is an event; of a table, the last of a key."
    )
    with toolbar():
        search = tables.search_box(
            "Filter by name or column", lambda text: table.filter(text), view.query.get("find", "")
        )
    with panel():
        none = f"{markup.mono('CREATE STREAM … WITH (KAFKA_TOPIC = …)')} on the {markup.link('SQL', 'sql')} page."
        known = SourceLinks(view)
        table = tables.Table(
            _columns_of(known), search=_words, empty=markup.empty("Nothing is declared", none, "sources")
        )

    async def refresh() -> None:
        await known.look()
        table.show(sources.listing(view.orion))

    await refresh()
    table.filter(search.value or "")
    view.every(3.0, refresh)


def _words(source: Source) -> str:
    return f"{source.name} {source.kind} {source.topic} {' '.join(source.schema.names)}"


class SourceLinks:
    """Which topics and queries there are: a declaration outlives both."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._topics: frozenset[str] | None = None

    async def look(self) -> None:
        self._topics = await self._view.desk.topic_names()

    def topic(self, source: Source) -> str:
        return markup.link_known(source.topic, self._topics, "topics", source.topic)

    def writer(self, source: Source) -> str:
        queries = self._view.orion.engine.catalog.queries
        return markup.link_known(source.query_id, queries, "queries", source.query_id) if source.query_id else ""


def _columns_of(known: SourceLinks) -> tuple[tables.Column[Source], ...]:
    return (
        tables.Column("Name", lambda s: markup.link(s.name, "sources", s.name), lambda s: s.name, "mono"),
        tables.Column("Kind", lambda s: _kind(s), lambda s: s.kind.value),
        tables.Column("Topic", known.topic, lambda s: s.topic, "mono"),
        tables.Column("Key", lambda s: markup.tag(s.key.format), lambda s: s.key.format),
        tables.Column("Value", lambda s: markup.tag(s.value.format), lambda s: s.value.format),
        tables.Column("Columns", lambda s: str(len(s.schema.columns)), lambda s: len(s.schema.columns), "num"),
        tables.Column("Written by", known.writer, None, "mono"),
    )


def _kind(source: Source) -> str:
    window = markup.muted(f" {source.window.kind.value.lower()}") if source.window else ""
    return markup.tag(source.kind.value.lower(), "accent" if source.kind is Kind.TABLE else "plain") + window


def _key_box(view: View, source: Source) -> None:
    """A key to ask the table for."""
    key = (
        ui.input(placeholder=f"{source.schema.key[0].name} of a row").props("dense outlined").classes("o-input o-mono")
    )

    def ask() -> None:
        view.go("sql", text=sources.question(source, key.value or ""))

    key.on("keydown.enter", ask)
    button("Ask the table", ask, tone="primary", picture="sql")


async def draw_one(view: View) -> None:
    source = sources.known(view.orion, view.path["name"])
    known = SourceLinks(view)
    await known.look()
    heading(source.name, _about(source, known), above=markup.link("Streams & tables", "sources"))
    with toolbar():
        if source.kind is Kind.TABLE and source.schema.key:
            _key_box(view, source)
        else:
            button(
                "Follow in SQL", lambda: view.go("sql", text=sources.question(source)), tone="primary", picture="sql"
            )
        html("", classes="o-spacer")
        button("Drop", partial(_drop, view, source), tone="danger", picture="trash")
    state = html("", classes="o-tiles") if source.kind is Kind.TABLE and source.is_served else None
    with panel("Columns", classes="o-half"):
        tables.Table(_columns(source)).show(source.schema.columns)
    with panel("Statement", classes="o-half"):
        html(f'<pre class="o-code">{markup.text(source.statement)}</pre>')
    if state is not None:
        with panel("Records left out", note=markup.muted("those that are no rows of the table, the last of them")):
            left_out = html("")
    with panel("Lineage", classes="o-flow"):
        graph = html("")
    with panel("Sample", note=markup.muted("the newest records, as rows")):
        rows = html('<div class="o-loading"><i></i><i></i><i></i></div>')

    async def refresh() -> None:
        whole = flow(view.orion.engine.catalog, await view.desk.reading())
        replace_with(graph, drawn(sources.lineage(whole, source.topic)))
        if state is not None:
            status = (await view.desk.reading()).around.tables.get(source.name)
            replace_with(state, table_tiles(status))
            replace_with(left_out, left_out_html(status))

    await refresh()
    replace_with(rows, _sample(await view.ask(sources.sample, view.orion, source)))
    view.every(3.0, refresh)


def _about(source: Source, known: SourceLinks) -> str:
    parts = [
        markup.tag(source.kind.value.lower()),
        f"topic {known.topic(source)}",
        f"key {markup.text(source.key.format)}, value {markup.text(source.value.format)}",
        markup.text(str(source.window)) if source.window else "",
        f"time from {markup.mono(source.timestamp.column)}" if source.timestamp else "",
        f"written by {known.writer(source)}" if source.query_id else "",
    ]
    return " · ".join(filter(None, parts))


def table_tiles(status: TableStatus | None) -> str:
    """How the table is doing that pull queries are answered from."""
    if status is None:
        return markup.tile("Table", amounts.NONE, "it isn't served")
    is_bad = status.state == "ERROR"
    old = "" if status.age_s is None else f"up with its topic {amounts.duration(status.age_s * 1000)} ago"
    tile, or_dash = markup.tile, markup.or_dash
    return "".join(
        (
            tile("Table", markup.state(status.state), markup.text(status.error or old), tone="bad" if is_bad else ""),
            tile("Rows", amounts.short(status.rows), "that pull queries see"),
            tile("Lag", or_dash(amounts.short(status.lag), "The brokers don't say."), "records not in it yet"),
            tile(
                "Left out",
                amounts.short(status.bad_records),
                "records that are no rows of it",
                tone="warn" if status.bad_records else "",
            ),
        )
    )


def _columns(source: Source) -> tuple[tables.Column[Column], ...]:
    key = "primary key" if source.kind is Kind.TABLE else "key"
    return (
        tables.Column("Column", lambda c: markup.text(c.name), None, "mono"),
        tables.Column("Type", lambda c: markup.mono(str(c.type).replace("VARCHAR(STRING)", "STRING")), None, "wide"),
        tables.Column("", lambda c: markup.tag(key, "accent") if c.role is Role.KEY else "", None, "acts"),
    )


def left_out_html(found: TableStatus | None) -> str:
    """The last records of the topic that are no rows of the table, and why."""
    if found is None or not found.last_bad:
        return markup.muted("None that is known of.")
    places = [(found.topic, one.partition, one.offset, one.reason) for one in found.last_bad]
    return rows_html(("topic", "partition", "offset", "reason"), places)


def _sample(found: Sample) -> str:
    if not found.rows and not found.others and not found.is_whole:
        return markup.empty("Not known", "The topic couldn't be looked through in time. Open the page again.", "search")
    if not found.rows and not found.others:
        return markup.empty("No records yet", "They show here once somebody writes the topic.")
    left = f'<p class="o-muted">{found.others} of these records are no rows of it.</p>' if found.others else ""
    return rows_html(found.columns, found.rows) + left


async def _drop(view: View, source: Source) -> None:
    refused = await view.ask(sources.refusal_to_drop, view.orion, source)
    if refused is not None:
        await say_why_not(f"{source.name} can't be dropped now", error_box(refused) + _users(view, source))
        return
    query = f"<p>The query {markup.mono(source.query_id)} that writes it is terminated.</p>"
    writes = source.query_id in view.orion.engine.catalog.queries
    lost = f"<p>The declaration goes. The topic {markup.mono(source.topic)} and its records stay.</p>"
    if await sure(f"Drop {source.name}?", lost + query * writes, action=f"Drop {source.kind.value.lower()}"):
        with told():
            tell(await view.ask(sources.drop, view.orion, source))
            view.go("sources")


def _users(view: View, source: Source) -> str:
    """What reads or writes it, each with the way there."""
    catalog = view.orion.engine.catalog
    names = sorted({*catalog.readers_of(source.name), *catalog.writers_of(source.name)} - {source.query_id or ""})
    links = (markup.link(n, "queries" if n in catalog.queries else "connectors", n) for n in names)
    return f"<p>Used by {', '.join(links)}.</p>" if names else ""


_ROUTES = {"/sources": draw_list, "/sources/{name}": draw_one}
PAGE = Page("Streams & tables", "sources", _ROUTES, group="Processing", words=("columns", "lineage"))

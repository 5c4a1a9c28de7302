"""Streams & tables: columns, lineage, some rows, and asking for more."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from orion.plan.sources import Kind, Source
from orion.schema import Column, Role
from orion.web.console import markup, tables
from orion.web.console.dialogs import sure
from orion.web.console.page import Page
from orion.web.console.pages.flow import drawn
from orion.web.console.questions import sources
from orion.web.console.questions.flow import flow
from orion.web.console.questions.sources import Sample
from orion.web.console.results import rows_html
from orion.web.console.view import View, button, heading, html, panel, replace_with, tell, told, toolbar


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
        table = tables.Table(COLUMNS, search=_words, empty=markup.empty("Nothing is declared", none, "sources"))

    async def refresh() -> None:
        table.show(sources.listing(view.orion))

    await refresh()
    table.filter(search.value or "")
    view.every(3.0, refresh)


def _words(source: Source) -> str:
    return f"{source.name} {source.kind} {source.topic} {' '.join(source.schema.names)}"


COLUMNS: tuple[tables.Column[Source], ...] = (
    tables.Column("Name", lambda s: markup.link(s.name, "sources", s.name), lambda s: s.name, "mono"),
    tables.Column("Kind", lambda s: _kind(s), lambda s: s.kind.value),
    tables.Column("Topic", lambda s: markup.link(s.topic, "topics", s.topic), lambda s: s.topic, "mono"),
    tables.Column("Key", lambda s: markup.tag(s.key.format), lambda s: s.key.format),
    tables.Column("Value", lambda s: markup.tag(s.value.format), lambda s: s.value.format),
    tables.Column("Columns", lambda s: str(len(s.schema.columns)), lambda s: len(s.schema.columns), "num"),
    tables.Column(
        "Written by", lambda s: markup.link(s.query_id, "queries", s.query_id) if s.query_id else "", None, "mono"
    ),
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
    heading(source.name, _about(source), above=markup.link("Streams & tables", "sources"))
    with toolbar():
        if source.kind is Kind.TABLE and source.schema.key:
            _key_box(view, source)
        else:
            button(
                "Follow in SQL", lambda: view.go("sql", text=sources.question(source)), tone="primary", picture="sql"
            )
        html("", classes="o-spacer")
        button("Drop", partial(_drop, view, source), tone="danger", picture="trash")
    with panel("Columns", classes="o-half"):
        tables.Table(_columns(source)).show(source.schema.columns)
    with panel("Statement", classes="o-half"):
        html(f'<pre class="o-code">{markup.text(source.statement)}</pre>')
    with panel("Lineage", classes="o-flow"):
        graph = html("")
    with panel("Sample", note=markup.muted("the newest records, as rows")):
        rows = html('<div class="o-loading"><i></i><i></i><i></i></div>')

    async def refresh() -> None:
        whole = flow(view.orion.engine.catalog, await view.desk.reading())
        replace_with(graph, drawn(sources.lineage(whole, source.topic)))

    await refresh()
    replace_with(rows, _sample(await view.ask(sources.sample, view.orion, source)))
    view.every(3.0, refresh)


def _about(source: Source) -> str:
    parts = [
        markup.tag(source.kind.value.lower()),
        f"topic {markup.link(source.topic, 'topics', source.topic)}",
        f"key {markup.text(source.key.format)}, value {markup.text(source.value.format)}",
        markup.text(str(source.window)) if source.window else "",
        f"time from {markup.mono(source.timestamp.column)}" if source.timestamp else "",
        f"written by {markup.link(source.query_id, 'queries', source.query_id)}" if source.query_id else "",
    ]
    return " · ".join(filter(None, parts))


def _columns(source: Source) -> tuple[tables.Column[Column], ...]:
    key = "primary key" if source.kind is Kind.TABLE else "key"
    return (
        tables.Column("Column", lambda c: markup.text(c.name), None, "mono"),
        tables.Column("Type", lambda c: markup.mono(str(c.type).replace("VARCHAR(STRING)", "STRING")), None, "wide"),
        tables.Column("", lambda c: markup.tag(key, "accent") if c.role is Role.KEY else "", None, "acts"),
    )


def _sample(found: Sample) -> str:
    if not found.rows and not found.others:
        return markup.empty("No records yet", "They show here once somebody writes the topic.")
    left = f'<p class="o-muted">{found.others} of these records are no rows of it.</p>' if found.others else ""
    return rows_html(found.columns, found.rows) + left


async def _drop(view: View, source: Source) -> None:
    readers = view.orion.engine.catalog.readers_of(source.name)
    used = (
        f"<p>It is read by {', '.join(map(markup.mono, readers))}: that is refused until they are gone.</p>"
        if readers
        else ""
    )
    lost = f"<p>The declaration goes. The topic {markup.mono(source.topic)} and its records stay.</p>{used}"
    if await sure(f"Drop {source.name}?", lost, action=f"Drop {source.kind.value.lower()}"):
        with told():
            tell(await view.ask(partial(sources.drop, view.orion, source, topic=False)))
            view.go("sources")


_ROUTES = {"/sources": draw_list, "/sources/{name}": draw_one}
PAGE = Page("Streams & tables", "sources", _ROUTES, group="Processing", words=("columns", "lineage"))

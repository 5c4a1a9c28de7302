"""Dead letters: records that couldn't be used, why, and the way back."""

from __future__ import annotations

from collections.abc import Container
from functools import partial

from orion.hub.dead_letters import Letter, Summary
from orion.web.console import amounts, markup, tables
from orion.web.console.page import Page, address
from orion.web.console.questions import dead_letters
from orion.web.console.questions.dead_letters import Box, Cause, Choice
from orion.web.console.questions.decoding import plain
from orion.web.console.replaying import replay_dialog
from orion.web.console.view import View, button, heading, html, panel, replace_with, toolbar

_FRESH_S = 8.0
_ABOUT = (
    "Records that a query or connector couldn't use, kept whole with the reason. Repair them and send them back: "
    "each goes once."
)


async def draw_list(view: View) -> None:
    heading("Dead letters", _ABOUT)
    with toolbar():
        tables.search_box("Filter", lambda text: table.filter(text))
    with panel():
        none = "Every record could be used: no statement has met one that it can't decode or write."
        table = tables.Table(
            COLUMNS, search=lambda s: f"{s.name} {s.code}", empty=markup.empty("No dead letters", none, "check")
        )

    async def refresh() -> None:
        table.show(await view.desk.shared("letters", _FRESH_S, lambda: dead_letters.summaries(view.orion)))

    await refresh()
    view.every(10.0, refresh)


COLUMNS: tuple[tables.Column[Summary], ...] = (
    tables.Column("Of", lambda s: markup.link(s.name, "dead-letters", s.name), lambda s: s.name, "mono"),
    tables.Column("Letters", lambda s: amounts.count(s.letters), lambda s: s.letters, "num"),
    tables.Column("Not sent back", lambda s: amounts.count(s.waiting), lambda s: s.waiting, "num"),
    tables.Column("Most frequent", lambda s: markup.tag(s.code, "warn") if s.code else "", lambda s: s.code),
    tables.Column("Newest", lambda s: markup.text(amounts.ago(s.newest)), lambda s: s.newest),
)


async def draw_one(view: View) -> None:
    name, code = view.path["name"], view.query.get("code", "")
    found = await view.ask(dead_letters.box, view.orion, name, code)
    topics = await view.desk.topic_names()
    heading(name, above=markup.link("Dead letters", "dead-letters"))
    about = html("", classes="o-about")
    with toolbar():
        html(_chosen(name, code), classes="o-spacer")
        label = f"Send back {'those with ' + code if code else 'all'}"
        send = button(label, partial(replay_dialog, view, name, Choice(code)), tone="primary", picture="send")
    with panel("Why"):
        causes = tables.Table(_causes(name), empty=markup.empty("No dead letters", "", "check"))
    with panel("Newest letters", note=markup.muted(f"by their time, up to {dead_letters.KEPT}")):
        table = tables.Table(
            _letters(topics),
            search=lambda one: f"{one.code} {one.reason} {_value(one)}",
            empty=markup.empty("Nothing here", ""),
            acted=lambda _, which: _repair(view, found, which),
        )

    def show() -> None:
        replace_with(about, _about(found))
        send.set_visibility(found.sendable > 0)
        causes.show(found.causes)
        table.show(found.letters)

    async def refresh() -> None:
        nonlocal found
        found = await view.ask(dead_letters.box, view.orion, name, code)
        show()

    show()
    view.every(10.0, refresh)


def _about(found: Box) -> str:
    if not found.has_topic:
        return "It has met no record that it couldn't use: there is no dead-letter topic of it yet."
    topic = markup.link(f"dlq.{found.name}", "topics", f"dlq.{found.name}")
    return f"{amounts.count(found.total)} letters, {amounts.count(found.waiting)} not sent back · topic {topic}"


def _chosen(name: str, code: str) -> str:
    if not code:
        return ""
    every = f'<a class="o-link" href="{markup.text(address("dead-letters", name))}">all codes</a>'
    return f"{markup.tag(code, 'warn')} {every}"


def _causes(name: str) -> tuple[tables.Column[Cause], ...]:
    return (
        tables.Column("Code", lambda c: markup.link(c.code, "dead-letters", name, code=c.code), None, "mono"),
        tables.Column("Reason", lambda c: markup.text(c.reason), None, "wide"),
        tables.Column("Letters", lambda c: amounts.count(c.count), lambda c: c.count, "num"),
        tables.Column("Not sent back", lambda c: amounts.count(c.waiting), lambda c: c.waiting, "num"),
    )


def _letters(topics: Container[str] | None) -> tuple[tables.Column[Letter], ...]:
    return (
        tables.Column("When", lambda one: markup.text(amounts.moment(one.record.timestamp)), None, "mono"),
        tables.Column("Code", lambda one: markup.tag(one.code, "warn", one.reason)),
        tables.Column("From", lambda one: _origin(one, topics), None, "mono"),
        tables.Column("Attempt", lambda one: amounts.count(one.attempt), lambda one: one.attempt, "num"),
        tables.Column("Value", lambda one: markup.text(_value(one)[:200]), None, "data"),
        tables.Column("", _way, None, "acts"),
    )


def _value(letter: Letter) -> str:
    return plain(letter.record.value).text


def _origin(letter: Letter, topics: Container[str] | None) -> str:
    origin = letter.origin
    if origin is None:
        return markup.muted("made by the query")
    where = {"partition": origin.partition, "from_": f"offset:{origin.offset}"}
    if topics is not None and origin.topic not in topics:
        return markup.link_known(origin, ())
    return markup.link(origin, "topics", origin.topic, **where)


def _way(letter: Letter) -> str:
    if letter.replayed:
        return markup.tag("sent back", "ok")
    if letter.stays:
        return markup.tag("stays", title=letter.stays)
    return markup.act("repair", letter.id, "Repair")


async def _repair(view: View, found: Box, which: str) -> None:
    letter = next((one for one in found.letters if one.id == which), None)
    if letter is not None:
        await replay_dialog(view, found.name, Choice(id=letter.id), letter)


PAGE = Page(
    "Dead letters",
    "letters",
    {"/dead-letters": draw_list, "/dead-letters/{name}": draw_one},
    group="Data",
    words=("dlq", "errors", "replay"),
)

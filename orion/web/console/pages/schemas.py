"""Schemas: subjects, their versions, what differs, whether a new one may follow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from nicegui import ui

from orion.errors import NotFound
from orion.web.console import amounts, highlighting, markup, tables
from orion.web.console.dialogs import say_why_not, sure
from orion.web.console.forms import form_dialog
from orion.web.console.page import Page
from orion.web.console.questions import schemas
from orion.web.console.questions.schemas import Entry, Verdict
from orion.web.console.view import View, button, heading, html, panel, tell, told, toolbar

T = TypeVar("T")
_KINDS = {"AVRO": "Avro", "JSON": "JSON Schema", "PROTOBUF": "Protobuf"}


async def draw_list(view: View) -> None:
    heading("Schemas", "What records mean. Each subject has the schemas of one topic's keys or values.")
    with toolbar():
        tables.search_box("Filter subjects, or an id", lambda text: table.filter(text))
        html("", classes="o-spacer")
        button("Register schema", partial(register_dialog, view), tone="primary", picture="plus")
    with panel():
        none = "Streams with VALUE_FORMAT AVRO, JSON_SR or PROTOBUF register theirs; so do Confluent's clients."
        table = tables.Table(
            COLUMNS,
            search=lambda e: f"{e.subject} {e.type} {e.id}",
            empty=markup.empty("No schemas", none, "schemas"),
        )

    async def refresh() -> None:
        table.show(await view.ask(lambda: schemas.shelf(view.orion).newest()))

    await refresh()
    view.every(10.0, refresh)


COLUMNS: tuple[tables.Column[Entry], ...] = (
    tables.Column("Subject", lambda e: markup.link(e.subject, "schemas", e.subject), lambda e: e.subject, "mono"),
    tables.Column("Type", lambda e: markup.tag(_KINDS.get(e.type, e.type)), lambda e: e.type),
    tables.Column("Newest version", lambda e: amounts.count(e.version), lambda e: e.version, "num"),
    tables.Column("Id", lambda e: amounts.count(e.id), lambda e: e.id, "num"),
)


async def draw_one(view: View) -> None:
    subject = view.path["name"]
    versions = await view.ask(lambda: schemas.shelf(view.orion).versions(subject))
    level = await view.ask(lambda: schemas.shelf(view.orion).level(subject))
    shown = _version(versions, view.query.get("version")) or versions[0]
    before = _version(versions, view.query.get("against"))
    topic = subject.rpartition("-")[0]
    about = f"{_KINDS.get(shown.type, shown.type)} · compatibility {markup.tag(level)}"
    known = await view.desk.topic_names()
    if topic and (known is None or topic in known):
        about += f" · topic {markup.link(topic, 'topics', topic)}"
    heading(subject, about, above=markup.link("Schemas", "schemas"))
    with toolbar():
        html("", classes="o-spacer")
        button("New version", partial(register_dialog, view, shown), tone="primary", picture="plus")
        button("Delete subject", partial(_delete, view, subject, len(versions)), tone="danger", picture="trash")
    with panel("Versions"):
        tables.Table(_columns(subject, shown, before)).show(versions)
    title = f"Version {before.version} to {shown.version}" if before else f"Version {shown.version}"
    with panel(title, note=markup.muted(f"id {shown.id}")):
        text = markup.lines_html(schemas.difference(before, shown)) if before else _text(shown)
        html(f'<pre class="o-code">{text}</pre>')


def _version(versions: list[Entry], wanted: str | None) -> Entry | None:
    return next((one for one in versions if str(one.version) == wanted), None)


def _columns(subject: str, shown: Entry, before: Entry | None) -> tuple[tables.Column[Entry], ...]:
    def compare(one: Entry) -> str:
        if one.version == shown.version:
            return markup.tag("shown", "accent")
        return markup.link("compare", "schemas", subject, version=shown.version, against=one.version)

    return (
        tables.Column("Version", lambda e: markup.link(e.version, "schemas", subject, version=e.version), None, "mono"),
        tables.Column("Id", lambda e: amounts.count(e.id), None, "num"),
        tables.Column("Size", lambda e: amounts.size(len(e.text.encode())), None, "num"),
        tables.Column(
            "", lambda e: markup.tag("before", "warn") if before and e == before else compare(e), None, "acts"
        ),
    )


def _text(entry: Entry) -> str:
    text = schemas.readable(entry)
    return markup.text(text) if entry.type == "PROTOBUF" else highlighting.json_text(text)


async def register_dialog(view: View, entry: Entry | None = None) -> None:
    """Write a schema, ask whether it may follow, register it."""
    with form_dialog(wide=True) as form:
        html(f"<h2>{'New version of ' + markup.text(entry.subject) if entry else 'Register a schema'}</h2>")
        subject = ui.input(label="Subject, such as orders-value", value=entry.subject if entry else "")
        kind = ui.select(_KINDS, value=entry.type if entry else "AVRO", label="Type")
        text = ui.textarea(label="Schema", value=schemas.readable(entry) if entry else "")
        text.props('input-style="min-height:240px"').classes("o-mono")
        for field in (subject, kind, text):
            field.props("dense outlined").classes("o-input")
        if entry:
            subject.props("readonly")

        def asked(what: Callable[[str, str, str], T]) -> Callable[[], T]:
            return partial(what, subject.value or "", str(kind.value), text.value or "")

        async def check() -> None:
            try:
                verdict = await view.ask(asked(schemas.shelf(view.orion).check))
            except NotFound:
                verdict = Verdict(True)
            form.say(verdict_html(verdict))

        async def register() -> None:
            number = await view.ask(asked(schemas.shelf(view.orion).register))
            form.close()
            tell(f"Registered under {subject.value} with the id {number}.")
            view.go("schemas", subject.value, id=number)

        with form.buttons():
            form.button("Check compatibility", check)
            form.button("Register", register, tone="primary")


def verdict_html(verdict: Verdict) -> str:
    if verdict.fits:
        return f"<p>{markup.tag('compatible', 'ok')} It may follow the versions before it.</p>"
    why = "".join(f"<li>{markup.text(message)}</li>" for message in verdict.messages)
    return f"<p>{markup.tag('not compatible', 'bad')}</p><ul class='o-reasons'>{why}</ul>"


async def _delete(view: View, subject: str, count: int) -> None:
    why = await view.ask(lambda: schemas.shelf(view.orion).referring_subjects(subject))
    if why:
        names = ", ".join(map(markup.mono, why))
        await say_why_not(
            f"{subject} can't be deleted", f"<p>Other schemas refer to it, and have to go first: {names}.</p>"
        )
        return
    lost = (
        f"<p>All {count} versions are hidden, and nothing new is compared with them. Records keep their schemas: ids "
        "stay known, and the same schema can be registered again.</p>"
    )
    if await sure(f"Delete {subject}?", lost, action="Delete subject"):
        with told():
            await view.ask(lambda: schemas.shelf(view.orion).delete(subject))
            tell(f"Deleted {subject}.")
            view.go("schemas")


_ROUTES = {"/schemas": draw_list, "/schemas/{name}": draw_one}
PAGE = Page("Schemas", "schemas", _ROUTES, group="Data", words=("registry", "avro", "subjects"))

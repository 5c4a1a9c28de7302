"""Streams and tables with their columns beside the SQL editor: a press writes the name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orion.web.console import markup
from orion.web.console.questions.vocabulary import SourceColumn, SourceWords
from orion.web.console.tables import on_act, search_box
from orion.web.console.view import html, panel, replace_with


class SchemaBar:
    """`chosen` hears the name that was pressed."""

    def __init__(self, chosen: Callable[[str], None]) -> None:
        self._sources: Sequence[SourceWords] = ()
        self._wanted = ""
        with panel("Streams and tables", classes="o-schema"):
            search_box("Filter", self._filter)
            self._list = html("", classes="o-schema__list")
        on_act(self._list, lambda _, name: chosen(name))

    def show(self, sources: Sequence[SourceWords]) -> None:
        self._sources = sources
        self._draw()

    def _filter(self, wanted: str) -> None:
        self._wanted = wanted.strip().upper()
        self._draw()

    def _draw(self) -> None:
        found = [one for one in self._sources if self._fits(one)]
        none = markup.muted("None fits." if self._sources else "There are none yet: CREATE STREAM declares one.")
        replace_with(self._list, "".join(map(_source_html, found)) or f"<p>{none}</p>")

    def _fits(self, source: SourceWords) -> bool:
        return self._wanted in source.name.upper() or any(self._wanted in c.name.upper() for c in source.columns)


def _source_html(source: SourceWords) -> str:
    columns = "".join(_column_html(c, "") for c in source.columns) + "".join(
        _column_html(c, " is-pseudo") for c in source.pseudo
    )
    return (
        f'<details><summary><span class="o-schema__name" title="{markup.text(source.name)}">{markup.text(source.name)}'
        f"</span>{_write(source.name)}<small>{markup.text(source.kind)}</small></summary><ul>{columns}</ul></details>"
    )


def _column_html(column: SourceColumn, classes: str) -> str:
    role = f" {column.role}" if column.role else ""
    return (
        f'<li class="o-schema__column{classes}"><button type="button" data-act="write" '
        f'data-arg="{markup.text(column.name)}" title="Write {markup.text(column.name)}">{markup.text(column.name)}'
        f"</button><small>{markup.text(column.type)}{markup.text(role)}</small></li>"
    )


def _write(name: str) -> str:
    return markup.act("write", name, f"Write {name}", picture="plus")

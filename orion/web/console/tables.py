"""Tables that are sorted, searched and cut on the server: five thousand rows cost a browser as much as a hundred."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from nicegui import ui

from orion.web.console import amounts, markup
from orion.web.console.view import html, replace_with

T = TypeVar("T")
Acted = Callable[[str, str], Awaitable[None] | None]
PAGE = 100


@dataclass(frozen=True)
class Column(Generic[T]):
    """`cell` gives HTML. One that can be sorted by has a `key`."""

    title: str
    cell: Callable[[T], str]
    key: Callable[[T], Any] | None = None
    classes: str = ""  # num, mono, wide, narrow
    hint: str = ""


def rendered(columns: Sequence[Column[T]], rows: Sequence[T], *, sort: tuple[int, bool] | None = None) -> str:
    """A table as HTML; headings that sort are buttons."""
    head = "".join(_heading(at, column, sort) for at, column in enumerate(columns))
    body = "".join(
        f"<tr>{''.join(f'<td class={c.classes!r}>{c.cell(row)}</td>' for c in columns)}</tr>" for row in rows
    )
    return framed(head, body)


def framed(head: str, body: str) -> str:
    """A table of cells and rows that are HTML already; it scrolls by itself where it is too wide."""
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="o-scroll"><table class="o-table">{inside}</table></div>'


def _heading(at: int, column: Column[Any], sort: tuple[int, bool] | None) -> str:
    title, hint = markup.text(column.title), f' title="{markup.text(column.hint)}"' if column.hint else ""
    if column.key is None:
        return f'<th class="{column.classes}"{hint}>{title}</th>'
    now = sort is not None and sort[0] == at
    arrow = ("↓" if sort and sort[1] else "↑") if now else ""
    told = f' aria-sort="{"descending" if sort and sort[1] else "ascending"}"' if now else ""
    return (
        f'<th class="{column.classes}"{hint}{told}><button type="button" data-act="sort" data-arg="{at}">'
        f"{title}<span>{arrow}</span></button></th>"
    )


def on_act(element: ui.element, acted: Acted) -> None:
    """Hear the presses of `data-act` inside an element."""

    async def hear(event: Any) -> None:
        name, argument = event.args
        result = acted(str(name), str(argument))
        if result is not None:
            await result

    element.on(
        "click",
        hear,
        js_handler="(e) => { const t = e.target.closest('[data-act]');"
        " if (t) { e.preventDefault(); emit([t.dataset.act, t.dataset.arg ?? '']); } }",
    )


class Table(Generic[T]):
    """A live table: `show` gives it all rows, and it draws those that are asked for."""

    def __init__(
        self,
        columns: Sequence[Column[T]],
        *,
        search: Callable[[T], str] | None = None,
        empty: str = "",
        acted: Acted | None = None,
        sort: tuple[int, bool] | None = None,
    ) -> None:
        self._columns, self._search, self._empty, self._acted = columns, search, empty, acted
        self._sort, self._page, self._wanted = sort, 0, ""
        self._rows: Sequence[T] | None = None
        self.visible: Sequence[T] = ()
        self._place = html('<div class="o-loading"><i></i><i></i><i></i></div>', classes="o-table-place")
        on_act(self._place, self._hear)

    def filter(self, wanted: str) -> None:
        self._wanted, self._page = wanted.strip().lower(), 0
        self._draw()

    def show(self, rows: Sequence[T]) -> None:
        self._rows = rows
        self._draw()

    def chosen(self) -> list[T]:
        """The rows that fit what is searched for, in order."""
        rows = self._rows or ()
        if self._wanted and self._search:
            words, search = self._wanted.split(), self._search
            rows = [row for row in rows if all(word in search(row).lower() for word in words)]
        if self._sort is not None and (key := self._columns[self._sort[0]].key) is not None:
            return sorted(rows, key=lambda row: _orderly(key(row)), reverse=self._sort[1])
        return list(rows)

    async def _hear(self, name: str, argument: str) -> None:
        if name == "sort":
            at = int(argument)
            down = "num" in self._columns[at].classes
            self._sort = (at, not self._sort[1]) if self._sort and self._sort[0] == at else (at, down)
        elif name == "page":
            self._page = int(argument)
        elif self._acted is not None:
            result = self._acted(name, argument)
            if result is not None:
                await result
            return
        self._draw()

    def _draw(self) -> None:
        if self._rows is None:
            return
        rows = self.chosen()
        self._page = min(self._page, max(0, (len(rows) - 1) // PAGE))
        self.visible = rows[self._page * PAGE : (self._page + 1) * PAGE]
        if not rows:
            none = self._empty if not self._wanted else markup.empty("Nothing fits", "Try fewer or other letters.")
            replace_with(self._place, none)
            return
        replace_with(self._place, rendered(self._columns, self.visible, sort=self._sort) + self._pager(len(rows)))

    def _pager(self, total: int) -> str:
        if total <= PAGE:
            return ""
        first, last = self._page * PAGE + 1, min(total, (self._page + 1) * PAGE)
        before = markup.act("page", self._page - 1, "Previous") if self._page else ""
        after = markup.act("page", self._page + 1, "Next") if last < total else ""
        return f'<div class="o-pager"><span>{first} to {last} of {amounts.count(total)}</span>{before}{after}</div>'


def _orderly(value: Any) -> tuple[bool, Any]:
    """What isn't known comes first, whatever the others are."""
    return (value is not None, "" if value is None else value.lower() if isinstance(value, str) else value)


def search_box(hint: str, filtered: Callable[[str], Any], value: str = "") -> ui.input:
    """The box over a table; `/` goes there."""
    made = ui.input(placeholder=hint, value=value, on_change=lambda e: filtered(e.value or ""))
    made.props('dense outlined clearable debounce="150" data-filter').classes("o-input o-search")
    return made

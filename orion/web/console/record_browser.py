"""Records of one topic: from a place, by a filter, or as they come."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nicegui import ui

from orion.errors import OrionError, SqlError, UserError
from orion.hub.records import milliseconds
from orion.plan.sources import Source
from orion.web.console import amounts, highlighting, markup
from orion.web.console.page import address
from orion.web.console.producing import produce_dialog
from orion.web.console.questions.decoding import Decoded, pretty
from orion.web.console.questions.filtering import Wish
from orion.web.console.questions.records import From, Tail
from orion.web.console.questions.searching import Extent, Found, Quest, Search, search_of
from orion.web.console.results import export_buttons
from orion.web.console.tables import framed, on_act
from orion.web.console.view import View, button, error_box, html, panel, quiet, replace_with, toolbar

PLACES = {"newest": "Newest", "earliest": "Oldest", "offset": "Offset", "time": "Time"}
_LIVE = 200
_PARTITIONS = 48  # that are told of one by one
_LOADING = '<div class="o-loading"><i></i><i></i><i></i></div>'
_LOOK_S = 0.5


class RecordBrowser:
    """The address says where it begins; the filter is this look's own."""

    def __init__(self, view: View, topic: str, partitions: int, sources: Sequence[Source] = ()) -> None:
        self._view, self._topic, self._sources = view, topic, sources
        self._start = From.of(view.query)
        self._kept: dict[str, Decoded] = {}
        self._open: str | None = None
        self._tail: Tail | None = None
        self._close: Callable[[], None] = lambda: None
        self._live: deque[Decoded] = deque(maxlen=_LIVE)
        self._search: Search | None = None
        self._found: Found | None = None
        self._is_looking = False
        self._toolbar(partitions)
        self._error = html("")
        with panel():
            self._head = html(_LOADING)
            self._table = html("", classes="o-table-place o-records")
        with toolbar("o-export"):
            html(markup.muted("Export what is shown:"))
            export_buttons(EXPORTED, _EXPORTED_TYPES, lambda: [exported(one) for one in self._kept.values()], topic)
        on_act(self._head, self._acted)
        on_act(self._table, self._acted)

    def _toolbar(self, partitions: int) -> None:
        query = self._view.query
        word, _, rest = self._start.place.partition(":")
        with toolbar("o-records-bar"):
            chosen: dict[int | None, str] = {None: "All partitions", **{p: f"Partition {p}" for p in range(partitions)}}
            self._partition = ui.select(chosen, value=self._start.partition, on_change=self._move).classes("o-input")
            self._place = ui.select(dict(PLACES), value=word, on_change=self._placed).classes("o-input")
            self._at = ui.input(placeholder="offset or time", value=rest).classes("o-input o-mono")
            self._at.on("keydown.enter", self._move)
            self._at.set_visibility(word in ("offset", "time"))
            self._where = ui.input(placeholder="WHERE country = 'DE' AND seconds > 60", value=query.get("where", ""))
            self._where.classes("o-input o-mono o-where")
            self._words = ui.input(placeholder="contains", value=query.get("find", "")).classes("o-input o-contains")
            self._header = ui.input(placeholder="header=value", value=query.get("header", "")).classes("o-input")
            for field in (self._partition, self._place, self._at, self._where, self._words, self._header):
                field.props("dense outlined options-dense")
            for field in (self._where, self._words, self._header):
                field.on("keydown.enter", self._move)
            button("Look", self._move, picture="search")
            self._live_button = button("Live", self.toggle_live, picture="play")

    async def draw(self) -> None:
        ui.timer(_LOOK_S, self._look)
        if self._view.query.get("live") == "1":
            await self.toggle_live()
        else:
            await self._find()

    # ---- where to look -----------------------------------------------------------------------------------------

    def _placed(self) -> None:
        self._at.set_visibility(self._place.value in ("offset", "time"))
        if self._place.value in ("newest", "earliest"):
            self._move()

    def _move(self) -> None:
        """Go to the address that says where to look, so that it can be kept and sent."""
        try:
            place = self._written_place()
            Wish.of(self._where.value or "", self._words.value or "", self._header.value or "")
        except OrionError as error:
            self._tell(error)
            return
        self._view.go(
            "topics",
            self._topic,
            partition=self._partition.value,
            from_=None if place == "newest" else place,
            where=self._where.value or None,
            find=self._words.value or None,
            header=self._header.value or None,
        )

    def _written_place(self) -> str:
        kind, at = self._place.value, (self._at.value or "").strip()
        if kind in ("newest", "earliest"):
            return str(kind)
        if kind == "offset" and not at.isdecimal():
            raise UserError("INVALID_POSITION", f"{at!r} is not an offset.", hint="Write a number from 0.")
        return f"offset:{at}" if kind == "offset" else f"time:{milliseconds(at)}"

    def _tell(self, error: OrionError) -> None:
        caret = f'<pre class="o-code">{markup.text(error.caret())}</pre>' if isinstance(error, SqlError) else ""
        replace_with(self._error, error_box(error) + caret)

    # ---- looking -----------------------------------------------------------------------------------------------

    def _wish(self) -> Wish:
        return Wish.of(self._where.value or "", self._words.value or "", self._header.value or "")

    async def _find(self) -> None:
        try:
            wanted = Quest(self._topic, self._start, self._wish())
            self._search = await self._view.ask(search_of, self._view.orion, wanted)
        except OrionError as error:
            replace_with(self._head, "")
            self._tell(error)
            return
        await self._look_further()

    async def _look_further(self) -> None:
        """Look on from where the search has come to; what was found before stays."""
        search = self._search
        if search is None or self._is_looking:
            return
        self._is_looking = True
        self._head_for(self._found)
        try:
            self._found = await self._view.ask(search.look)
            replace_with(self._error, "")
        except OrionError as error:
            self._tell(error)
        finally:
            self._is_looking = False
            self._head_for(self._found)
        if self._found is not None and self._tail is None:
            self._show(self._found.records)

    def _head_for(self, found: Found | None) -> None:
        if found is None:
            replace_with(self._head, _LOADING if self._is_looking else "")
            return
        further = "" if found.is_done else _further(found, self._is_looking)
        head = f"<h2>Records</h2><span>{markup.muted(progress(found))} {further}</span>"
        replace_with(
            self._head, f'<div class="o-panel__head">{head}</div>{"" if found.is_done else looked_html(found)}'
        )

    async def toggle_live(self) -> None:
        """Follow what comes, or stop."""
        if self._tail is not None:
            self._tail = None
            self._close()
            self._label("Live")
            return
        try:
            wish, partition = self._wish(), self._start.partition
            self._tail = await self._view.ask(Tail, self._view.orion, self._topic, partition, wish)
        except OrionError as error:
            self._tell(error)
            return
        self._close = self._view.opened(self._tail.close)
        self._live.clear()
        self._label("Stop")
        replace_with(
            self._head, '<div class="o-panel__head"><h2>Live</h2><span class="o-muted">newest first</span></div>'
        )
        replace_with(self._table, markup.empty("Waiting for records", "They show here as they come.", "topics"))

    def _label(self, text: str) -> None:
        self._live_button.clear()
        with self._live_button:
            ui.html(markup.text(text), sanitize=False, tag="span")

    async def _look(self) -> None:
        if self._tail is None:
            return
        with quiet():
            came = await self._view.ask(self._tail.look)
            if came and self._tail is not None:
                self._live.extendleft(came)
                self._show(self._live)

    # ---- drawing -----------------------------------------------------------------------------------------------

    def _show(self, found: Iterable[Decoded]) -> None:
        self._kept = {f"{one.record.partition}:{one.record.offset}": one for one in found}
        self._draw()

    def _draw(self) -> None:
        if not self._kept:
            replace_with(self._table, _nothing(self._found))
            return
        rows = "".join(_row(name, one, name == self._open) for name, one in self._kept.items())
        head = '<th class="num">Partition</th><th class="num">Offset</th><th>Time (UTC)</th><th>Key</th><th>Value</th>'
        replace_with(self._table, framed(head, rows))

    async def _acted(self, what: str, name: str) -> None:
        if what == "further":
            await self._look_further()
        elif what == "open":
            self._open = None if self._open == name else name
            self._draw()
        elif what == "again" and name in self._kept:
            await produce_dialog(self._view, self._topic, self._sources, self._kept[name])
        elif what == "copy" and name in self._kept:
            ui.clipboard.write(pretty(self._kept[name].value))


def progress(found: Found) -> str:
    """How many there are, and how much of the topic was looked through for them."""
    parts, total = len(found.extents), amounts.count(found.total)
    where = f"{parts} partitions" if parts > 1 else f"partition {found.extents[0].partition}" if parts else "it"
    looked = (
        f"all {total} offsets" if found.looked == found.total else f"{amounts.count(found.looked)} of {total} offsets"
    )
    return f"{amounts.count(len(found.records))} shown, {looked} of {where} looked through"


def _further(found: Found, is_looking: bool) -> str:
    if is_looking:
        return markup.tag("looking …", "accent")
    label = "More" if found.records and found.looked == found.total else "Look further"
    return markup.act("further", "", label)


def looked_html(found: Found) -> str:
    """Which offsets of each partition were looked through."""
    shown = sorted(found.extents, key=lambda e: (not e.is_own, e.partition))[:_PARTITIONS]
    rows = "".join(f"<li>{_extent(extent)}</li>" for extent in shown)
    more = (
        f"<li>and {len(found.extents) - _PARTITIONS} partitions more</li>" if len(found.extents) > _PARTITIONS else ""
    )
    return f'<details class="o-looked"><summary>Where it has looked</summary><ul>{rows}{more}</ul></details>'


def _extent(extent: Extent) -> str:
    first, end = extent.whole
    ranges = ", ".join(f"{amounts.count(start)} to {amounts.count(stop - 1)}" for start, stop in extent.looked)
    looked = "all" if extent.count == extent.total else ranges or "none"
    there = f"of {amounts.count(first)} to {amounts.count(end - 1)}" if extent.total else "It is empty"
    own = " · where records of this key go" if extent.is_own else ""
    return f"partition {extent.partition}: {looked} {there}{own}"


def _nothing(found: Found | None) -> str:
    if found is None:
        return ""
    if not found.total:
        return markup.empty("No records", "There are none from this place on.")
    if found.is_done:
        told = f"{_all_of(found)} looked through, and nothing fits. Look from another place, or with fewer words."
        return markup.empty("No records fit", told)
    told = (
        f"{amounts.count(found.looked)} of {amounts.count(found.total)} offsets were looked through, and nothing there "
        "fits. The rest isn't known yet."
    )
    return markup.empty("Nothing found so far", told, "search")


def _all_of(found: Found) -> str:
    return "The only offset was" if found.total == 1 else f"All {amounts.count(found.total)} offsets were"


def _row(name: str, one: Decoded, is_open: bool) -> str:
    record = one.record
    key = markup.muted("null") if one.key.kind == "null" else markup.text(one.key.text[:120])
    value = markup.tag("deleted", "warn") if one.value.kind == "null" else highlighting.json_line(one.value.text[:400])
    cells = (
        f'<td class="num">{record.partition}</td><td class="num">'
        f'<button type="button" class="o-plain" data-act="open" data-arg="{name}" aria-expanded="{_word(is_open)}">'
        f'{record.offset}</button></td><td class="mono">{amounts.moment(record.timestamp)}</td>'
        f'<td class="data key">{key}</td><td class="data">{value}</td>'
    )
    row = f'<tr class="{"is-open" if is_open else ""}" data-act="open" data-arg="{name}">{cells}</tr>'
    return row + (f'<tr class="o-whole"><td colspan="5">{_whole(name, one)}</td></tr>' if is_open else "")


def _word(flag: bool) -> str:
    return "true" if flag else "false"


def _whole(name: str, one: Decoded) -> str:
    """A record with all there is to see of it."""
    where = address("topics", one.record.topic, partition=one.record.partition, from_=f"offset:{one.record.offset}")
    facts = {
        "Key": markup.mono(one.key.text),
        "Read as": f"key {markup.tag(one.key.kind)} value {markup.tag(one.value.kind)}",
        "Size": f"{amounts.size(len(one.record.key or b''))} key, {amounts.size(len(one.record.value or b''))} value",
        "Here": f'<a class="o-link o-mono" href="{markup.text(where)}">{markup.text(where)}</a>',
    }
    if one.headers:
        lines = "<br>".join(f"{markup.mono(n)} = {markup.mono(v)}" for n, v in one.headers)
        facts["Headers"] = lines
    body = highlighting.json_text(pretty(one.value))
    copy = markup.act("copy", name, "Copy value", picture="copy")
    again = markup.act("again", name, "Send again or edit")
    return (
        f'<div class="o-record"><div>{markup.facts(facts)}{again}</div>'
        f'<div><pre class="o-code">{body}</pre>{copy}</div></div>'
    )


EXPORTED = ("PARTITION", "OFFSET", "TIMESTAMP", "KEY", "VALUE", "HEADERS")
_EXPORTED_TYPES = ("INTEGER", "BIGINT", "BIGINT", "STRING", "STRING", "STRING")


def exported(one: Decoded) -> list[Any]:
    """A record as a row of a file; a key or value that isn't there is NULL."""
    key, value = (None if side.kind == "null" else side.text for side in (one.key, one.value))
    headers = json.dumps(dict(one.headers), ensure_ascii=False) if one.headers else None
    return [one.record.partition, one.record.offset, one.record.timestamp, key, value, headers]

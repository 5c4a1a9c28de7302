"""Records of one topic: from a place, by a filter, or as they come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from nicegui import ui

from orion.errors import OrionError, SqlError, UserError
from orion.hub.records import milliseconds
from orion.web.console import amounts, highlighting, markup
from orion.web.console.page import address
from orion.web.console.questions import records
from orion.web.console.questions.decoding import Decoded, pretty
from orion.web.console.questions.filtering import Wish
from orion.web.console.questions.records import From, Tail
from orion.web.console.tables import framed, on_act
from orion.web.console.view import View, button, error_box, html, panel, quiet, replace_with, toolbar

PLACES = {"newest": "Newest", "earliest": "Oldest", "offset": "Offset", "time": "Time"}
_LIVE = 200
_LOOK_S = 0.5


class RecordBrowser:
    """The address says where it begins; the filter is this look's own."""

    def __init__(self, view: View, topic: str, partitions: int) -> None:
        self._view, self._topic = view, topic
        self._start = From.of(view.query)
        self._kept: dict[str, Decoded] = {}
        self._open: str | None = None
        self._tail: Tail | None = None
        self._close: Callable[[], None] = lambda: None
        self._live: deque[Decoded] = deque(maxlen=_LIVE)
        self._toolbar(partitions)
        self._error = html("")
        with panel():
            self._head = html('<div class="o-loading"><i></i><i></i><i></i></div>')
            self._table = html("", classes="o-table-place o-records")
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
            found = await self._view.ask(records.find, self._view.orion, self._topic, self._start, self._wish())
        except OrionError as error:
            replace_with(self._head, "")
            self._tell(error)
            return
        note = f"{amounts.count(len(found.records))} shown of {amounts.count(found.scanned)} looked at"
        more = "" if found.at_end or not found.records else self._further(found.records[-1])
        replace_with(
            self._head, f'<div class="o-panel__head"><h2>Records</h2><span>{markup.muted(note)} {more}</span></div>'
        )
        self._show(found.records)

    def _further(self, last: Decoded) -> str:
        """On from the last one that is shown."""
        stamp = last.record.timestamp
        if self._start.partition is not None:
            return markup.link("Next", "topics", self._topic, **self._said(f"offset:{last.record.offset + 1}"))
        return markup.link("Next", "topics", self._topic, **self._said(f"time:{stamp}")) if stamp is not None else ""

    def _said(self, place: str) -> dict[str, object]:
        kept = {name: self._view.query.get(name) for name in ("where", "find", "header")}
        return {"partition": self._start.partition, "from_": place, **kept}

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
            told = "Nothing here fits. Look from another place, or with fewer words."
            replace_with(self._table, markup.empty("No records", told))
            return
        rows = "".join(_row(name, one, name == self._open) for name, one in self._kept.items())
        head = '<th class="num">Partition</th><th class="num">Offset</th><th>Time (UTC)</th><th>Key</th><th>Value</th>'
        replace_with(self._table, framed(head, rows))

    async def _acted(self, what: str, name: str) -> None:
        if what == "open":
            self._open = None if self._open == name else name
            self._draw()
        elif what == "copy" and name in self._kept:
            ui.clipboard.write(pretty(self._kept[name].value))


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
    return f'<div class="o-record">{markup.facts(facts)}<div><pre class="o-code">{body}</pre>{copy}</div></div>'

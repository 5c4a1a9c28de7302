"""Repairing dead letters and sending them back: what goes is what was looked at, and no other value."""

from __future__ import annotations

from nicegui import ui

from orion.errors import UserError
from orion.hub.dead_letters import Letter, Repaired
from orion.web.console import amounts, markup
from orion.web.console.forms import Form, form_dialog
from orion.web.console.questions import dead_letters
from orion.web.console.questions.dead_letters import Choice, Repair, Review
from orion.web.console.questions.decoding import plain, pretty
from orion.web.console.view import View, html, tell, warning_box

_SHOWN = 3


async def replay_dialog(view: View, name: str, choice: Choice, letter: Letter | None = None) -> None:
    """Of one letter the value is edited; of several, fields of all of them are set."""
    with form_dialog(wide=True) as form:
        html(_told(name, choice, letter))
        _Replay(view, name, choice, letter).draw(form)


class _Replay:
    """Review shows what would go and what is known against it; only then it can be sent, as it was shown."""

    def __init__(self, view: View, name: str, choice: Choice, letter: Letter | None) -> None:
        self._view, self._name, self._choice = view, name, choice
        self._reviewed: Review | None = None
        shown = plain(letter.record.value) if letter is not None else None
        # The value as it stands in the field at first; None: fields of the value are set, not the whole of it.
        self._whole = pretty(shown) if shown is not None and shown.kind != "base64" else None

    def draw(self, form: Form) -> None:
        self._form = form
        if self._whole is not None:
            self._field = ui.textarea(label="Value", value=self._whole)
        else:
            label = "Set fields of JSON: amount=12.5, one a line; empty sends values as they are"
            self._field = ui.textarea(label=label)
        self._field.props('dense outlined input-style="min-height:150px"').classes("o-input o-mono")
        self._field.on_value_change(self._forget)
        with form.buttons():
            self._look = form.button("Review", self._review, tone="primary")
            self._send = form.button("Send back", self._replay, tone="primary", picture="send")
            self._anyway = form.button("Send back anyway", self._replay, tone="danger", picture="send")
        self._offer()

    def _repair(self) -> Repair:
        written = self._field.value or ""
        if self._whole is None:
            return Repair(written)
        return Repair() if written == self._whole else Repair(value=written)

    def _forget(self) -> None:
        """What was reviewed is no longer what stands in the field."""
        if self._reviewed is not None:
            self._reviewed = None
            self._form.say(markup.muted("Changed since: review it again before it goes."))
            self._offer()

    def _offer(self) -> None:
        found = self._reviewed
        self._look.set_visibility(found is None)
        self._send.set_visibility(found is not None and not found.faults)
        self._anyway.set_visibility(found is not None and bool(found.faults))

    async def _review(self) -> None:
        self._reviewed = None
        view = self._view
        found = await view.ask(dead_letters.review, view.orion, self._name, self._choice, self._repair())
        self._reviewed = found
        self._form.say(review_html(found))
        self._offer()

    async def _replay(self) -> None:
        found = self._reviewed
        if found is None:
            raise UserError("NOT_REVIEWED", "The value was changed since it was reviewed.", hint="Review it again.")
        outcome = await self._view.ask(dead_letters.replay, self._view.orion, self._name, found.repaired)
        self._form.close()
        before = f", {len(outcome.sent_before)} were before" if outcome.sent_before else ""
        tell(f"Sent {len(outcome.sent)} back{before}.")
        self._view.go("dead-letters", self._name, code=self._choice.code or None, after=len(outcome.sent))


def _told(name: str, choice: Choice, letter: Letter | None) -> str:
    if letter is None:
        which = f"those with {markup.mono(choice.code)}" if choice.code else "all that can go"
        return f"<h2>Send dead letters of {markup.text(name)} back</h2><p>{which}, each once, all or none.</p>"
    back = f"It goes back to {markup.mono(letter.origin.topic)}." if letter.origin else ""
    why = f"{markup.tag(letter.code, 'warn')} {markup.text(letter.reason)}"
    return f"<h2>Repair a dead letter</h2><p>{why}</p><p>{back}</p>"


def review_html(found: Review) -> str:
    """How many go where, what is known against them, and what differs in the first of them."""
    total, changed = len(found.repaired), found.changed
    where = ", ".join(map(markup.mono, found.topics))
    if total == 1:
        go, how = "goes", "with another value" if changed else "as it is"
    else:
        go, how = "go", f"{amounts.count(changed)} of them with another value" if changed else "as they are"
    first = sorted(found.repaired, key=lambda one: one.letter.id not in found.faults)[:_SHOWN]
    more = f"<p>and {amounts.count(total - _SHOWN)} more</p>" if total > _SHOWN else ""
    shown = "".join(_difference(one, found) for one in first)
    told = f"<p>{amounts.count(total)} {go} to {where}, {how}:</p>"
    return f"{_warnings(found)}{told}<div class='o-rows'>{shown}</div>{more}"


def _warnings(found: Review) -> str:
    told = ""
    if found.faults:
        count = f"{amounts.count(len(found.faults))} of {amounts.count(len(found.repaired))}"
        why = markup.text(next(iter(found.faults.values())))
        told += warning_box(f"<b>{count} would become dead letters again.</b><p>{why}</p>")
    if found.unchecked:
        topics = ", ".join(map(markup.mono, found.unchecked))
        told += warning_box(
            f"<b>It isn't known whether these can be read.</b><p>No stream or table is declared over {topics}.</p>"
        )
    return told


def _difference(one: Repaired, found: Review) -> str:
    fault = found.faults.get(one.letter.id)
    tags = markup.tag("unreadable", "warn", str(fault)) if fault else ""
    tags += "" if one.value != one.letter.record.value else f" {markup.tag('unchanged')}"
    lines = markup.lines_html(dead_letters.difference(one))
    return f"<div><p>{markup.mono(one.letter.id)} {tags}</p><pre class='o-code o-diff'>{lines}</pre></div>"

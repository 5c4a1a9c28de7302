"""Repairing dead letters and sending them back: what would be sent is shown before it is."""

from __future__ import annotations

from nicegui import ui

from orion.errors import OrionError
from orion.hub.dead_letters import Letter, Repaired
from orion.web.console import amounts, highlighting, markup
from orion.web.console.questions import dead_letters
from orion.web.console.questions.dead_letters import Choice, Repair
from orion.web.console.questions.decoding import plain, pretty
from orion.web.console.view import View, button, error_box, html, replace_with, tell

_SHOWN = 3


async def replay_dialog(view: View, name: str, choice: Choice, letter: Letter | None = None) -> None:
    """Of one letter the value is edited; of several, fields of all of them are set."""
    with ui.dialog() as dialog, ui.element("div").classes("o-dialog o-dialog--wide"):
        html(_told(name, choice, letter))
        whole = pretty(plain(letter.record.value)) if letter is not None else None
        is_text = letter is not None and plain(letter.record.value).kind != "base64"
        if is_text:
            field = ui.textarea(label="Value", value=whole)
        else:
            field = ui.textarea(label="Set fields of JSON: amount=12.5, one a line; empty sends values as they are")
        field.props('dense outlined input-style="min-height:150px"').classes("o-input o-mono")
        place = html("")

        def repair() -> Repair:
            written = field.value or ""
            return Repair(value=written) if is_text and written != whole else Repair("" if is_text else written)

        async def look() -> list[Repaired]:
            try:
                found = await view.ask(dead_letters.due, view.orion, name, choice, repair())
            except OrionError as error:
                replace_with(place, error_box(error))
                return []
            replace_with(place, preview(found))
            return found

        async def send() -> None:
            found = await look()
            if not found:
                return
            try:
                outcome = await view.ask(dead_letters.replay, view.orion, name, found)
            except OrionError as error:
                replace_with(place, error_box(error))
                return
            dialog.close()
            before = f", {len(outcome.sent_before)} were before" if outcome.sent_before else ""
            tell(f"Sent {len(outcome.sent)} back{before}.")
            view.go("dead-letters", name, code=choice.code or None, after=len(outcome.sent))

        with ui.element("div").classes("o-dialog__buttons"):
            button("Cancel", dialog.close)
            button("Preview", look)
            button("Send back", send, tone="primary", picture="send")
    dialog.on("hide", dialog.delete)
    dialog.open()


def _told(name: str, choice: Choice, letter: Letter | None) -> str:
    if letter is None:
        which = f"those with {markup.mono(choice.code)}" if choice.code else "all that can go"
        return f"<h2>Send dead letters of {markup.text(name)} back</h2><p>{which}, each once, all or none.</p>"
    back = f"It goes back to {markup.mono(letter.origin.topic)}." if letter.origin else ""
    why = f"{markup.tag(letter.code, 'warn')} {markup.text(letter.reason)}"
    return f"<h2>Repair a dead letter</h2><p>{why}</p><p>{back}</p>"


def preview(found: list[Repaired]) -> str:
    """What would be sent where."""
    topics = sorted({one.letter.origin.topic for one in found if one.letter.origin})
    shown = "".join(
        f'<pre class="o-code">{highlighting.json_line(plain(one.value).text)}</pre>' for one in found[:_SHOWN]
    )
    more = f"<p>and {amounts.count(len(found) - _SHOWN)} more</p>" if len(found) > _SHOWN else ""
    where = ", ".join(map(markup.mono, topics))
    return f"<p>{amounts.count(len(found))} go to {where}:</p><div class='o-rows'>{shown}</div>{more}"

"""Small pieces of HTML. Everything that comes from outside goes through `text`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from html import escape

from orion.web.console import amounts
from orion.web.console.icons import icon
from orion.web.console.page import address

_TONES = {
    "RUNNING": "ok",
    "STABLE": "ok",
    "STARTING": "busy",
    "RESTORING": "busy",
    "REBALANCING": "busy",
    "RESTARTING": "warn",
    "FAILING": "bad",
    "PAUSING": "idle",
    "WAITING": "warn",
    "PAUSED": "idle",
    "STOPPED": "idle",
    "EMPTY": "idle",
    "DEAD": "idle",
    "BUILDING": "busy",
    "ERROR": "bad",
    "FAILED": "bad",
}


def text(value: object) -> str:
    """Anything as text that can't be taken for HTML, and that can be sent: half of a surrogate pair is written out."""
    return escape(str(value), quote=True).encode(errors="backslashreplace").decode()


def link(name: object, *where: object, **query: object) -> str:
    """A name that leads to its page."""
    return f'<a class="o-link" href="{text(address(*where, **query))}">{text(name)}</a>'


def link_known(name: object, known: Container[str] | None, *where: object, **query: object) -> str:
    """A name that leads to its page where there is one; None: what there is isn't known now."""
    if known is None or str(name) in known:
        return link(name, *where, **query)
    return f'<span class="o-gone" title="There is no {text(name)} any more, or not yet.">{text(name)}</span>'


def mono(value: object) -> str:
    return f'<span class="o-mono">{text(value)}</span>'


def or_dash(shown: str, why: str) -> str:
    """A number, or the sign that there is none with why: what isn't known is never shown as 0."""
    return (
        shown if not shown.startswith(amounts.NONE) else f'<span class="o-unknown" title="{text(why)}">{shown}</span>'
    )


def muted(value: object) -> str:
    return f'<span class="o-muted">{text(value)}</span>'


def tag(value: object, tone: str = "plain", title: str = "") -> str:
    told = f' title="{text(title)}"' if title else ""
    return f'<span class="o-tag o-tag--{tone}"{told}>{text(value)}</span>'


def state(name: str) -> str:
    """How something is doing, as a dot with a word."""
    tone = _TONES.get(name.upper(), "plain")
    return f'<span class="o-state o-state--{tone}"><i></i>{text(name.capitalize())}</span>'


def tone_of(state_name: str) -> str:
    return _TONES.get(state_name.upper(), "plain")


def act(name: str, argument: object, label: str, *, picture: str = "", tone: str = "") -> str:
    """A button whose press the page hears as (name, argument)."""
    inside = icon(picture) if picture else text(label)
    kind = "o-icon-button" if picture else "o-button"
    return (
        f'<button type="button" class="{kind} {kind}--{tone or "plain"}" data-act="{text(name)}" '
        f'data-arg="{text(argument)}" title="{text(label)}" aria-label="{text(label)}">{inside}</button>'
    )


def facts(pairs: dict[str, str]) -> str:
    """Names with what they are; the values are HTML already."""
    rows = "".join(f"<div><dt>{text(name)}</dt><dd>{value}</dd></div>" for name, value in pairs.items())
    return f'<dl class="o-facts">{rows}</dl>'


def lines_html(lines: Iterable[tuple[str, str]]) -> str:
    """Lines of two texts: what went in red, what came in green."""
    tags = {"-": "del", "+": "ins"}
    return "".join(
        f"<{tags[sign]}>{sign} {text(line)}</{tags[sign]}>" if sign in tags else f"  {text(line)}\n"
        for sign, line in lines
    )


def empty(title: str, told: str = "", picture: str = "inbox") -> str:
    """What a place says that has nothing to show; `told` is HTML."""
    return f'<div class="o-empty">{icon(picture)}<b>{text(title)}</b><p>{told}</p></div>'


def tile(label: str, value: str, note: str = "", *, tone: str = "", href: str = "", spark: str = "") -> str:
    """A number that matters, with what it means."""
    shape, where = ("a", f' href="{text(href)}"') if href else ("div", "")
    return (
        f'<{shape} class="o-tile o-tile--{tone or "plain"}"{where}><span class="o-tile__label">{text(label)}</span>'
        f'<span class="o-tile__value">{value}</span><span class="o-tile__note">{note}</span>{spark}</{shape}>'
    )

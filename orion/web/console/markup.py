"""Small pieces of HTML. Everything that comes from outside goes through `text`."""

from __future__ import annotations

from html import escape

from orion.web.console.icons import icon
from orion.web.console.page import address

_TONES = {
    "RUNNING": "ok",
    "STABLE": "ok",
    "STARTING": "busy",
    "REBALANCING": "busy",
    "RESTARTING": "warn",
    "WAITING": "warn",
    "PAUSED": "idle",
    "STOPPED": "idle",
    "EMPTY": "idle",
    "DEAD": "idle",
    "ERROR": "bad",
    "FAILED": "bad",
}


def text(value: object) -> str:
    """Anything as text that can't be taken for HTML."""
    return escape(str(value), quote=True)


def link(name: object, *where: object, **query: object) -> str:
    """A name that leads to its page."""
    return f'<a class="o-link" href="{text(address(*where, **query))}">{text(name)}</a>'


def mono(value: object) -> str:
    return f'<span class="o-mono">{text(value)}</span>'


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

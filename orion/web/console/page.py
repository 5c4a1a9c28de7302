"""What a page is: an address, a title, an icon, and functions that draw it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from orion.web.console.view import View

Draw = Callable[["View"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Page:
    """A plug-in of the console. `routes` has the page's addresses, the first of which is its place in the menu."""

    title: str
    icon: str
    routes: Mapping[str, Draw]
    group: str = ""  # the heading it stands under in the menu
    words: tuple[str, ...] = field(default=())  # what else people look for it by

    @property
    def path(self) -> str:
        return next(iter(self.routes))


def address(*parts: object, **query: object) -> str:
    """An address of the console: whatever is in names, they stay names."""
    path = "/" + "/".join(quote(str(part), safe="") for part in parts)
    said = "&".join(
        f"{quote(name.rstrip('_'))}={quote(str(v), safe=':')}" for name, v in query.items() if v is not None
    )
    return f"{path}?{said}" if said else path

"""Every page. One is a file here and a name in NAMES, in the order of the menu; the file holds `PAGE`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from orion.web.console.page import Page

NAMES = (
    "overview",
    "flow",
    "sql",
    "sources",
    "queries",
    "connectors",
    "topics",
    "groups",
    "schemas",
    "dead_letters",
)
# Kept apart from the pages, so that the API's door knows them before a page is loaded.
_AT_ROOT = "overview"


def paths() -> tuple[str, ...]:
    """The first part of every page's address."""
    return tuple("/" if name == _AT_ROOT else f"/{name.replace('_', '-')}" for name in NAMES)


@cache
def pages() -> dict[str, Page]:
    """All pages by name."""
    return {name: import_module(f"orion.web.console.pages.{name}").PAGE for name in NAMES}

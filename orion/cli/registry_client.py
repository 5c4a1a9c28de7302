"""Which schema registry the CLI talks to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from orion.cli.target import find_server, options

if TYPE_CHECKING:
    from orion.registry.access import Remote


def registry_of(ctx: typer.Context, url: str | None) -> Remote:
    """The registry to talk to: the one named, that of the settings, that of the platform that runs, the usual one."""
    from orion.registry.access import Remote

    settings = options(ctx).config().registry
    if url or settings.url:
        return Remote(url or settings.url or "")
    found = find_server(ctx)
    usual = f"http://{settings.host}:{settings.port}"
    return Remote(found.running.registry or usual if found else usual)

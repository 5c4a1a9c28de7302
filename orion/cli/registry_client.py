"""Which schema registry the CLI talks to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from orion.cli.target import options

if TYPE_CHECKING:
    from orion.registry.access import Remote


def registry_of(ctx: typer.Context, url: str | None) -> Remote:
    """The registry to talk to: the one named, that of the settings, that of a platform on the data folder."""
    from orion.hub.running import Running
    from orion.registry.access import Remote

    if url:
        return Remote(url)
    config = options(ctx).config()
    if config.registry.url:
        return Remote(config.registry.url)
    running = Running.read(config.data)
    if running is not None and running.registry:
        return Remote(running.registry)
    return Remote(f"http://{config.registry.host}:{config.registry.port}")

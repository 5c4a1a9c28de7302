"""Which schema registry the CLI talks to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from orion.cli.target import options
from orion.hub.running import registry_of as address

if TYPE_CHECKING:
    from orion.registry.access import Remote


def registry_of(ctx: typer.Context, url: str | None) -> Remote:
    """The registry to talk to: the one named, that of the settings, that of a platform on the data folder."""
    from orion.registry.access import Remote

    return Remote(url or address(options(ctx).config()))

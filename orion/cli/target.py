"""Which settings a command has, and which cluster it talks to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orion.cli import output
from orion.hub.running import Located, locate_server, not_running

if TYPE_CHECKING:
    from orion.config import Config
    from orion.hub.kafka import Kafka

Bootstrap = Annotated[
    str | None,
    typer.Option(
        help="host:port of a Kafka cluster; that of the settings or of `orion up` unless told.", show_default=False
    ),
]
ProfileName = Annotated[
    str | None,
    typer.Option("--profile", help="throughput, latency, durability or availability.", show_default=False),
]


_FOUND = "orion.server"  # what a command has found, among what its context keeps


@dataclass(frozen=True, slots=True)
class Options:
    """The options in front of the command."""

    file: Path | None = None
    data: Path | None = None

    def config(self, **flags: Any) -> Config:
        """All settings; `flags` are the command's own, with `__` for a dot: `hub__bootstrap=...`."""
        from orion.config import load

        own = {name.replace("__", "."): value for name, value in flags.items()}
        return load(self.file, {"data": self.data, **own})


def choose_data(ctx: typer.Context, data: Path | None) -> None:
    """Take a --data that stands behind the command: it counts more than one before it."""
    if data is not None:
        ctx.obj = replace(options(ctx), data=data)


def options(ctx: typer.Context) -> Options:
    """The options of this run."""
    return ctx.obj if isinstance(ctx.obj, Options) else Options()


def connect(ctx: typer.Context, bootstrap: str | None) -> Kafka:
    """The cluster to work on, after a look whether anything answers there."""
    from orion.hub.kafka import Kafka

    kafka = Kafka(bootstrap or _bootstrap_of(ctx))
    kafka.check()
    return kafka


def find_server(ctx: typer.Context) -> Located | None:
    """The server that a command talks to, with a word about it where it isn't the one of the data folder."""
    if _FOUND not in ctx.meta:
        config = options(ctx).config()
        ctx.meta[_FOUND] = found = locate_server(config)
        if found is not None and found.data != config.data:
            output.note(f"using the server at {found}")
    located: Located | None = ctx.meta[_FOUND]
    return located


def _bootstrap_of(ctx: typer.Context) -> str:
    config = options(ctx).config()
    if config.hub.bootstrap:
        return config.hub.bootstrap
    found = find_server(ctx)
    if found is None:
        raise not_running(config, "give --bootstrap")
    return found.running.bootstrap

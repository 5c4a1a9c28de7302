"""Which settings a command has, and which cluster it talks to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orion.hub.running import bootstrap_of

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


def options(ctx: typer.Context) -> Options:
    """The options of this run."""
    return ctx.obj if isinstance(ctx.obj, Options) else Options()


def connect(ctx: typer.Context, bootstrap: str | None) -> Kafka:
    """The cluster to work on, after a look whether anything answers there."""
    from orion.hub.kafka import Kafka

    kafka = Kafka(bootstrap or bootstrap_of(options(ctx).config()))
    kafka.check()
    return kafka

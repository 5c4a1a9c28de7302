"""Where results go. A sink is one file here and one name in NAMES; the file's name is its `connector.class`.

A module has `OPTIONS`, the model of its options, and `open_sink(connector, layout)`, which gives one of two kinds:

- a Store (orion.sinks.store), written by Spark's Python workers, a slot at a time
- a Lake, written by Spark itself, a batch at a time

Either is checked by `prepare` before its statement is done: a wrong password fails the statement and not the third
batch.
"""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar, Protocol, cast

from pyspark.sql import DataFrame

from orion.errors import ConfigError, hint_nearest
from orion.options import Options
from orion.plan.sources import Connector
from orion.sinks.store import Layout, Store

NAMES = ("delta", "elasticsearch", "jdbc", "mongodb", "s3")


class Lake(Protocol):
    """A sink that Spark writes with a writer of its own."""

    @property
    def layout(self) -> Layout: ...

    guarantee: ClassVar[str]

    def prepare(self) -> None:
        """See Store.prepare."""
        ...

    def reach(self) -> None:
        """See Store.reach."""
        ...

    def write(self, batch: DataFrame, epoch: int) -> int:
        """Write a batch of the layout's columns and store.BESIDE; how many rows.

        May be called again with the same epoch, and then changes nothing.
        """
        ...


Sink = Store | Lake


class Plugin(Protocol):
    OPTIONS: type[Options]

    def open_sink(self, connector: Connector, layout: Layout) -> Sink: ...


def plugin(name: str) -> Plugin:
    if name not in NAMES:
        raise ConfigError(
            "UNKNOWN_CONNECTOR",
            f"There is no sink '{name}'.",
            hint=hint_nearest(name, list(NAMES)) or f"Sinks are {', '.join(NAMES)}.",
        )
    return cast(Plugin, import_module(f"orion.sinks.{name}"))


def open_sink(connector: Connector, layout: Layout) -> Sink:
    return plugin(connector.plugin).open_sink(connector, layout)

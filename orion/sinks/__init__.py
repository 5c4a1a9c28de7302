"""Where results go. A sink is one file here and one name in NAMES; the file's name is its `connector.class`.

A module has `open_sink(connector) -> Sink`: it validates the options and checks the other side, so that a wrong path
or password fails the statement and not the third batch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from pyspark.sql import DataFrame

from orion.errors import ConfigError, hint_nearest
from orion.plan.sources import Connector

NAMES = ("delta",)


class Sink(Protocol):
    guarantee: str  # what a reader of the other side can count on

    def write(self, batch: DataFrame, epoch: int) -> int:
        """Write a batch; how many rows. May be called again with the same epoch, and then changes nothing."""
        ...


class Plugin(Protocol):
    def open_sink(self, connector: Connector) -> Sink: ...


def open_sink(connector: Connector) -> Sink:
    if connector.plugin not in NAMES:
        raise ConfigError(
            "UNKNOWN_CONNECTOR",
            f"There is no sink '{connector.plugin}'.",
            hint=hint_nearest(connector.plugin, list(NAMES)) or f"Sinks are {', '.join(NAMES)}.",
        )
    return cast(Plugin, import_module(f"orion.sinks.{connector.plugin}")).open_sink(connector)

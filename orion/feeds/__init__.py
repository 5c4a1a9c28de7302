"""What puts records in. A feed is one file here and one name in NAMES; the file's name is its `connector.class`.

A module has `OPTIONS`, the model of its options, and `open_feed(connector)`, which gives a Feed: a stream of Spark's,
whose rows become records of the topic `connector.sources[0]` describes, written once by the exact lane like a query's.
`cdc` is the exception: Kafka Connect runs it (see orion.runtime.capturing), and it has no stream of Spark's.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, Protocol, cast

from pyspark.sql import DataFrame, SparkSession

from orion.errors import ConfigError, ExternalError, hint_nearest
from orion.options import Options
from orion.plan.sources import Connector, Source
from orion.schema import Schema

NAMES = ("cdc", "datagen", "files", "jdbc")


class Feed(Protocol):
    """Options understood, nothing open; frozen, and picklable with all it holds."""

    guarantee: ClassVar[str]  # what a reader of the topic can count on

    @property
    def trigger_ms(self) -> int:
        """The shortest time from one batch to the next, where that is longer than the server's."""
        ...

    @property
    def topic(self) -> str | None:
        """The topic that its options name, if they do."""
        ...

    @property
    def partition(self) -> Mapping[str, Any] | None:
        """What it reads, as the offsets in Kafka name it (see orion.hub.positions); None: it keeps none there."""
        ...

    def prepare(self) -> None:
        """On the driver, when the statement is checked and before each run: reach the other side.

        Raises ConfigError for what somebody must put right, and ExternalError while nobody answers.
        """
        ...

    def columns(self) -> Schema | None:
        """The columns of its rows as far as it knows them by itself, for a topic that nobody has declared yet."""
        ...

    def stream(self, spark: SparkSession, target: Source, position: Mapping[str, Any] | None) -> DataFrame:
        """A streaming frame of the columns that orion.feeds.frames describes.

        `position` is how far it has come by the offsets in Kafka, for a stream without a checkpoint. Raises ConfigError
        for a target that its rows don't fit.
        """
        ...


class FeedAway(ExternalError):
    """The other side can't be reached right now. Its text crosses from Spark's processes to the supervisor as part of
    a longer one, so it marks itself."""

    MARK: ClassVar[str] = "FEED_AWAY"

    def __init__(self, message: str) -> None:
        super().__init__(self.MARK, message, hint="It is tried again until it answers.", retry_after=2.0)

    def __reduce__(self) -> tuple[object, ...]:
        return (FeedAway, (self.message,))

    def __str__(self) -> str:
        return f"{self.MARK}: {self.message}"


class Plugin(Protocol):
    OPTIONS: type[Options]

    def open_feed(self, connector: Connector) -> Feed: ...


def plugin(name: str) -> Plugin:
    if name not in NAMES:
        raise ConfigError(
            "UNKNOWN_CONNECTOR",
            f"There is no source '{name}'.",
            hint=hint_nearest(name, list(NAMES)) or f"Sources are {', '.join(NAMES)}.",
        )
    return cast(Plugin, import_module(f"orion.feeds.{name}"))


def open_feed(connector: Connector) -> Feed:
    if any(name.partition(".")[0] in ("transforms", "predicates") for name, _ in connector.options):
        message = f"Connector {connector.name}: transforms are for sinks."
        raise ConfigError("INVALID_CONNECTOR", message, hint="CREATE STREAM ... AS SELECT changes a source's rows.")
    return plugin(connector.plugin).open_feed(connector)

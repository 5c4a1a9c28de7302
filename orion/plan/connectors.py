"""Connectors as those see them who manage them from outside: the port between HTTP's doors and the engine.

It speaks Orion's words; Kafka Connect's own are put in their place by `orion.web.connect`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from orion.errors import ConfigError, NotFound, hint_nearest
from orion.options import HIDDEN, Definition, shown
from orion.plan.sources import Direction, Wanted

# As Kafka Connect calls them.
PluginKind = Literal["sink", "source", "transformation", "predicate", "converter", "header_converter"]


@dataclass(frozen=True, slots=True)
class Task:
    """One topic's share of a connector."""

    id: int
    state: str  # one of runtime.queries.State
    topic: str | None = None
    trace: str | None = None  # why it doesn't run


@dataclass(frozen=True, slots=True)
class Described:
    """A connector with how it is doing."""

    name: str
    direction: Direction
    config: Mapping[str, str]  # all that was said, `connector.class` and `topics` too; secrets are hidden
    wanted: Wanted
    tasks: tuple[Task, ...] = ()
    trace: str | None = None  # what is wrong with it as a whole, if it got no task at all


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """What a connector can be made of. One name stands for one kind: a sink and a source have names of their own."""

    class_name: str
    kind: PluginKind
    version: str


@dataclass(frozen=True, slots=True)
class Offset:
    """How far a connector is in one partition of what it reads; `at` is None where it is to begin anew."""

    partition: Mapping[str, Any]  # of a sink {"kafka_topic": ..., "kafka_partition": ...}; of a source its own
    at: Mapping[str, Any] | None  # of a sink {"kafka_offset": ...}


class Connectors(Protocol):
    """All connectors of a server. A name is looked up by `named`, and NotFound is raised for one that isn't there."""

    def cluster_id(self) -> str:
        """The id of the Kafka cluster. Raises ExternalError while no broker answers."""
        ...

    def names(self) -> list[str]: ...

    def get(self, name: str) -> Described: ...

    def create(
        self, name: str, config: Mapping[str, str], wanted: Wanted | None = None, *, replace: bool = False
    ) -> Described:
        """Make a connector under exactly this name, or give the one that is there other options (`replace`).

        Without `wanted` a new one runs, and another stays as it was. What `get` hides is put back by `restored`.
        Raises Conflict for a name that is taken, and ConfigError for options that don't do.
        """
        ...

    def check(self, name: str, config: Mapping[str, str]) -> None:
        """Raises what `create` would refuse a new connector for, and makes nothing, here or on the other side."""
        ...

    def drop(self, name: str) -> None: ...

    def set_wanted(self, name: str, wanted: Wanted) -> None:
        """Pause, resume or stop; one that is so already stays so."""
        ...

    def restart(self, name: str, *, tasks: bool = False, only_failed: bool = False) -> None:
        """Start again what is broken or, unless `only_failed`, all of it. `tasks`: its tasks too."""
        ...

    def restart_task(self, name: str, number: int) -> None:
        """The same for one task. Raises NotFound for a number that none has."""
        ...

    def topics(self, name: str) -> list[str]:
        """Those it has really used since it was made, or since `reset_topics`."""
        ...

    def reset_topics(self, name: str) -> None: ...

    def offsets(self, name: str) -> list[Offset]: ...

    def alter_offsets(self, name: str, offsets: Sequence[Offset] | None) -> None:
        """Have it go on from elsewhere; None: from the beginning. Raises Conflict unless it is stopped."""
        ...

    def plugins(self) -> list[PluginInfo]: ...

    def plugin(self, class_name: str, config: Mapping[str, str] | None = None) -> PluginInfo:
        """The plug-in that a `connector.class` means, by any name that is taken for it. Raises NotFound.

        A short name may stand for a sink and a source: the other options then tell which.
        """
        ...

    def definitions(self, plugin: PluginInfo) -> Sequence[Definition]:
        """Its own options, without what every connector has."""
        ...

    def mistakes(self, plugin: PluginInfo, config: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """What is wrong with a connector's options, by the option's name; nothing is made."""
        ...


def named(name: str, there: Iterable[str]) -> str:
    """The connector that a name means: the very one, else the only one that differs in nothing but case.

    SQL writes names in upper case unless they are quoted, and nobody types them so.
    """
    known = list(there)
    if name in known:
        return name
    alike = [one for one in known if one.upper() == name.upper()]
    if len(alike) == 1:
        return alike[0]
    raise NotFound("CONNECTOR_NOT_FOUND", f"Connector {name} not found.", hint=hint_nearest(name, known))


def restored(written: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """Options as they are meant by somebody who read them, changed some and sent all back.

    What reads as it was shown is as it was: secrets are kept that way. Elsewhere what is hidden can't be meant.
    """
    hidden = shown(before)
    meant = {name: before[name] if hidden.get(name) == value else value for name, value in written.items()}
    for name, value in meant.items():
        if HIDDEN in value and before.get(name) != value:
            raise ConfigError(
                "HIDDEN_VALUE",
                f"'{name}' says {HIDDEN}, which is how Orion shows a secret.",
                hint="Write the value itself, or where it stands: ${env:NAME} or ${file:PATH}.",
            )
    return meant

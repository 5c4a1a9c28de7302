"""The topics that captured tables are written to: how each is made, by the options that Kafka Connect has for it.

Orion makes the topic of a table that it declares before Connect would, and so with the same settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_OPTION = "topic.creation."
_NOT_SETTINGS = ("partitions", "replication.factor", "include", "exclude")


@dataclass(frozen=True, slots=True)
class NewTopic:
    """What a topic gets that isn't there yet."""

    partitions: int
    replication: int | None  # none: the cluster's
    settings: Mapping[str, str]


def new_topic(config: Mapping[str, str], topic: str) -> NewTopic:
    """How a connector's configuration makes a topic: by the first of its groups that takes it, over the default."""
    said = _of_group(config, "default")
    for group in (name.strip() for name in config.get(f"{_OPTION}groups", "").split(",") if name.strip()):
        own = _of_group(config, group)
        if _any(own.get("include", ""), topic) and not _any(own.get("exclude", ""), topic):
            said |= own
            break
    copies = int(said.get("replication.factor", "-1"))
    settings = {name: value for name, value in said.items() if name not in _NOT_SETTINGS}
    # Fewer than one is how Connect's users leave it to the broker, whose own default is one.
    return NewTopic(max(1, int(said.get("partitions", "1"))), copies if copies > 0 else None, settings)


def _of_group(config: Mapping[str, str], group: str) -> dict[str, str]:
    prefix = f"{_OPTION}{group}."
    return {name.removeprefix(prefix): value for name, value in config.items() if name.startswith(prefix)}


def _any(patterns: str, topic: str) -> bool:
    """Whether one of a list's patterns is the whole name. One that Python can't read is taken as a name."""
    for pattern in (one.strip() for one in patterns.split(",") if one.strip()):
        try:
            if re.fullmatch(pattern, topic):
                return True
        except re.error:
            if pattern == topic:
                return True
    return False

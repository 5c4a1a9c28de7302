"""Consumer groups: who reads what, how far they are, and moving them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orion.app import Orion
from orion.errors import NotFound, OrionError
from orion.hub.groups import Group, GroupDetail, Moved, Progress
from orion.hub.records import Position

_KEPT = 300


@dataclass(frozen=True, slots=True)
class Row:
    """A group in the list; what is None wasn't asked for."""

    group: Group
    lag: int | None = None
    members: int | None = None
    topics: tuple[str, ...] = ()


class LagHistory:
    """Lag of groups over time, as far as somebody looked."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[tuple[int, dict[str, int | None]]]] = {}

    def note(self, detail: GroupDetail, at_ms: int | None = None) -> None:
        topics = sorted({part.topic for part in detail.progress})
        lags = {topic: lag_of(part for part in detail.progress if part.topic == topic) for topic in topics}
        line = self._kept.setdefault(detail.group.name, deque(maxlen=_KEPT))
        line.append((round(time.time() * 1000) if at_ms is None else at_ms, lags))

    def lines(self, name: str) -> dict[str, list[tuple[int, float | None]]]:
        """By topic."""
        kept = list(self._kept.get(name, ()))
        topics = sorted({topic for _, lags in kept for topic in lags})
        return {topic: [(at, lags.get(topic)) for at, lags in kept] for topic in topics}


def lag_of(parts: Iterable[Progress]) -> int | None:
    """Records still to be read; None where a partition has records and nothing is committed in it."""
    found = 0
    for part in parts:
        if part.lag is None and part.end != 0:
            return None
        found += part.lag or 0
    return found


def listing(orion: Orion) -> list[Row]:
    return [Row(group) for group in orion.kafka.groups()]


def looked_at(orion: Orion, rows: Sequence[Row]) -> dict[str, Row]:
    """Lag and members of some groups; those that went meanwhile are left out."""
    found = {}
    for row in rows:
        try:
            detail = orion.kafka.describe_group(row.group.name)
        except OrionError:
            continue
        topics = tuple(sorted({part.topic for part in detail.progress}))
        found[row.group.name] = Row(detail.group, lag_of(detail.progress), len(detail.members), topics)
    return found


def detail(orion: Orion, name: str) -> GroupDetail:
    return orion.kafka.describe_group(name)


def owner(orion: Orion, name: str) -> tuple[str, str] | None:
    """The query or connector whose group it is: Orion moves those by itself."""
    service = f"{orion.engine.config.service_id}."
    bare = name.removeprefix(service) if name.startswith(service) else ""
    if bare in orion.engine.catalog.queries:
        return ("queries", bare)
    if bare.startswith("connector."):
        connector = bare.removeprefix("connector.").split(".")[0].rpartition("_")[0]
        if connector in orion.engine.catalog.connectors:
            return ("connectors", connector)
    return None


def reset(orion: Orion, name: str, topic: str, to: str, *, apply: bool) -> list[Moved]:
    """Where each partition goes; `apply` moves it there."""
    return orion.kafka.reset_group(name, topic, Position.parse(to), apply=apply)


def forget(orion: Orion, name: str) -> None:
    if name not in {group.name for group in orion.kafka.groups()}:
        raise NotFound("GROUP_NOT_FOUND", f"There is no group {name}.")
    orion.kafka.delete_group(name)

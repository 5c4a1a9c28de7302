"""Topics: what there is, what one holds, who reads and writes it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orion.app import Orion
from orion.hub import inspection
from orion.hub.dead_letters import PREFIX as LETTERS
from orion.hub.groups import GroupDetail
from orion.hub.inspection import Setting
from orion.hub.kafka import Topic, TopicDetail
from orion.plan.sources import Direction, Source

# So many partitions are counted at a time; of more, only those on the screen.
_COUNTED = 4_000
# What a rate is measured over, and how far apart two looks must be to tell one.
_OVER_S, _APART_S = 30.0, 3.0


@dataclass(frozen=True, slots=True)
class Row:
    """A topic in the list; `records` and `end` are None where they weren't counted."""

    topic: Topic
    kind: str  # stream, table, dead letters, internal or ""
    sources: tuple[str, ...]
    records: int | None = None
    end: int | None = None  # the sum of its partitions' ends
    rate: float | None = None  # records a second; None: it isn't known yet
    bytes: int | None = None

    @property
    def name(self) -> str:
        return self.topic.name


@dataclass(frozen=True, slots=True)
class Detail:
    """A topic with all that is known of it."""

    topic: TopicDetail
    sources: tuple[Source, ...]
    writers: tuple[tuple[str, str], ...]  # kind and name: ("query", ...), ("connector", ...)
    readers: tuple[tuple[str, str], ...]
    bytes: int | None  # on this machine's disk, where the broker is ours

    @property
    def records(self) -> int:
        return sum(part.end - part.earliest for part in self.topic.partitions)


def listing(orion: Orion) -> list[Row]:
    """All topics, by name."""
    by_topic: dict[str, list[Source]] = {}
    for source in orion.engine.catalog.sources.values():
        by_topic.setdefault(source.topic, []).append(source)
    topics = orion.kafka.outlines()
    counted = _counts(orion, topics) if sum(t.partitions for t in topics) <= _COUNTED else {}
    return [_row(topic, by_topic.get(topic.name, []), counted.get(topic.name, (None, None))) for topic in topics]


def _row(topic: Topic, over: list[Source], counted: tuple[int | None, int | None]) -> Row:
    return Row(topic, kind_of(topic.name, over), tuple(s.name for s in over), *counted)


def kind_of(name: str, over: Sequence[Source]) -> str:
    if over:
        return over[0].kind.value.lower()
    if name.startswith(LETTERS):
        return "dead letters"
    return "internal" if name.startswith("_") else ""


def counts(orion: Orion, rows: Sequence[Row]) -> dict[str, Row]:
    """Some topics counted, for those that weren't with all others."""
    counted = _counts(orion, [row.topic for row in rows])
    found = ((row, counted.get(row.name, (None, None))) for row in rows)
    return {row.name: replace(row, records=records, end=end) for row, (records, end) in found}


def _counts(orion: Orion, topics: Sequence[Topic]) -> dict[str, tuple[int, int]]:
    """How many records each holds, and the sum of its ends."""
    bounds = orion.kafka.bounds_of(topics)
    return {
        name: (sum(end - first for first, end in parts.values()), sum(end for _, end in parts.values()))
        for name, parts in bounds.items()
    }


class EndHistory:
    """Where topics ended at the last looks: two of them, some seconds apart, tell how fast records come."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, deque[tuple[float, int]]] = {}

    def rate(self, topic: str, end: int) -> float | None:
        """Records a second since the oldest look of the last half minute; None at the first one."""
        now = self._clock()
        seen = self._seen.setdefault(topic, deque())
        while seen and (now - seen[0][0] > _OVER_S or seen[-1][1] > end):  # made anew: it ends earlier than before
            seen.popleft()
        if not seen or now - seen[-1][0] >= _APART_S:
            seen.append((now, end))
        at, before = seen[0]
        return (end - before) / (now - at) if now - at >= _APART_S else None


def with_rates(history: EndHistory, rows: Sequence[Row]) -> list[Row]:
    return [row if row.end is None else replace(row, rate=history.rate(row.name, row.end)) for row in rows]


def sizes(orion: Orion) -> dict[str, int]:
    """Bytes of every topic in the folders of an embedded broker; nothing of a cluster elsewhere."""
    found: dict[str, int] = {}
    for folder in _partition_folders(orion):
        name = folder.name.rpartition("-")[0]
        found[name] = found.get(name, 0) + sum(map(_size, _files(folder)))
    return found


def detail(orion: Orion, name: str) -> Detail:
    """Raises NotFound for a topic that isn't there."""
    found = orion.kafka.describe_topic(name)
    catalog = orion.engine.catalog
    over = tuple(s for s in catalog.sources.values() if s.topic == name)
    names = {s.name for s in over}
    writers = [("query", q.id) for q in catalog.queries.values() if q.sink.topic == name]
    readers = [("query", q.id) for q in catalog.queries.values() if names & set(q.sources)]
    for connector in catalog.connectors.values():
        if any(s.topic == name for s in connector.sources):
            side = readers if connector.direction is Direction.SINK else writers
            side.append(("connector", connector.name))
    return Detail(found, over, tuple(writers), tuple(readers), sizes(orion).get(name))


def _partition_folders(orion: Orion) -> list[Path]:
    if orion.engine.config.hub.bootstrap is not None:
        return []
    return [*(Path(orion.engine.config.data) / "kafka").glob("broker-*/data/*-*")]


def _files(folder: Path) -> list[Path]:
    try:
        return [*folder.iterdir()]
    except OSError:  # deleted while we look, or no folder
        return []


def _size(file: Path) -> int:
    try:
        return file.stat().st_blocks * 512
    except OSError:  # deleted while we look
        return 0


def settings(orion: Orion, name: str) -> list[Setting]:
    return inspection.topic_settings(orion.kafka, name)


def groups(orion: Orion, name: str) -> list[GroupDetail]:
    """The consumer groups that have committed offsets of the topic, or are reading it."""
    found = orion.kafka.describe_groups()
    return [group for group in found if any(part.topic == name for part in group.progress)]

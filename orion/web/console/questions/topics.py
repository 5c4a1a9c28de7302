"""Topics: what there is, what one holds, who reads and writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Row:
    """A topic in the list; `records` is None where they weren't counted."""

    topic: Topic
    kind: str  # stream, table, dead letters, internal or ""
    sources: tuple[str, ...]
    records: int | None = None

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
    return [_row(topic, by_topic.get(topic.name, []), counted.get(topic.name)) for topic in topics]


def _row(topic: Topic, over: list[Source], records: int | None) -> Row:
    return Row(topic, kind_of(topic.name, over), tuple(s.name for s in over), records)


def kind_of(name: str, over: Sequence[Source]) -> str:
    if over:
        return over[0].kind.value.lower()
    if name.startswith(LETTERS):
        return "dead letters"
    return "internal" if name.startswith("_") else ""


def counts(orion: Orion, rows: Sequence[Row]) -> dict[str, int]:
    """How many records some topics hold, for those that weren't counted with all others."""
    return _counts(orion, [row.topic for row in rows])


def _counts(orion: Orion, topics: Sequence[Topic]) -> dict[str, int]:
    bounds = orion.kafka.bounds_of(topics)
    return {name: sum(end - first for first, end in parts.values()) for name, parts in bounds.items()}


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
    return Detail(found, over, tuple(writers), tuple(readers), _on_disk(orion, name))


def _on_disk(orion: Orion, name: str) -> int | None:
    """Bytes in the folders of an embedded broker; None for a cluster elsewhere."""
    if orion.engine.config.hub.bootstrap is not None:
        return None
    folder = Path(orion.engine.config.data) / "kafka"
    partitions = [p for p in folder.glob("broker-*/data/*") if p.name.rpartition("-")[0] == name]
    return sum(_size(file) for p in partitions for file in p.iterdir())


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

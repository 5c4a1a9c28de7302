"""Consumer groups: who is in them, how far they are, and how to move them.

These functions speak librdkafka and let its errors through; `Kafka` calls them and translates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from confluent_kafka import (
    OFFSET_INVALID,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._group import ConsumerGroupDescription, ListConsumerGroupsResult

from orion.hub import topics
from orion.hub.kafka_errors import TOPIC_MISSING
from orion.hub.topics import TIMEOUT

_STATES: dict[Enum, str] = {
    ConsumerGroupState.PREPARING_REBALANCING: "rebalancing",
    ConsumerGroupState.COMPLETING_REBALANCING: "rebalancing",
    ConsumerGroupState.STABLE: "stable",
    ConsumerGroupState.EMPTY: "empty",
    ConsumerGroupState.DEAD: "dead",
}
_IDLE = ("empty", "dead")


@dataclass(frozen=True, slots=True)
class Group:
    """A group in a list; state is stable, rebalancing, empty, dead or unknown, type is classic or consumer."""

    name: str
    state: str
    type: str


@dataclass(frozen=True, slots=True)
class Member:
    """A consumer in a group, and the partitions it has now."""

    id: str
    client: str
    host: str
    partitions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a group is in one partition; no committed offset and no lag where it has never committed."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    member: str | None

    @property
    def lag(self) -> int | None:
        """Records still to be read."""
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)


@dataclass(frozen=True, slots=True)
class GroupDetail:
    """A group, its members and its progress."""

    group: Group
    members: tuple[Member, ...]
    progress: tuple[Progress, ...]

    @property
    def active(self) -> bool:
        """Whether consumers are in it: its offsets are theirs to move."""
        return bool(self.members) or self.group.state not in _IDLE

    @property
    def lag(self) -> int:
        """Records still to be read, over all partitions it has committed."""
        return sum(part.lag or 0 for part in self.progress)


@dataclass(frozen=True, slots=True)
class Moved:
    """One partition of a reset: from where to where."""

    partition: int
    before: int | None
    after: int


T = TypeVar("T")
# What a broker says that doesn't know yet, or still reads, which groups it coordinates.
_COORDINATOR_COMES = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


def ask_coordinator(ask: Callable[[], T]) -> T:
    """What a group's coordinator answers. One that is new, moves, or still reads its groups is asked again."""
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in _COORDINATOR_COMES or time.monotonic() > end:
                raise
            time.sleep(0.1)


def listing(admin: AdminClient) -> list[Group]:
    """All groups, by name."""

    def ask() -> ListConsumerGroupsResult:
        result: ListConsumerGroupsResult = admin.list_consumer_groups(request_timeout=TIMEOUT).result()
        if result.errors:
            error = result.errors[0]
            raise error if isinstance(error, KafkaException) else KafkaException(error)
        return result

    result = ask_coordinator(ask)
    return sorted(
        (Group(one.group_id, _STATES.get(one.state, "unknown"), one.type.name.lower()) for one in result.valid or ()),
        key=lambda group: group.name,
    )


def describe(admin: AdminClient, name: str) -> GroupDetail:
    """One group. Kafka calls a group it has never heard of dead: without an offset it isn't there."""
    found: ConsumerGroupDescription = ask_coordinator(
        lambda: admin.describe_consumer_groups([name], request_timeout=TIMEOUT)[name].result()
    )
    group = Group(name, _STATES.get(found.state, "unknown"), found.type.name.lower())
    members = tuple(
        Member(
            member.member_id,
            member.client_id,
            member.host,
            tuple(sorted((place.topic, place.partition) for place in member.assignment.topic_partitions)),
        )
        for member in found.members
    )
    committed = _committed(admin, name)
    if group.state == "dead" and not committed:
        raise KafkaException(KafkaError(KafkaError.GROUP_ID_NOT_FOUND))
    return GroupDetail(group, members, _progress(admin, members, committed))


def move(admin: AdminClient, name: str, topic: str, to: Mapping[int, int]) -> None:
    """Commit offsets in the group's name; the broker refuses while it has members."""
    places = [TopicPartition(topic, partition, offset) for partition, offset in to.items()]
    request = ConsumerGroupTopicPartitions(name, places)
    done = ask_coordinator(
        lambda: admin.alter_consumer_group_offsets([request], request_timeout=TIMEOUT)[name].result()
    )
    for place in done.topic_partitions or []:
        if place.error is not None:
            raise KafkaException(place.error)


def _committed(admin: AdminClient, name: str) -> dict[tuple[str, int], int]:
    request = ConsumerGroupTopicPartitions(name)
    found = ask_coordinator(
        lambda: admin.list_consumer_group_offsets([request], request_timeout=TIMEOUT)[name].result()
    )
    return {
        (place.topic, place.partition): place.offset
        for place in found.topic_partitions or []
        if place.error is None and place.offset != OFFSET_INVALID
    }


def _progress(
    admin: AdminClient, members: Iterable[Member], committed: Mapping[tuple[str, int], int]
) -> tuple[Progress, ...]:
    owners = {place: member.id for member in members for place in member.partitions}
    places = sorted(set(committed) | set(owners))
    ends = {topic: _ends(admin, topic) for topic in {topic for topic, _ in places}}
    return tuple(
        Progress(*place, committed.get(place), ends[place[0]].get(place[1]), owners.get(place)) for place in places
    )


def _ends(admin: AdminClient, topic: str) -> dict[int, int]:
    """End offsets; none for a topic that was deleted after the group read it."""
    try:
        return topics.offsets(admin, topic, topics.END, topics.partition_ids(admin, topic))
    except KafkaException as error:
        if error.args[0].code() in TOPIC_MISSING:
            return {}
        raise


def delete(admin: AdminClient, name: str) -> None:
    """Forget a group; Kafka refuses while it has members."""
    ask_coordinator(lambda: admin.delete_consumer_groups([name], request_timeout=TIMEOUT)[name].result())

"""Topics: what there is, what each looks like, and how it changes.

These functions speak librdkafka and let its errors through; `Kafka` calls them and translates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Node, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

# `confluent_kafka.admin` has these names too, but doesn't declare that it hands them on.
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._topic import TopicDescription
from confluent_kafka.cimpl import OFFSET_SPEC_EARLIEST, OFFSET_SPEC_LATEST, NewPartitions, NewTopic

from orion.hub.kafka_errors import TOPIC_MISSING

TIMEOUT = 15.0
# Which offset to ask for: one of these, or a time in milliseconds.
EARLIEST: int = OFFSET_SPEC_EARLIEST
END: int = OFFSET_SPEC_LATEST
_POLL = 0.05
_LEADERLESS = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
    }
)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic in a list; `internal` are the ones Kafka keeps for itself."""

    name: str
    partitions: int
    replication: int
    internal: bool
    topic_id: str


@dataclass(frozen=True, slots=True)
class Partition:
    """Where a partition lives and which offsets it holds: `earliest` up to, not including, `end`."""

    id: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    earliest: int
    end: int


@dataclass(frozen=True, slots=True)
class TopicDetail:
    """A topic, its partitions, and the settings that are its own and not the broker's."""

    topic: Topic
    partitions: tuple[Partition, ...]
    config: Mapping[str, str] = field(default_factory=dict)


def names(admin: AdminClient) -> list[str]:
    """Every topic's name."""
    return sorted(admin.list_topics(timeout=TIMEOUT).topics)


def outlines(admin: AdminClient) -> list[Topic]:
    """All topics, by name, from one answer of a broker: quick where there are thousands, but without their ids."""
    found = admin.list_topics(timeout=TIMEOUT).topics
    return sorted(
        (
            Topic(
                name=name,
                partitions=len(one.partitions),
                replication=max((len(part.replicas) for part in one.partitions.values()), default=0),
                internal=name.startswith("__"),
                topic_id="",
            )
            for name, one in found.items()
        ),
        key=lambda topic: topic.name,
    )


def listing(admin: AdminClient) -> list[Topic]:
    """All topics, by name; one that goes away meanwhile is left out."""
    return present(admin, names(admin))


def present(admin: AdminClient, wanted: Sequence[str]) -> list[Topic]:
    """Those of the topics that exist, by name, asked for in one request.

    One is left out only when the cluster says that it has no such topic: no answer is an error.
    """
    if not wanted:
        return []
    found: list[Topic] = []
    for future in admin.describe_topics(TopicCollection(list(wanted)), request_timeout=TIMEOUT).values():
        try:
            found.append(_topic(future.result()))
        except KafkaException as error:
            if error.args[0].code() not in TOPIC_MISSING:
                raise
    return sorted(found, key=lambda topic: topic.name)


def describe(admin: AdminClient, name: str) -> TopicDetail:
    """One topic with its partitions, offsets and own settings."""
    described = _describe(admin, name)
    ids = [partition.id for partition in described.partitions]
    earliest = offsets(admin, name, EARLIEST, ids)
    end = offsets(admin, name, END, ids)
    return TopicDetail(
        topic=_topic(described),
        partitions=tuple(
            Partition(
                id=partition.id,
                leader=_leader(partition.leader),
                replicas=tuple(node.id for node in partition.replicas),
                isr=tuple(node.id for node in partition.isr),
                earliest=earliest[partition.id],
                end=end[partition.id],
            )
            for partition in described.partitions
        ),
        config=_own_config(admin, name),
    )


def create(admin: AdminClient, name: str, partitions: int, replication: int, config: Mapping[str, str]) -> None:
    """Make a topic and wait until its partitions have leaders that answer, so that the next call may use it."""
    topic = NewTopic(name, partitions, replication, config=dict(config))
    admin.create_topics([topic], request_timeout=TIMEOUT)[name].result()
    _await(lambda: _usable(admin, name, partitions))


def delete(admin: AdminClient, name: str) -> None:
    """Delete a topic and wait until it is gone."""
    admin.delete_topics([name], request_timeout=TIMEOUT)[name].result()
    _await(lambda: not _exists(admin, name))


def alter(
    admin: AdminClient, name: str, config: Mapping[str, str], remove: Sequence[str], partitions: int | None
) -> None:
    """Change settings and the number of partitions; the number is checked first, so that neither half is done alone."""
    if partitions is not None:
        _grow(admin, name, partitions, validate_only=True)
    entries = [_entry(key, value, AlterConfigOpType.SET) for key, value in config.items()]
    entries += [_entry(key, None, AlterConfigOpType.DELETE) for key in remove]
    if entries:
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=entries)
        _all(admin.incremental_alter_configs([resource], request_timeout=TIMEOUT))
    if partitions is not None:
        _grow(admin, name, partitions, validate_only=False)
        _await(lambda: _usable(admin, name, partitions))


def partition_ids(admin: AdminClient, name: str) -> list[int]:
    """The partitions of a topic."""
    return [partition.id for partition in _describe(admin, name).partitions]


def offsets(admin: AdminClient, name: str, at: int, ids: Iterable[int], *, committed: bool = False) -> dict[int, int]:
    """The offset of each partition at EARLIEST, END or a time; -1 where the time lies behind the last record."""
    spec: Callable[[int], OffsetSpec] = OffsetSpec
    wanted = {TopicPartition(name, partition): spec(at) for partition in ids}
    if not wanted:
        return {}
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            found = admin.list_offsets(wanted, isolation_level=level, request_timeout=TIMEOUT)
            return {place.partition: future.result().offset for place, future in found.items()}
        except KafkaException as error:
            # A leader that moves answers soon; the client itself doesn't ask again.
            if error.args[0].code() not in _LEADERLESS or time.monotonic() > deadline:
                raise
            time.sleep(_POLL)


def offsets_of(admin: AdminClient, wanted: Sequence[Topic], at: int) -> dict[str, dict[int, int]]:
    """The offset of each partition of several topics at EARLIEST or END, asked for in one request.

    A partition that doesn't answer, since its leader is away or its topic just went, is left out.
    """
    return _ask_offsets(admin, {t.name: t.partitions for t in wanted}, at, IsolationLevel.READ_UNCOMMITTED, TIMEOUT)


def committed_ends_of(admin: AdminClient, partitions: Mapping[str, int], timeout_s: float) -> dict[str, dict[int, int]]:
    """Up to where committed records can be read, of topics with so many partitions, asked for in one request. What
    doesn't answer is left out."""
    return _ask_offsets(admin, partitions, END, IsolationLevel.READ_COMMITTED, timeout_s)


def _ask_offsets(
    admin: AdminClient, partitions: Mapping[str, int], at: int, level: IsolationLevel, timeout_s: float
) -> dict[str, dict[int, int]]:
    spec: Callable[[int], OffsetSpec] = OffsetSpec
    places = {TopicPartition(name, part): spec(at) for name, count in partitions.items() for part in range(count)}
    found: dict[str, dict[int, int]] = {name: {} for name in partitions}
    if not places:
        return found
    for place, future in admin.list_offsets(places, isolation_level=level, request_timeout=timeout_s).items():
        with suppress(KafkaException):
            found[place.topic][place.partition] = future.result().offset
    return found


def delete_records(admin: AdminClient, name: str, before: Mapping[int, int]) -> None:
    """Delete what lies before an offset of each partition."""
    places = [TopicPartition(name, partition, offset) for partition, offset in before.items()]
    _all(admin.delete_records(places, request_timeout=TIMEOUT))


def _describe(admin: AdminClient, name: str) -> TopicDescription:
    described: TopicDescription = admin.describe_topics(TopicCollection([name]), request_timeout=TIMEOUT)[name].result()
    return described


def _topic(described: TopicDescription) -> Topic:
    return Topic(
        name=described.name,
        partitions=len(described.partitions),
        replication=max((len(partition.replicas) for partition in described.partitions), default=0),
        internal=described.is_internal or described.name.startswith("__"),
        # As Kafka's own tools write it; librdkafka uses the other base64 alphabet.
        topic_id=str(described.topic_id).replace("+", "-").replace("/", "_"),
    )


def _leader(node: Node | None) -> int | None:
    # The stubs promise a leader; a partition whose brokers are all away has none.
    return None if node is None or node.id < 0 else node.id


def record_limit(admin: AdminClient, name: str) -> int:
    """How many bytes a record of the topic may have, by its own setting or the broker's."""
    return int(_config(admin, name)["max.message.bytes"].value or 0)


def _own_config(admin: AdminClient, name: str) -> dict[str, str]:
    return {
        entry.name: entry.value or ""
        for entry in sorted(_config(admin, name).values(), key=lambda entry: entry.name)
        if ConfigSource(entry.source) is ConfigSource.DYNAMIC_TOPIC_CONFIG
    }


def _config(admin: AdminClient, name: str) -> dict[str, ConfigEntry]:
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    found: dict[str, ConfigEntry] = admin.describe_configs([resource], request_timeout=TIMEOUT)[resource].result()
    return found


def _entry(key: str, value: str | None, operation: AlterConfigOpType) -> ConfigEntry:
    return ConfigEntry(key, value, incremental_operation=operation)


def _grow(admin: AdminClient, name: str, partitions: int, *, validate_only: bool) -> None:
    _all(
        admin.create_partitions([NewPartitions(name, partitions)], validate_only=validate_only, request_timeout=TIMEOUT)
    )


def _usable(admin: AdminClient, name: str, partitions: int) -> bool:
    """Whether all partitions answer; the broker that leads one may learn of it after the broker that describes it."""
    try:
        ids = partition_ids(admin, name)
        return len(ids) == partitions and len(offsets(admin, name, END, ids)) == partitions
    except KafkaException as error:
        if error.args[0].code() in TOPIC_MISSING:
            return False
        raise


def _exists(admin: AdminClient, name: str) -> bool:
    try:
        _describe(admin, name)
    except KafkaException as error:
        if error.args[0].code() in TOPIC_MISSING:
            return False
        raise
    return True


def _all(futures: Mapping[Any, Any]) -> None:
    for future in futures.values():
        future.result()


def _await(condition: Callable[[], bool]) -> None:
    """Wait for the cluster's metadata to follow a change it has accepted."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > deadline:
            late = KafkaError(KafkaError._TIMED_OUT, "The cluster accepted the change but doesn't show it")
            raise KafkaException(late)
        time.sleep(_POLL)

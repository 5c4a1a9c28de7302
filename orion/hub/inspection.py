"""What a cluster tells beyond what Orion itself needs: every setting with its origin, the controller, coordinators.

For those who look at a cluster through Orion's web address instead of a Kafka client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource
from confluent_kafka.admin._group import ConsumerGroupDescription
from confluent_kafka.cimpl import NewTopic

from orion.hub.groups import ask_coordinator
from orion.hub.kafka import Kafka
from orion.hub.kafka_errors import translated
from orion.hub.topics import TIMEOUT
from orion.security.names import check_settings, check_topic, is_fit

_STATES: dict[Enum, str] = {
    ConsumerGroupState.PREPARING_REBALANCING: "PREPARING_REBALANCE",
    ConsumerGroupState.COMPLETING_REBALANCING: "COMPLETING_REBALANCE",
    ConsumerGroupState.STABLE: "STABLE",
    ConsumerGroupState.EMPTY: "EMPTY",
    ConsumerGroupState.DEAD: "DEAD",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a topic or broker; `synonyms` are where its value may come from, the first of them counts."""

    name: str
    value: str | None
    is_default: bool
    is_read_only: bool
    is_sensitive: bool
    source: str
    synonyms: tuple[tuple[str, str | None, str], ...] = ()


@dataclass(frozen=True, slots=True)
class GroupMember:
    id: str
    instance: str | None
    client: str
    host: str
    partitions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    name: str
    is_simple: bool
    assignor: str
    state: str
    type: str
    coordinator: int
    members: tuple[GroupMember, ...]


def topic_settings(kafka: Kafka, topic: str) -> list[Setting]:
    """Every setting of a topic, by name."""
    check_topic(topic)
    with translated(kafka.subject(topic=topic)):
        return _settings(kafka, ConfigResource(ConfigResource.Type.TOPIC, topic))


def broker_settings(kafka: Kafka, broker: int) -> list[Setting]:
    """Every setting of a broker, by name."""
    with translated(kafka.subject()):
        return _settings(kafka, ConfigResource(ConfigResource.Type.BROKER, str(broker)))


def alter_topic_settings(
    kafka: Kafka, topic: str, config: Mapping[str, str | None], *, validate_only: bool = False
) -> None:
    """Set some, and give those with None back to the broker's default; or only ask whether that could be done."""
    check_topic(topic)
    check_settings(config)
    if not config:  # the client takes no request without a change
        topic_settings(kafka, topic)
        return
    entries = [
        ConfigEntry(
            name,
            value,
            incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
        )
        for name, value in config.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    with translated(kafka.subject(topic=topic)):
        asked = kafka.admin.incremental_alter_configs([resource], validate_only=validate_only, request_timeout=TIMEOUT)
        for future in asked.values():
            future.result()


def validate_topic(kafka: Kafka, name: str, partitions: int, replication: int, config: Mapping[str, str]) -> None:
    """Raise what would keep a topic from being made."""
    check_topic(name)
    check_settings(config)
    topic = NewTopic(name, partitions, replication, config=dict(config))
    with translated(kafka.subject(topic=name)):
        kafka.admin.create_topics([topic], validate_only=True, request_timeout=TIMEOUT)[name].result()


def controller(kafka: Kafka) -> int | None:
    """The broker that decides for the cluster, if it has one now."""
    with translated(kafka.subject()):
        node = kafka.admin.describe_cluster(request_timeout=TIMEOUT).result().controller
    return None if node is None or node.id < 0 else int(node.id)


def groups(kafka: Kafka, names: Sequence[str]) -> list[GroupView]:
    """Groups with their members, in the order of their names; asked for in one request."""
    names = [name for name in names if is_fit(name)]  # some other client may have made one that this can't ask for
    if not names:
        return []
    with translated(kafka.subject(group=names[0])):
        found = ask_coordinator(lambda: _described(kafka, names))
    return [
        GroupView(
            name=one.group_id,
            is_simple=bool(one.is_simple_consumer_group),
            assignor=one.partition_assignor or "",
            state=_STATES.get(one.state, "UNKNOWN"),
            type=one.type.name,
            coordinator=one.coordinator.id,
            members=tuple(
                GroupMember(
                    member.member_id,
                    member.group_instance_id or None,
                    member.client_id,
                    member.host,
                    tuple(sorted((place.topic, place.partition) for place in member.assignment.topic_partitions)),
                )
                for member in one.members
            ),
        )
        for one in found
    ]


def _described(kafka: Kafka, names: Sequence[str]) -> list[ConsumerGroupDescription]:
    asked = kafka.admin.describe_consumer_groups(list(names), request_timeout=TIMEOUT)
    return [asked[name].result() for name in sorted(names)]


def _settings(kafka: Kafka, resource: ConfigResource) -> list[Setting]:
    found = kafka.admin.describe_configs([resource], request_timeout=TIMEOUT)[resource].result()
    return sorted((_setting(entry) for entry in found.values()), key=lambda one: one.name)


def _setting(entry: ConfigEntry) -> Setting:
    return Setting(
        name=entry.name,
        # A secret's value is never told, whatever a broker says.
        value=None if entry.is_sensitive else entry.value,
        is_default=bool(entry.is_default),
        is_read_only=bool(entry.is_read_only),
        is_sensitive=bool(entry.is_sensitive),
        source=_source(entry),
        synonyms=tuple(
            (one.name, None if entry.is_sensitive else one.value, _source(one)) for one in entry.synonyms.values()
        ),
    )


def _source(entry: ConfigEntry) -> str:
    return ConfigSource(entry.source).name.replace("UNKNOWN_CONFIG", "UNKNOWN")

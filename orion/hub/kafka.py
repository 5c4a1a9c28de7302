"""The door to a Kafka cluster, embedded or not.

A `Kafka` is an address and client settings. It makes producers and consumers that agree with the Java clients on where
a key lives, administers topics and groups, and raises only Orion's errors. No other package imports the client library.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from orion.errors import Conflict, NotFound, UserError
from orion.hub import groups as on_groups
from orion.hub import topics as on_topics
from orion.hub.groups import Group, GroupDetail, Moved
from orion.hub.kafka_errors import LOGGER, Subject, group_active, translated, unreachable
from orion.hub.records import Position
from orion.hub.topics import TIMEOUT, Topic, TopicDetail
from orion.security.names import check_group, check_settings, check_topic, check_topics, is_fit

DEFAULT_REPLICATION = -1
# librdkafka insists on a group id even for a consumer that is only ever assigned partitions; it never reaches a broker.
_NO_GROUP = "orion-no-group"


@dataclass(frozen=True)
class Broker:
    """One node of the cluster."""

    id: int
    host: str
    port: int


@dataclass(frozen=True)
class Kafka:
    """A cluster by its address; `settings` are librdkafka's (security, client id) and go to every client made here."""

    bootstrap: str
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)

    @cached_property
    def admin(self) -> AdminClient:
        """The administration client, made on first use: it starts threads."""
        with self._translated():
            return AdminClient({**self._common}, logger=LOGGER)

    # -- clients

    def producer(self, **settings: Any) -> Producer:
        """A producer that places keys as Java and Spark do; settings are librdkafka's: `**{"linger.ms": 5}`."""
        chosen = {**self._common, **settings, "partitioner": "murmur2_random"}
        check_settings(chosen)
        with self._translated():
            return Producer(chosen, logger=LOGGER)

    def consumer(self, group: str | None, **settings: Any) -> Consumer:
        """A consumer of committed records that commits nothing unless told, from the start where it has no offset.

        Without a group it is to be assigned partitions, not subscribed.
        """
        defaults = {
            "group.id": _NO_GROUP if group is None else group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 50,
        }
        chosen = {**self._common, **defaults, **settings}
        check_settings(chosen)
        with self._translated(group=group):
            return Consumer(chosen, logger=LOGGER)

    # -- the cluster

    def check(self, timeout: float = 3.0) -> None:
        """Fail at once when nothing listens at the address: librdkafka itself would go on trying."""
        reasons = []
        for server in self.bootstrap.split(","):
            try:
                with socket.create_connection(_host_port(server), timeout):
                    return
            except OSError as error:
                reasons.append(error.strerror or str(error))
        raise unreachable(self.bootstrap, f"{'; '.join(dict.fromkeys(reasons))}.")

    def cluster_id(self) -> str:
        """The id that the cluster was formatted with."""
        with self._translated():
            return str(self.admin.describe_cluster(request_timeout=TIMEOUT).result().cluster_id)

    def brokers(self) -> list[Broker]:
        """The nodes that are up, by id."""
        with self._translated():
            nodes = self.admin.describe_cluster(request_timeout=TIMEOUT).result().nodes
        return sorted((Broker(node.id, node.host, node.port) for node in nodes), key=lambda node: node.id)

    # -- topics

    def topics(self, internal: bool = False) -> list[Topic]:
        """All topics by name; Kafka's own too when asked for."""
        with self._translated():
            return [topic for topic in on_topics.listing(self.admin) if internal or not topic.internal]

    def outlines(self) -> list[Topic]:
        """All topics by name, Kafka's own too, without their ids: one question, however many there are."""
        with self._translated():
            return on_topics.outlines(self.admin)

    def present(self, names: Sequence[str]) -> dict[str, Topic]:
        """Those of the named topics that exist; raises when the cluster can't be asked."""
        check_topics(names)
        with self._translated():
            return {topic.name: topic for topic in on_topics.present(self.admin, names)}

    def describe_topic(self, name: str) -> TopicDetail:
        """One topic with its partitions, offsets and own settings."""
        with self._translated(topic=name):
            return on_topics.describe(self.admin, name)

    def record_limit(self, topic: str) -> int:
        """How many bytes a record of a topic may have."""
        with self._translated(topic=topic):
            return on_topics.record_limit(self.admin, topic)

    def create_topic(
        self,
        name: str,
        partitions: int,
        replication: int | None = None,
        config: Mapping[str, str] | None = None,
        exist_ok: bool = False,
    ) -> bool:
        """Make a topic, with the cluster's replication unless told; false when it is there and may be."""
        copies = DEFAULT_REPLICATION if replication is None else replication
        check_settings(config or {})
        try:
            with self._translated(topic=name):
                on_topics.create(self.admin, name, partitions, copies, config or {})
        except Conflict:
            if not exist_ok:
                raise
            return False
        return True

    def delete_topic(self, name: str, missing_ok: bool = False) -> bool:
        """Delete a topic with all it holds; false when it isn't there and needn't be."""
        try:
            with self._translated(topic=name):
                on_topics.delete(self.admin, name)
        except NotFound:
            if not missing_ok:
                raise
            return False
        return True

    def alter_topic(
        self,
        name: str,
        config: Mapping[str, str] | None = None,
        remove: Sequence[str] = (),
        partitions: int | None = None,
    ) -> None:
        """Set some settings, give others back to the broker's default, add partitions up to a number."""
        check_settings({**(config or {}), **dict.fromkeys(remove)})
        with self._translated(topic=name):
            on_topics.alter(self.admin, name, config or {}, remove, partitions)

    def delete_records(self, name: str, before: Mapping[int, int]) -> None:
        """Delete what lies before an offset of each partition, as retention does in time."""
        with self._translated(topic=name):
            on_topics.delete_records(self.admin, name, before)

    # -- offsets

    def earliest_offsets(self, topic: str) -> dict[int, int]:
        """The first offset each partition still holds."""
        return self._offsets(topic, on_topics.EARLIEST)

    def earliest_of(self, topics: Sequence[Topic]) -> dict[str, dict[int, int]]:
        """The same of several topics at once; partitions that don't answer are left out."""
        with self._translated():
            return on_topics.offsets_of(self.admin, topics, on_topics.EARLIEST)

    def bounds_of(self, topics: Sequence[Topic]) -> dict[str, dict[int, tuple[int, int]]]:
        """The first offset and the end of each partition of several topics; those that don't answer are left out."""
        with self._translated():
            first = on_topics.offsets_of(self.admin, topics, on_topics.EARLIEST)
            end = on_topics.offsets_of(self.admin, topics, on_topics.END)
        return {
            name: {part: (at, end[name][part]) for part, at in parts.items() if part in end[name]}
            for name, parts in first.items()
        }

    def ends_of(self, names: Collection[str]) -> dict[str, dict[int, int]]:
        """Where the partitions of several topics end; topics that aren't there are left out."""
        check_topics(names)
        with self._translated():
            there = on_topics.present(self.admin, sorted(names))
            return on_topics.offsets_of(self.admin, there, on_topics.END)

    def committed_ends_of(self, partitions: Mapping[str, int], timeout_s: float = 2.0) -> dict[str, dict[int, int]]:
        """Up to where committed records can be read, of topics with so many partitions; what doesn't answer is left
        out."""
        with self._translated():
            return on_topics.committed_ends_of(self.admin, partitions, timeout_s)

    def end_offsets(self, topic: str, committed: bool = False) -> dict[int, int]:
        """The offset each partition's next record will get; `committed` stops before transactions still open."""
        return self._offsets(topic, on_topics.END, committed=committed)

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """The first offset at or after a time; the end where there is no such record."""
        found = self._offsets(topic, timestamp_ms)
        if all(offset >= 0 for offset in found.values()):
            return found
        end = self.end_offsets(topic)
        return {partition: offset if offset >= 0 else end[partition] for partition, offset in found.items()}

    def offsets(self, topic: str, position: Position) -> dict[int, int]:
        """The offset of a position in each partition, never outside of what the partition holds."""
        if position.kind == "latest":
            return self.end_offsets(topic)
        if position.kind == "time":
            return self.offsets_at(topic, position.value)
        earliest = self.earliest_offsets(topic)
        if position.kind == "earliest":
            return earliest
        if position.kind == "shift":
            raise UserError("INVALID_POSITION", "A shift needs a group's offset to start from.")
        end = self.end_offsets(topic)
        return {part: min(max(position.value, earliest[part]), end[part]) for part in earliest}

    # -- groups

    def groups(self) -> list[Group]:
        """All consumer groups by name."""
        with self._translated():
            return on_groups.listing(self.admin)

    def describe_group(self, name: str) -> GroupDetail:
        """One group: state, members, and how far it is in each partition."""
        with self._translated(group=name):
            return on_groups.describe(self.admin, name)

    def describe_groups(self) -> list[GroupDetail]:
        """All there are; one that goes while it is asked for is none of them."""
        found: list[GroupDetail] = []
        for group in filter(lambda one: is_fit(one.name), self.groups()):
            with suppress(NotFound):
                found.append(self.describe_group(group.name))
        return found

    def delete_group(self, name: str) -> None:
        """Forget a group that nobody reads with."""
        with self._translated(group=name):
            on_groups.delete(self.admin, name)

    def reset_group(self, name: str, topic: str, to: Position, apply: bool = True) -> list[Moved]:
        """Move a group that nobody reads with; without `apply` only say where it would go."""
        detail = self.describe_group(name)
        if detail.active:
            raise group_active(name)
        before = {part.partition: part.committed for part in detail.progress if part.topic == topic}
        after = self._shifted(topic, before, to.value) if to.kind == "shift" else self.offsets(topic, to)
        if apply:
            with self._translated(topic=topic, group=name):
                on_groups.move(self.admin, name, topic, after)
        return [Moved(partition, before.get(partition), offset) for partition, offset in sorted(after.items())]

    def _shifted(self, topic: str, before: Mapping[int, int | None], step: int) -> dict[int, int]:
        earliest, end = self.earliest_offsets(topic), self.end_offsets(topic)
        return {
            part: min(max(offset + step, earliest[part]), end[part])
            for part, offset in before.items()
            if offset is not None and part in end
        }

    # -- inside

    @property
    def _common(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, **self.settings}

    def _offsets(self, topic: str, at: int, committed: bool = False) -> dict[int, int]:
        with self._translated(topic=topic):
            ids = on_topics.partition_ids(self.admin, topic)
            return on_topics.offsets(self.admin, topic, at, ids, committed=committed)

    def subject(self, topic: str | None = None, group: str | None = None) -> Subject:
        """What an error is about, for `translate`."""
        return Subject(self.bootstrap, topic, group, self._group_names if group and not topic else self._topic_names)

    def _translated(self, topic: str | None = None, group: str | None = None) -> Any:
        if topic is not None:
            check_topic(topic)
        if group is not None:
            check_group(group)
        return translated(self.subject(topic, group))

    def _topic_names(self) -> list[str]:
        return on_topics.names(self.admin)

    def _group_names(self) -> list[str]:
        return [group.name for group in on_groups.listing(self.admin)]


def _host_port(server: str) -> tuple[str, int]:
    """`host:port`, with the listener name that librdkafka allows in front, and brackets around an IPv6 address."""
    host, _, port = server.strip().rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        return server.strip().strip("[]"), 9092
    return host.strip("[]"), int(port)


__all__ = ["Broker", "Group", "GroupDetail", "Kafka", "Moved", "Position", "Topic", "TopicDetail"]

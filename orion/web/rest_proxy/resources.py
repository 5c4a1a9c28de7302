"""The answers of v3: things with a kind, an address of their own, and the addresses of what belongs to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from orion.hub.groups import Progress
from orion.hub.inspection import GroupMember, GroupView, Setting
from orion.hub.kafka import Broker
from orion.hub.topics import Partition, Topic

Resource = dict[str, Any]


class Links:
    """Addresses below one cluster, as the client reached the server."""

    def __init__(self, base: str, cluster: str) -> None:
        self._base = f"{base.rstrip('/')}/v3/clusters"
        self.cluster = cluster

    def url(self, *parts: object) -> str:
        return "/".join((self._base, *(quote(str(part), safe="-") for part in (self.cluster, *parts))))

    def related(self, *parts: object) -> dict[str, str]:
        return {"related": self.url(*parts)}

    def crn(self, **parts: object) -> str:
        said = "".join(f"/{name.replace('_', '-')}={value}" for name, value in parts.items())
        return f"crn:///kafka={self.cluster}{said}"

    # -- many

    def collection(self, kind: str, data: Iterable[Resource], *parts: object) -> Resource:
        return {"kind": f"{kind}List", "metadata": {"self": self.url(*parts), "next": None}, "data": list(data)}

    def clusters(self, data: Iterable[Resource]) -> Resource:
        return {"kind": "KafkaClusterList", "metadata": {"self": self._base, "next": None}, "data": list(data)}

    # -- one

    def of_cluster(self, controller: int | None) -> Resource:
        return {
            "kind": "KafkaCluster",
            "metadata": {"self": self.url(), "resource_name": self.crn()},
            "cluster_id": self.cluster,
            **({} if controller is None else {"controller": self.related("brokers", controller)}),
            "acls": self.related("acls"),
            "brokers": self.related("brokers"),
            "broker_configs": self.related("broker-configs"),
            "consumer_groups": self.related("consumer-groups"),
            "topics": self.related("topics"),
            "partition_reassignments": self.related("topics", "-", "partitions", "-", "reassignment"),
        }

    def of_topic(self, topic: Topic) -> Resource:
        name = topic.name
        return {
            "kind": "KafkaTopic",
            "metadata": {"self": self.url("topics", name), "resource_name": self.crn(topic=name)},
            "cluster_id": self.cluster,
            "topic_name": name,
            "is_internal": topic.internal,
            "replication_factor": topic.replication,
            "partitions_count": topic.partitions,
            "partitions": self.related("topics", name, "partitions"),
            "configs": self.related("topics", name, "configs"),
            "partition_reassignments": self.related("topics", name, "partitions", "-", "reassignment"),
        }

    def of_partition(self, topic: str, one: Partition) -> Resource:
        place = ("topics", topic, "partitions", one.id)
        leader = {} if one.leader is None else {"leader": self.related(*place, "replicas", one.leader)}
        return {
            "kind": "KafkaPartition",
            "metadata": {"self": self.url(*place), "resource_name": self.crn(topic=topic, partition=one.id)},
            "cluster_id": self.cluster,
            "topic_name": topic,
            "partition_id": one.id,
            **leader,
            "replicas": self.related(*place, "replicas"),
            "reassignment": self.related(*place, "reassignment"),
        }

    def of_topic_setting(self, topic: str, one: Setting) -> Resource:
        crn = self.crn(topic=topic, config=one.name)
        metadata = {"self": self.url("topics", topic, "configs", one.name), "resource_name": crn}
        owner = {"cluster_id": self.cluster, "topic_name": topic}
        return {"kind": "KafkaTopicConfig", "metadata": metadata, **owner, **_setting(one)}

    def of_broker_setting(self, broker: int, one: Setting) -> Resource:
        crn = self.crn(broker=broker, config=one.name)
        metadata = {"self": self.url("brokers", broker, "configs", one.name), "resource_name": crn}
        owner = {"cluster_id": self.cluster, "broker_id": broker}
        return {"kind": "KafkaBrokerConfig", "metadata": metadata, **owner, **_setting(one)}

    def of_broker(self, broker: Broker) -> Resource:
        return {
            "kind": "KafkaBroker",
            "metadata": {"self": self.url("brokers", broker.id), "resource_name": self.crn(broker=broker.id)},
            "cluster_id": self.cluster,
            "broker_id": broker.id,
            "host": broker.host,
            "port": broker.port,
            "configs": self.related("brokers", broker.id, "configs"),
            "partition_replicas": self.related("brokers", broker.id, "partition-replicas"),
        }

    # -- groups

    def of_group(self, group: GroupView) -> Resource:
        place = ("consumer-groups", group.name)
        return {
            "kind": "KafkaConsumerGroup",
            "metadata": {"self": self.url(*place), "resource_name": self.crn(consumer_group=group.name)},
            "cluster_id": self.cluster,
            "consumer_group_id": group.name,
            "is_simple": group.is_simple,
            "partition_assignor": group.assignor,
            "state": group.state,
            "type": group.type,
            "coordinator": self.related("brokers", group.coordinator),
            "consumers": self.related(*place, "consumers"),
            "lag_summary": self.related(*place, "lag-summary"),
        }

    def of_member(self, group: str, member: GroupMember) -> Resource:
        place = ("consumer-groups", group, "consumers", member.id)
        crn = self.crn(consumer_group=group, consumer=member.id)
        return {
            "kind": "KafkaConsumer",
            "metadata": {"self": self.url(*place), "resource_name": crn},
            "cluster_id": self.cluster,
            "consumer_group_id": group,
            "consumer_id": member.id,
            "instance_id": member.instance,
            "client_id": member.client,
            "assignments": self.related(*place, "assignments"),
        }

    def of_lag(self, group: str, part: Progress, member: GroupMember | None) -> Resource:
        place = ("consumer-groups", group, "lags", part.topic, "partitions", part.partition)
        crn = self.crn(consumer_group=group, lag=part.topic, partition=part.partition)
        return {
            "kind": "KafkaConsumerLag",
            "metadata": {"self": self.url(*place), "resource_name": crn},
            "cluster_id": self.cluster,
            "consumer_group_id": group,
            "topic_name": part.topic,
            "partition_id": part.partition,
            **_reader(member, ""),
            "current_offset": part.committed,
            "log_end_offset": part.end,
            "lag": part.lag,
        }

    def of_lag_summary(self, group: str, parts: list[tuple[Progress, GroupMember | None]]) -> Resource:
        """The largest lag and the sum of all, of a group that has committed something."""
        place = ("consumer-groups", group)
        worst, member = max(parts, key=lambda one: one[0].lag or 0)
        reader = {} if member is None else {"max_lag_consumer": self.related(*place, "consumers", member.id)}
        crn = f"{self.crn(consumer_groups=group)}/lag-summary"
        return {
            "kind": "KafkaConsumerGroupLagSummary",
            "metadata": {"self": self.url(*place, "lag-summary"), "resource_name": crn},
            "cluster_id": self.cluster,
            "consumer_group_id": group,
            **_reader(member, "max_lag_"),
            "max_lag_topic_name": worst.topic,
            "max_lag_partition_id": worst.partition,
            "max_lag": worst.lag,
            "total_lag": sum(part.lag or 0 for part, _ in parts),
            **reader,
            "max_lag_partition": self.related("topics", worst.topic, "partitions", worst.partition),
        }


def _reader(member: GroupMember | None, prefix: str) -> dict[str, str | None]:
    """Who reads a partition; nobody where the group has no members now."""
    return {
        f"{prefix}consumer_id": "" if member is None else member.id,
        f"{prefix}instance_id": None if member is None else member.instance,
        f"{prefix}client_id": "" if member is None else member.client,
    }


def _setting(one: Setting) -> dict[str, Any]:
    return {
        "name": one.name,
        "value": one.value,
        "is_default": one.is_default,
        "is_read_only": one.is_read_only,
        "is_sensitive": one.is_sensitive,
        "source": one.source,
        "synonyms": [{"name": name, "value": value, "source": source} for name, value, source in one.synonyms],
    }

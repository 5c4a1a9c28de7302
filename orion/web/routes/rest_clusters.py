"""REST Proxy v3: clusters, topics, their settings and partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from orion.errors import NotFound
from orion.hub import inspection
from orion.hub.inspection import Setting
from orion.hub.kafka import DEFAULT_REPLICATION
from orion.hub.topics import Partition, Topic
from orion.web.gateway import Gateway
from orion.web.rest_proxy.bodies import bounded, flag, listed, object_of, optional_text, text, whole
from orion.web.rest_proxy.refusals import BAD_REQUEST, NOT_FOUND, UNPROCESSABLE, ProxyError, ProxyRoute
from orion.web.rest_proxy.resources import Links, Resource

router = APIRouter(prefix="/v3/clusters", route_class=ProxyRoute)

_BODY = 1 << 20


async def within(request: Request, cluster: str, ask: Callable[[Gateway, Links], Any]) -> Any:
    """What a question about one cluster gives; there is only one that exists."""
    gateway = Gateway.of(request)

    def asked() -> Any:
        if cluster != gateway.cluster_id:
            raise ProxyError(NOT_FOUND, f"Cluster {cluster} cannot be found.")
        return ask(gateway, Links(str(request.base_url), cluster))

    return await gateway.run(asked)


@router.get("")
async def clusters(request: Request) -> JSONResponse:
    gateway = Gateway.of(request)
    cluster = await gateway.run(lambda: gateway.cluster_id)

    def ask(gateway: Gateway, links: Links) -> Resource:
        return links.clusters([links.of_cluster(inspection.controller(gateway.kafka))])

    return JSONResponse(await within(request, cluster, ask))


@router.get("/{cluster}")
async def cluster(request: Request, cluster: str) -> JSONResponse:
    return JSONResponse(
        await within(request, cluster, lambda gateway, links: links.of_cluster(inspection.controller(gateway.kafka)))
    )


# ---- topics ------------------------------------------------------------------------------------------------------


@router.get("/{cluster}/topics")
async def topics(request: Request, cluster: str) -> JSONResponse:
    def ask(gateway: Gateway, links: Links) -> Resource:
        found = gateway.kafka.topics(internal=True)
        return links.collection("KafkaTopic", map(links.of_topic, found), "topics")

    return JSONResponse(await within(request, cluster, ask))


@router.post("/{cluster}/topics")
async def create_topic(request: Request, cluster: str) -> JSONResponse:
    body = object_of(await bounded(request, _BODY))
    name = text(body, "topic_name")
    if body.get("replicas_assignments"):
        raise ProxyError(BAD_REQUEST, "replicas_assignments isn't supported.", hint="Give partitions_count instead.")
    partitions = 1 if body.get("partitions_count") is None else whole(body, "partitions_count", least=1)
    replication = DEFAULT_REPLICATION
    if body.get("replication_factor") is not None:
        replication = whole(body, "replication_factor", least=1)
    config = {key: value for key, value in _settings(body, "configs").items() if value is not None}
    only = flag(body, "validate_only")

    def ask(gateway: Gateway, links: Links) -> Resource:
        if only:
            inspection.validate_topic(gateway.kafka, name, partitions, replication, config)
            return links.of_topic(Topic(name, partitions, max(0, replication), False, ""))
        gateway.kafka.create_topic(name, partitions, replication, config)
        return links.of_topic(_topic(gateway, name))

    made = await within(request, cluster, ask)
    return JSONResponse(made, 200 if only else 201, headers={"location": made["metadata"]["self"]})


@router.get("/{cluster}/topics/{topic}")
async def topic(request: Request, cluster: str, topic: str) -> JSONResponse:
    """Nobody is told apart here: with include_authorized_operations everybody may do everything."""
    told = request.query_params.get("include_authorized_operations") == "true"
    allowed = ["DESCRIBE_CONFIGS", "WRITE", "ALTER", "READ", "DELETE", "DESCRIBE", "ALTER_CONFIGS", "CREATE"]

    def ask(gateway: Gateway, links: Links) -> Resource:
        found = links.of_topic(_topic(gateway, topic))
        return found | {"authorized_operations": allowed} if told else found

    return JSONResponse(await within(request, cluster, ask))


@router.patch("/{cluster}/topics/{topic}")
async def grow_topic(request: Request, cluster: str, topic: str) -> JSONResponse:
    count = whole(object_of(await bounded(request, _BODY)), "partitions_count", least=1)

    def ask(gateway: Gateway, links: Links) -> Resource:
        gateway.kafka.alter_topic(topic, partitions=count)
        return links.of_topic(_topic(gateway, topic))

    return JSONResponse(await within(request, cluster, ask))


@router.delete("/{cluster}/topics/{topic}")
async def delete_topic(request: Request, cluster: str, topic: str) -> Response:
    await within(request, cluster, lambda gateway, _: gateway.kafka.delete_topic(topic))
    return Response(status_code=204)


def _topic(gateway: Gateway, name: str) -> Topic:
    found = gateway.kafka.present([name])
    if name not in found:
        raise NotFound("TOPIC_NOT_FOUND", "This server does not host this topic-partition.")
    return found[name]


# ---- settings of a topic -----------------------------------------------------------------------------------------


@router.get("/{cluster}/topics/{topic}/configs")
async def configs(request: Request, cluster: str, topic: str) -> JSONResponse:
    def ask(gateway: Gateway, links: Links) -> Resource:
        found = inspection.topic_settings(gateway.kafka, topic)
        data = (links.of_topic_setting(topic, one) for one in found)
        return links.collection("KafkaTopicConfig", data, "topics", topic, "configs")

    return JSONResponse(await within(request, cluster, ask))


@router.post("/{cluster}/topics/{topic}/configs:alter")
async def alter_configs(request: Request, cluster: str, topic: str) -> Response:
    body = object_of(await bounded(request, _BODY))
    if body.get("data") is None:
        raise ProxyError(UNPROCESSABLE, "data must be a list of settings.")
    changes, only = _settings(body, "data"), flag(body, "validate_only")
    await within(
        request,
        cluster,
        lambda gateway, _: inspection.alter_topic_settings(gateway.kafka, topic, changes, validate_only=only),
    )
    return Response(status_code=204)


@router.get("/{cluster}/topics/{topic}/configs/{name}")
async def config(request: Request, cluster: str, topic: str, name: str) -> JSONResponse:
    return JSONResponse(
        await within(
            request, cluster, lambda gateway, links: links.of_topic_setting(topic, _setting(gateway, topic, name))
        )
    )


@router.put("/{cluster}/topics/{topic}/configs/{name}")
async def set_config(request: Request, cluster: str, topic: str, name: str) -> Response:
    value = optional_text(object_of(await bounded(request, _BODY)), "value")
    return await _altered(request, cluster, topic, {name: value})


@router.delete("/{cluster}/topics/{topic}/configs/{name}")
async def reset_config(request: Request, cluster: str, topic: str, name: str) -> Response:
    return await _altered(request, cluster, topic, {name: None})


async def _altered(request: Request, cluster: str, topic: str, change: dict[str, str | None]) -> Response:
    def ask(gateway: Gateway, _: Links) -> None:
        for name in change:
            _setting(gateway, topic, name)
        inspection.alter_topic_settings(gateway.kafka, topic, change)

    await within(request, cluster, ask)
    return Response(status_code=204)


def _setting(gateway: Gateway, topic: str, name: str) -> Setting:
    for one in inspection.topic_settings(gateway.kafka, topic):
        if one.name == name:
            return one
    raise ProxyError(NOT_FOUND, f"Config {name} cannot be found.")


def _settings(body: dict[str, Any], field: str) -> dict[str, str | None]:
    """Names and values; an operation that deletes has none."""
    if body.get(field) is None:
        return {}
    found: dict[str, str | None] = {}
    for one in listed(body, field):
        operation = (optional_text(one, "operation") or "SET").upper()
        if operation not in ("SET", "DELETE"):
            raise ProxyError(UNPROCESSABLE, f"The operation {operation} is neither SET nor DELETE.")
        value = optional_text(one, "value")
        found[text(one, "name")] = None if operation == "DELETE" else value
    return found


# ---- partitions --------------------------------------------------------------------------------------------------


@router.get("/{cluster}/topics/{topic}/partitions")
async def partitions(request: Request, cluster: str, topic: str) -> JSONResponse:
    def ask(gateway: Gateway, links: Links) -> Resource:
        found = gateway.kafka.describe_topic(topic).partitions
        data = (links.of_partition(topic, one) for one in found)
        return links.collection("KafkaPartition", data, "topics", topic, "partitions")

    return JSONResponse(await within(request, cluster, ask))


@router.get("/{cluster}/topics/{topic}/partitions/{partition}")
async def partition(request: Request, cluster: str, topic: str, partition: str) -> JSONResponse:
    return JSONResponse(
        await within(
            request, cluster, lambda gateway, links: links.of_partition(topic, _partition(gateway, topic, partition))
        )
    )


@router.get("/{cluster}/topics/{topic}/partitions/{partition}/offset")
async def offset(request: Request, cluster: str, topic: str, partition: str) -> JSONResponse:
    which = request.query_params.get("offset", "earliest").lower()
    if which not in ("earliest", "latest"):
        raise ProxyError(BAD_REQUEST, f"Invalid offset type: {which}.", hint="It is earliest or latest.")

    def ask(gateway: Gateway, links: Links) -> Resource:
        one = _partition(gateway, topic, partition)
        place = ("topics", topic, "partitions", one.id, "offset")
        crn = f"{links.crn(topic=topic, partition=one.id)}/offset"
        return {
            "kind": "KafkaPartitionOffset",
            "metadata": {"self": links.url(*place), "resource_name": crn},
            "cluster_id": cluster,
            "topic_name": topic,
            "partition_id": one.id,
            "offset_type": which.upper(),
            "offset": one.earliest if which == "earliest" else one.end,
        }

    return JSONResponse(await within(request, cluster, ask))


def _partition(gateway: Gateway, topic: str, number: str) -> Partition:
    for one in gateway.kafka.describe_topic(topic).partitions:
        if str(one.id) == number:
            return one
    raise ProxyError(NOT_FOUND, f"Partition {number} cannot be found.")

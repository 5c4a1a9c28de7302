"""REST Proxy v2: topics, partitions, offsets, brokers, and records into them."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from orion.errors import NotFound
from orion.hub import inspection
from orion.hub.topics import Partition, TopicDetail
from orion.web.gateway import Gateway
from orion.web.rest_proxy.bodies import bounded, object_of
from orion.web.rest_proxy.embedded import FORMATS
from orion.web.rest_proxy.producing import batch_answer, batch_of
from orion.web.rest_proxy.refusals import PARTITION_NOT_FOUND, UNSUPPORTED_MEDIA, ProxyError, ProxyRoute

router = APIRouter(route_class=ProxyRoute)

V2 = "application/vnd.kafka.v2+json"
_NUMBER = re.compile(r"[0-9]{1,18}")
_EMBEDDED = re.compile(rf"application/vnd\.kafka\.({'|'.join(FORMATS)})\.v2\+json")


def answered(value: Any, status: int = 200, media: str = V2) -> JSONResponse:
    return JSONResponse(value, status, media_type=media)


@router.get("/topics")
async def topics(request: Request) -> JSONResponse:
    gateway = Gateway.of(request)
    return answered([topic.name for topic in await gateway.run(gateway.kafka.topics, internal=True)])


@router.get("/topics/{topic}")
async def topic(request: Request, topic: str) -> JSONResponse:
    gateway = Gateway.of(request)

    def described() -> dict[str, Any]:
        detail = gateway.kafka.describe_topic(topic)
        configs = {one.name: one.value for one in inspection.topic_settings(gateway.kafka, topic)}
        return {"name": topic, "configs": configs, "partitions": [_partition(one) for one in detail.partitions]}

    return answered(await gateway.run(described))


@router.post("/topics/{topic}")
async def produce(request: Request, topic: str) -> JSONResponse:
    return await _produced(request, topic, None)


@router.get("/topics/{topic}/partitions")
async def partitions(request: Request, topic: str) -> JSONResponse:
    gateway = Gateway.of(request)
    detail = await gateway.run(gateway.kafka.describe_topic, topic)
    return answered([_partition(one) for one in detail.partitions])


@router.get("/topics/{topic}/partitions/{partition}")
async def partition(request: Request, topic: str, partition: str) -> JSONResponse:
    gateway = Gateway.of(request)
    detail = await gateway.run(gateway.kafka.describe_topic, topic)
    return answered(_partition(_found(detail, partition)))


@router.post("/topics/{topic}/partitions/{partition}")
async def produce_to_partition(request: Request, topic: str, partition: str) -> JSONResponse:
    return await _produced(request, topic, _number(partition))


@router.get("/topics/{topic}/partitions/{partition}/offsets")
async def offsets(request: Request, topic: str, partition: str) -> JSONResponse:
    gateway = Gateway.of(request)
    found = _found(await gateway.run(gateway.kafka.describe_topic, topic), partition)
    return answered({"beginning_offset": found.earliest, "end_offset": found.end})


@router.get("/brokers")
async def brokers(request: Request) -> JSONResponse:
    gateway = Gateway.of(request)
    return answered({"brokers": [broker.id for broker in await gateway.run(gateway.kafka.brokers)]})


async def _produced(request: Request, topic: str, partition: int | None) -> JSONResponse:
    gateway = Gateway.of(request)
    format_ = embedded_format(request.headers.get("content-type", ""))
    if format_ is None:
        known = ", ".join(f"application/vnd.kafka.{name}.v2+json" for name in FORMATS)
        raise ProxyError(UNSUPPORTED_MEDIA, "HTTP 415 Unsupported Media Type.", hint=f"Content-Type is one of {known}.")
    body = object_of(await bounded(request, gateway.settings.max_body_bytes))
    batch = await gateway.run(batch_of, gateway, topic, format_, body, partition)
    return answered(batch_answer(batch, await gateway.send(topic, batch.records)))


def embedded_format(media: str) -> str | None:
    """The format that a media type names, binary where it names none; None: it is none of the proxy's."""
    found = _EMBEDDED.search(media.lower())
    if found:
        return found[1]
    return "binary" if V2 in media.lower() else None


def _partition(one: Partition) -> dict[str, Any]:
    return {
        "partition": one.id,
        "leader": -1 if one.leader is None else one.leader,
        "replicas": [
            {"broker": broker, "leader": broker == one.leader, "in_sync": broker in one.isr} for broker in one.replicas
        ],
    }


def _found(detail: TopicDetail, partition: str) -> Partition:
    number = _number(partition)
    for one in detail.partitions:
        if one.id == number:
            return one
    raise ProxyError(PARTITION_NOT_FOUND, "Partition not found.")


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise NotFound("NOT_FOUND", f"{text[:80]} is no partition.")
    return int(text)

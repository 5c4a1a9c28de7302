"""REST Proxy v2: consumer instances."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from orion.hub.records import Place
from orion.hub.subscription import BEGINNING, END
from orion.web.gateway import Gateway
from orion.web.rest_proxy.bodies import MOST_LONG, bounded, listed, object_of, optional_text, text, whole
from orion.web.rest_proxy.instances import MOST_BYTES, Instance, Options, Read
from orion.web.rest_proxy.refusals import FORMAT_MISMATCH, PARTITION_NOT_FOUND, UNPROCESSABLE, ProxyError, ProxyRoute
from orion.web.routes.rest_topics import answered, embedded_format

router = APIRouter(prefix="/consumers/{group}", route_class=ProxyRoute)

T = TypeVar("T")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_ANY = ("*/*", "application/*", "application/json", "application/vnd.kafka.v2+json")


@router.post("")
async def create(request: Request, group: str) -> JSONResponse:
    gateway = Gateway.of(request)
    options = Options.of(await _body(request, empty=True))
    await gateway.run(gateway.instances.create, group, options)
    base = f"{str(request.base_url).rstrip('/')}/consumers/{quote(group, safe='')}"
    uri = f"{base}/instances/{quote(options.name, safe='')}"
    return answered({"instance_id": options.name, "base_uri": uri})


@router.delete("/instances/{instance}")
async def destroy(request: Request, group: str, instance: str) -> Response:
    gateway = Gateway.of(request)
    await gateway.run(gateway.instances.remove, group, instance)
    return Response(status_code=204)


# ---- what is read ------------------------------------------------------------------------------------------------


@router.post("/instances/{instance}/subscription")
async def subscribe(request: Request, group: str, instance: str) -> Response:
    body = await _body(request)
    topics, pattern = body.get("topics"), body.get("topic_pattern")
    if topics is not None and not (isinstance(topics, list) and all(isinstance(one, str) for one in topics)):
        raise ProxyError(UNPROCESSABLE, "topics must be a list of names.")
    if (topics is None) == (pattern is None):
        raise ProxyError(UNPROCESSABLE, "Subscribe topics, or a topic_pattern.")
    chosen = None if pattern is None else text(body, "topic_pattern")
    await _asked(request, group, instance, lambda one: one.subscribe(topics, chosen))
    return Response(status_code=204)


@router.get("/instances/{instance}/subscription")
async def subscription(request: Request, group: str, instance: str) -> JSONResponse:
    found = await _asked(request, group, instance, lambda one: one.subscription.topics)
    return answered({"topics": list(found)})


@router.delete("/instances/{instance}/subscription")
async def unsubscribe(request: Request, group: str, instance: str) -> Response:
    await _asked(request, group, instance, lambda one: one.unsubscribe())
    return Response(status_code=204)


@router.post("/instances/{instance}/assignments")
async def assign(request: Request, group: str, instance: str) -> Response:
    places = _places(await _body(request))
    await _asked(request, group, instance, lambda one: one.assign(places))
    return Response(status_code=204)


@router.get("/instances/{instance}/assignments")
async def assignments(request: Request, group: str, instance: str) -> JSONResponse:
    found = await _asked(request, group, instance, lambda one: one.subscription.assignment)
    return answered({"partitions": [{"topic": topic, "partition": number} for topic, number in found]})


# ---- records -----------------------------------------------------------------------------------------------------


@router.get("/instances/{instance}/records")
async def records(request: Request, group: str, instance: str) -> JSONResponse:
    timeout, most = _query(request, "timeout"), _query(request, "max_bytes")
    choice = Gateway.of(request).choice
    accept = request.headers.get("accept", "*/*")

    def read(one: Instance) -> tuple[str, list[Read]]:
        _check_format(accept, one.options.format)
        bound = MOST_BYTES if most <= 0 else min(most, MOST_BYTES)
        return one.options.format, one.records(timeout, bound, choice.by_id)

    format_, found = await _asked(request, group, instance, read)
    return answered([_record(one) for one in found], media=f"application/vnd.kafka.{format_}.v2+json")


def _record(read: Read) -> dict[str, Any]:
    record = read.record
    return {
        "topic": record.topic,
        "key": read.key,
        "value": read.value,
        "partition": record.partition,
        "offset": record.offset,
    }


def _check_format(accept: str, format_: str) -> None:
    """Whether what a client takes includes the instance's format; who takes anything takes that."""
    named = [one.split(";")[0].strip().lower() for one in accept.split(",")]
    if any(one in _ANY for one in named) or format_ in [embedded_format(one) for one in named]:
        return
    message = "The requested embedded data format does not match the deserializer for this consumer instance."
    raise ProxyError(FORMAT_MISMATCH, message, hint=f"It reads {format_}.")


# ---- offsets -----------------------------------------------------------------------------------------------------


@router.post("/instances/{instance}/offsets")
async def commit(request: Request, group: str, instance: str) -> JSONResponse:
    """All that was given, or the offsets of records that are said; as in Confluent's, the next one is committed."""
    body = await _body(request, empty=True)
    said = None
    if body.get("offsets") is not None:
        said = {
            (text(one, "topic"), whole(one, "partition")): (_offset(one) + 1, optional_text(one, "metadata"))
            for one in listed(body, "offsets")
        }
    await _asked(request, group, instance, lambda one: one.commit(said))
    return answered([])


@router.get("/instances/{instance}/offsets")
async def committed(request: Request, group: str, instance: str) -> JSONResponse:
    body = await _body(request, empty=True)
    if not body:
        raise ProxyError(PARTITION_NOT_FOUND, "Partition not found.", hint="Name partitions in the body.")
    places = _places(body)
    found = await _asked(request, group, instance, lambda one: one.subscription.committed(places))
    shown = [
        {"topic": topic, "partition": number, "offset": offset, "metadata": word or ""}
        for (topic, number), (offset, word) in found.items()
    ]
    return answered({"offsets": shown})


@router.post("/instances/{instance}/positions")
async def seek(request: Request, group: str, instance: str) -> Response:
    said = listed(await _body(request), "offsets")
    places = {(text(one, "topic"), whole(one, "partition")): _offset(one) for one in said}
    await _asked(request, group, instance, lambda one: one.seek(places))
    return Response(status_code=204)


@router.post("/instances/{instance}/positions/beginning")
async def seek_to_beginning(request: Request, group: str, instance: str) -> Response:
    places = dict.fromkeys(_places(await _body(request)), BEGINNING)
    await _asked(request, group, instance, lambda one: one.seek(places))
    return Response(status_code=204)


@router.post("/instances/{instance}/positions/end")
async def seek_to_end(request: Request, group: str, instance: str) -> Response:
    places = dict.fromkeys(_places(await _body(request)), END)
    await _asked(request, group, instance, lambda one: one.seek(places))
    return Response(status_code=204)


# ---- what requests say -------------------------------------------------------------------------------------------


async def _asked(request: Request, group: str, name: str, ask: Callable[[Instance], T]) -> T:
    gateway = Gateway.of(request)

    def using() -> T:
        with gateway.instances.using(group, name) as instance:
            return ask(instance)

    return await gateway.run(using)


async def _body(request: Request, *, empty: bool = False) -> dict[str, Any]:
    return object_of(await bounded(request, Gateway.of(request).settings.max_body_bytes), empty=empty)


def _places(body: dict[str, Any]) -> list[Place]:
    return [(text(one, "topic"), whole(one, "partition")) for one in listed(body, "partitions")]


def _offset(one: dict[str, Any]) -> int:
    return whole(one, "offset", MOST_LONG - 1)


def _query(request: Request, name: str) -> int:
    said = request.query_params.get(name, "-1")
    if not _NUMBER.fullmatch(said):
        raise ProxyError(UNPROCESSABLE, f"{name} is {said[:80]}, and must be a whole number.")
    return int(said)

"""REST Proxy v3: records, one after the other through a connection that stays open, or a batch at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from concurrent.futures import Future
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from orion.errors import OrionError
from orion.hub.records import Receipt
from orion.web.gateway import Gateway
from orion.web.rest_proxy import refusals
from orion.web.rest_proxy.bodies import bounded, listed, object_of, parsed
from orion.web.rest_proxy.json_stream import JsonStream
from orion.web.rest_proxy.producing import Single, single_answer, single_of
from orion.web.rest_proxy.refusals import BAD_REQUEST, INVALID_BATCH, INVALID_PAYLOAD, ProxyError, ProxyRoute
from orion.web.routes.rest_clusters import within

log = structlog.get_logger()
router = APIRouter(prefix="/v3/clusters/{cluster}/topics/{topic}", route_class=ProxyRoute)

_UNDER_WAY = 500  # records of one connection that wait for their answers; more are read when some have come
_MOST_ENTRIES = 1000
_LONGEST_ID = 80

Answer = dict[str, Any]


@router.post("/records")
async def produce(request: Request, cluster: str, topic: str) -> Response:
    """Any number of objects; each is answered as soon as it is written, in their order."""
    await within(request, cluster, lambda *_: None)
    return _Duplex(_answers(request, cluster, topic))


@router.post("/records:batch")
async def produce_batch(request: Request, cluster: str, topic: str) -> JSONResponse:
    await within(request, cluster, lambda *_: None)
    gateway = Gateway.of(request)
    entries = listed(object_of(await bounded(request, gateway.settings.max_body_bytes)), "entries")
    ids = [str(entry.get("id")) for entry in entries]
    if not entries:
        raise ProxyError(INVALID_BATCH, "Batch error. It is empty.")
    if len(entries) > _MOST_ENTRIES:
        raise ProxyError(INVALID_BATCH, f"Batch error. It has more than {_MOST_ENTRIES} entries.")
    if len(set(ids)) < len(ids) or not all(0 < len(one) <= _LONGEST_ID for one in ids):
        message = f"Batch error. Entries need ids of {_LONGEST_ID} characters at most, no two the same."
        raise ProxyError(INVALID_BATCH, message)
    told = await asyncio.gather(*[_written(gateway, cluster, topic, entry) for entry in entries])
    named = [{"id": id_, **answer} for id_, answer in zip(ids, told, strict=True)]
    good = [{k: v for k, v in one.items() if k != "error_code"} for one in named if one["error_code"] == 200]
    return JSONResponse({"successes": good, "failures": [one for one in named if one["error_code"] != 200]}, 207)


async def _written(gateway: Gateway, cluster: str, topic: str, asked: Any) -> Answer:
    """One record to its end."""
    try:
        single = await gateway.run(single_of, gateway, topic, asked)
        told = (await gateway.send(topic, [single.record]))[0]
    except OrionError as error:
        return refusals.body(error, v3=True)
    return _told(cluster, single, told)


def _told(cluster: str, single: Single, told: Receipt | OrionError) -> Answer:
    if isinstance(told, OrionError):
        return refusals.body(told, v3=True)
    return single_answer(cluster, single, told)


# ---- a connection that stays open --------------------------------------------------------------------------------


class _Duplex(Response):
    """Sends while the request still comes in. Starlette's own would read the request to see whether it ends."""

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        super().__init__(media_type="application/json")
        del self.headers["content-length"]
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for part in self._parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _answers(request: Request, cluster: str, topic: str) -> AsyncIterator[bytes]:
    waiting: asyncio.Queue[Awaitable[Answer] | None] = asyncio.Queue(_UNDER_WAY)
    reading = asyncio.create_task(_read(request, cluster, topic, waiting))
    try:
        while (answer := await waiting.get()) is not None:
            yield json.dumps(await answer, ensure_ascii=False).encode() + b"\r\n"
    finally:
        reading.cancel()


async def _read(request: Request, cluster: str, topic: str, waiting: asyncio.Queue[Awaitable[Answer] | None]) -> None:
    """Hand each record over as it comes. What can't be cut into objects any more ends the connection."""
    gateway = Gateway.of(request)
    stream = JsonStream(gateway.settings.max_body_bytes)
    count = 0
    try:
        async for chunk in request.stream():
            # One piece after the other: records are written in the order in which they came.
            for sent in await gateway.run(_handed_over, gateway, topic, stream.feed(chunk)):
                count += 1
                await waiting.put(_awaited(cluster, sent))
        if rest := stream.rest():
            await waiting.put(_now(_refused(BAD_REQUEST, f"This is no whole JSON object: {rest[:60]!r}.")))
        elif count == 0:
            await waiting.put(_now(_refused(INVALID_PAYLOAD, "Payload error. Null input provided. Data is required.")))
    except ValueError as error:
        await waiting.put(_now(_refused(refusals.TOO_LARGE, f"{str(error).capitalize()}.")))
    except ClientDisconnect:
        pass
    except Exception:
        log.exception("records not read", topic=topic)
        await waiting.put(_now({"error_code": 500, "message": "Internal Server Error"}))
    await waiting.put(None)


Sent = tuple[Single, Future[Receipt]] | OrionError


def _handed_over(gateway: Gateway, topic: str, raws: list[bytes]) -> list[Sent]:
    """Records on their way. A full queue is waited for: nothing more is read from the connection meanwhile."""
    handed: list[Sent] = []
    for raw in raws:
        try:
            single = single_of(gateway, topic, parsed(raw))
            sent = gateway.outbox.send(topic, [single.record], gateway.settings.delivery_s)
            handed.append((single, sent[0]))
        except OrionError as error:
            handed.append(error)
    return handed


def _awaited(cluster: str, sent: Sent) -> Awaitable[Answer]:
    if isinstance(sent, OrionError):
        return _now(refusals.body(sent, v3=True))
    return asyncio.create_task(_ended(cluster, sent[0], asyncio.wrap_future(sent[1])))


async def _ended(cluster: str, single: Single, future: asyncio.Future[Receipt]) -> Answer:
    try:
        return _told(cluster, single, await future)
    except OrionError as error:
        return refusals.body(error, v3=True)


def _now(answer: Answer) -> Awaitable[Answer]:
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future


def _refused(number: int, message: str) -> Answer:
    return refusals.body(ProxyError(number, message), v3=True)

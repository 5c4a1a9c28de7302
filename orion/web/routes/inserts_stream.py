"""POST /inserts-stream: rows as they come, and an acknowledgement for each as soon as the brokers have it.

The first line names the stream: `{"target": "ORDERS"}`. Each line after it is a row. What has arrived is written
together; rows that come meanwhile wait their turn, and a client that sends faster than the brokers take is slowed. The
first row that isn't taken is the last that is answered: nothing after it is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Protocol

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from orion.errors import InternalError, OrionError, UserError
from orion.hub.records import Receipt
from orion.plan.sources import Source
from orion.web import ksql_errors
from orion.web.feed import checked, row_of_line, source_named
from orion.web.gateway import Gateway
from orion.web.questions import dumped, read
from orion.web.shapes import ARRAY, DELIMITED_TYPE

router = APIRouter()

_AT_ONCE = 5000
_CHUNKS = 16  # that may wait; more stay with the client


class Inserts(BaseModel):
    model_config = ConfigDict(extra="ignore")

    target: str


@router.post("/inserts-stream")
async def inserts_stream(request: Request) -> Response:
    lines = Lines(request, Gateway.of(request).settings.max_body_bytes)
    reading = asyncio.ensure_future(lines.read())
    try:
        first = await lines.following(1)
        target = read(first[0] if first else b"", Inserts).target
        source = await Gateway.of(request).run(source_named, Gateway.of(request), target)
    except OrionError as error:
        reading.cancel()
        return JSONResponse(ksql_errors.body(error), error.http_status)
    accept = request.headers.get("accept", "")
    array = DELIMITED_TYPE not in accept and "application/json" in accept
    return Acks(acknowledged(Gateway.of(request), source, lines), array, reading)


class Body(Protocol):
    """What of a request is read here."""

    def stream(self) -> AsyncIterator[bytes]: ...


class Lines:
    """The lines of a body, read while others are worked on."""

    def __init__(self, request: Body, longest: int) -> None:
        self._request = request
        self._longest = longest
        self._arrived: asyncio.Queue[list[bytes] | OrionError | None] = asyncio.Queue(_CHUNKS)
        self._held: list[bytes] = []
        self._over = False

    async def read(self) -> None:
        """Take the body in; to be run beside who asks for lines."""
        rest = b""
        try:
            async for chunk in self._request.stream():
                *whole, rest = (rest + chunk).split(b"\n")
                if len(rest) > self._longest:
                    await self._arrived.put(UserError("TOO_LARGE", f"A line has more than {self._longest} bytes."))
                    return
                if lines := [line for line in whole if line.strip()]:
                    await self._arrived.put(lines)
        except ClientDisconnect:
            rest = b""  # who knows how it would have gone on
        except Exception as error:  # else somebody would wait for lines for ever
            await self._arrived.put(InternalError("BODY_UNREAD", f"The request can't be read on: {error}."))
            return
        if rest.strip():
            await self._arrived.put([rest])
        await self._arrived.put(None)

    async def following(self, most: int) -> list[bytes]:
        """What has arrived, and at least one line; none at the end."""
        while not self._over and (not self._held or (len(self._held) < most and not self._arrived.empty())):
            got = await self._arrived.get()
            if isinstance(got, OrionError):
                raise got
            self._over = got is None
            self._held += got or []
        taken, self._held = self._held[:most], self._held[most:]
        return taken


async def acknowledged(gateway: Gateway, source: Source, lines: Lines) -> AsyncIterator[list[dict[str, Any]]]:
    """What became of the rows, in their order; the first that isn't taken is the last."""
    sequence = 0
    try:
        while found := await lines.following(_AT_ONCE):
            acks, failure = await _written(gateway, source, found)
            if acks:
                yield [{"status": "ok", "seq": sequence + n} for n in range(acks)]
            sequence += acks
            if failure is not None:
                raise failure
    except OrionError as error:
        body = ksql_errors.body(error)
        yield [{"status": "error", "seq": sequence, **{k: v for k, v in body.items() if k != "@type"}}]


async def _written(gateway: Gateway, source: Source, lines: list[bytes]) -> tuple[int, OrionError | None]:
    """How many rows are written from the first on, and what is wrong with the next."""
    rows = await gateway.run(lambda: checked(source, [row_of_line(line) for line in lines]))
    wrong = rows.refused[0] if rows.refused else None
    good = [record for at, record in rows.records.items() if wrong is None or at < wrong.index]
    told = await gateway.send(source.topic, good, gateway.settings.delivery_s) if good else []
    taken = next((n for n, one in enumerate(told) if not isinstance(one, Receipt)), len(told))
    if taken < len(told):
        failed = told[taken]
        assert isinstance(failed, OrionError)
        return taken, failed
    return taken, wrong.error if wrong is not None else None


class Acks(Response):
    """Acknowledgements that go out while the request still comes in; Starlette's own would read the request away."""

    def __init__(self, acks: AsyncIterator[list[dict[str, Any]]], array: bool, reading: asyncio.Future[None]) -> None:
        super().__init__(media_type=ARRAY.media if array else DELIMITED_TYPE)
        del self.headers["content-length"]
        self._acks, self._array, self._reading = acks, array, reading

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def tell(text: str, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": text.encode(), "more_body": more})

        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            before, between, after = ("[", ",\n", "") if self._array else ("", "", "\n")
            async for acks in self._acks:
                await tell(before + between.join(dumped(ack) + after for ack in acks))
                before = between
            if self._array:
                await tell(("[" if before == "[" else "") + "]\n")
            await tell("", more=False)
        finally:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading

"""Look-ups over HTTP: what is at hand is answered before the request is anything but bytes.

The way through routing, validation and a thread costs more than such an answer. All other requests go on as they came.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orion.errors import BodyLate, TooLarge
from orion.pulling import Pulls
from orion.web import ksql_errors
from orion.web.shapes import Shape, accepted, whole

_PATH = "/query-stream"
_MOST_PARTS = 3  # a look-up comes in one part, and the server says in another that there is no more

_LONGEST = 20_000  # bytes: a longer body isn't read on the event loop


class Lookups:
    """Stands before an application."""

    def __init__(self, app: ASGIApp, pulls: Pulls) -> None:
        self._app, self._pulls = app, pulls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != _PATH or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            read = [await receive()]
            while read[-1].get("more_body") and len(read) < _MOST_PARTS:
                read.append(await receive())
        except (TooLarge, BodyLate) as error:
            await JSONResponse(ksql_errors.body(error), error.http_status)(scope, receive, send)
            return
        shape = accepted(next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), ""))
        raw = b"".join(part.get("body", b"") for part in read)
        body = self._answer(raw, shape) if len(raw) <= _LONGEST else None
        if body is None:
            await self._app(scope, _again(read, receive), send)
            return
        headers = [(b"content-type", shape.media.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _answer(self, raw: bytes, shape: Shape) -> bytes | None:
        try:
            asked: Any = json.loads(raw)
            found = self._pulls.at_hand(asked["sql"], asked.get("properties") or {})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None  # whoever reads it next says what is wrong
        return None if found is None else whole(found, shape)


def _again(read: list[Message], receive: Receive) -> Receive:
    """The messages of a request, those that were read once more."""
    waiting = iter(read)

    async def next_one() -> Message:
        return next(waiting, None) or await receive()

    return next_one

"""What stands at the port from the first moment: it says how far the start is, and then lets everybody in."""

from __future__ import annotations

import json
from html import escape

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from orion.errors import ExternalError
from orion.web import ksql_errors

_RETRY_AFTER_S = 2
_PAGE = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="{after}"><title>Orion</title>
<body style="font: 1rem system-ui; margin: 20vh auto; max-width: 30rem; text-align: center">
<h1 style="font-weight: 600">Orion is starting</h1><p>{step}</p></body>"""


class Entrance:
    """An application that passes everything on to another one once that is there."""

    def __init__(self) -> None:
        self._app: FastAPI | None = None
        self._step = "starting"

    def say(self, step: str) -> None:
        """What the start is at."""
        self._step = step

    def open(self, app: FastAPI) -> None:
        """From now on it is this one that answers."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1013, "reason": f"Orion is starting: {self._step}"[:120]})
        else:
            await self._put_off(scope, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """The server's life, at whose end the application's ends too: it begins without anything to do."""
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if self._app is not None:
            async with self._app.router.lifespan_context(self._app):
                pass
        await send({"type": "lifespan.shutdown.complete"})

    async def _put_off(self, scope: Scope, send: Send) -> None:
        """503 with a time to come again: a page for browsers, for programs the error that ksqlDB's clients know."""
        accepts = next((value for name, value in scope["headers"] if name == b"accept"), b"")
        if scope["path"] == "/healthcheck":
            told = {"isHealthy": False, "details": {}, "serverState": "STARTING", "message": self._step}
            kind, body = b"application/json", json.dumps(told).encode()
        elif scope["method"] == "GET" and b"text/html" in accepts:
            kind, body = b"text/html", _PAGE.format(after=_RETRY_AFTER_S, step=escape(self._step)).encode()
        else:
            hint = f"Ask again in {_RETRY_AFTER_S} seconds."
            refused = ExternalError("STARTING", f"The server is starting: {self._step}.", hint=hint)
            kind, body = b"application/json", json.dumps(ksql_errors.body(refused)).encode()
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        headers.append((b"retry-after", str(_RETRY_AFTER_S).encode()))
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": body})

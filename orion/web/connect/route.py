"""How a request finds its endpoint, and how it is answered where that refuses."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import unquote

import structlog
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from orion.errors import OrionError
from orion.web.connect import refusals

log = structlog.get_logger()

# Stands for a slash inside of a name, which must not cut the path there.
_SLASH = "\ue000"


class ConnectRoute(APIRoute):
    """A route of Kafka Connect's API.

    Paths are read as its own server reads them: `%2F` is part of a name, and a slash at the end says nothing.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches({**scope, "path": _path(scope)})
        if "path_params" in found:
            given = found["path_params"].items()
            plain = {n: v.replace(_SLASH, "/") if isinstance(v, str) else v for n, v in given}
            found = {**found, "path_params": plain}
        return match, found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        allowed = {"Allow": ", ".join(sorted(self.methods or ()))}
        answer = JSONResponse({"error_code": 405, "message": "HTTP 405 Method Not Allowed"}, 405, allowed)
        await answer(scope, receive, send)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except OrionError as error:
                return refusals.answer(error)
            except RequestValidationError:
                return JSONResponse({"error_code": 404, "message": "HTTP 404 Not Found"}, 404)
            except Exception as error:
                log.exception("connect", path=request.url.path)
                text = f"Internal Server Error: {type(error).__name__}"
                return JSONResponse({"error_code": 500, "message": text}, 500)

        return handled


def _path(scope: Scope) -> str:
    path, raw = scope["path"], scope.get("raw_path")
    if raw:
        kept = raw.split(b"?")[0].decode("ascii", "replace")
        path = unquote(kept.replace("%2F", _SLASH).replace("%2f", _SLASH))
    return path.rstrip("/") or "/"

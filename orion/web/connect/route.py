"""How a request finds its endpoint, and how it is answered where that refuses."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import structlog
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orion.errors import OrionError
from orion.web.connect import refusals
from orion.web.slashes import NamedRoute

log = structlog.get_logger()


class ConnectRoute(NamedRoute):
    """A route of Kafka Connect's API."""

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

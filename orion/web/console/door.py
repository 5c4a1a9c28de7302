"""Which requests are a browser's and go to the console; everything else goes to the API, as if this weren't there.

NiceGUI is one application a process, with one event loop. It is loaded and started when the first browser comes: who
only uses the API doesn't pay for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orion.web.console.pages import paths

if TYPE_CHECKING:
    from orion.web.console.desk import Desk

_OWN = ("/_nicegui/", "/_nicegui_ws/", "/_console/")
_loading = threading.Lock()
_serving: asyncio.AbstractEventLoop | None = None


class Door:
    """An ASGI application before another one."""

    def __init__(self, app: ASGIApp, desk: Callable[[], Desk]) -> None:
        self._app = app
        self._make_desk = desk
        self._desk: Desk | None = None
        self._site: ASGIApp | None = None
        self._starting = asyncio.Lock()
        self._open = AsyncExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, self._until_shutdown(send))
        elif not is_for_console(scope):
            await self._answer_or_show_page(scope, receive, send)
        else:
            await self._show_page(scope, receive, send)

    async def _answer_or_show_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What the API answers; where it has no such address and a browser asks, a page that says so."""
        if not _is_navigation(scope):
            await self._app(scope, receive, send)
            return
        is_unknown = False

        async def send_unless_unknown(message: Message) -> None:
            nonlocal is_unknown
            is_unknown = is_unknown or (message["type"] == "http.response.start" and message["status"] == 404)
            if not is_unknown:
                await send(message)

        await self._app(scope, receive, send_unless_unknown)
        if is_unknown:
            await self._show_page(scope, receive, _as_not_found(send))

    async def _show_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        site = self._site or await self._start()
        answer = site or _refusal("Another platform of this process has the console.", 503)
        # NiceGUI changes the scope; so that the desk is found again, it goes with it.
        await answer({**scope, "orion.desk": self._desk}, receive, send)

    async def _start(self) -> ASGIApp | None:
        global _serving
        async with self._starting:
            if self._site is not None:
                return self._site
            loop = asyncio.get_running_loop()
            with _loading:
                if _serving is not None and _serving is not loop and _serving.is_running():
                    return None
                _serving = loop
            site = await asyncio.to_thread(_load)
            await self._open.enter_async_context(site.router.lifespan_context(site))
            self._desk = self._make_desk()
            self._open.callback(self._desk.close)
            self._site = site
            return self._site

    def _until_shutdown(self, send: Send) -> Send:
        """The console ends before the application says that it has."""

        async def told(message: Any) -> None:
            if message["type"] in ("lifespan.shutdown.complete", "lifespan.shutdown.failed"):
                await self._close()
            await send(message)

        return told

    async def _close(self) -> None:
        global _serving
        if self._site is not None:
            self._site = None
            await self._open.aclose()
            with _loading:
                _serving = None


def _load() -> Any:
    from orion.web.console.site import site

    return site()


def is_for_console(scope: Scope) -> bool:
    """A page, asked for by who reads HTML; or what pages are made of."""
    path: str = scope.get("path", "")
    if path.startswith(_OWN):
        return True
    first = path.split("/")[1] if path.startswith("/") else ""
    return f"/{first}" in paths() and _is_navigation(scope)


def _is_navigation(scope: Scope) -> bool:
    """Whether somebody goes to an address with a browser."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return False
    return "text/html" in Headers(scope=scope).get("accept", "")


def _as_not_found(send: Send) -> Send:
    async def send_with_status(message: Message) -> None:
        await send({**message, "status": 404} if message["type"] == "http.response.start" else message)

    return send_with_status


def _refusal(text: str, status: int) -> ASGIApp:
    return PlainTextResponse(f"{text}\n", status)

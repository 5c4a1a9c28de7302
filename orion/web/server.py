"""The HTTP door: FastAPI on uvicorn, and on hypercorn for cleartext HTTP/2, in a thread beside the engine."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, cast

import structlog
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from orion import __version__
from orion.app import Orion
from orion.config import Web
from orion.errors import ExternalError, InternalError, OrionError
from orion.log import configure_log_unless_told
from orion.web import ksql_errors
from orion.web.admission import Admission
from orion.web.console.door import Door
from orion.web.gateway import Gateway
from orion.web.http2 import Connection, Http2
from orion.web.lookups import Lookups
from orion.web.routes import NAMES

if TYPE_CHECKING:
    from orion.web.console.desk import Desk

log = structlog.get_logger()

_REPORT = "The server's log says where; please report it."
_START_S = 15.0
_KEEP_ALIVE_S = 60
_GRACEFUL_S = 3


def application(orion: Orion) -> FastAPI:
    """Every route over one running platform."""
    engine = orion.engine
    app = over(Gateway(engine.kafka, engine.schemas, engine.config.web, lambda: engine.catalog))
    app.state.orion = orion
    app.add_middleware(Door, desk=lambda: _desk(orion, app.state.gateway))
    app.add_middleware(Lookups, pulls=orion.pulls)
    return app


def _desk(orion: Orion, gateway: Gateway) -> Desk:
    from orion.web.console.desk import Desk

    return Desk(orion, gateway.outbox)


def over(gateway: Gateway) -> FastAPI:
    """Every route over the ways to records; those that run statements want `app.state.orion` besides."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(gateway.close)

    app = FastAPI(title="Orion", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.gateway = gateway
    for name in NAMES:
        app.include_router(import_module(f"orion.web.routes.{name}").router)

    @app.exception_handler(OrionError)
    async def refused(_: Request, error: OrionError) -> JSONResponse:
        return JSONResponse(ksql_errors.body(error), error.http_status)

    @app.exception_handler(HTTPException)
    async def unknown(_: Request, error: HTTPException) -> JSONResponse:
        """A path or method that isn't there, in the two fields that clients of every API here read."""
        body = {"error_code": error.status_code, "message": f"HTTP {error.status_code} {error.detail}"}
        return JSONResponse(body, error.status_code, headers=error.headers)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> JSONResponse:
        """Ours: who asked is told that much, and the log has the rest."""
        log.error("a request failed", method=request.method, path=request.url.path, exc_info=error)
        told = InternalError("INTERNAL", f"The request failed inside of Orion: {type(error).__name__}.", hint=_REPORT)
        return JSONResponse(ksql_errors.body(told), told.http_status)

    return app


class _Uvicorn(uvicorn.Server):
    """Tells when it listens, and has the connections of HTTP/2 end with its own."""

    def __init__(self, config: uvicorn.Config, http2: Http2, listens: Callable[[], None]) -> None:
        super().__init__(config)
        self._http2, self._listens = http2, listens

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listens()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        others = asyncio.ensure_future(self._http2.end(_GRACEFUL_S))
        await super().shutdown(sockets)
        await others


class Server:
    """A serving thread. `url` is where it answers."""

    def __init__(self, app: ASGIApp, sock: socket.socket, settings: Web) -> None:
        host, port = sock.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._uvicorn = _uvicorn(Admission(app, settings, host), settings, self._ready.set)
        self._thread = threading.Thread(target=self._run, args=(sock,), name="orion-http", daemon=True)

    @classmethod
    def start(cls, orion: Orion, sock: socket.socket) -> Self:
        """Serve a platform on a socket that is bound already (see `bound`)."""
        return cls.serve(application(orion), sock, orion.engine.config.web)

    @classmethod
    def serve(cls, app: ASGIApp, sock: socket.socket, settings: Web | None = None) -> Self:
        """The same for any application."""
        configure_log_unless_told()
        server = cls(app, sock, settings or Web())
        server._thread.start()
        if not server._ready.wait(_START_S) or server._failure:
            raise ExternalError("HTTP_FAILED", f"The HTTP server didn't start: {server._failure or 'no answer'}.")
        return server

    def _run(self, sock: socket.socket) -> None:
        try:
            self._uvicorn.run([sock])
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    def stop(self) -> None:
        self._uvicorn.should_exit = True
        self._thread.join(timeout=10)


def _uvicorn(app: ASGIApp, settings: Web, listens: Callable[[], None]) -> _Uvicorn:
    http2 = Http2(settings.max_body_bytes)

    def connection(**given: Any) -> asyncio.Protocol:
        return Connection(http2, settings.body_s, **given)

    config = uvicorn.Config(
        app,
        http=cast(type[asyncio.Protocol], connection),
        ws="wsproto",
        ws_max_size=settings.max_body_bytes,
        loop="uvloop",
        lifespan="on",
        log_config=None,
        log_level="critical",  # what fails is told to who asked
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACEFUL_S,
    )
    return _Uvicorn(config, http2, listens)

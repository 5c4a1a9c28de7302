"""The HTTP door: FastAPI on hypercorn, HTTP/1.1 and cleartext HTTP/2, in a thread beside the engine."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from hypercorn.asyncio import serve
from hypercorn.config import Config as HypercornConfig

from orion import __version__
from orion.app import Orion
from orion.errors import ConfigError, ExternalError, OrionError
from orion.web import ksql_errors
from orion.web.console.door import Door
from orion.web.gateway import Gateway
from orion.web.lookups import Lookups
from orion.web.routes import NAMES

if TYPE_CHECKING:
    from orion.web.console.desk import Desk

_START_S = 15.0


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

    return app


class Server:
    """A serving thread. `url` is where it answers."""

    def __init__(self, app: FastAPI, sock: socket.socket) -> None:
        host, port = sock.getsockname()[:2]
        self.url = f"http://{host}:{port}"
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(app, sock), name="orion-http", daemon=True)

    @classmethod
    def start(cls, orion: Orion, sock: socket.socket) -> Self:
        """Serve a platform on a socket that is bound already (see `bound`)."""
        return cls.serve(application(orion), sock)

    @classmethod
    def serve(cls, app: FastAPI, sock: socket.socket) -> Self:
        """The same for any application."""
        server = cls(app, sock)
        server._thread.start()
        if not server._ready.wait(_START_S) or server._failure:
            raise ExternalError("HTTP_FAILED", f"The HTTP server didn't start: {server._failure or 'no answer'}.")
        return server

    def _run(self, app: FastAPI, sock: socket.socket) -> None:
        try:
            asyncio.run(self._serve(app, sock))
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self, app: Any, sock: socket.socket) -> None:
        config = HypercornConfig()
        config.bind = [f"fd://{os.dup(sock.fileno())}"]  # hypercorn closes the descriptor it is given
        config.accesslog = None
        config.errorlog = None
        config.graceful_timeout = 3.0
        loop = asyncio.get_running_loop()
        loop.call_later(0.05, self._ready.set)

        async def until_stopped() -> None:
            await asyncio.to_thread(self._stopping.wait)

        await serve(app, config, shutdown_trigger=until_stopped)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=10)


def bound(host: str, port: int) -> socket.socket:
    """The port is taken before anything else starts, so that a clash is told at once."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise ConfigError(
            "PORT_TAKEN",
            f"{host}:{port} can't be listened on: {error.strerror}.",
            hint="Stop what uses it, or choose another with --port (0 picks a free one).",
        ) from error
    sock.listen(128)
    sock.setblocking(False)
    return sock

"""Which HTTP a client speaks: HTTP/1.1 and WebSocket stay with uvicorn, cleartext HTTP/2 goes to hypercorn.

uvicorn reads HTTP/1.1 in C, in a fifth of the time that hypercorn takes; hypercorn has the cleartext HTTP/2 that
ksqlDB's clients speak, with prior knowledge of it and by an upgrade. The first bytes of a connection tell.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config as HypercornConfig
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_UPGRADE = re.compile(rb"\r\nupgrade:[^\r]*\bh2c\b", re.IGNORECASE)
_LONGEST_HEAD = 64 << 10


def speaks_http2(first: bytes) -> bool | None:
    """Whether a connection that begins so is HTTP/2's; None: that can't be said yet."""
    if first[: len(_PREFACE)] == _PREFACE[: len(first)]:
        return True if len(first) >= len(_PREFACE) else None
    end = first.find(b"\r\n\r\n")
    if end < 0 and len(first) < _LONGEST_HEAD:
        return None
    return _UPGRADE.search(first, 0, end if end >= 0 else len(first)) is not None


class Http2:
    """Hypercorn, for the connections that are handed to it."""

    def __init__(self) -> None:
        self._config = HypercornConfig()
        self._config.accesslog = None
        self._config.errorlog = None
        self._context = WorkerContext(None)
        self._open: dict[asyncio.Task[None], asyncio.Transport] = {}

    def take(self, app: Any, transport: asyncio.Transport, first: bytes) -> None:
        """Serve a connection from its first bytes on."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        protocol.data_received(first)
        server = TCPServer(ASGIWrapper(app), loop, self._config, self._context, {}, reader, writer)
        task = loop.create_task(server.run())
        self._open[task] = transport
        task.add_done_callback(self._open.pop)

    async def end(self, grace_s: float) -> None:
        """Have every connection end: when it is idle, or after a while as if its client had gone."""
        await self._context.terminated.set()
        for wait_s in (grace_s, 1.0):
            if self._open:
                await asyncio.wait(self._open, timeout=wait_s)
            for transport in self._open.values():
                transport.abort()


class Connection(HttpToolsProtocol):
    """A connection that uvicorn serves, unless its first bytes are HTTP/2's."""

    def __init__(self, http2: Http2, **given: Any) -> None:
        super().__init__(**given)
        self._http2 = http2
        self._first: bytes | None = b""  # until it is known what the client speaks

    def data_received(self, data: bytes) -> None:
        if self._first is None:
            super().data_received(data)
            return
        self._first += data
        found = speaks_http2(self._first)
        if found is None:
            return
        first, self._first = self._first, None
        if not found:
            super().data_received(first)
            return
        self.connections.discard(self)
        self._http2.take(self.app, self.transport, first)

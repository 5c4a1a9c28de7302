"""Which HTTP a client speaks: HTTP/1.1 and WebSocket stay with uvicorn, cleartext HTTP/2 goes to hypercorn.

uvicorn reads HTTP/1.1 in C, in a fifth of the time that hypercorn takes; hypercorn has the cleartext HTTP/2 that
ksqlDB's clients speak, with prior knowledge of it and by an upgrade. The first bytes of a connection tell.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, cast

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config as HypercornConfig
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from orion.web.admission import is_stream

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_UPGRADE = re.compile(rb"\r\nupgrade:[^\r]*\bh2c\b", re.IGNORECASE)
_LONGEST_HEAD = 64 << 10
_HEAD_S = 60.0
_GRACE_S = 2.0
_HEAD_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


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

    def __init__(self, longest_message: int) -> None:
        self._config = HypercornConfig()
        self._config.websocket_max_message_size = longest_message
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
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._open[task]
        if not task.cancelled():
            task.exception()  # its client is gone, or sends on a stream that was answered: nobody else minds

    async def end(self, grace_s: float) -> None:
        """Have every connection end: when it is idle, or after a while as if its client had gone."""
        await self._context.terminated.set()
        for wait_s in (grace_s, 1.0):
            if self._open:
                await asyncio.wait(self._open, timeout=wait_s)
            for transport in self._open.values():
                transport.abort()


class Connection(HttpToolsProtocol):
    """A connection that uvicorn serves, unless its first bytes are HTTP/2's.

    uvicorn keeps a request's head however long it gets, and waits for head and body for as long as they take: here
    there are bounds.
    """

    def __init__(self, http2: Http2, body_s: float, **given: Any) -> None:
        super().__init__(**given)
        self._http2 = http2
        self._body_s = body_s
        self._body_began: float | None = None  # until it is whole
        self._first: bytes | None = b""  # until it is known what the client speaks
        self._head: int | None = 0  # bytes of a head that isn't whole
        self._head_began = self.loop.time()
        self._watching: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watching is not None:
            self._watching.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._head, self._head_began = 0, self.loop.time()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head, self._body_began = None, self.loop.time()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._body_began = None
        super().on_message_complete()

    def _watch(self) -> None:
        now, began = self.loop.time(), self._body_began
        is_late = self._head is not None and now - self._head_began > _HEAD_S
        # Whoever reads a long body answers that it is late; this is for all others, and so a little later.
        if began is not None and now - began > self._body_s + _GRACE_S and not is_stream(self.scope):
            is_late = True
        if is_late:
            self.transport.close()
        elif not self.transport.is_closing():
            self._watching = self.loop.call_later(min(_HEAD_S, self._body_s + _GRACE_S) / 2, self._watch)

    def _take(self, data: bytes) -> None:
        super().data_received(data)
        if self._head is not None:
            self._head += len(data)
            if self._head > _LONGEST_HEAD:
                self.transport.write(_HEAD_TOO_LONG)
                self.transport.close()

    def data_received(self, data: bytes) -> None:
        if self._first is None:
            self._take(data)
            return
        self._first += data
        found = speaks_http2(self._first)
        if found is None:
            return
        first, self._first = self._first, None
        if not found:
            self._take(first)
            return
        if self._watching is not None:
            self._watching.cancel()
        self.connections.discard(self)
        self._http2.take(self.app, self.transport, first)

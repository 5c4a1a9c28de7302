"""One port for HTTP/1.1, WebSocket and cleartext HTTP/2: the first bytes of a connection tell which it is."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import h2.connection
import h2.events
import httpx
import pytest
from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import StreamingResponse
from websockets.sync.client import connect

from orion.web.http2 import speaks_http2
from orion.web.server import Server
from orion.web.sockets import bound

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PATIENCE_S = 20.0


@pytest.mark.parametrize(
    ("first", "found"),
    [
        (b"", None),
        (PREFACE[:5], None),
        (PREFACE, True),
        (PREFACE + b"frames", True),
        (b"PROPFIND / HTTP/1.1\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n", None),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nUPGRADE: h2c\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", False),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nbody\r\nUpgrade: h2c\r\n\r\n", False),
        (b"GET /" + b"a" * (64 << 10), False),
    ],
)
def test_the_first_bytes_tell(first: bytes, found: bool | None) -> None:
    assert speaks_http2(first) is found


@pytest.fixture
def server() -> Iterator[Server]:
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> Any:
        return {"version": request.scope["http_version"], "body": (await request.body()).decode()}

    @app.get("/version")
    async def version(request: Request) -> Any:
        return request.scope["http_version"]

    @app.get("/endless")
    async def endless() -> StreamingResponse:
        async def lines() -> AsyncIterator[str]:
            while True:
                yield "line\n"
                await asyncio.sleep(0.01)

        return StreamingResponse(lines())

    @app.websocket("/ws")
    async def ws(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.send_text(f"{await websocket.receive_text()} back")
        await websocket.close()

    with closing(bound("127.0.0.1", 0)) as sock:
        started = Server.serve(app, sock)
        yield started
        started.stop()


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
def test_requests_over_one_connection(server: Server, http2: bool) -> None:
    with httpx.Client(base_url=server.url, http1=not http2, http2=http2, timeout=PATIENCE_S) as client:
        for body in ("one", "x" * 300_000):
            answer = client.post("/echo", content=body)
            assert answer.json() == {"version": "2" if http2 else "1.1", "body": body}


def test_a_head_may_come_in_pieces(server: Server) -> None:
    with _connection(server) as client:
        for piece in (b"PO", b"ST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Le", b"ngth: 2\r\n\r", b"\nh", b"i"):
            client.sendall(piece)
        assert _until(client, b'"body":"hi"}').startswith(b"HTTP/1.1 200")


def test_an_upgrade_to_http2(server: Server) -> None:
    """As clients in Java do it: the request's answer is the first stream's."""
    peer = h2.connection.H2Connection()
    settings = peer.initiate_upgrade_connection()
    assert settings is not None
    head = [b"GET /version HTTP/1.1", b"Host: localhost", b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c"]
    with _connection(server) as client:
        client.sendall(b"\r\n".join([*head, b"HTTP2-Settings: " + settings, b"", b""]))
        assert _until(client, b"\r\n\r\n").startswith(b"HTTP/1.1 101")
        client.sendall(peer.data_to_send())
        body, over = b"", False
        while not over:
            for event in peer.receive_data(client.recv(65536)):
                body += event.data if isinstance(event, h2.events.DataReceived) and event.data else b""
                over |= isinstance(event, h2.events.StreamEnded)
            client.sendall(peer.data_to_send())
    assert body == b'"2"'


def test_a_websocket(server: Server) -> None:
    with connect(f"{server.url.replace('http', 'ws')}/ws") as client:
        client.send("there and")
        assert client.recv(PATIENCE_S) == "there and back"


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
def test_a_server_that_stops_waits_for_nobody_for_good(server: Server, http2: bool) -> None:
    with (
        httpx.Client(base_url=server.url, http1=not http2, http2=http2, timeout=PATIENCE_S) as client,
        client.stream("GET", "/endless") as answer,
    ):
        next(answer.iter_bytes())
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 9
        assert not server._thread.is_alive()


def _connection(server: Server) -> socket.socket:
    address = urlsplit(server.url)
    return socket.create_connection((address.hostname or "", address.port or 0), timeout=PATIENCE_S)


def _until(client: socket.socket, mark: bytes) -> bytes:
    said = b""
    while mark not in said:
        part = client.recv(1 if mark == b"\r\n\r\n" else 65536)
        assert part, said
        said += part
    return said

"""A client that goes in the middle of a pull query, over a real connection, takes the query with it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI

from orion.errors import OrionError
from orion.plan.interruption import Interruption
from orion.serving.pull import run
from orion.serving.store import Store
from orion.web.routes import query, query_stream
from orion.web.server import Server
from orion.web.sockets import bound
from tests.unit.serving.test_pull import LONG, planned
from tests.unit.serving.world import SOURCES, put

PATIENCE_S = 150.0


class World:
    """Rows whose joins with each other are without end, and what becomes of a query over them."""

    def __init__(self) -> None:
        self.store = Store()
        put(self.store, SOURCES["FLAT"], *((i.to_bytes(8, "big"), f"1,x{i}".encode()) for i in range(1, 5001)))
        self.begun, self.ended = threading.Event(), threading.Event()
        self.codes: list[str] = []

    def query(self, sql: str, _: Any, __: Any, interruption: Interruption) -> Any:
        pull = planned(sql)
        self.begun.set()
        try:
            return run(pull, self.store, [p.value for p in pull.parameters], interruption)
        except OrionError as error:
            self.codes.append(error.code)
            raise
        finally:
            self.ended.set()


@pytest.fixture
def served() -> Iterator[tuple[World, tuple[str, int]]]:
    world, app = World(), FastAPI()
    app.state.orion, app.state.gateway = SimpleNamespace(query=world.query), SimpleNamespace(run=asyncio.to_thread)
    app.include_router(query.router)
    app.include_router(query_stream.router)
    with closing(bound("127.0.0.1", 0)) as sock:
        server = Server.serve(app, sock)
        yield world, sock.getsockname()[:2]
        server.stop()


@pytest.mark.parametrize("path", ["/query-stream", "/query"])
def test_a_query_ends_with_who_asked(served: tuple[World, tuple[str, int]], path: str) -> None:
    world, address = served
    body = json.dumps({"sql": LONG}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(address) as client:
        client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert world.begun.wait(PATIENCE_S)
        assert not world.ended.is_set()
    assert world.ended.wait(PATIENCE_S)
    assert world.codes == ["CLIENT_LEFT"]

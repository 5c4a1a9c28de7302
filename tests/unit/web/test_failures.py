"""What fails inside of Orion: who asked is told that much, the log has the place, and nothing of the request."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
import structlog
from fastapi import Request

from orion import log
from orion.config import Web
from orion.hub.kafka import Kafka
from orion.plan.catalog import Catalog
from orion.registry.access import Local
from orion.registry.log import MemoryLog
from orion.registry.store import Registry
from orion.runtime.schemas import Schemas
from orion.web.gateway import Gateway
from orion.web.server import Server, over
from orion.web.sockets import bound

SECRET = "hunter2-is-in-the-body"


class Threads(io.StringIO):
    """Who writes to it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def write(self, text: str) -> int:
        self.names.add(threading.current_thread().name)
        return super().write(text)


@pytest.fixture
def stream() -> Iterator[Threads]:
    made, before = Threads(), structlog.get_config()
    log.configure_log(lambda: made)
    yield made
    log.flush_log()
    structlog.configure(**before)


def test_a_failure_s_traceback_has_no_values_and_is_no_work_of_the_event_loop(stream: Threads) -> None:
    app = over(Gateway(Kafka("127.0.0.1:1"), Schemas(Local(Registry(MemoryLog()))), Web(), Catalog))

    @app.post("/deep")
    async def deep(request: Request) -> None:
        body = await request.json()

        def nested(value: object) -> None:
            nested([value])

        nested(body)

    @app.post("/quoting")
    async def quoting(request: Request) -> None:
        int((await request.json())["password"])

    with closing(bound("127.0.0.1", 0)) as sock:
        server = Server.serve(app, sock)
        for path in ("/deep", "/quoting"):
            answer = httpx.post(f"{server.url}{path}", json={"password": SECRET}, timeout=150)
            assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL")
            assert SECRET not in answer.text
        server.stop()
    log.flush_log()
    told = stream.getvalue()
    assert told.count("a request failed") == 2
    assert "RecursionError" in told
    assert "in quoting" in told
    assert SECRET not in told
    assert stream.names == {"orion-log"}

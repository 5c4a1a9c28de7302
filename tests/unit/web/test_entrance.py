"""What a server answers before it is there, and that it lets everybody in afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from orion.web.entrance import Entrance


def ask(entrance: Entrance, method: str, path: str, accept: str = "application/json") -> httpx.Response:
    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(entrance)
        async with httpx.AsyncClient(transport=transport, base_url="http://orion") as client:
            return await client.request(method, path, headers={"Accept": accept})

    return asyncio.run(asked())


def test_the_health_check_says_what_the_start_is_at() -> None:
    entrance = Entrance()
    entrance.say("starting Spark")
    answer = ask(entrance, "GET", "/healthcheck")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    told = {"isHealthy": False, "details": {}, "serverState": "STARTING", "message": "starting Spark"}
    assert answer.json() == told


def test_a_program_is_told_to_come_again() -> None:
    entrance = Entrance()
    entrance.say("starting Spark")
    answer = ask(entrance, "POST", "/ksql")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert (answer.json()["code"], answer.json()["@type"]) == ("STARTING", "generic_error")
    assert "starting Spark" in answer.json()["message"]


def test_a_browser_gets_a_page_that_comes_again_by_itself() -> None:
    entrance = Entrance()
    entrance.say("starting <Spark>")
    answer = ask(entrance, "GET", "/", "text/html")
    assert (answer.status_code, answer.headers["Content-Type"]) == (503, "text/html")
    assert 'http-equiv="refresh"' in answer.text
    assert "starting &lt;Spark&gt;" in answer.text


def test_a_web_socket_is_closed_with_the_code_for_trying_again() -> None:
    with pytest.raises(WebSocketDisconnect) as closed, TestClient(Entrance()).websocket_connect("/ws/query"):
        pass
    assert closed.value.code == 1013


def test_once_it_is_open_the_application_answers_and_ends_with_the_server() -> None:
    lived: list[str] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        lived.append("ended")

    app, entrance = FastAPI(lifespan=lifespan), Entrance()

    @app.get("/healthcheck")
    async def health() -> str:
        return "well"

    with TestClient(entrance) as client:
        assert client.get("/healthcheck").status_code == 503
        entrance.open(app)
        assert client.get("/healthcheck").json() == "well"
        assert lived == []
    assert lived == ["ended"]

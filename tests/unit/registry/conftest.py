"""A registry in memory, and calls to its API that say what they expect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from orion.registry.api import application
from orion.registry.log import MemoryLog
from orion.registry.store import Registry


def record(*fields: tuple[str, Any, Any] | tuple[str, Any], name: str = "r") -> str:
    made = [{"name": one[0], "type": one[1], **({"default": one[2]} if len(one) > 2 else {})} for one in fields]
    return json.dumps({"type": "record", "name": name, "fields": made}, separators=(",", ":"))


ONE = record(("a", "int"))
TWO = record(("a", "int"), ("b", "string", ""))
BROKEN = record(("a", "int"), ("c", "string"))


class Door:
    """Calls that say what they expect."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def __call__(self, method: str, path: str, body: Any = None, *, code: int = 200) -> Any:
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = self._client.request(method, path, content=content)
        value = answer.json()
        if code == 200:
            assert answer.status_code == 200, value
            assert answer.headers["content-type"].startswith("application/vnd.schemaregistry.v1+json")
        else:
            assert (answer.status_code, value["error_code"]) == (int(str(code)[:3]), code), value
            assert set(value) == {"error_code", "message"}
        return value

    def register(self, subject: str, schema: str, code: int = 200, **more: Any) -> Any:
        answer = self("POST", f"/subjects/{subject}/versions", {"schema": schema, **more}, code=code)
        return answer["id"] if code == 200 else answer["message"]


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
def call(log: MemoryLog) -> Iterator[Door]:
    with TestClient(application(Registry(log))) as client:
        yield Door(client)

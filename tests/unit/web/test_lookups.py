"""Look-ups over HTTP that are answered at once, and all others that go on as they came."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from orion.pulling import Pulls
from orion.schema import Column, Scalar
from orion.schema import Decimal as DecimalType
from orion.serving.pull import Pulled
from orion.web.lookups import Lookups

FOUND = Pulled(
    (Column("K", Scalar.STRING), Column("D", DecimalType(38, 2))), [("a", Decimal("12345678901234567890.10"))]
)


class AtHand(Pulls):
    def __init__(self) -> None:
        pass

    def at_hand(self, statement: str, properties: Mapping[str, Any]) -> Pulled | None:
        return FOUND if statement == "known" and not properties else None


def client() -> TestClient:
    app = FastAPI()

    @app.post("/query-stream")
    async def other(request: Request) -> Any:
        return {"got": (await request.body()).decode()}

    app.add_middleware(Lookups, pulls=AtHand())
    return TestClient(app)


def test_what_is_at_hand_is_answered() -> None:
    answer = client().post("/query-stream", content=json.dumps({"sql": "known"}), headers={"accept": "*/*"})
    head, row = answer.text.splitlines()
    assert json.loads(head)["columnNames"] == ["K", "D"]
    assert row == '["a", 12345678901234567890.10]'
    array = client().post("/query-stream", json={"sql": "known"}, headers={"accept": "application/json"})
    assert array.json()[1][0] == "a"


def test_everything_else_goes_on_with_its_body() -> None:
    others: list[Any] = [{"sql": "other"}, {"sql": "known", "properties": {"a": "b"}}, {"sql": 5}, {}, []]
    for sent in map(json.dumps, others):
        assert client().post("/query-stream", content=sent).json() == {"got": sent}
    assert client().post("/query-stream", content="no json").json() == {"got": "no json"}
    for sent in ("[" * 19_000, json.dumps({"sql": "known", "ignored": "x" * 30_000})):  # deep, and long
        assert client().post("/query-stream", content=sent).json() == {"got": sent}
    assert client().get("/query-stream").status_code == 405

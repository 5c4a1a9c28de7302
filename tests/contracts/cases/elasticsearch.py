"""OpenSearch, which answers to all that the sink asks as Elasticsearch does."""

from __future__ import annotations

from base64 import b64encode
from contextlib import ExitStack
from math import isfinite
from typing import Any

import httpx
import pytest

from orion.plan.sources import Connector
from orion.schema import Decimal, Scalar, SqlType
from orion.sinks.documents.values import clock
from orion.sinks.elasticsearch import SearchStore, open_sink
from orion.sinks.search.indices import EPOCHS
from orion.sinks.store import Layout
from tests.contracts.case import REFUSED, Feature, Mode
from tests.servers.opensearch import OpenSearch

LACKS = {
    Feature.ATOMIC: "documents appear one by one; a slot that was cut off is written again, by the same ids",
    Feature.LOGIN: "the server that tests have is without users",
}


def opened(request: pytest.FixtureRequest) -> SearchCase:
    stack = ExitStack()
    request.addfinalizer(stack.close)
    server: OpenSearch = request.getfixturevalue("opensearch")
    case = SearchCase(server, stack.enter_context(server.indices()))
    case.forget_epochs()
    return case


class SearchCase:
    bad: tuple[SqlType, Any, Any] = (Scalar.DOUBLE, 1.5, float("nan"))

    def __init__(self, server: OpenSearch, prefix: str) -> None:
        self._server = server
        self._prefix = prefix

    def forget_epochs(self) -> None:
        """Tests share a server, and their tasks have one name."""
        httpx.delete(f"{self._server.url}/{EPOCHS}", params={"ignore_unavailable": "true"}).raise_for_status()

    def store(self, layout: Layout, mode: Mode) -> SearchStore:
        options = {"index.name.format": f"{self._prefix}${{topic}}", "key.ignore": str(mode is Mode.APPEND).lower()}
        return store_of(layout, {"connection.url": self._server.url, **options})

    def rows(self, layout: Layout) -> list[dict[str, Any]]:
        return [{name: found.get(name) for name in layout.names} for found in self.documents(layout.topic).values()]

    def documents(self, topic: str) -> dict[str, dict[str, Any]]:
        index = f"{self._server.url}/{self._prefix}{topic}"
        httpx.post(f"{index}/_refresh", timeout=60).raise_for_status()
        answer = httpx.get(f"{index}/_search", params={"size": 10_000}, timeout=60).raise_for_status()
        return {hit["_id"]: hit["_source"] for hit in answer.json()["hits"]["hits"]}

    def seen(self, type_: SqlType, value: Any) -> Any:
        match type_:
            case Decimal(_, scale):
                return f"{value:.{scale}f}"
            case Scalar.DOUBLE if not isfinite(value):
                return REFUSED
            case Scalar.BYTES:
                return b64encode(value).decode()
            case Scalar.TIME:
                return clock(value)
            case Scalar.DATE:
                return value.isoformat()
            case Scalar.TIMESTAMP:
                shown: str = value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
                return shown.replace("000Z", "Z")
            case _:
                return value

    def with_wrong_password(self, layout: Layout) -> SearchStore:
        raise NotImplementedError

    def with_nobody_there(self, layout: Layout) -> SearchStore:
        return store_of(layout, {"connection.url": "http://127.0.0.1:1"})

    def kill(self) -> None:
        self._server.kill()

    def start(self) -> None:
        self._server.start()


def store_of(layout: Layout, options: dict[str, str]) -> SearchStore:
    return open_sink(Connector("c", "elasticsearch", (), tuple(options.items())), layout)

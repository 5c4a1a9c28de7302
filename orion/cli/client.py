"""The CLI's side of the HTTP door: the same API that every ksqlDB client uses."""

from __future__ import annotations

import json
from collections.abc import Generator
from decimal import Decimal
from typing import Any

import httpx

from orion.clients.refusals import checked, error_of, unreachable
from orion.ksql.session import Session

Entity = dict[str, Any]


class Client:
    def __init__(self, url: str) -> None:
        self.url = url
        self.session = Session()
        self.warning: str | None = None  # what is wrong with the tables that the last rows came from
        self._http = httpx.Client(base_url=url, timeout=httpx.Timeout(10.0, read=None))

    def info(self) -> Entity:
        found: Entity = checked(self._send("GET", "/info"))["KsqlServerInfo"]
        return found

    def execute(self, statement: str) -> list[Entity]:
        """Statements that answer at once."""
        body = {
            "ksql": statement,
            "streamsProperties": dict(self.session.properties),
            "sessionVariables": dict(self.session.variables),
        }
        answered: list[Entity] = checked(self._send("POST", "/ksql", body))
        return answered

    def stream(self, statement: str) -> Generator[Any, None, None]:
        """A push query: first its head, then its rows."""
        body = {
            "sql": statement,
            "properties": dict(self.session.properties),
            "sessionVariables": dict(self.session.variables),
        }
        try:
            with self._http.stream("POST", "/query-stream", json=body) as response:
                if response.status_code != 200:
                    response.read()
                    checked(response)
                self.warning = response.headers.get("Orion-Warning")
                for line in response.iter_lines():
                    if line:
                        yield _row(json.loads(line, parse_float=Decimal))
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error

    def names(self) -> list[str]:
        """Everything of the server's that can be completed: streams, tables, queries."""
        streams, tables, queries = self.execute("SHOW STREAMS; SHOW TABLES; SHOW QUERIES;")
        return [
            *(s["name"] for s in streams["streams"]),
            *(t["name"] for t in tables["tables"]),
            *(q["id"] for q in queries["queries"]),
        ]

    def _send(self, method: str, path: str, body: Entity | None = None) -> httpx.Response:
        try:
            return self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error

    def close(self) -> None:
        self._http.close()


def _row(line: Any) -> Any:
    if isinstance(line, dict) and "error_code" in line:
        raise error_of(line)
    return line

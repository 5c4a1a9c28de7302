"""The CLI's side of the HTTP door: the same API that every ksqlDB client uses."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import httpx

from orion.errors import (
    Conflict,
    ExpectationFailed,
    ExternalError,
    Forbidden,
    InternalError,
    NotFound,
    OrionError,
    Span,
    SqlError,
    UserError,
)
from orion.ksql.session import Session

Entity = dict[str, Any]


class Client:
    def __init__(self, url: str) -> None:
        self.url = url
        self.session = Session()
        self._http = httpx.Client(base_url=url, timeout=httpx.Timeout(10.0, read=None))

    def info(self) -> Entity:
        found: Entity = self._checked(self._send("GET", "/info"))["KsqlServerInfo"]
        return found

    def execute(self, statement: str) -> list[Entity]:
        """Statements that answer at once."""
        body = {
            "ksql": statement,
            "streamsProperties": dict(self.session.properties),
            "sessionVariables": dict(self.session.variables),
        }
        answered: list[Entity] = self._checked(self._send("POST", "/ksql", body))
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
                    self._checked(response)
                for line in response.iter_lines():
                    if line:
                        yield _row(json.loads(line))
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error

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
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> ExternalError:
        return ExternalError(
            "SERVER_UNREACHABLE", f"No Orion answers at {self.url}: {error}.", hint="Start one with `orion up`."
        )

    @staticmethod
    def _checked(response: httpx.Response) -> Any:
        try:
            body = response.json()
        except ValueError:
            body = {"code": "BAD_ANSWER", "message": f"The server answered {response.status_code}."}
        if response.status_code == 200:
            return body
        raise _error(body, response.status_code)

    def close(self) -> None:
        self._http.close()


# Who must act is told by the status, and so is the exit code.
_CLASSES: dict[int, type[OrionError]] = {
    404: NotFound,
    409: Conflict,
    417: ExpectationFailed,
    403: Forbidden,
    500: InternalError,
    503: ExternalError,
}


def _row(line: Any) -> Any:
    if isinstance(line, dict) and "error_code" in line:
        raise _error(line, 500)
    return line


def _error(body: Entity, status: int) -> OrionError:
    """The server's error, as if it had been raised here."""
    code, message, hint = body.get("code", "ERROR"), body.get("message", "?"), body.get("hint")
    if body.get("@type") != "statement_error":
        return _CLASSES.get(status, UserError)(code, message, hint=hint)
    text = body.get("statementText", "")
    span = None
    if "line" in body:
        start = sum(len(line) + 1 for line in text.split("\n")[: body["line"] - 1]) + body["column"] - 1
        width = body.get("context", "").count("^")
        span = Span(start, start + width)
    return SqlError(code, message, span=span, text=text, hint=hint)

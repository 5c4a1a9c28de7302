"""`orion.connect`: SQL of a running server, over the API that every ksqlDB client uses.

with orion.connect() as server:
    server.execute("CREATE STREAM ...;")
    with server.push("SELECT ... EMIT CHANGES;") as rows:
        for row in rows: ...
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from typing import Any, Self

import httpx

from orion.clients.refusals import checked, error_of, unreachable
from orion.clients.values import Result, dumped, row_of, types_of
from orion.errors import OrionError, UserError

Entity = dict[str, Any]

# Rows in one request. The server answers while it reads, and nobody reads the answers before the request is sent.
_AT_ONCE = 5000


def connect(
    url: str | None = None,
    *,
    properties: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Connection:
    """A server's SQL. Without a URL, that of `orion up` on the data folder.

    `properties` and `variables` are what SET and DEFINE would say, for every statement. `timeout` is the seconds that
    an answer may take; rows of a push query may take any time.
    """
    return Connection(url or _running(), properties or {}, variables or {}, timeout)


def _running() -> str:
    from orion.config import load
    from orion.hub.running import locate_server, not_running

    config = load()
    found = locate_server(config)
    if found is None:
        raise not_running(config, "give its URL")
    return found.running.url


class Connection:
    """Close it when done, or use it in a `with`. Threads may share it."""

    def __init__(
        self,
        url: str,
        properties: Mapping[str, str],
        variables: Mapping[str, str],
        timeout: float | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url
        self._properties, self._variables = dict(properties), dict(variables)
        self._timeout = httpx.Timeout(10.0, read=timeout)
        limits = httpx.Limits(max_connections=None)
        self._http = httpx.Client(base_url=url, timeout=self._timeout, limits=limits, transport=transport)

    def execute(self, sql: str, properties: Mapping[str, str] | None = None) -> list[Entity]:
        """Statements that answer at once: one entity for each, in the shapes of ksqlDB's API."""
        body = {
            "ksql": sql,
            "streamsProperties": {**self._properties, **(properties or {})},
            "sessionVariables": self._variables,
        }
        answered: list[Entity] = checked(self._send("/ksql", json=body))
        return answered

    def pull(self, sql: str, properties: Mapping[str, str] | None = None) -> Result:
        """Rows as they are now: SELECT without EMIT CHANGES."""
        with self._rows(sql, properties, self._timeout) as rows:
            if rows.id is not None:
                hint = "Ask with push(), or leave out EMIT CHANGES."
                raise UserError(
                    "NOT_A_PULL_QUERY", "The query has no end: it follows the rows as they come.", hint=hint
                )
            return Result(rows.columns, rows.types, list(rows), rows.warning)

    def push(self, sql: str, properties: Mapping[str, str] | None = None) -> PushRows:
        """Rows as they come: SELECT ... EMIT CHANGES, or PRINT. Closing it ends the query on the server."""
        return self._rows(sql, properties, httpx.Timeout(self._timeout.connect, read=None))

    def insert(self, stream: str, rows: Iterable[Mapping[str, Any]]) -> int:
        """Write rows into a stream or table, by their columns' names; how many. Raises at the first that isn't taken:
        those before it are written, those after it aren't."""
        given, taken = iter(rows), 0
        while chunk := list(islice(given, _AT_ONCE)):
            lines = [json.dumps({"target": stream}), *map(dumped, chunk)]
            response = self._send("/inserts-stream", content="".join(f"{line}\n" for line in lines))
            if response.status_code != 200:
                checked(response)
            taken += _acknowledged(response.text, taken, len(chunk))
        return taken

    def info(self) -> Entity:
        """The server's version, service and Kafka cluster."""
        found: Entity = checked(self._send("/info", method="GET"))["KsqlServerInfo"]
        return found

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside

    def _send(self, path: str, *, method: str = "POST", **given: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **given)
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error

    def _rows(self, sql: str, properties: Mapping[str, str] | None, timeout: httpx.Timeout) -> PushRows:
        body = {
            "sql": sql,
            "properties": {**self._properties, **(properties or {})},
            "sessionVariables": self._variables,
        }
        request = self._http.build_request("POST", "/query-stream", json=body, timeout=timeout)
        try:
            response = self._http.send(request, stream=True)
            if response.status_code != 200:
                response.read()
                checked(response)
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error
        return PushRows(self, response)

    def _end(self, query_id: str) -> None:
        with suppress(OrionError):  # it is over already, or the server is
            self._send("/close-query", json={"queryId": query_id})


class PushRows:
    """Rows on their way, each a list in the order of `columns`. Raises what ends the query before its time."""

    def __init__(self, connection: Connection, response: httpx.Response) -> None:
        self._connection, self._response = connection, response
        self._closed = False
        self._lines = self._read()
        try:
            head = next(self._lines)
        except StopIteration:
            raise unreachable(connection.url, EOFError("the answer is empty")) from None
        self.id: str | None = head["queryId"]
        self.columns: tuple[str, ...] = tuple(head["columnNames"])
        self.types = types_of(head)
        self.warning: str | None = response.headers.get("Orion-Warning")

    def _read(self) -> Iterator[Any]:
        try:
            for line in self._response.iter_lines():
                if line:
                    found = json.loads(line, parse_float=Decimal)
                    if isinstance(found, dict) and "error_code" in found:
                        raise error_of(found)
                    yield found
        except httpx.StreamClosed:  # closed by another thread
            return
        except httpx.HTTPError as error:
            if not self._closed:
                raise unreachable(self._connection.url, error) from error

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[Any]:
        return row_of(next(self._lines), self.types)

    def close(self) -> None:
        """End the query on the server. Any thread may, also while another waits for a row."""
        if self._closed:
            return
        self._closed = True
        if self.id is not None and not self._response.is_closed:
            self._connection._end(self.id)
        self._response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _acknowledged(answer: str, before: int, sent: int) -> int:
    """How many rows of a request are written: all of them, or this raises."""
    acks = [json.loads(line) for line in answer.splitlines() if line]
    wrong = next((ack for ack in acks if ack["status"] != "ok"), None)
    if wrong is not None:
        place = before + int(wrong["seq"])
        raise error_of({**wrong, "message": f"Row {place} isn't taken: {wrong['message']}"})
    if len(acks) != sent:
        raise error_of({"code": "BAD_ANSWER", "message": f"{len(acks)} of {sent} rows were acknowledged."}, 503)
    return sent

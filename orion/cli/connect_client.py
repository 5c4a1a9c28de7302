"""The CLI's side of Kafka Connect's API: Orion's own server, or any other that speaks it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import typer

from orion.cli.target import find_server, options
from orion.errors import Conflict, ExternalError, Forbidden, InternalError, NotFound, OrionError, UserError
from orion.hub.running import not_running

_CONNECT_S = 10.0
# Who must act is told by the status, and so is the exit code.
_CLASSES: dict[int, type[OrionError]] = {403: Forbidden, 404: NotFound, 409: Conflict, 503: ExternalError}


class Connect:
    """One server. Answers are its JSON; refusals are raised as if they had come up here."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def get(self, *path: str, **query: Any) -> Any:
        return self._send("GET", path, query)

    def post(self, body: Any, *path: str, **query: Any) -> Any:
        return self._send("POST", path, query, body)

    def put(self, body: Any, *path: str) -> Any:
        return self._send("PUT", path, {}, body)

    def send_delete(self, *path: str) -> Any:
        return self._send("DELETE", path, {})

    def _send(self, method: str, path: tuple[str, ...], query: dict[str, Any], body: Any = None) -> Any:
        url = "/".join((self.url, *(quote(part, safe="") for part in path)))
        # A connector that is made has been started when the answer comes: however long that takes.
        timeout = httpx.Timeout(_CONNECT_S, read=None)
        try:
            answer = httpx.request(method, url, params=query, json=body, timeout=timeout)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ExternalError(
                "SERVER_UNREACHABLE",
                f"No server answers at {self.url}: {error}.",
                hint="Start one with `orion up`, or name another with --url.",
            ) from error
        try:
            told = answer.json() if answer.content else None
        except ValueError:
            message = f"{self.url} answers with no JSON ({answer.status_code}); does it speak Kafka Connect's API?"
            raise ExternalError("BAD_ANSWER", message) from None
        if answer.status_code < 300:
            return told
        raise _refused(answer.status_code, told if isinstance(told, dict) else {})


def connect_of(ctx: typer.Context, url: str | None) -> Connect:
    """The server to talk to: the one named, or the one that runs."""
    if url:
        return Connect(url)
    found = find_server(ctx)
    if found is None:
        raise not_running(options(ctx).config(), "name another with --url")
    return Connect(found.running.url)


def _refused(status: int, body: dict[str, Any]) -> OrionError:
    """Orion says code and hint beside the message; Kafka Connect's own server only has the message."""
    hint, message = body.get("hint"), str(body.get("message") or body.get("detail") or f"HTTP {status}")
    if hint:
        message = message.removesuffix(hint).rstrip()
    kind = _CLASSES.get(status, InternalError if status >= 500 else UserError)
    return kind(body.get("code") or f"CONNECT_{status}", message, hint=hint)

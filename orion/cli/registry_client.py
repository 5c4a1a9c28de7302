"""The CLI's side of a schema registry: any that speaks Confluent's API."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import typer

from orion.cli.target import options
from orion.errors import Conflict, ExternalError, NotFound, SchemaError, UserError


class RegistryClient:
    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def get(self, *path: str | int, **query: Any) -> Any:
        return self._send("GET", path, query)

    def post(self, body: Any, *path: str | int, **query: Any) -> Any:
        return self._send("POST", path, query, body)

    def delete(self, *path: str | int, **query: Any) -> Any:
        return self._send("DELETE", path, query)

    def _send(self, method: str, path: tuple[str | int, ...], query: dict[str, Any], body: Any = None) -> Any:
        import httpx

        url = "/".join((self.url, *(quote(str(part), safe="") for part in path)))
        chosen = {name: str(value).lower() for name, value in query.items() if value not in (None, False)}
        try:
            answer = httpx.request(method, url, params=chosen, json=body, timeout=30.0)
        except httpx.HTTPError as error:
            hint = "Start one with `orion up` or `orion registry`, or give --url."
            raise ExternalError(
                "REGISTRY_UNREACHABLE", f"No schema registry answers at {self.url}: {error}.", hint=hint
            ) from error
        try:
            value = answer.json()
        except ValueError:
            value = {"message": f"{self.url} answers with no JSON; is it a schema registry?"}
        if answer.status_code < 300:
            return value
        raise _refused(answer.status_code, value if isinstance(value, dict) else {})


def registry_of(ctx: typer.Context, url: str | None) -> RegistryClient:
    """The registry to talk to: the one named, that of a platform on the data folder, else that of the settings."""
    from orion.hub.running import Running

    if url:
        return RegistryClient(url)
    config = options(ctx).config()
    running = Running.read(config.data)
    if running is not None and running.registry:
        return RegistryClient(running.registry)
    return RegistryClient(f"http://{config.registry.host}:{config.registry.port}")


def _refused(status: int, body: dict[str, Any]) -> UserError | ExternalError:
    code, message = f"REGISTRY_{body.get('error_code', status)}", str(body.get("message", f"HTTP {status}"))
    if status == 404:
        return NotFound(code, message)
    if status == 409:
        return Conflict(code, message)
    if status >= 500:
        return ExternalError(code, message)
    return SchemaError(code, message) if code == "REGISTRY_42201" else UserError(code, message)

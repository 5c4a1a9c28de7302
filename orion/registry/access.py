"""A registry as the rest of Orion sees it: schemas by subject and by id, in this process or elsewhere."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from orion.errors import Conflict, ExternalError, NotFound, OrionError, SchemaError, UserError
from orion.plan.sources import WireSchema
from orion.registry.errors import RegistryError
from orion.registry.records import Version
from orion.registry.schemas import Schema, schema_type
from orion.registry.store import Registry, Wanted

T = TypeVar("T")
_LOGIN = re.compile(r"^([a-z][a-z0-9+.-]*://)?[^/@]*@", re.IGNORECASE)


class Access(Protocol):
    """Raises ExternalError where the registry can't be reached."""

    def latest(self, subject: str) -> WireSchema | None: ...

    def versions(self, subject: str) -> list[WireSchema]: ...

    def numbered(self, subject: str) -> dict[int, WireSchema]:
        """The versions by their numbers, which have gaps where one was deleted."""
        ...

    def by_id(self, number: int) -> WireSchema | None: ...

    def register(self, subject: str, kind: str, text: str) -> WireSchema: ...

    def delete(self, subject: str) -> None:
        """Softly: ids stay known, but nothing new is compared with the subject's schemas."""
        ...


class Local:
    """The registry of this process."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def latest(self, subject: str) -> WireSchema | None:
        found = _unless_missing(partial(self._registry.version, subject, -1))
        return None if found is None else self._of(found)

    def versions(self, subject: str) -> list[WireSchema]:
        return list(self.numbered(subject).values())

    def numbered(self, subject: str) -> dict[int, WireSchema]:
        numbers = _unless_missing(partial(self._registry.versions, subject)) or []
        return {number: self._of(self._registry.version(subject, number)) for number in numbers}

    def by_id(self, number: int) -> WireSchema | None:
        found = _unless_missing(partial(self._registry.schema, number))
        return None if found is None else self._wire(number, found, "")

    def register(self, subject: str, kind: str, text: str) -> WireSchema:
        try:
            return self._of(self._registry.register(subject, Wanted(Schema(text, schema_type(kind)))))
        except RegistryError as error:
            raise _refused(error.status, error.body()) from error

    def delete(self, subject: str) -> None:
        _unless_missing(partial(self._registry.delete_subject, subject))

    def _of(self, version: Version) -> WireSchema:
        return self._wire(version.id, version.schema, version.subject)

    def _wire(self, number: int, schema: Schema, subject: str) -> WireSchema:
        return WireSchema(number, schema.type, schema.text, tuple(self._registry.around(schema, subject).items()))


def _unless_missing(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except RegistryError as error:
        if error.status != 404:
            raise
        return None


class Remote:
    """Any registry that speaks Confluent's API. What an id stands for never changes, and is asked once."""

    def __init__(self, url: str, timeout_s: float = 30.0) -> None:
        self.url = url.rstrip("/")  # may have a login in it: `without_login` is for people
        self._timeout = timeout_s
        self._by_id: dict[int, WireSchema] = {}

    # -- schemas

    def latest(self, subject: str) -> WireSchema | None:
        found = self._found("subjects", subject, "versions", "latest")
        return None if found is None else self._wire(None, found)

    def versions(self, subject: str) -> list[WireSchema]:
        return list(self.numbered(subject).values())

    def numbered(self, subject: str) -> dict[int, WireSchema]:
        numbers = self._found("subjects", subject, "versions") or []
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise self._strange()
        found = {number: self._found("subjects", subject, "versions", number) for number in numbers}
        return {number: self._wire(None, one) for number, one in found.items() if one is not None}

    def by_id(self, number: int) -> WireSchema | None:
        if number not in self._by_id:
            found = self._found("schemas", "ids", number)
            return None if found is None else self._wire(number, found)
        return self._by_id[number]

    def register(self, subject: str, kind: str, text: str) -> WireSchema:
        told = self.post({"schema": text, "schemaType": kind}, "subjects", subject, "versions")
        if not isinstance(told, dict) or type(told.get("id")) is not int:
            raise self._strange()
        return self._wire(told["id"], {"schema": text, "schemaType": kind})

    def delete(self, subject: str) -> None:
        with suppress(NotFound):
            self.send_delete("subjects", subject)

    def _wire(self, number: int | None, found: dict[str, Any]) -> WireSchema:
        """The schema of an answer, under the id that it was asked by or that the answer has."""
        around: dict[str, str] = {}
        try:
            self._gather(found, around)
            id_, kind = found["id"] if number is None else number, schema_type(found.get("schemaType"))
            if type(id_) is not int or not isinstance(found["schema"], str):
                raise TypeError("an id is a number, and a schema a text")
        except (LookupError, TypeError, AttributeError) as error:
            raise self._strange() from error
        return self._by_id.setdefault(id_, WireSchema(id_, kind, found["schema"], tuple(around.items())))

    def _gather(self, found: dict[str, Any], around: dict[str, str]) -> None:
        for reference in found.get("references") or ():
            if reference["name"] not in around:
                inner = self.get("subjects", reference["subject"], "versions", reference["version"])
                self._gather(inner, around)
                around[reference["name"]] = inner["schema"]

    def _strange(self) -> ExternalError:
        told = (
            f"What answers at {without_login(self.url)} is no schema registry: it says something else than was asked."
        )
        return ExternalError("REGISTRY_STRANGE", told, hint="registry.url is the address of a schema registry.")

    # -- requests

    def get(self, *path: str | int, **query: Any) -> Any:
        return self._send("GET", path, query)

    def post(self, body: Any, *path: str | int, **query: Any) -> Any:
        return self._send("POST", path, query, body)

    def send_delete(self, *path: str | int, **query: Any) -> Any:
        return self._send("DELETE", path, query)

    def _found(self, *path: str | int) -> Any:
        try:
            return self.get(*path)
        except NotFound:
            return None

    def _send(self, method: str, path: tuple[str | int, ...], query: dict[str, Any], body: Any = None) -> Any:
        import httpx

        url = "/".join((self.url, *(quote(str(part), safe="") for part in path)))
        chosen = {name: str(value).lower() for name, value in query.items() if value not in (None, False)}
        try:
            answer = httpx.request(method, url, params=chosen, json=body, timeout=self._timeout, verify=_authorities())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            hint = "Start one with `orion up` or `orion registry`, or name another."
            raise ExternalError(
                "REGISTRY_UNREACHABLE", f"No schema registry answers at {without_login(self.url)}: {error}.", hint=hint
            ) from error
        try:
            value = answer.json()
        except ValueError:
            message = f"{without_login(self.url)} answers with no JSON; is it a schema registry?"
            raise ExternalError(f"REGISTRY_{answer.status_code}", message) from None
        if answer.status_code < 300:
            return value
        raise _refused(answer.status_code, value if isinstance(value, dict) else {})


@cache
def _authorities() -> ssl.SSLContext:
    """Who is trusted: read once, which takes longer than a question."""
    return ssl.create_default_context()


def without_login(url: str) -> str:
    """The address as it may be shown."""
    return _LOGIN.sub(r"\1", url)


def _refused(status: int, body: dict[str, Any]) -> OrionError:
    code, message = f"REGISTRY_{body.get('error_code', status)}", str(body.get("message", f"HTTP {status}"))
    if status == 404:
        return NotFound(code, message)
    if status == 409:
        return Conflict(code, message)
    if status >= 500:
        return ExternalError(code, message)
    return SchemaError(code, message) if code == "REGISTRY_42201" else UserError(code, message)

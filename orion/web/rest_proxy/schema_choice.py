"""By which schema of the registry a key or value is written: what a request says, or the topic's latest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orion.errors import NotFound
from orion.plan.sources import WireSchema, subject
from orion.registry.access import Access
from orion.schema import Role
from orion.web.rest_proxy.bodies import optional_text, whole
from orion.web.rest_proxy.embedded import KINDS, OF_KIND
from orion.web.rest_proxy.refusals import BAD_REQUEST, MESSAGE_SERIALIZATION, SERIALIZATION, ProxyError

_LATEST_S = 5.0  # how long a subject's latest schema is taken for granted
_MOST = 1000


@dataclass(frozen=True, slots=True)
class Chosen:
    """A schema, under which subject and as which version of it."""

    schema: WireSchema
    subject: str
    version: int

    @property
    def format(self) -> str:
        return OF_KIND[self.schema.type]


class SchemaChoice:
    """Asks the registry once for what doesn't change, and now and then for what does. From any thread."""

    def __init__(self, registry: Callable[[], Access]) -> None:
        self._registry = registry
        self._lock = threading.Lock()
        self._registered: dict[tuple[str, str, str], WireSchema] = {}
        self._versions: dict[tuple[str, int], int] = {}
        self._latest: dict[str, tuple[float, WireSchema]] = {}

    def by_id(self, number: int) -> WireSchema | None:
        return self._registry().by_id(number)

    # -- as v2 asks

    def named(self, topic: str, role: Role, name: str, given: tuple[int | None, str | None]) -> WireSchema | None:
        """The schema of a request's id or text, in a format; none where it says neither."""
        number, text = given
        if number is not None:
            return self._known(number, name)
        return None if text is None else self._register(subject(topic, role), KINDS[name], text)

    def _known(self, number: int, name: str) -> WireSchema:
        found = self.by_id(number)
        if found is None:
            raise ProxyError(SERIALIZATION, f"Error when fetching schema by id. schemaId = {number}.")
        if found.type != KINDS[name]:
            raise ProxyError(SERIALIZATION, f"The schema {number} is {found.type} and not {KINDS[name]}.")
        return found

    # -- as v3 asks

    def asked(self, topic: str, role: Role, data: dict[str, Any]) -> Chosen:
        """The schema that a record's own fields name, or else the subject's latest."""
        name = _subject(topic, role, data)
        number, version = (_number(data, field) for field in ("schema_id", "schema_version"))
        text = optional_text(data, "schema")
        kind = None if data.get("type") is None else KINDS[str(data["type"]).lower()]
        if kind is not None and text is None:
            message = "type goes with schema: by schema_id, by schema_version and for the latest leave it out."
            raise ProxyError(BAD_REQUEST, message)
        if number is not None:
            found = self.by_id(number)
            if found is None:
                raise _missing(f"Error when fetching schema by id. schemaId = {number}.")
            return Chosen(found, name, self._version(name, found))
        if version is not None:
            found = self._registry().numbered(name).get(version)
            if found is None:
                raise ProxyError(BAD_REQUEST, f"Schema does not exist for subject: {name}, version: {version}.")
            return Chosen(found, name, version)
        if text is not None:
            if kind is None:
                raise ProxyError(BAD_REQUEST, "schema needs type: AVRO, JSONSCHEMA or PROTOBUF.")
            found = self._register(name, kind, text)
        else:
            found = self._last(name)
        return Chosen(found, name, self._version(name, found))

    def _last(self, name: str) -> WireSchema:
        asked, found = self._latest.get(name, (0.0, None))
        if found is None or time.monotonic() - asked > _LATEST_S:
            found = self._registry().latest(name)
            if found is None:
                raise _missing(f"Error when fetching latest schema version. subject = {name}.")
            self._latest[name] = (time.monotonic(), found)
        return found

    def _version(self, name: str, schema: WireSchema) -> int:
        key = (name, schema.id)
        if key not in self._versions:
            for number, one in self._registry().numbered(name).items():
                self._keep(self._versions, (name, one.id), number)
        if key not in self._versions:
            raise _missing(f"Error when fetching schema version. subject = {name}, schema id = {schema.id}.")
        return self._versions[key]

    def _register(self, name: str, kind: str, text: str) -> WireSchema:
        key = (name, kind, text)
        if key not in self._registered:
            try:
                self._keep(self._registered, key, self._registry().register(name, kind, text))
            except NotFound as error:
                raise _missing(error.message) from error
        return self._registered[key]

    def _keep(self, known: dict[Any, Any], key: Any, value: Any) -> None:
        with self._lock:
            while len(known) >= _MOST:
                known.pop(next(iter(known)))
            known[key] = value


def _subject(topic: str, role: Role, data: dict[str, Any]) -> str:
    strategy = data.get("subject_name_strategy")
    if strategy not in (None, "TOPIC_NAME"):
        hint = "Name the subject itself, or leave it out."
        raise ProxyError(BAD_REQUEST, f"subject_name_strategy {strategy} isn't known here.", hint=hint)
    return optional_text(data, "subject") or subject(topic, role)


def _number(data: dict[str, Any], name: str) -> int | None:
    return None if data.get(name) is None else whole(data, name)


def _missing(message: str) -> ProxyError:
    return ProxyError(MESSAGE_SERIALIZATION, message)

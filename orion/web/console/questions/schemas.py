"""Schemas: subjects and versions of the registry, here or elsewhere; what differs, what may follow, and a new one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from orion.app import Orion
from orion.errors import NotFound
from orion.registry.access import Remote
from orion.registry.schemas import Schema, schema_type
from orion.registry.store import Registry, Wanted
from orion.web.console.questions.comparing import Lines, compare_lines
from orion.web.console.questions.decoding import spread

_TOLD = ("{oldSchema", "{compatibility", "{validateFields")


@dataclass(frozen=True, slots=True)
class Entry:
    """A version of a subject."""

    subject: str
    version: int
    id: int
    type: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a schema may follow, and if not why."""

    fits: bool
    messages: tuple[str, ...] = ()


class Shelf(Protocol):
    """What pages ask of a registry."""

    def newest(self) -> list[Entry]: ...
    def versions(self, subject: str) -> list[Entry]: ...
    def level(self, subject: str) -> str: ...
    def check(self, subject: str, kind: str, text: str) -> Verdict: ...
    def register(self, subject: str, kind: str, text: str) -> int: ...
    def referring_subjects(self, subject: str) -> list[str]:
        """The subjects whose schemas refer to one of it: as long as there are any, it can't be deleted."""
        ...

    def delete(self, subject: str) -> None: ...


def shelf(orion: Orion) -> Shelf:
    """The registry of this process, or the one that is used instead; raises where there is none."""
    if orion.registry is not None:
        return Own(orion.registry)
    access = orion.engine.schemas.registry
    if isinstance(access, Remote):
        return Elsewhere(access)
    raise NotFound("NO_REGISTRY", "This platform runs no schema registry.", hint="Set registry.enabled: true.")


class Own:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def newest(self) -> list[Entry]:
        return [_entry(one) for one in self._registry.all_versions(latest_only=True)]

    def versions(self, subject: str) -> list[Entry]:
        numbers = self._registry.versions(subject)
        return [_entry(self._registry.version(subject, number)) for number in reversed(numbers)]

    def level(self, subject: str) -> str:
        return str(self._registry.settings.level(subject))

    def check(self, subject: str, kind: str, text: str) -> Verdict:
        conflict = self._registry.check(subject, Schema(text, schema_type(kind)))
        return Verdict(True) if conflict is None else Verdict(False, _telling(conflict.messages()))

    def register(self, subject: str, kind: str, text: str) -> int:
        return self._registry.register(subject, Wanted(Schema(text, schema_type(kind)))).id

    def referring_subjects(self, subject: str) -> list[str]:
        registry = self._registry
        ids = {i for number in registry.versions(subject) for i in registry.referenced_by(subject, number)}
        return sorted({one.subject for one in registry.all_versions() if one.id in ids} - {subject})

    def delete(self, subject: str) -> None:
        self._registry.delete_subject(subject)


class Elsewhere:
    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def newest(self) -> list[Entry]:
        return [_told(one) for one in self._remote.get("schemas", latestOnly=True)]

    def versions(self, subject: str) -> list[Entry]:
        numbers = self._remote.get("subjects", subject, "versions")
        return [_told(self._remote.get("subjects", subject, "versions", n)) for n in sorted(numbers, reverse=True)]

    def level(self, subject: str) -> str:
        found = self._remote.get("config", subject, defaultToGlobal=True)
        return str(found.get("compatibilityLevel", ""))

    def check(self, subject: str, kind: str, text: str) -> Verdict:
        body = {"schema": text, "schemaType": kind}
        try:
            answer = self._remote.post(body, "compatibility", "subjects", subject, "versions", verbose=True)
        except NotFound:  # nothing is there that it would have to follow
            return Verdict(True)
        return Verdict(bool(answer["is_compatible"]), _telling(answer.get("messages") or ()))

    def register(self, subject: str, kind: str, text: str) -> int:
        return self._remote.register(subject, kind, text).id

    def referring_subjects(self, subject: str) -> list[str]:
        numbers = self._remote.get("subjects", subject, "versions")
        ids = {i for n in numbers for i in self._remote.get("subjects", subject, "versions", n, "referencedby")}
        found = (self._remote.get("schemas", "ids", number, "versions") for number in sorted(ids))
        return sorted({one["subject"] for versions in found for one in versions} - {subject})

    def delete(self, subject: str) -> None:
        self._remote.delete(subject)


def _entry(version: Any) -> Entry:
    return Entry(version.subject, version.version, version.id, version.schema.type, version.schema.text)


def _told(one: dict[str, Any]) -> Entry:
    return Entry(one["subject"], one["version"], one["id"], one.get("schemaType") or "AVRO", one["schema"])


def _telling(messages: Sequence[str]) -> tuple[str, ...]:
    return tuple(message for message in messages if not message.startswith(_TOLD))


def readable(entry: Entry) -> str:
    """JSON spread over lines; Protobuf as it is."""
    if entry.type == "PROTOBUF":
        return entry.text.rstrip("\n")
    return spread(json.loads(entry.text))


def difference(before: Entry, after: Entry) -> Lines:
    return compare_lines(readable(before), readable(after))

"""What the registry knows: the fold of its records, in the order of the log."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

from orion.registry.records import (
    DeleteSubject,
    Entry,
    Mode,
    PutConfig,
    PutContext,
    PutHighest,
    PutMode,
    PutVersion,
    RemoveVersion,
    Version,
)
from orion.registry.schemas import Reference, Schema

DEFAULT_CONTEXT = "."
_QUALIFIED = re.compile(r":(\.[^:]*):(.*)", re.DOTALL)


def split(subject: str) -> tuple[str, str]:
    """A subject's context and its name inside: `:.team:orders` is `orders` in `.team`."""
    found = _QUALIFIED.fullmatch(subject)
    return (found[1], found[2]) if found else (DEFAULT_CONTEXT, subject)


def context_of(subject: str) -> str:
    return split(subject)[0]


def qualified(context: str, subject: str) -> str:
    """The full name of a subject in a context."""
    return subject if context == DEFAULT_CONTEXT else f":{context}:{subject}"


def target(reference: Reference, subject: str) -> str:
    """The full name of what a schema of a subject refers to: a bare name is of the same context."""
    if context_of(reference.subject) != DEFAULT_CONTEXT:
        return reference.subject
    return qualified(context_of(subject), reference.subject)


class State:
    """Changed by `apply` alone."""

    def __init__(self) -> None:
        self.subjects: dict[str, dict[int, Version]] = {}
        self.config: dict[str | None, Mapping[str, Any]] = {}
        self.mode: dict[str | None, Mode] = {}
        # Ids and what is equal are each context's own.
        self._by_id: dict[str, dict[int, Schema]] = defaultdict(dict)
        self._ids: dict[str, dict[bytes, set[int]]] = defaultdict(lambda: defaultdict(set))
        self._uses: dict[tuple[str, int], dict[tuple[str, int], None]] = defaultdict(dict)
        self._by_guid: dict[str, dict[tuple[str, int], None]] = defaultdict(dict)
        self._contexts: dict[str, None] = {}
        self._highest: dict[str, int] = defaultdict(int)
        self._referring: dict[tuple[str, int], dict[tuple[str, int], None]] = defaultdict(dict)

    # -- questions

    def schema(self, context: str, number: int) -> Schema | None:
        return self._by_id[context].get(number) if context in self._by_id else None

    def by_guid(self, guid: str) -> list[tuple[str, int]]:
        """Context and id, wherever the schema is."""
        return sorted(self._by_guid.get(guid, ()))

    def id_of(self, context: str, schema: Schema) -> int | None:
        return min(self._ids[context].get(schema.digest, ()), default=None) if context in self._ids else None

    def highest_id(self, context: str) -> int:
        return self._highest.get(context, 0)

    def highest_ids(self) -> dict[str, int]:
        return dict(self._highest)

    def uses(self, context: str, number: int) -> list[Version]:
        """The versions that have this id, by subject; the order of the log may change when it is compacted."""
        places = sorted(self._uses.get((context, number), ()))
        return [self.subjects[subject][version] for subject, version in places]

    def referring(self, subject: str, version: int) -> list[Version]:
        """The versions that refer to this one."""
        places = sorted(self._referring.get((subject, version), ()))
        return [self.subjects[name][number] for name, number in places]

    def contexts(self) -> list[str]:
        found = {context_of(subject) for subject in self.subjects}
        return sorted({*found, *self._contexts, DEFAULT_CONTEXT})

    def knows_context(self, context: str) -> bool:
        """Whether there is a record of it."""
        return context == DEFAULT_CONTEXT or context in self._contexts

    def holds_any(self, scope: str | None) -> bool:
        """Whether a subject, a context or the registry has a version that isn't soft-deleted."""
        if scope is None:
            return any(self._alive(subject) for subject in self.subjects)
        context, name = split(scope)
        if name:
            return self._alive(scope)
        return any(self._alive(subject) for subject in self.subjects if context_of(subject) == context)

    def _alive(self, subject: str) -> bool:
        return any(not one.deleted for one in self.subjects.get(subject, {}).values())

    # -- the fold

    def apply(self, entry: Entry) -> None:
        match entry:
            case PutVersion():
                self._put(entry.version)
            case RemoveVersion():
                self._remove(entry.subject, entry.version)
            case DeleteSubject():
                for number, version in self.subjects.get(entry.subject, {}).items():
                    if number <= entry.version:
                        self.subjects[entry.subject][number] = replace(version, deleted=True)
            case PutConfig():
                if entry.config is None:
                    self.config.pop(entry.subject, None)
                else:
                    self.config[entry.subject] = entry.config
            case PutMode():
                if entry.mode is None:
                    self.mode.pop(entry.subject, None)
                else:
                    self.mode[entry.subject] = entry.mode
            case PutContext():
                if entry.there:
                    self._contexts[entry.context] = None
                else:
                    self._contexts.pop(entry.context, None)
            case PutHighest():
                for context, number in entry.ids.items():
                    self._highest[context] = max(self._highest[context], number)
            case _:
                assert_never(entry)

    def _put(self, version: Version) -> None:
        context = context_of(version.subject)
        place = (version.subject, version.version)
        before = self.subjects.get(version.subject, {}).get(version.version)
        if before is not None and (before.id != version.id or before.schema != version.schema):
            self._remove(*place)
        self.subjects.setdefault(version.subject, {})[version.version] = version
        self._by_id[context][version.id] = version.schema
        self._ids[context][version.schema.digest].add(version.id)
        self._by_guid[version.schema.guid][context, version.id] = None
        self._uses[context, version.id][place] = None
        self._highest[context] = max(self._highest[context], version.id)
        for reference in version.schema.references:
            self._referring[target(reference, version.subject), reference.version][place] = None

    def _remove(self, subject: str, number: int) -> None:
        versions = self.subjects.get(subject, {})
        gone = versions.pop(number, None)
        if gone is None:
            return
        if not versions:
            del self.subjects[subject]
        context = context_of(subject)
        for reference in gone.schema.references:
            self._referring[target(reference, subject), reference.version].pop((subject, number), None)
        uses = self._uses[context, gone.id]
        uses.pop((subject, number), None)
        if not uses:
            # An id is never given again, but nobody finds a schema under it any more.
            del self._uses[context, gone.id]
            self._by_id[context].pop(gone.id, None)
            self._by_guid[gone.schema.guid].pop((context, gone.id), None)
            self._ids[context][gone.schema.digest].discard(gone.id)

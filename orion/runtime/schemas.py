"""What running queries know of the schema registry.

A query is told its topics' schemas when it starts (`bound`). A record that names another one stops its batch; `learn`
asks the registry for it, and the query starts again from where it was. While the registry is away, what is known goes
on, and what isn't waits.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import structlog

from orion.errors import ConfigError, ExternalError, OrionError, SchemaError
from orion.formats import schema_format_of
from orion.formats.wire import framing
from orion.formats.wire.shown import shown
from orion.plan.relations import Query, Relation, reading
from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, Source, WireSchema, Wiring, subject
from orion.plan.steps import AssertSchema, RegisterSchema
from orion.registry.access import Access
from orion.schema import Role

log = structlog.get_logger()

# A follower of the registry may hear of a schema a little later than the records that name it.
_PATIENCE_S = 3.0
_AGAIN_S = 0.5


class Schemas:
    def __init__(self, registry: Access | None, patience_s: float = _PATIENCE_S) -> None:
        self._registry = registry
        self._patience_s = patience_s
        self._lock = threading.RLock()
        self._known: dict[str, dict[int, WireSchema]] = defaultdict(dict)
        self._unknown: dict[str, set[int]] = defaultdict(set)
        self._written: dict[tuple[str, str], WireSchema] = {}
        self._by_id: dict[int, WireSchema] = {}
        self._first_asked: dict[tuple[str, int], float] = {}

    @property
    def registry(self) -> Access:
        """The registry itself; raises where there is none."""
        return self._access()

    # ---- for statements ----------------------------------------------------------------------------------------

    def infer(self, topic: str, role: Role, serde: Serde) -> Inferred | None:
        found = self._named(topic, role, serde)
        if found is None:
            return None
        _check_type(found, serde)
        return schema_format_of(serde).columns_of(found, serde, role)

    def _named(self, topic: str, role: Role, serde: Serde) -> WireSchema | None:
        if serde.schema_id is not None:
            return self._access().by_id(serde.schema_id)
        return self._access().latest(subject(topic, role))

    def register(self, step: RegisterSchema) -> str:
        name = subject(step.source.topic, step.role)
        if step.declared and self._access().latest(name) is not None:
            return f"Schema {name} is there."
        made = self._register(step.source, step.role)
        return f"Schema {name} has the id {made.id}."

    def forget(self, source: Source) -> None:
        """The source's topic is gone, and its schemas with it: who comes next may have others."""
        for role in source.schema_roles:
            name = subject(source.topic, role)
            with self._lock:
                self._known.pop(name, None)
                self._unknown.pop(name, None)
                self._written = {place: one for place, one in self._written.items() if place[0] != name}
            try:
                self._access().delete(name)
            except OrionError as error:  # it is away, or others refer to the schema: what is left harms nobody
                log.warning("schema not deleted", subject=name, reason=error.message)

    def problem(self, step: AssertSchema) -> str | None:
        """What is against an assertion."""
        there = self._access().latest(step.subject) if step.subject is not None else None
        if step.id is not None:
            found = self._access().by_id(step.id)
            in_subject = step.subject is None or any(v.id == step.id for v in self._access().versions(step.subject))
            there = found if in_subject else None
        if (there is not None) is step.exists:
            return None
        return f"A schema with {step.named} {'does not exist' if step.exists else 'exists'}."

    def by_id(self, number: int) -> WireSchema | None:
        """The schema that a record names; asked for once."""
        found = self._by_id.get(number)
        if found is None:
            found = self._access().by_id(number)
            if found is not None:
                self._by_id[number] = found
        return found

    def shown(self, raw: bytes | None) -> str | None:
        """A record's key or value as JSON, if it names a schema that the registry knows."""
        return None if self._registry is None else shown(raw, self._registry.by_id)

    # ---- for queries -------------------------------------------------------------------------------------------

    def bound(self, query: Query) -> Query:
        """The query with what its records' schemas are, as far as the registry tells."""
        return replace(query, relation=self.bound_relation(query.relation), sink=self.written(query.sink))

    def bound_relation(self, relation: Relation) -> Relation:
        return reading(relation, self.read)

    def read(self, source: Source) -> Source:
        """The source, told the schemas that its records may name."""
        return self._wired(source, self._reads)

    def written(self, sink: Source) -> Source:
        """The source, told the schemas that its new records name."""
        return self._wired(sink, self._writes)

    def _wired(self, source: Source, wiring: Callable[[Source, Role], Wiring]) -> Source:
        def serde(role: Role) -> Serde:
            given = source.serde(role)
            return replace(given, wiring=wiring(source, role)) if role in source.schema_roles else given

        return replace(source, key=serde(Role.KEY), value=serde(Role.VALUE))

    def _reads(self, source: Source, role: Role) -> Wiring:
        name = subject(source.topic, role)
        serde = source.serde(role)
        with self._lock:
            known = self._known[name]
            try:
                found = self._access().versions(name)
                found += [self._of_id(serde.schema_id)] if serde.schema_id is not None else []
                known |= {one.id: one for one in found if one.type == serde.schema_type}
            except ExternalError:
                if not known:  # nothing could be read at all
                    raise
            return Wiring(name, tuple(known.values()), tuple(sorted(self._unknown[name] - known.keys())))

    def _writes(self, source: Source, role: Role) -> Wiring:
        name, serde = subject(source.topic, role), source.serde(role)
        if serde.schema_id is not None:
            return Wiring(name, writes=self._of_id(serde.schema_id))
        if source.query_id is None:
            # Somebody else's topic: its own schema, with the names it has there.
            latest = self._access().latest(name)
            if latest is not None:
                _check_type(latest, serde)
                return Wiring(name, writes=latest)
        return Wiring(name, writes=self._register(source, role))

    def _register(self, source: Source, role: Role) -> WireSchema:
        name, serde = subject(source.topic, role), source.serde(role)
        text = schema_format_of(serde).schema_of(source.columns(role), serde)
        with self._lock:
            if (name, text) not in self._written:
                self._written[name, text] = self._access().register(name, serde.schema_type or "", text)
            return self._written[name, text]

    def _of_id(self, number: int) -> WireSchema:
        found = self._access().by_id(number)
        if found is None:
            raise SchemaError("SCHEMA_MISSING", f"The schema registry knows no schema {number}.")
        return found

    def learn(self, error: str) -> bool:
        """Whether an error was a question for a schema, and is answered now.

        Raises ExternalError as long as there is no answer.
        """
        asked = framing.unknown_id(error)
        if asked is None:
            return False
        name, number = asked
        try:
            found = self._access().by_id(number)
        except ExternalError as away:
            message = f"waits for schema {number} of {name}: {away.message}"
            raise ExternalError("SCHEMA_AWAITED", message, retry_after=_AGAIN_S) from away
        with self._lock:
            if found is not None:
                self._known[name][number] = found
                return True
            first = self._first_asked.setdefault(asked, time.monotonic())
            if time.monotonic() - first < self._patience_s:
                message = f"waits for schema {number} of {name}: the registry doesn't know it yet"
                raise ExternalError("SCHEMA_AWAITED", message, retry_after=_AGAIN_S)
            del self._first_asked[asked]
            self._unknown[name].add(number)
            return True

    def _access(self) -> Access:
        if self._registry is None:
            hint = "Set registry.enabled: true or registry.url in orion.yaml."
            raise ConfigError("REGISTRY_MISSING", "This format needs a schema registry, and there is none.", hint=hint)
        return self._registry


def _check_type(found: WireSchema, serde: Serde) -> None:
    if found.type != serde.schema_type:
        message = f"The schema {found.id} is {found.type}, and the format {serde.format} has {serde.schema_type}."
        raise SchemaError("SCHEMA_UNFIT", message)

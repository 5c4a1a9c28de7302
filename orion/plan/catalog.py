"""What exists: an immutable value, the fold of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar, assert_never

from orion.plan.codec import dumps
from orion.plan.definitions import CustomType, PythonFunction
from orion.plan.relations import Query
from orion.plan.sources import Connector, Source
from orion.plan.steps import (
    CreateConnector,
    DefineFunction,
    DefineSource,
    DefineType,
    DropConnector,
    DropFunction,
    DropSource,
    DropType,
    PauseQuery,
    ReplaceQuery,
    ResumeQuery,
    StartQuery,
    SteerConnector,
    Step,
    StopQuery,
)

T = TypeVar("T")

Entry = Source | Query | Connector | CustomType | PythonFunction
EntryClass = type[Source] | type[Query] | type[Connector] | type[CustomType] | type[PythonFunction]


def _empty() -> Mapping[str, T]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Catalog:
    """`version` counts the journal's entries, and so gives each query a number that is never used twice."""

    sources: Mapping[str, Source] = field(default_factory=_empty)
    queries: Mapping[str, Query] = field(default_factory=_empty)
    connectors: Mapping[str, Connector] = field(default_factory=_empty)
    types: Mapping[str, CustomType] = field(default_factory=_empty)
    functions: Mapping[str, PythonFunction] = field(default_factory=_empty)
    version: int = 0

    def put(self, entry: Entry) -> Catalog:
        match entry:
            case Source():
                return replace(self, sources=_with(self.sources, entry.name, entry))
            case Query():
                return replace(self, queries=_with(self.queries, entry.id, entry))
            case Connector():
                return replace(self, connectors=_with(self.connectors, entry.name, entry))
            case CustomType():
                return replace(self, types=_with(self.types, entry.name, entry))
            case PythonFunction():
                return replace(self, functions=_with(self.functions, entry.name, entry))
            case _:
                assert_never(entry)

    def drop(self, kind: EntryClass, name: str) -> Catalog:
        if kind is Source:
            return replace(self, sources=_without(self.sources, name))
        if kind is Query:
            return replace(self, queries=_without(self.queries, name))
        if kind is Connector:
            return replace(self, connectors=_without(self.connectors, name))
        if kind is CustomType:
            return replace(self, types=_without(self.types, name))
        return replace(self, functions=_without(self.functions, name))

    def after(self, step: Step) -> Catalog:
        """What exists once a step is done, for whoever has no journal: tests, and plans of several statements."""
        changed = self._after(step)
        return self if changed is self else replace(changed, version=self.version + 1)

    def _after(self, step: Step) -> Catalog:
        match step:
            case DefineSource(source):
                return self.put(source)
            case StartQuery(query):
                return self.put(query)
            case ReplaceQuery(id, query):
                return self.drop(Query, id).put(query)
            case StopQuery(id):
                return self.drop(Query, id)
            case PauseQuery(id) | ResumeQuery(id):
                return self.put(replace(self.queries[id], paused=isinstance(step, PauseQuery)))
            case DropSource(name):
                return self.drop(Source, name)
            case CreateConnector(connector):
                return self.put(connector)
            case DropConnector(name):
                return self.drop(Connector, name)
            case SteerConnector(name, wanted):
                return self.put(replace(self.connectors[name], wanted=wanted))
            case DefineType(type_):
                return self.put(type_)
            case DropType(name):
                return self.drop(CustomType, name)
            case DefineFunction(function):
                return self.put(function)
            case DropFunction(name):
                return self.drop(PythonFunction, name)
            case _:
                return self

    def readers_of(self, source: str) -> list[str]:
        """Ids of the queries and names of the connectors that read a source."""
        return [q.id for q in self.queries.values() if source in q.sources] + [
            c.name for c in self.connectors.values() if any(s.name == source for s in c.sources)
        ]

    def is_headed(self, topic: str) -> bool:
        """Whether a fast statement writes the topic, or has written it."""
        return any(s.headed for s in self.sources.values() if s.topic == topic)

    def writers_of(self, source: str) -> list[str]:
        return [q.id for q in self.queries.values() if q.sink.name == source]

    def callers_of(self, function: PythonFunction) -> list[str]:
        """Ids of the queries that call a Python function, by the name that Spark knows this very body by."""
        called = f"{function.spark_name}("
        return [q.id for q in self.queries.values() if called in dumps(q.relation)]


def _with(mapping: Mapping[str, T], key: str, value: T) -> Mapping[str, T]:
    return MappingProxyType({**mapping, key: value})


def _without(mapping: Mapping[str, T], key: str) -> Mapping[str, T]:
    return MappingProxyType({k: v for k, v in mapping.items() if k != key})

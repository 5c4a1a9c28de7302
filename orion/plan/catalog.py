"""What exists: an immutable value, the fold of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

from orion.plan.relations import Query
from orion.plan.sources import Connector, Source
from orion.plan.steps import CreateConnector, DefineSource, DropConnector, DropSource, StartQuery, Step, StopQuery

T = TypeVar("T")


def _empty() -> Mapping[str, T]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Catalog:
    """`version` counts the journal's entries, and so gives each query a number that is never used twice."""

    sources: Mapping[str, Source] = field(default_factory=_empty)
    queries: Mapping[str, Query] = field(default_factory=_empty)
    connectors: Mapping[str, Connector] = field(default_factory=_empty)
    version: int = 0

    def put(self, entry: Source | Query | Connector) -> Catalog:
        match entry:
            case Source():
                return replace(self, sources=_with(self.sources, entry.name, entry))
            case Query():
                return replace(self, queries=_with(self.queries, entry.id, entry))
            case Connector():
                return replace(self, connectors=_with(self.connectors, entry.name, entry))

    def drop(self, kind: type[Source] | type[Query] | type[Connector], name: str) -> Catalog:
        if kind is Source:
            return replace(self, sources=_without(self.sources, name))
        if kind is Query:
            return replace(self, queries=_without(self.queries, name))
        return replace(self, connectors=_without(self.connectors, name))

    def after(self, step: Step) -> Catalog:
        """What exists once a step is done, for whoever has no journal: tests, and plans of several statements."""
        match step:
            case DefineSource(source):
                return replace(self.put(source), version=self.version + 1)
            case StartQuery(query):
                return replace(self.put(query), version=self.version + 1)
            case StopQuery(id):
                return self.drop(Query, id)
            case DropSource(name):
                return self.drop(Source, name)
            case CreateConnector(connector):
                return self.put(connector)
            case DropConnector(name):
                return self.drop(Connector, name)
            case _:
                return self

    def readers_of(self, source: str) -> list[str]:
        """Ids of the queries and names of the connectors that read a source."""
        return [q.id for q in self.queries.values() if source in q.sources] + [
            c.name for c in self.connectors.values() if any(s.name == source for s in c.sources)
        ]

    def writers_of(self, source: str) -> list[str]:
        return [q.id for q in self.queries.values() if q.sink.name == source]


def _with(mapping: Mapping[str, T], key: str, value: T) -> Mapping[str, T]:
    return MappingProxyType({**mapping, key: value})


def _without(mapping: Mapping[str, T], key: str) -> Mapping[str, T]:
    return MappingProxyType({k: v for k, v in mapping.items() if k != key})

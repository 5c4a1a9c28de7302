"""The catalog's own log: a compacted topic of desired state. What exists is the fold of it.

An entry is one source, query, connector, type or function under its name; a tombstone is its end. No entry hangs on the
order of others, so one that can't be read is passed over and reported, and everything else comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

import structlog

from orion.hub.durable import DurableWriter
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Outgoing, Position
from orion.plan.catalog import Catalog, Entry, EntryClass
from orion.plan.codec import dumps, loads
from orion.plan.definitions import CustomType, PythonFunction
from orion.plan.relations import Query
from orion.plan.sources import Connector, Source

log = structlog.get_logger()

_KINDS: dict[str, EntryClass] = {
    "source": Source,
    "query": Query,
    "connector": Connector,
    "type": CustomType,
    "function": PythonFunction,
}
_CONFIG = {"cleanup.policy": "compact", "retention.ms": "-1", "min.cleanable.dirty.ratio": "0.1"}


def journal_topic(service_id: str) -> str:
    return f"_{service_id}_catalog"


@dataclass
class Journal:
    kafka: Kafka
    topic: str
    writer: DurableWriter
    problems: list[str] = field(default_factory=list)

    def open(self) -> Catalog:
        """Read everything; make the topic when it isn't there."""
        self.kafka.create_topic(self.topic, 1, config=_CONFIG, exist_ok=True)
        return self.read()

    def read(self) -> Catalog:
        """What is in the topic; raises NotFound where there is none."""
        catalog = Catalog()
        with Reader(self.kafka, self.topic, Position("earliest")) as reader:
            while not reader.at_end:
                for record in reader.read(500, 1.0):
                    catalog = self._folded(catalog, record.key or b"", record.value)
                    catalog = replace(catalog, version=record.offset + 1)
        return catalog

    def _folded(self, catalog: Catalog, key: bytes, value: bytes | None) -> Catalog:
        kind, _, name = key.decode("utf-8", "replace").partition("/")
        if kind not in _KINDS:
            self._report(f"entry {key!r} is of no known kind")
            return catalog
        if value is None:
            return catalog.drop(_KINDS[kind], name)
        try:
            return catalog.put(loads(value))
        except (ValueError, KeyError, TypeError) as error:
            self._report(f"{kind} {name} can't be read: {error}")
            return catalog

    def _report(self, problem: str) -> None:
        self.problems.append(problem)
        log.warning("journal", problem=problem)

    def put(self, catalog: Catalog, entry: Entry) -> Catalog:
        """Write an entry, and the catalog with it in."""
        kind, name = _identity(entry)
        return replace(catalog.put(entry), version=self._write(kind, name, dumps(entry).encode()))

    def drop(self, catalog: Catalog, kind: EntryClass, name: str) -> Catalog:
        word = next(w for w, k in _KINDS.items() if k is kind)
        return replace(catalog.drop(_KINDS[word], name), version=self._write(word, name, None))

    def _write(self, kind: str, name: str, value: bytes | None) -> int:
        return self.writer.write(self.topic, Outgoing(value, f"{kind}/{name}".encode())).offset + 1


def _identity(entry: Entry) -> tuple[str, str]:
    match entry:
        case Source():
            return "source", entry.name
        case Query():
            return "query", entry.id
        case Connector():
            return "connector", entry.name
        case CustomType():
            return "type", entry.name
        case PythonFunction():
            return "function", entry.name
        case _:
            assert_never(entry)

"""The catalog's own log: a compacted topic of desired state. What exists is the fold of it.

An entry is one source, query, connector, type or function under its name; a tombstone is its end. No entry hangs on the
order of others, so one that can't be read is passed over and reported, and everything else comes back. One that a newer
Orion wrote is held for it: nothing is written over it, and nothing that belongs to it is tidied away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

import structlog

from orion.errors import Conflict
from orion.hub.durable import DurableWriter
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Outgoing, Position
from orion.plan.catalog import Catalog, Entry, EntryClass
from orion.plan.definitions import CustomType, PythonFunction
from orion.plan.entries import decode_entry, encode_entry
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
    unread: dict[str, bool] = field(default_factory=dict)  # keys of entries that can't be; True: a newer Orion's

    def open(self) -> Catalog:
        """Read everything; make the topic when it isn't there."""
        self.kafka.create_topic(self.topic, 1, config=_CONFIG, exist_ok=True)
        return self.read()

    def read(self) -> Catalog:
        """What is in the topic; raises NotFound where there is none."""
        last: dict[bytes, bytes] = {}
        version = 0
        with Reader(self.kafka, self.topic, Position("earliest")) as reader:
            while not reader.at_end:
                for record in reader.read(500, 1.0):
                    version = record.offset + 1
                    if record.value is None:
                        last.pop(record.key or b"", None)
                    else:
                        last[record.key or b""] = record.value
        return replace(self.fold_entries(last.items()), version=version)

    def fold_entries(self, last: Iterable[tuple[bytes, bytes]]) -> Catalog:
        """The catalog of each key's last entry: what was before it counts no more, also where it can't be read."""
        catalog = Catalog()
        for key, value in last:
            word, _, name = key.decode("utf-8", "replace").partition("/")
            if word not in _KINDS:
                self._report(f"entry {key!r} is of no known kind")
                continue
            try:
                catalog = catalog.put(decode_entry(value))
            except Conflict as error:
                self._pass_over(word, name, f"{error.message}. It is kept as it is. {error.hint}", newer=True)
            except (ValueError, KeyError, TypeError) as error:
                self._pass_over(word, name, str(error), newer=False)
        return catalog

    def _pass_over(self, word: str, name: str, why: str, *, newer: bool) -> None:
        self.unread[f"{word}/{name}"] = newer
        self._report(f"{word} {name} can't be read: {why}")

    def _report(self, problem: str) -> None:
        self.problems.append(problem)
        log.warning("journal", problem=problem)

    def check_free(self, kind: EntryClass, name: str) -> None:
        """Raise where an entry of this name is a newer Orion's."""
        self._check_free(_word(kind), name)

    def put(self, catalog: Catalog, entry: Entry) -> Catalog:
        """Write an entry, and the catalog with it in."""
        kind, name = _identity(entry)
        return replace(catalog.put(entry), version=self._write(kind, name, encode_entry(entry)))

    def drop(self, catalog: Catalog, kind: EntryClass, name: str) -> Catalog:
        return replace(catalog.drop(kind, name), version=self._write(_word(kind), name, None))

    def _write(self, word: str, name: str, value: bytes | None) -> int:
        self._check_free(word, name)
        key = f"{word}/{name}"
        written = self.writer.write(self.topic, Outgoing(value, key.encode())).offset + 1
        self.unread.pop(key, None)
        return written

    def _check_free(self, word: str, name: str) -> None:
        if self.unread.get(f"{word}/{name}"):
            message = f"The {word} {name} was made by a newer Orion, and this one can't read it."
            raise Conflict("NEWER_ORION", message, hint="Upgrade Orion: it is kept until then.")


def _word(kind: EntryClass) -> str:
    return next(word for word, known in _KINDS.items() if known is kind)


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

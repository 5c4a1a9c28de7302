"""All tables that answer: which there are follows the catalog."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb

from orion.config import Serving
from orion.errors import NotFound
from orion.hub.kafka import Kafka
from orion.plan.catalog import Catalog
from orion.plan.interruption import Interruption
from orion.plan.sources import Source, WireSchema
from orion.plan.steps import Pull
from orion.serving.feed import Feed, TableStatus
from orion.serving.hot import HotRows
from orion.serving.last_rows import LastRows
from orion.serving.pull import Pulled, run
from orion.serving.relations import Relation, relation_of
from orion.serving.store import Layout, Store

FOLDER, FILE = "serving", "tables.duckdb"


class Tables:
    def __init__(
        self,
        kafka: Kafka,
        schema_of: Callable[[int], WireSchema | None],
        data: Path,
        settings: Serving,
    ) -> None:
        self.store = Store(data / FOLDER / FILE, settings.memory_limit, settings.max_rows)
        self.hot = HotRows(settings.hot_rows)
        self.last = LastRows(settings.last_rows)
        self._kafka, self._schema_of = kafka, schema_of
        self._lock = threading.Lock()
        self._feeds: dict[str, Feed] = {}
        self._followed: Mapping[str, Source] | None = None
        self._shown: dict[str, tuple[Source, str, Relation]] = {}  # with what a table is known by in the database

    def follow(self, catalog: Catalog) -> None:
        """Keep the tables that the catalog has now, and no others."""
        if catalog.sources is self._followed:
            return
        with self._lock:
            wanted = {s.name: s for s in catalog.sources.values() if s.is_served}
            for name, feed in list(self._feeds.items()):
                same = name in wanted and Layout(wanted[name]).fingerprint() == Layout(feed.source).fingerprint()
                if not same:
                    feed.close()
                    del self._feeds[name]
            for name in set(self.store.names()) - wanted.keys():
                self.store.drop(name)
                self.hot.drop(name)
                self.last.drop(name)
            for name, source in wanted.items():
                if name not in self._feeds:
                    self._feeds[name] = Feed(source, self.store, self._kafka, self._schema_of, (self.hot, self.last))
            self._followed = catalog.sources

    def run(self, pull: Pull, parameters: list[Any], interruption: Interruption | None = None) -> Pulled:
        """The rows, by DuckDB; raises OutOfReach where it can't."""
        if not pull.is_lookup:
            return run(pull, self.store, parameters, interruption)
        found = self._found(pull, parameters)
        if found is None:
            version = self.hot.version(pull)
            found = run(pull, self.store, parameters)
            self.hot.put(pull, parameters, found, version)
        return found

    def at_hand(self, pull: Pull, parameters: list[Any]) -> Pulled | None:
        """An answer that needs no work at all, if there is one."""
        feed = self._feeds.get(pull.reads[0].name) if pull.is_lookup else None
        if feed is None or not feed.is_built or feed.error is not None:
            return None
        return self._found(pull, parameters)

    def _found(self, pull: Pull, parameters: list[Any]) -> Pulled | None:
        found = None if pull.row is None else self.last.get(pull, parameters[0])
        return self.hot.get(pull, parameters) if found is None else found

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection to the database that holds the tables, for who only reads and closes it."""
        return self.store.connection()

    def relations(self) -> list[Relation]:
        """The tables as clients see them: those that the database has now, with the columns that it has them with."""
        found = []
        for name, fingerprint in self.store.fingerprints().items():
            feed = self._feeds.get(name)
            if feed is None:
                continue
            known = self._shown.get(name)
            if known is None or known[0] is not feed.source:
                layout = Layout(feed.source)
                known = (feed.source, layout.fingerprint(), relation_of(layout, self.store.database))
                self._shown[name] = known
            if known[1] == fingerprint:
                found.append(known[2])
        return found

    def ready(self, seconds: float) -> bool:
        """Whether all tables have once been up with their topics, or are within this time. One that fails keeps nobody
        from the others."""
        until = time.monotonic() + seconds
        return all(feed.settled(until) for feed in list(self._feeds.values()))

    def await_built(self, sources: Iterable[Source], until: float) -> None:
        for source in sources:
            self._feed(source.name).await_built(until)

    def await_offsets(self, source: Source, offsets: Mapping[int, int], until: float) -> None:
        """Until the table has the records at these offsets of its topic."""
        self._feed(source.name).await_offsets(offsets, until)

    def _feed(self, name: str) -> Feed:
        found = self._feeds.get(name)
        if found is None:
            raise NotFound("TABLE_MISSING", f"The table {name} is not served here.")
        return found

    def warnings(self, sources: Iterable[Source]) -> tuple[str, ...]:
        """What is wrong with the tables that a question reads."""
        feeds = [feed for source in sources if (feed := self._feeds.get(source.name)) is not None]
        return tuple(told for feed in feeds if (told := feed.warning()) is not None)

    def failing(self) -> dict[str, str]:
        """The tables that don't follow their topics, and why; without looking into any."""
        found = {name: feed.error for name, feed in list(self._feeds.items())}
        return {name: error for name, error in found.items() if error is not None}

    def status(self, name: str) -> TableStatus | None:
        feed = self._feeds.get(name)
        return None if feed is None else feed.status()

    def statuses(self) -> list[TableStatus]:
        return [feed.status() for feed in list(self._feeds.values())]

    def close(self) -> None:
        with self._lock:
            for feed in self._feeds.values():
                feed.close()
            self._feeds.clear()
            self.store.close()

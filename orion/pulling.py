"""Pull queries put together: compiled once, answered by DuckDB or by Spark, after what the asker has seen is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa

from orion import ksql
from orion.config import Serving
from orion.errors import ConfigError, ExternalError, UserError
from orion.hub.kafka import Kafka
from orion.ksql.pull.cache import Compiled
from orion.ksql.pull.patience import DEADLINE_S, Offsets, is_plain, patience
from orion.plan.catalog import Catalog
from orion.plan.interruption import Interruption
from orion.plan.schemas import Schemas
from orion.plan.sources import Source
from orion.plan.steps import Pull
from orion.serving.pull import OutOfReach, Pulled
from orion.serving.tables import Tables

Properties = Mapping[str, Any] | None


class Platform(Protocol):
    """What pull queries need of the engine."""

    @property
    def catalog(self) -> Catalog: ...

    @property
    def schemas(self) -> Schemas: ...

    @property
    def kafka(self) -> Kafka: ...

    def pull(self, pull: Pull, table: Callable[[Source], pa.Table], interruption: Interruption) -> list[Sequence[Any]]:
        """The rows, by Spark."""

    def await_read(self, query_id: str, topic: str, offsets: Mapping[int, int], until: float) -> None:
        """Until a query has read a topic that far."""


class Pulls:
    def __init__(self, platform: Platform, tables: Tables | None, settings: Serving | None = None) -> None:
        self.tables = tables
        self._platform = platform
        self._max_seconds = (settings or Serving()).max_seconds
        self._compiled = Compiled()

    def plan(self, statement: str, properties: Properties, variables: Properties) -> tuple[Pull, list[Any]] | None:
        """The plan of a pull query and the values of its parameters; None where the statement is no such query."""
        if not is_plain(statement, properties or {}):
            made = self._plan(statement, properties, variables)
            return None if made is None else (made, [p.value for p in made.parameters])
        return self._compiled.get(statement, self._platform.catalog, lambda: self._plan(statement, None, None))

    def _plan(self, statement: str, properties: Properties, variables: Properties) -> Pull | None:
        texts = ksql.split(statement)
        if len(texts) != 1:
            raise UserError("ONE_STATEMENT", "Exactly one statement can be answered.")
        platform = self._platform
        ask = ksql.compile(texts[0], platform.catalog, properties, variables, platform.schemas).ask
        return ask if isinstance(ask, Pull) else None

    def at_hand(self, statement: str, properties: Mapping[str, Any]) -> Pulled | None:
        """The answer to a look-up that was asked just now, if nothing has changed: it costs next to nothing."""
        if self.tables is None or not is_plain(statement, properties):
            return None
        known = self._compiled.known(statement, self._platform.catalog)
        return None if known is None else self.tables.at_hand(*known)

    def query(
        self,
        statement: str,
        properties: Properties,
        variables: Properties,
        interruption: Interruption | None = None,
    ) -> Pulled | None:
        """The answer, after the wait that the properties ask for; None where the statement is no pull query."""
        found = self.plan(statement, properties, variables)
        if found is None:
            return None
        seen, deadline_s = patience(properties or {})
        return self.answer(*found, seen, deadline_s, interruption)

    def answer(
        self,
        pull: Pull,
        parameters: list[Any],
        seen: Offsets | None = None,
        deadline_s: float = DEADLINE_S,
        interruption: Interruption | None = None,
    ) -> Pulled:
        """The rows. A look-up is done before it could be ended."""
        ended = interruption or Interruption()
        if pull.is_lookup:
            return self._answer(pull, parameters, seen, deadline_s, ended)
        with ended.within(self._max_seconds, self._late):
            return self._answer(pull, parameters, seen, deadline_s, ended)

    def _late(self) -> ExternalError:
        hint = "Ask for less, let a CREATE TABLE AS keep the answer, or raise serving.max_seconds."
        return ExternalError(
            "PULL_TOO_LONG", f"The pull query was ended: it took more than {self._max_seconds:g} seconds.", hint=hint
        )

    def _answer(
        self, pull: Pull, parameters: list[Any], seen: Offsets | None, deadline_s: float, ended: Interruption
    ) -> Pulled:
        if self.tables is None:
            return self._without_tables(pull, ended)
        self.tables.follow(self._platform.catalog)
        until = time.monotonic() + deadline_s
        kept = [source for source in pull.reads if source.is_served]
        self.tables.await_built(kept, until)
        for source in kept if seen else ():
            self.tables.await_offsets(source, self._written(source, seen or {}, until), until)
        found, warnings = self._compute(pull, parameters, self.tables, ended), self.tables.warnings(kept)
        return replace(found, warnings=warnings) if warnings else found

    def _compute(self, pull: Pull, parameters: list[Any], tables: Tables, ended: Interruption) -> Pulled:
        if pull.duckdb is not None:
            try:
                return tables.run(pull, parameters, ended)
            except OutOfReach:
                pass  # Spark has it
        store, given = tables.store, parameters if pull.fetched else ()
        return Pulled(pull.columns, self._platform.pull(pull, lambda s: store.arrow(s, pull.fetched, given), ended))

    def close(self) -> None:
        if self.tables is not None:
            self.tables.close()

    def _without_tables(self, pull: Pull, ended: Interruption) -> Pulled:
        def none(source: Source) -> pa.Table:
            hint = "Set serving.enabled: true in orion.yaml."
            raise ConfigError("SERVING_OFF", f"This server keeps no rows of {source.name}.", hint=hint)

        return Pulled(pull.columns, self._platform.pull(pull, none, ended))

    def _written(self, source: Source, seen: Offsets, until: float) -> Mapping[int, int]:
        """The offsets of a source's topic at which all is written that comes of the records that were seen."""
        if source.topic in seen:
            return seen[source.topic]
        catalog = self._platform.catalog
        query = catalog.queries.get(source.query_id or "")
        inputs = [catalog.sources[name] for name in query.sources if name in catalog.sources] if query else []
        waited = False
        for given in inputs:
            offsets = self._written(given, seen, until)
            if query is not None and offsets:
                self._platform.await_read(query.id, given.topic, offsets, until)
                waited = True
        ends = self._platform.kafka.end_offsets(source.topic, committed=True) if waited else {}
        return {part: end - 1 for part, end in ends.items() if end}

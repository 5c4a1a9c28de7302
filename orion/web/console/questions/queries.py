"""Queries: what each one is, how it is doing, and steering it."""

from __future__ import annotations

from dataclasses import dataclass

from orion.app import Orion
from orion.errors import NotFound, hint_nearest
from orion.plan import explain, lanes, sharing
from orion.plan.relations import Query, is_stateful
from orion.web.console.questions.pulse import Job, Reading


@dataclass(frozen=True, slots=True)
class Row:
    """A query in the list."""

    query: Query
    job: Job | None

    @property
    def state(self) -> str:
        return self.job.status.state if self.job else "STOPPED"


@dataclass(frozen=True, slots=True)
class Detail:
    """A query with what it does."""

    query: Query
    plan: str
    lane: str
    stream: str
    stateful: bool


def rows(orion: Orion, reading: Reading) -> list[Row]:
    return [Row(query, reading.jobs.get(query.id)) for query in orion.engine.catalog.queries.values()]


def detail(orion: Orion, name: str) -> Detail:
    query = known(orion, name)
    companions = next((s.shares_with for s in orion.engine.statuses() if s.id == query.id), ())
    stream = sharing.describe_stream(query, companions, shares=orion.engine.config.engine.share_statements)
    return Detail(query, explain.query_tree(query), lanes.told(query), stream, is_stateful(query.relation))


def known(orion: Orion, name: str) -> Query:
    there = orion.engine.catalog.queries
    if name not in there:
        raise NotFound("NOT_FOUND", f"There is no query {name}.", hint=hint_nearest(name, list(there)))
    return there[name]


def steer(orion: Orion, action: str, name: str) -> str:
    """PAUSE, RESUME or TERMINATE a query, as SQL does it; what was told."""
    known(orion, name)
    told = orion.execute(f"{action} {name};")[0]
    return str(told["commandStatus"]["message"])


def spark_plan(orion: Orion, name: str) -> str | None:
    """What Spark made of it, if it runs."""
    return orion.engine.spark_plan(known(orion, name).id)

"""What will be done: a plan is a list of effects, or one question.

Every door that takes SQL gets one of these from `ksql.compile`; `app` performs them, EXPLAIN prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orion.plan.relations import Expr, Query, Transient
from orion.plan.sources import Connector, Kind, Source


@dataclass(frozen=True, slots=True)
class EnsureTopic:
    """The topic exists. With neither `partitions` nor `like` it must be there already."""

    topic: str
    partitions: int | None = None
    replicas: int | None = None
    like: str | None = None  # as many partitions as that topic
    config: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DefineSource:
    source: Source


@dataclass(frozen=True, slots=True)
class StartQuery:
    query: Query


@dataclass(frozen=True, slots=True)
class StopQuery:
    """The query ends for good: its checkpoint goes with it."""

    id: str


@dataclass(frozen=True, slots=True)
class PauseQuery:
    id: str


@dataclass(frozen=True, slots=True)
class ResumeQuery:
    id: str


@dataclass(frozen=True, slots=True)
class DropSource:
    name: str
    kind: Kind
    topic: str | None  # to delete with it


@dataclass(frozen=True, slots=True)
class CreateConnector:
    connector: Connector


@dataclass(frozen=True, slots=True)
class DropConnector:
    name: str


@dataclass(frozen=True, slots=True)
class InsertRow:
    """One record into a source's topic. Values are constant expressions, by column; `rowtime` likewise."""

    source: Source
    values: tuple[tuple[str, Expr], ...]
    rowtime: Expr | None


@dataclass(frozen=True, slots=True)
class SetProperty:
    name: str
    value: str | None  # None: back to the default


@dataclass(frozen=True, slots=True)
class Nothing:
    """Already as asked (IF NOT EXISTS, IF EXISTS)."""

    message: str


Step = (
    EnsureTopic
    | DefineSource
    | StartQuery
    | StopQuery
    | PauseQuery
    | ResumeQuery
    | DropSource
    | CreateConnector
    | DropConnector
    | InsertRow
    | SetProperty
    | Nothing
)

What = Literal["TOPICS", "STREAMS", "TABLES", "QUERIES", "FUNCTIONS", "PROPERTIES", "CONNECTORS"]


@dataclass(frozen=True, slots=True)
class Show:
    what: What
    extended: bool = False
    all: bool = False


@dataclass(frozen=True, slots=True)
class Describe:
    what: Literal["SOURCE", "FUNCTION", "CONNECTOR"]
    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class Explain:
    """What a statement would do, or what a running query does."""

    plan: Plan | None
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class Push:
    query: Transient


@dataclass(frozen=True, slots=True)
class PrintTopic:
    topic: str
    from_beginning: bool = False
    interval: int = 1
    limit: int | None = None


Ask = Show | Describe | Explain | Push | PrintTopic


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement, understood."""

    statement: str
    steps: tuple[Step, ...] = ()
    ask: Ask | None = None

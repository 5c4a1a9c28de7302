"""What will be done: a plan is a list of effects, or one question.

Every door that takes SQL gets one of these from `ksql.compile`; `app` performs them, EXPLAIN prints them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orion.plan.definitions import CustomType, PythonFunction
from orion.plan.relations import Expr, Query, Transient
from orion.plan.sources import Connector, Kind, Source, Wanted
from orion.schema import Column, Role


@dataclass(frozen=True, slots=True)
class EnsureTopic:
    """The topic exists. With neither `partitions` nor `like` it must be there already."""

    topic: str
    partitions: int | None = None
    replicas: int | None = None
    like: str | None = None  # as many partitions as that topic
    config: tuple[tuple[str, str], ...] = ()
    profile: str | None = None  # its settings for topics, as far as the others don't say


@dataclass(frozen=True, slots=True)
class RegisterSchema:
    """The registry knows the schema of a source's keys or values; a `declared` one's only where there is none yet."""

    source: Source
    role: Role
    declared: bool


@dataclass(frozen=True, slots=True)
class DefineSource:
    source: Source
    done: str = "created"  # or altered, or replaced: what to tell


@dataclass(frozen=True, slots=True)
class StartQuery:
    query: Query


@dataclass(frozen=True, slots=True)
class ReplaceQuery:
    """A query takes another one's place: from where that one is (`continues`), or from the start with a new id."""

    id: str
    query: Query
    continues: bool


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
    replaces: bool = False  # the one of its name, and goes on from where that one is


@dataclass(frozen=True, slots=True)
class DropConnector:
    name: str


@dataclass(frozen=True, slots=True)
class SteerConnector:
    name: str
    wanted: Wanted


@dataclass(frozen=True, slots=True)
class DefineType:
    type: CustomType


@dataclass(frozen=True, slots=True)
class DropType:
    name: str


@dataclass(frozen=True, slots=True)
class DefineFunction:
    function: PythonFunction


@dataclass(frozen=True, slots=True)
class DropFunction:
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
class SetVariable:
    name: str  # in upper case
    value: str | None  # None: it is no more


@dataclass(frozen=True, slots=True)
class AssertTopic:
    """The topic is there with these settings, or isn't there, before the time is over."""

    topic: str
    exists: bool
    settings: tuple[tuple[str, int], ...]  # PARTITIONS, REPLICAS
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class AssertSchema:
    """The registry has a schema, by its subject or its id or both, or hasn't, before the time is over."""

    subject: str | None
    id: int | None
    exists: bool
    timeout_ms: int

    @property
    def named(self) -> str:
        """What it is looked for by, for people."""
        given = {"subject": self.subject, "id": self.id}
        return " and ".join(f"{what} {one}" for what, one in given.items() if one is not None)


@dataclass(frozen=True, slots=True)
class AssertRow:
    """The next record of a source's topic holds these values, or (`deleted`) none under this key. For tests alone."""

    row: InsertRow
    deleted: bool


@dataclass(frozen=True, slots=True)
class AssertSource:
    """A source has these columns and, as far as they are told, these properties. For tests alone."""

    name: str
    expected: Source
    properties: tuple[str, ...]  # which of its properties the statement names


@dataclass(frozen=True, slots=True)
class Nothing:
    """Already as asked (IF NOT EXISTS, IF EXISTS)."""

    message: str


Step = (
    EnsureTopic
    | RegisterSchema
    | DefineSource
    | StartQuery
    | ReplaceQuery
    | StopQuery
    | PauseQuery
    | ResumeQuery
    | DropSource
    | CreateConnector
    | DropConnector
    | SteerConnector
    | DefineType
    | DropType
    | DefineFunction
    | DropFunction
    | InsertRow
    | SetProperty
    | SetVariable
    | AssertTopic
    | AssertSchema
    | AssertRow
    | AssertSource
    | Nothing
)

What = Literal[
    "TOPICS",
    "STREAMS",
    "TABLES",
    "QUERIES",
    "FUNCTIONS",
    "PROPERTIES",
    "TYPES",
    "VARIABLES",
    "CONNECTORS",
    "CONNECTOR PLUGINS",
]


@dataclass(frozen=True, slots=True)
class Show:
    what: What
    extended: bool = False
    all: bool = False
    only: str | None = None  # SOURCE or SINK, of connectors


@dataclass(frozen=True, slots=True)
class Describe:
    what: Literal["SOURCE", "STREAMS", "TABLES", "FUNCTION", "CONNECTOR"]
    name: str  # empty where all are described
    extended: bool = False


@dataclass(frozen=True, slots=True)
class ShowCreate:
    """The statement that makes a stream, a table or a connector."""

    what: Literal["STREAM", "TABLE", "CONNECTOR"]
    name: str


@dataclass(frozen=True, slots=True)
class Explain:
    """What a statement would do, or what a running query does."""

    plan: Plan | None
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class Push:
    query: Transient


@dataclass(frozen=True, slots=True)
class Parameter:
    """A constant that the statement's SQL leaves open: its value, and where in the text it was written."""

    value: str | int
    at: int


@dataclass(frozen=True, slots=True)
class Pull:
    """Rows as they are now, from tables or from all records of a stream: SQL for DuckDB, and the same for Spark.

    DuckDB knows each table by its name; Spark's text has `__t0`, `__t1` ... for what is read.
    """

    columns: tuple[Column, ...]
    reads: tuple[Source, ...]
    duckdb: str | None  # None: DuckDB can't, `why` says what for
    spark: str
    parameters: tuple[Parameter, ...] = ()  # of DuckDB's texts: $1, $2 ...
    fetched: str | None = None  # where Spark reads one table: which of its rows DuckDB can tell that it needs
    why: str | None = None
    key: str | None = None  # the column that is looked up, if it is
    is_lookup: bool = False  # the first parameter is the key, and the rows hang on what the table has under it alone
    row: tuple[str, ...] | None = None  # of a look-up that gives one row as it is: which columns, of plain values

    @property
    def scans_stream(self) -> bool:
        return any(source.kind is Kind.STREAM for source in self.reads)


@dataclass(frozen=True, slots=True)
class PrintTopic:
    topic: str
    from_beginning: bool = False
    interval: int = 1
    limit: int | None = None


Ask = Show | ShowCreate | Describe | Explain | Push | Pull | PrintTopic


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement, understood."""

    statement: str
    steps: tuple[Step, ...] = ()
    ask: Ask | None = None

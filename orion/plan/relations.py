"""What a query computes: a tree of relations over sources, each expression already lowered to Spark SQL.

The union is closed: readers `match` over it and end in `assert_never`.
"""

from __future__ import annotations

from dataclasses import dataclass

from orion.plan.sources import Kind, Source, Window
from orion.schema import SqlType


@dataclass(frozen=True, slots=True)
class Expr:
    """A bound expression: its Spark SQL, its type, and how it was written."""

    spark: str
    type: SqlType
    text: str


@dataclass(frozen=True, slots=True)
class Named:
    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate of a GROUP BY. `native` is its Spark SQL; the keyed operator folds `args` by `function` instead.

    `parameters` are the constants among the arguments (the 5 of TOPK(x, 5)); `args` only what differs by row.
    """

    name: str
    function: str
    args: tuple[Expr, ...]
    parameters: tuple[int | str | bool, ...]
    type: SqlType
    native: str | None


@dataclass(frozen=True, slots=True)
class Scan:
    source: Source


@dataclass(frozen=True, slots=True)
class Filter:
    input: Relation
    condition: Expr


@dataclass(frozen=True, slots=True)
class Project:
    """New columns from old. `keys` of them make the record's key; ROWTIME goes through."""

    input: Relation
    items: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Rows folded by key, and by window if there is one; `items` over the folded columns are what comes out.

    Each change of a group is a row. A group that stops fulfilling HAVING comes out once more, as a deletion.
    """

    input: Relation
    keys: tuple[Named, ...]
    calls: tuple[AggregateCall, ...]
    window: Window | None
    having: Expr | None
    items: tuple[Named, ...]
    keyed: str | None  # why it needs the keyed operator; None: Spark's own aggregation gives the same


Relation = Scan | Filter | Project | Aggregate


@dataclass(frozen=True, slots=True)
class Query:
    """A relation that runs for good, writing each result row to its sink's topic."""

    id: str
    relation: Relation
    sink: Source
    sources: tuple[str, ...]
    statement: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    paused: bool = False

    @property
    def dead_letters(self) -> str:
        return f"dlq.{self.sink.name}"


@dataclass(frozen=True, slots=True)
class Transient:
    """A relation whose rows go to the one who asked, until they have `limit` of them or leave."""

    relation: Relation
    columns: tuple[Named, ...]
    kind: Kind
    source: str
    limit: int | None
    from_beginning: bool


def scans(relation: Relation) -> tuple[Source, ...]:
    """Every source a relation reads."""
    match relation:
        case Scan(source):
            return (source,)
        case Filter(input=inner) | Project(input=inner) | Aggregate(input=inner):
            return scans(inner)


def is_stateful(relation: Relation) -> bool:
    match relation:
        case Scan():
            return False
        case Filter(input=inner) | Project(input=inner):
            return is_stateful(inner)
        case Aggregate():
            return True

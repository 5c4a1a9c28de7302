"""What a query computes: a tree of relations over sources, each expression already lowered to Spark SQL.

The union is closed: readers `match` over it and end in `assert_never`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from orion.plan.sources import Kind, Source, Window, WindowKind
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
    """One aggregate of a GROUP BY: `args` are folded by `function`.

    `parameters` are the constants among the arguments (the 5 of TOPK(x, 5)); `args` only what differs by row.
    """

    name: str
    function: str
    args: tuple[Expr, ...]
    parameters: tuple[int | str | bool, ...]
    type: SqlType
    ordered: bool = False  # what it comes to hangs on the order in which rows arrive


@dataclass(frozen=True, slots=True)
class Scan:
    source: Source


@dataclass(frozen=True, slots=True)
class Filter:
    """Rows that fulfil a condition. A row of a table that doesn't is no row: it comes out as a deletion."""

    input: Relation
    condition: Expr
    of_table: bool = False


@dataclass(frozen=True, slots=True)
class Project:
    """New columns from old; ROWTIME goes through. `rekeyed` by PARTITION BY: every row has a key, if of NULLs."""

    input: Relation
    items: tuple[Named, ...]
    rekeyed: bool = False


@dataclass(frozen=True, slots=True)
class Explode:
    """Each row as often as the longest of its arrays has elements; `items` are the arrays, by new columns' names."""

    input: Relation
    items: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Settle:
    """A table whose rows come and go by a WHERE: a deletion of what was never there is left out.

    `columns` are all of its columns, the first `keys` of them its key.
    """

    input: Relation
    columns: tuple[Named, ...]
    keys: int
    ttl_ms: int | None = None  # a row that nothing changes for so long is deleted


@dataclass(frozen=True, slots=True)
class Distinct:
    """A stream's rows, each different one once in a window."""

    input: Relation
    columns: tuple[Named, ...]
    window: Window


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of several relations with the same columns."""

    inputs: tuple[Relation, ...]


class JoinType(StrEnum):
    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


class JoinKind(StrEnum):
    STREAM_STREAM = "STREAM-STREAM"
    STREAM_TABLE = "STREAM-TABLE"
    TABLE_TABLE = "TABLE-TABLE"
    FOREIGN_KEY = "FOREIGN-KEY"


@dataclass(frozen=True, slots=True)
class Within:
    """How far a right row may be before and after a left one. `patient`: GRACE PERIOD was given, so that a row without
    a partner comes out when none can come any more, and not at once."""

    before_ms: int
    after_ms: int
    grace_ms: int
    patient: bool


@dataclass(frozen=True, slots=True)
class Side:
    """One input of a join: its columns, and the expressions that must equal the other side's."""

    input: Relation
    columns: tuple[Named, ...]
    on: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows. Out come both sides' columns and the `key`, under the names it has; ROWTIME is the later one's.

    The key is what the sides are equal in; of a foreign-key join it is the left table's own, given by `left_key`.
    """

    left: Side
    right: Side
    kind: JoinKind
    type: JoinType
    within: Within | None
    key: tuple[Named, ...]
    left_key: tuple[Expr, ...] = ()


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
    of_table: tuple[Expr, ...] = ()  # the key of the table that is folded: its rows' changes take back what they gave
    final: bool = False  # a window comes out once, when it closes
    each: bool = False  # every row's change comes out by itself, not a batch's as one
    ttl_ms: int | None = None  # a group that gets no row for so long is deleted


Relation = Scan | Filter | Project | Explode | Settle | Distinct | Union | Join | Aggregate


DEFAULT_TASKS = 0  # as many as the widest topic that is read has partitions


class Guarantee(StrEnum):
    """How results reach their topic: each once, a batch at a time; or at once, some again after a failure."""

    EXACT = "exact"
    FAST = "fast"


@dataclass(frozen=True, slots=True)
class Query:
    """A relation that runs for good, writing each result row to its sink's topic.

    `incarnation` is the name under which its checkpoint lies. It is given once, and again only when another meaning
    takes the query's place.
    """

    id: str
    incarnation: str
    relation: Relation
    sink: Source
    sources: tuple[str, ...]
    statement: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    paused: bool = False
    tasks: int = DEFAULT_TASKS  # over how many its keyed operators spread; its state lies with them
    tolerance: str = "all"  # how many dead letters it bears: see plan.tolerance
    keeps_late: bool = False  # rows that come too late for a window become dead letters; else they are counted only
    guarantee: Guarantee = Guarantee.EXACT
    profile: str | None = None  # of orion.profiles: how its batches and its producers are set
    by_partitioner: bool = False  # keys go to tasks as Kafka puts them in partitions; else, as once, by a hash alone

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
    tasks: int = DEFAULT_TASKS


def inputs(relation: Relation) -> tuple[Relation, ...]:
    """What a relation is made of directly."""
    match relation:
        case Scan():
            return ()
        case Union(found):
            return found
        case Join(left, right):
            return (left.input, right.input)
        case _:
            return (relation.input,)


def scans(relation: Relation) -> tuple[Source, ...]:
    """Every source a relation reads; one that is read twice is there twice."""
    if isinstance(relation, Scan):
        return (relation.source,)
    return tuple(source for inner in inputs(relation) for source in scans(inner))


def reading(relation: Relation, change: Callable[[Source], Source]) -> Relation:
    """The relation over other sources."""
    match relation:
        case Scan(source):
            return Scan(change(source))
        case Union(found):
            return Union(tuple(reading(inner, change) for inner in found))
        case Join(left, right):
            sides = (replace(side, input=reading(side.input, change)) for side in (left, right))
            return replace(relation, left=next(sides), right=next(sides))
        case _:
            return replace(relation, input=reading(relation.input, change))


def looked_up(relation: Relation) -> frozenset[str]:
    """The tables that a stream is joined with: all of them must be there before a row looks into them."""
    found: frozenset[str] = frozenset().union(*map(looked_up, inputs(relation)))
    if isinstance(relation, Join) and relation.kind is JoinKind.STREAM_TABLE:
        found |= {s.name for s in scans(relation.right.input)}
    return found


def is_rekeyed(relation: Relation) -> bool:
    """Whether the key that its rows go out with is one that PARTITION BY has made."""
    match relation:
        case Project(input, rekeyed=rekeyed):
            return rekeyed or is_rekeyed(input)
        case Filter(input) | Explode(input) | Distinct(input):
            return is_rekeyed(input)
        case _:
            return False


def is_stateful(relation: Relation) -> bool:
    return isinstance(relation, Settle | Distinct | Join | Aggregate) or any(map(is_stateful, inputs(relation)))


def operator_count(relation: Relation) -> int:
    """How many keyed operators a relation has. Each has a number, and state under it: those of what it is made of come
    first, from left to right."""
    below = sum(map(operator_count, inputs(relation)))
    match relation:
        case Join(kind=JoinKind.FOREIGN_KEY):
            return below + 2
        case Aggregate(of_table=of_table):
            return below + (2 if of_table else 1)
        case Join() | Settle() | Distinct():
            return below + 1
        case _:
            return below


def why_row_by_row(relation: Aggregate) -> str | None:
    """Why the rows of a batch are folded one after the other; None: they are folded together."""
    if relation.of_table:
        return "a table's changed row takes back what it gave"
    if relation.window and relation.window.kind is WindowKind.SESSION:
        return "sessions merge, and a merged one is withdrawn"
    if relation.each:
        return "every change is told by itself (the cache is off)"
    if relation.ttl_ms is not None:
        return "a group without rows for its TTL is deleted"
    return None


def has_own_slots(relation: Relation) -> bool:
    """Whether each task of its one operator may write by itself: nothing else brings rows together behind it."""
    match relation:
        case Project(input) | Filter(input) | Explode(input):
            return has_own_slots(input)
        case Union() | Scan():
            return False
        case _:
            return operator_count(relation) == 1

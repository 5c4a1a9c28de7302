"""What was written: the tree of an expression and of a query, each node with its place in the text.

Statement nodes live beside their parsers in `statements/`; what several of them share is here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal as Number
from enum import StrEnum
from typing import Any, cast

from orion.errors import Span
from orion.ksql.functions.declare import Function
from orion.schema import SqlType

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    span: Span = field(default=NOWHERE, compare=False)


def held(node: Node) -> list[Any]:
    """What a node holds, but for its place: expressions, tuples of them, and plain values."""
    names = cast("tuple[str, ...]", node.__match_args__)
    return [getattr(node, name) for name in names]


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant; `None` is NULL. Numbers keep the width they were written in (int, Decimal, float)."""

    value: bool | int | float | Number | str | None


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A column, perhaps behind its source: `age` or `users.age`."""

    name: str
    source: str | None = None

    def __str__(self) -> str:
        return f"{self.source}.{self.name}" if self.source else self.name


@dataclass(frozen=True, slots=True)
class Star(Node):
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Unary(Node):
    op: str  # - + NOT
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    op: str  # + - * / % || = <> < <= > >= AND OR, IS DISTINCT FROM, IS NOT DISTINCT FROM
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Between(Node):
    operand: Expression
    low: Expression
    high: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class In(Node):
    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Like(Node):
    operand: Expression
    pattern: Expression
    escape: str | None
    negated: bool


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    operand: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class Case(Node):
    operand: Expression | None
    whens: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class Cast(Node):
    operand: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class Call(Node):
    name: str
    args: tuple[Expression, ...]
    declared: Function | None = field(default=None, compare=False)  # of a function that people have added


@dataclass(frozen=True, slots=True)
class OrderItem(Node):
    expression: Expression
    descending: bool = False
    nulls_first: bool | None = None  # None: as if NULL were larger than anything


@dataclass(frozen=True, slots=True)
class Over(Node):
    """A window function: a call over the rows around each row. `frame` is as it was written."""

    call: Call
    partition_by: tuple[Expression, ...]
    order_by: tuple[OrderItem, ...]
    frame: str | None = None


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    params: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class Deref(Node):
    """`struct->field`; a field of `*` stands for all of them, in a select list only."""

    base: Expression
    field: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class ArrayOf(Node):
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    items: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class StructOf(Node):
    items: tuple[tuple[str, Expression], ...]


Expression = (
    Literal
    | Name
    | Star
    | Unary
    | Binary
    | Between
    | In
    | Like
    | IsNull
    | Case
    | Cast
    | Call
    | Over
    | Lambda
    | Deref
    | Index
    | ArrayOf
    | MapOf
    | StructOf
)


class Emit(StrEnum):
    CHANGES = "CHANGES"
    FINAL = "FINAL"


@dataclass(frozen=True, slots=True)
class WindowClause(Node):
    kind: str  # TUMBLING HOPPING SESSION
    size_ms: int  # the gap, for a session
    advance_ms: int | None = None
    grace_ms: int | None = None
    retention_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SelectItem(Node):
    expression: Expression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class From(Node):
    """A stream or table, or a query in its place, under an alias."""

    source: str | Query
    alias: str


@dataclass(frozen=True, slots=True)
class WithinClause(Node):
    before_ms: int
    after_ms: int
    grace_ms: int | None = None


@dataclass(frozen=True, slots=True)
class JoinClause(Node):
    type: str  # INNER LEFT RIGHT FULL
    right: From
    within: WithinClause | None
    on: Expression


@dataclass(frozen=True, slots=True)
class Query(Node):
    """SELECT ... [EMIT ...]; without EMIT it is a pull query, or part of a CREATE ... AS."""

    items: tuple[SelectItem, ...]
    source: From
    window: WindowClause | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    partition_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    emit: Emit | None = None
    limit: int | None = None
    joins: tuple[JoinClause, ...] = ()
    distinct: bool = False
    unions: tuple[Query, ...] = ()  # UNION ALL with these
    order_by: tuple[OrderItem, ...] = ()
    offset: int | None = None

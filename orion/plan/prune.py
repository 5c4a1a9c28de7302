"""A relation without the columns that nothing reads.

Spark does this by itself wherever it sees the columns; what passes through a keyed operator is bytes to it. So a join
packs only what the query needs of each side. Neither does it look into a record: which columns of a source nobody reads
is told to those who decode it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import assert_never

from orion.plan.relations import (
    Aggregate,
    Distinct,
    Explode,
    Expr,
    Filter,
    Join,
    Named,
    Project,
    Relation,
    Scan,
    Settle,
    Side,
    Union,
    scans,
)
from orion.plan.sources import WINDOW_BOUNDS, Source

_QUOTED = re.compile(r"`((?:[^`]|``)+)`")


def pruned(relation: Relation, needed: frozenset[str] | None = None) -> Relation:
    """`needed`: the columns that are read of it; None: all of them."""
    match relation:
        case Scan():
            return relation
        case Filter(input, condition):
            return replace(relation, input=pruned(input, _and(needed, [condition])))
        case Project(input, items):
            kept = _kept(items, needed)
            return replace(relation, input=pruned(input, _read(i.expr for i in kept)), items=kept)
        case Explode(input, items):
            return replace(relation, input=pruned(input, _and(needed, (i.expr for i in items))))
        case Settle(input, columns) | Distinct(input, columns):
            return replace(relation, input=pruned(input, _read(c.expr for c in columns)))
        case Union(inputs):
            return Union(tuple(pruned(i, needed) for i in inputs))
        case Join(left, right):
            left_side = _side(left, needed, relation.left_key)
            return replace(relation, left=left_side, right=_side(right, needed, ()))
        case Aggregate(input=input):
            arguments = (a for c in relation.calls for a in c.args)
            return replace(relation, input=pruned(input, _read((*_exprs(relation), *arguments))))
        case _:
            assert_never(relation)


def unread_columns(relation: Relation) -> frozenset[str]:
    """Names of columns of its sources that no expression of a relation has; only where its root says what it takes."""
    if not isinstance(relation, Project | Aggregate | Settle | Distinct):
        return frozenset()
    return frozenset(c.name for s in scans(relation) for c in s.schema.columns) - _read(_expressions(relation))


def _expressions(value: object) -> Iterator[Expr]:
    """Every expression inside."""
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _expressions(each)
    elif is_dataclass(value) and not isinstance(value, Source):
        for field in fields(value):
            yield from _expressions(getattr(value, field.name))


def _exprs(relation: Aggregate) -> tuple[Expr, ...]:
    return (*(k.expr for k in relation.keys), *relation.of_table)


def _side(side: Side, needed: frozenset[str] | None, key: tuple[Expr, ...]) -> Side:
    kept = _kept(side.columns, needed)
    read = _read([*(c.expr for c in kept), *side.on, *key])
    return Side(pruned(side.input, read), kept, side.on)


def _kept(items: tuple[Named, ...], needed: frozenset[str] | None) -> tuple[Named, ...]:
    """The window's bounds stay whoever reads them: a windowed row's key carries them."""
    return items if needed is None else tuple(i for i in items if i.name in needed or i.name in WINDOW_BOUNDS)


def _read(expressions: Iterable[Expr]) -> frozenset[str]:
    return frozenset(name.replace("``", "`") for e in expressions for name in _QUOTED.findall(e.spark))


def _and(needed: frozenset[str] | None, expressions: Iterable[Expr]) -> frozenset[str] | None:
    return None if needed is None else needed | _read(expressions)

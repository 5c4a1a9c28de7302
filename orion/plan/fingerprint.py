"""A hash of what a query means. A comment or a line break changes nothing; an expression, a column or a format does."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from orion.plan.codec import dumps
from orion.plan.relations import (
    Aggregate,
    Expr,
    Filter,
    Named,
    Project,
    Query,
    Relation,
    Scan,
)
from orion.plan.sources import Source


def fingerprint(query: Query) -> str:
    meaning = dumps(_bare(query.relation)) + dumps(_source(query.sink))
    return hashlib.sha256(meaning.encode()).hexdigest()[:16]


def _source(source: Source) -> Source:
    return replace(source, statement="", query_id=None)


def _expr(expr: Expr) -> Expr:
    return replace(expr, text="")


def _named(items: tuple[Named, ...]) -> tuple[Named, ...]:
    return tuple(Named(i.name, _expr(i.expr)) for i in items)


def _bare(relation: Relation) -> Relation:
    """The relation without the texts people wrote."""
    match relation:
        case Scan(source):
            return Scan(_source(source))
        case Filter(inner, condition):
            return Filter(_bare(inner), _expr(condition))
        case Project(inner, items):
            return Project(_bare(inner), _named(items))
        case Aggregate():
            return replace(
                relation,
                input=_bare(relation.input),
                keys=_named(relation.keys),
                calls=tuple(replace(c, args=tuple(map(_expr, c.args))) for c in relation.calls),
                having=_expr(relation.having) if relation.having else None,
                items=_named(relation.items),
                keyed=None if relation.keyed is None else "",  # the reason is words, the operator is meaning
            )

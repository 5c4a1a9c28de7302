"""A hash of what a query means. A comment or a line break changes nothing; an expression, a column or a format does.
Over how many tasks it is spread is no part of that.

It compares two queries that are at hand, both hashed by the code that runs. Another version may hash otherwise, so it
is no name for anything that stays: a query's checkpoint lies under its `incarnation`, which is journaled.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass, replace
from typing import Any

from orion.plan.codec import dumps
from orion.plan.relations import Expr, Query, Relation, Transient
from orion.plan.sources import Source


def fingerprint(query: Query) -> str:
    return hash_meaning(query.relation, query.sink)


def hash_meaning(relation: Relation, sink: Source) -> str:
    """The fingerprint of the query that they would make."""
    means = dumps(_bare(relation)) + dumps(_bare(sink))
    return hashlib.sha256(means.encode()).hexdigest()[:16]


def meaning(query: Transient) -> str:
    """The same for two push queries that give the same rows; how many of them somebody wants is another matter."""
    means = tuple(_bare(getattr(query, f.name)) for f in fields(query) if f.name != "limit")
    return hashlib.sha256(dumps(means).encode()).hexdigest()


def _bare(value: Any) -> Any:
    """The value without the texts people wrote: what is left is what it does."""
    match value:
        case Expr():
            return replace(value, text="")
        case Source():
            return replace(value, statement="", query_id=None)
        case tuple():
            return tuple(_bare(item) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return replace(value, **{f.name: _bare(getattr(value, f.name)) for f in fields(value)})

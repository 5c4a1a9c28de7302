"""A hash of what a query means. A comment or a line break changes nothing; an expression, a column or a format does."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass, replace
from typing import Any

from orion.plan.codec import dumps
from orion.plan.relations import Aggregate, Expr, Query, Transient
from orion.plan.sources import Source


def fingerprint(query: Query) -> str:
    means = dumps(_bare(query.relation)) + dumps(_bare(query.sink)) + str(query.tasks)
    return hashlib.sha256(means.encode()).hexdigest()[:16]


def meaning(query: Transient) -> str:
    """The same for two push queries that give the same rows; how many of them somebody wants is another matter."""
    return hashlib.sha256(dumps(_bare(replace(query, limit=None))).encode()).hexdigest()


def _bare(value: Any) -> Any:
    """The value without the texts people wrote: what is left is what it does."""
    match value:
        case Expr():
            return replace(value, text="")
        case Source():
            return replace(value, statement="", query_id=None)
        case Aggregate(keyed=str()):
            value = replace(value, keyed="")  # the reason is words, the operator is meaning
        case tuple():
            return tuple(_bare(item) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return replace(value, **{f.name: _bare(getattr(value, f.name)) for f in fields(value)})

"""Which statements can run as one stream: those that do the same up to where a record of their source is read.

What such a stream does once for all of them is planning, reading, decoding, and a transaction for each slot. There are
two kinds. Statements without state take one row at a time: so nothing they have done hangs on what a batch was, and
they come and go wherever they stand. Statements with one keyed operator come and go between two batches. The two kinds
don't mix: a result that needs no other rows doesn't wait for a shuffle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from orion.plan.codec import dumps
from orion.plan.definitions import python_calls
from orion.plan.lanes import find_python_format
from orion.plan.relations import Explode, Guarantee, Query, Relation, has_own_slots, inputs, is_stateful, scans


@dataclass(frozen=True, slots=True)
class SharedWork:
    """What statements have in common that can run as one stream: `meaning` is a hash of all of it."""

    topic: str
    meaning: str

    @classmethod
    def of(cls, query: Query, *settings: object) -> SharedWork:
        """`settings`: of how the query's batches are read, and when."""
        source = scans(query.relation)[0]
        text = repr((source, query.profile, is_stateful(query.relation), settings))
        return cls(source.topic, hashlib.sha256(text.encode()).hexdigest())


def why_alone(query: Query) -> str | None:
    """Why a statement has a stream of its own whatever runs beside it; None: it may share one."""
    if query.guarantee is Guarantee.FAST:
        return "it runs in real-time mode"
    if len(scans(query.relation)) != 1:
        return "it reads several sources"
    if is_stateful(query.relation) and not has_own_slots(query.relation):
        return "it has several keyed operators"
    if _explodes(query.relation):
        return "it makes several rows of one"
    if query.sink.headed:
        return "its records tell repeats"
    called = python_calls(dumps(query.relation))
    if called:
        return f"it calls {', '.join(called)}, in Python"
    if find_python_format(query.sink) is not None:
        return f"{query.sink.name} is written in Python"
    return None


def describe_stream(query: Query, companions: Sequence[str], *, shares: bool) -> str:
    """What a statement's stream is to others. `shares`: the server lets statements share streams."""
    if companions:
        return f"runs in one stream with {', '.join(sorted(companions))}"
    why = why_alone(query) if shares else "engine.share_statements is off"
    source = query.sources[0] if query.sources else "its source"
    return f"has a stream of its own: {why or f'no other statement over {source} runs beside it'}"


def _explodes(relation: Relation) -> bool:
    return isinstance(relation, Explode) or any(map(_explodes, inputs(relation)))

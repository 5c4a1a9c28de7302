"""WITH (TTL='7 DAYS'): a table's row that nothing changes for so long is deleted, and with it what was kept for it."""

from __future__ import annotations

from dataclasses import replace

from orion.errors import BindError, Span
from orion.ksql.analyse import Analysed, settled
from orion.plan.relations import Aggregate, Relation
from orion.plan.sources import Kind


def limited(analysed: Analysed, ttl_ms: int | None, span: Span) -> Relation:
    if ttl_ms is None:
        return analysed.relation
    if analysed.kind is Kind.STREAM or analysed.window is not None:
        raise BindError(
            "INVALID_PROPERTY",
            "TTL is for tables without a window: a stream's rows and old windows go by the topic's retention.",
            span=span,
            hint="Use RETENTION_MS.",
        )
    if isinstance(analysed.relation, Aggregate):
        return replace(analysed.relation, ttl_ms=ttl_ms)
    return replace(settled(analysed.relation, analysed.schema, analysed.window), ttl_ms=ttl_ms)

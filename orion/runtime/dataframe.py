"""A relation as a DataFrame. The same frame runs as a stream or as a batch, by what `read` gives for a source."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from pyspark.sql import DataFrame

from orion.plan.relations import Aggregate, Filter, Project, Query, Relation, Scan, is_stateful, scans
from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART, Kind, Source
from orion.runtime import emit, rows
from orion.runtime.operators import keyed_aggregate, native_aggregate
from orion.runtime.scan import decoded
from orion.schema import quote

Read = Callable[[Source], DataFrame]


def outgoing(query: Query, read: Read) -> DataFrame:
    """Everything a query writes, as Kafka records: its results, and its dead letters."""
    frame = build(query.relation, read)
    if not is_stateful(query.relation):
        return emit.routed(frame, query.sink, query.dead_letters)
    # An aggregation lets only its results through, so the bad records take a road of their own beside it.
    # Both are one query with one checkpoint: results and dead letters of a batch are written together.
    results = emit.records(frame, query.sink)
    for source in scans(query.relation):
        letters = emit.letters(decoded(read(source), source), query.dead_letters)
        # They are few: one partition of them is one slot to write, where each of the topic's would be another.
        results = results.unionAll(letters.repartition(1))
    return results


def build(relation: Relation, read: Read) -> DataFrame:
    """The relation's columns with ROWTIME and DELETED; without an aggregation also the rest of rows.META."""
    match relation:
        case Scan(source):
            return decoded(read(source), source)
        case Filter(inner, condition):
            return _filtered(relation, build(inner, read), condition.spark)
        case Project(inner, items):
            frame = build(inner, read)
            kept = [n for n in (WINDOWSTART, WINDOWEND) if n in frame.columns and n not in {i.name for i in items}]
            carried = [c for c in (ROWTIME, ROWPARTITION, ROWOFFSET, *kept, *rows.META) if c in frame.columns]
            taken = {i.name for i in items}
            columns = [f"{i.expr.spark} AS {quote(i.name)}" for i in items]
            return frame.selectExpr(*columns, *(c for c in carried if c not in taken))
        case Aggregate(input=inner):
            frame = build(inner, read).where(f"{rows.BAD} IS NULL")
            return keyed_aggregate.apply(relation, frame) if relation.keyed else native_aggregate.apply(relation, frame)
        case _:
            assert_never(relation)


def _filtered(relation: Filter, frame: DataFrame, condition: str) -> DataFrame:
    """Bad records pass every filter, on their way to the dead letters. A table's row that fails one is a deletion."""
    if all(s.kind is Kind.STREAM for s in scans(relation)):
        return frame.where(f"{rows.BAD} IS NOT NULL OR ({condition})")
    gone = f"({rows.DELETED} OR NOT coalesce({condition}, FALSE))"
    others = [quote(c) for c in frame.columns if c != rows.DELETED]
    return frame.selectExpr(*others, f"{gone} AS {rows.DELETED}")

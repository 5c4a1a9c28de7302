"""A relation as a DataFrame. The same frame runs as a stream or as a batch, by what `read` gives for a source."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import assert_never

from pyspark.sql import DataFrame

from orion.plan.relations import (
    DEFAULT_TASKS,
    Aggregate,
    Distinct,
    Explode,
    Filter,
    Guarantee,
    Join,
    Project,
    Query,
    Relation,
    Scan,
    Settle,
    Union,
    is_rekeyed,
    is_stateful,
    scans,
)
from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART, Source
from orion.runtime import emit, rows
from orion.runtime.headers import Own, Seen
from orion.runtime.operators import join, keyed_aggregate, native_aggregate, rowwise
from orion.runtime.operators.tasks import Spread
from orion.runtime.scan import decoded
from orion.schema import Array, quote, spark_type

Read = Callable[[Source], DataFrame]


def outgoing(query: Query, read: Read, seen: Seen | None = None) -> DataFrame:
    """Everything a query writes, as Kafka records: its results, and its dead letters.

    `seen` is how far earlier runs of it have written, for a sink whose records tell repeats.
    """
    rekeyed = is_rekeyed(query.relation)
    if not is_stateful(query.relation):
        frame = build(query.relation, _numbered(read, len(scans(query.relation))))
        own = Own(query.id, seen or {}, placed=query.guarantee is Guarantee.FAST) if query.sink.headed else None
        return emit.routed(frame, query.sink, query.dead_letters, own, rekeyed=rekeyed)
    # An operator lets only its results through, so the bad records take a road of their own beside it.
    # Both are one query with one checkpoint: results and dead letters of a batch are written together.
    frame = build(query.relation, read, query.tasks, keeps_late=query.keeps_late)
    results = emit.records(frame, query.sink, query.dead_letters, rekeyed=rekeyed)
    for source in dict.fromkeys(scans(query.relation)):
        letters = emit.letters(decoded(read(source), source), query.dead_letters)
        # They are few: one partition of them is one slot to write, where each of the topic's would be another.
        results = results.unionAll(letters.repartition(1))
    return results


def _numbered(read: Read, count: int) -> Read:
    """Reads of `count` scans, whose rows tell by rows.ORIGIN which scan and partition they are of."""
    scan = iter(range(count))
    return lambda source: with_origin(read(source), next(scan), count)


def with_origin(raw: DataFrame, scan: int = 0, scans: int = 1) -> DataFrame:
    origin = "partition" if scans == 1 else f"partition * {scans} + {scan}"
    return raw.selectExpr("*", f"{origin} AS {rows.ORIGIN}")


def build(relation: Relation, read: Read, tasks: int = DEFAULT_TASKS, *, keeps_late: bool = False) -> DataFrame:
    """The relation's columns with ROWTIME, DELETED and ORDER; without an operator also the rest of rows.META.

    `keeps_late`: rows that come too late for a window come out as bad ones.
    """
    spread = Spread(tasks)

    def inner(of: Relation) -> DataFrame:
        return build(of, read, tasks, keeps_late=keeps_late)

    def good(of: Relation) -> DataFrame:
        """Without the records that couldn't be decoded: no operator takes them."""
        frame = inner(of)
        return frame.where(f"{rows.BAD} IS NULL") if rows.BAD in frame.columns else frame

    match relation:
        case Scan(source):
            return decoded(read(source), source)
        case Filter(input, condition):
            return _filtered(relation, inner(input), condition.spark)
        case Project(input, items):
            return _projected(inner(input), [(i.expr.spark, i.name) for i in items])
        case Explode(input, items):
            return _exploded(relation, inner(input))
        case Settle(input):
            return rowwise.settle(relation, good(input), spread)
        case Distinct(input):
            return rowwise.distinct(relation, _events(good(input)), spread, keeps_late=keeps_late)
        case Union(inputs):
            frames = [good(i) if is_stateful(relation) else inner(i) for i in inputs]
            return reduce(lambda left, right: left.unionByName(right), frames)
        case Join(left, right):
            return join.apply(relation, good(left.input), good(right.input), spread)
        case Aggregate(input=input):
            if relation.keyed is None:
                return native_aggregate.apply(relation, _events(good(input)))
            folded = good(input) if relation.of_table else _events(good(input))
            keeps = keeps_late and relation.window is not None
            return keyed_aggregate.apply(relation, folded, spread, keeps_late=keeps)
        case _:
            assert_never(relation)


def _events(stream: DataFrame) -> DataFrame:
    """Without the records that have no value: they tell an operator nothing."""
    return stream.where(f"NOT {rows.DELETED}")


def _projected(frame: DataFrame, items: list[tuple[str, str]]) -> DataFrame:
    """New columns, beside what every frame carries: a bad record keeps what its dead letter will say."""
    taken = {name for _, name in items}
    always = (ROWTIME, ROWPARTITION, ROWOFFSET, WINDOWSTART, WINDOWEND, rows.ORDER, *rows.META)
    carried = [c for c in always if c in frame.columns and c not in taken]
    return frame.selectExpr(*(f"{spark} AS {quote(name)}" for spark, name in items), *carried)


def _exploded(relation: Explode, frame: DataFrame) -> DataFrame:
    """Arrays side by side, the shorter ones filled up with NULL. A bad record stays one row, on its way out."""
    arrays = [f"coalesce({i.expr.spark}, array())" for i in relation.items]
    types = {i.name: i.expr.type.element for i in relation.items if isinstance(i.expr.type, Array)}
    element = ", ".join(f"{quote(name)}: {spark_type(type_)}" for name, type_ in types.items())
    zipped = f"CAST(arrays_zip({', '.join(arrays)}) AS ARRAY<STRUCT<{element}>>)"
    if rows.BAD in frame.columns:
        zipped = f"CASE WHEN {rows.BAD} IS NULL THEN {zipped} ELSE array(CAST(NULL AS STRUCT<{element}>)) END"
    others = [quote(c) for c in frame.columns if c != rows.ORDER]
    spread = frame.selectExpr(*others, rows.ORDER, f"posexplode({zipped}) AS (__at, __element)")
    made = [f"__element.{quote(i.name)}" for i in relation.items]
    return spread.selectExpr(*others, f"concat({rows.ORDER}, CAST(__at AS BINARY)) AS {rows.ORDER}", *made)


def _filtered(relation: Filter, frame: DataFrame, condition: str) -> DataFrame:
    """Bad records pass every filter, on their way to the dead letters; a stream's record without a value passes none.

    A table's row that fails is a deletion.
    """
    if not relation.of_table:
        bad = f"{rows.BAD} IS NOT NULL OR " if rows.BAD in frame.columns else ""
        return frame.where(f"{bad}(NOT {rows.DELETED} AND ({condition}))")
    gone = f"({rows.DELETED} OR NOT coalesce({condition}, FALSE))"
    others = [quote(c) for c in frame.columns if c != rows.DELETED]
    return frame.selectExpr(*others, f"{gone} AS {rows.DELETED}")

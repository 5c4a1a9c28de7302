"""A relation as a DataFrame. The same frame runs as a stream or as a batch, by what `read` gives for a source."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import assert_never

from pyspark.sql import DataFrame

from orion.plan.prune import unread_columns
from orion.plan.relations import (
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
    has_own_slots,
    is_rekeyed,
    is_stateful,
    scans,
)
from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART, Source
from orion.runtime import emit, letters, rows
from orion.runtime.headers import Own, Seen
from orion.runtime.operators import aggregate, join, rowwise
from orion.runtime.operators.spread import Spread
from orion.runtime.scan import decoded
from orion.schema import Array, quote, spark_type

Read = Callable[[Source], DataFrame]


def outgoing(query: Query, read: Read, seen: Seen | None = None, spread: Spread | None = None) -> DataFrame:
    """Everything a query writes, as Kafka records: its results, its dead letters, and the changes of its state.

    `seen` is how far earlier runs of it have written, for a sink whose records tell repeats. `spread` says how its
    operators run; without it their state lives for one batch.
    """
    rekeyed = is_rekeyed(query.relation)
    if not is_stateful(query.relation):
        frame = build(query.relation, _numbered(read, len(scans(query.relation))))
        own = Own(query.id, seen or {}, placed=query.guarantee is Guarantee.FAST) if query.sink.headed else None
        return emit.routed(frame, query.sink, query.dead_letters, own, rekeyed=rekeyed)
    spread = spread or Spread(1)
    made = emit.records(
        build(query.relation, read, spread, keeps_late=query.keeps_late),
        query.sink,
        query.dead_letters,
        rekeyed=rekeyed,
    )
    # Half a batch that stands would have changed what the other half must still find.
    return made if has_own_slots(query.relation) else made.repartition(1)


def _numbered(read: Read, count: int) -> Read:
    """Reads of `count` scans, whose rows tell by rows.ORIGIN which scan and partition they are of."""
    scan = iter(range(count))
    return lambda source: with_origin(read(source), next(scan), count)


def with_origin(raw: DataFrame, scan: int = 0, scans: int = 1) -> DataFrame:
    origin = "partition" if scans == 1 else f"partition * {scans} + {scan}"
    return raw.selectExpr("*", f"{origin} AS {rows.ORIGIN}")


def build(relation: Relation, read: Read, spread: Spread | None = None, *, keeps_late: bool = False) -> DataFrame:
    """The relation's columns with ROWTIME, DELETED, ORDER and BAD; without an operator also the rest of rows.META, and
    behind one rows.LETTER.

    `keeps_late`: rows that come too late for a window come out as bad ones.
    """
    # The letter of a late row has all of the row's columns.
    unread = frozenset() if keeps_late else unread_columns(relation)
    return _built(relation, lambda source: decoded(read(source), source, unread), spread or Spread(1), keeps_late)


def build_over(
    relation: Relation, records: DataFrame, spread: Spread | None = None, *, keeps_late: bool = False
) -> DataFrame:
    """A relation over the decoded records of its one source."""
    return _built(relation, lambda source: records, spread or Spread(1), keeps_late)


def _built(relation: Relation, read: Read, tasks: Spread, keeps_late: bool) -> DataFrame:
    def inner(of: Relation) -> DataFrame:
        return _built(of, read, tasks, keeps_late)

    match relation:
        case Scan(source):
            return read(source)
        case Filter(input, condition):
            return _filtered(relation, inner(input), condition.spark)
        case Project(input, items):
            return _projected(inner(input), [(i.expr.spark, i.name) for i in items])
        case Explode(input, items):
            return _exploded(relation, inner(input))
        case Settle(input):
            return rowwise.settle(relation, inner(input), tasks)
        case Distinct(input):
            return rowwise.distinct(relation, _events(inner(input)), tasks, keeps_late=keeps_late)
        case Union(inputs):
            frames = [inner(i) for i in inputs]
            if is_stateful(relation):
                frames = [_with_packed_letters(frame) for frame in frames]
            return reduce(lambda left, right: left.unionByName(right), frames)
        case Join(left, right):
            return join.apply(relation, inner(left.input), inner(right.input), tasks)
        case Aggregate(input=input):
            folded = inner(input) if relation.of_table else _events(inner(input))
            keeps = keeps_late and relation.window is not None
            return aggregate.apply(relation, folded, tasks, keeps_late=keeps)
        case _:
            assert_never(relation)


def _events(stream: DataFrame) -> DataFrame:
    """Without the records that have no value: they tell an operator nothing."""
    return stream.where(f"{rows.BAD} IS NOT NULL OR NOT {rows.DELETED}")


def _with_packed_letters(frame: DataFrame) -> DataFrame:
    """With the columns that frames with and without an operator have in common."""
    others = [quote(c) for c in frame.columns if c not in rows.META and c not in (ROWPARTITION, ROWOFFSET)]
    return frame.selectExpr(*others, rows.DELETED, rows.BAD, f"{letters.letter_of(frame)} AS {rows.LETTER}")


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

"""GROUP BY by tasks of our own, for what Spark's aggregation can't do: see `folds` for the folding itself."""

from __future__ import annotations

from pyspark.sql import DataFrame

from orion.plan.relations import Aggregate, AggregateCall
from orion.plan.sources import ROWTIME, WINDOWEND, WINDOWSTART
from orion.runtime import packing, rows
from orion.runtime.operators import late
from orion.runtime.operators.folds import BOTH, GIVE, UNDO, Aggregator, Folds, Retraction
from orion.runtime.operators.native_aggregate import finished
from orion.runtime.operators.tasks import KEY, NO_DATA, NO_ROW, TIME, Spread, arriving
from orion.runtime.operators.values import from_plain, plain_type, to_plain
from orion.schema import SqlType

_BEFORE, _AFTER = "__before", "__after"


def apply(relation: Aggregate, frame: DataFrame, spread: Spread, *, keeps_late: bool = False) -> DataFrame:
    groups = [k.expr.type for k in relation.keys]
    arguments = [(a.spark, a.type) for c in relation.calls for a in c.args]
    if relation.of_table:
        given = _changes_of_table(relation, frame, spread)
    else:
        key = [k.expr for k in relation.keys]
        row = late.kept(frame) if keeps_late else NO_ROW
        there = frame.where(packing.present(key))
        given = arriving(there, packing.packed(key), row, side=str(GIVE), data=_data(arguments))
    aggregator = Aggregator(
        Folds(relation.calls),
        relation.window,
        final=relation.final,
        each=relation.each,
        of_table=bool(relation.of_table),
        ttl_ms=relation.ttl_ms,
        keeps_late=keeps_late,
    )
    folds = _results(relation.calls)
    output = {WINDOWSTART: "BIGINT", WINDOWEND: "BIGINT", _BEFORE: folds, _AFTER: folds}
    folded = spread.apply(given, aggregator, output)
    if aggregator.tells_late:
        folded = late.told(folded, keep=keeps_late)
    # A group's key is read once, however many columns are made of it.
    folded = folded.selectExpr("*", f"{packing.unpacked(KEY, groups)} AS __group")
    keys = [f"{packing.column('__group', at, k.expr.type)} AS {k.name}" for at, k in enumerate(relation.keys)]
    bounds = [WINDOWSTART, WINDOWEND] if relation.window else []
    shaped = folded.selectExpr(
        *keys, *bounds, f"{TIME} AS {ROWTIME}", rows.ORDER, _BEFORE, _AFTER, *late.carried(folded)
    )
    return finished(relation, _judged(relation, shaped))


def _data(arguments: list[tuple[str, SqlType]]) -> str:
    if not arguments:
        return NO_DATA
    fields = (f"'d{at}', {to_plain(spark, type_)}" for at, (spark, type_) in enumerate(arguments))
    return f"named_struct({', '.join(fields)})"


def _results(calls: tuple[AggregateCall, ...]) -> str:
    fields = ",".join(f"{c.name}:{plain_type(c.type)}" for c in calls)
    return f"STRUCT<{fields or '__nothing:BOOLEAN'}>"


# ---- folding a table -------------------------------------------------------------------------------------------


def _changes_of_table(relation: Aggregate, frame: DataFrame, spread: Spread) -> DataFrame:
    """A table's row gives to its group once; when it changes, what it gave before is taken back.

    A row whose group stays the same gives and takes in one step, so that no state in between is seen.
    """
    group = [k.expr for k in relation.keys]
    arguments = [a for c in relation.calls for a in c.args]
    carried = [*group, *arguments]
    row = f"CASE WHEN NOT {rows.DELETED} AND {packing.present(group)} THEN {packing.packed(carried)} END"
    given = arriving(frame, packing.packed(relation.of_table), row)
    changes = spread.apply(given, Retraction(), {"__old": "BINARY", "__new": "BINARY"})
    types = [e.type for e in carried]
    changes = changes.selectExpr(
        TIME,
        rows.ORDER,
        *(f"{packing.unpacked(side, types)} AS {side}" for side in ("__old", "__new")),
    )
    old, new = _given("__old", relation), _given("__new", relation)
    none = f"CAST(NULL AS {_data_type([a.type for a in arguments])})"
    undo = f"struct({UNDO} AS side, {old[0]} AS key, {none} AS give, {old[1]} AS take)"
    give = f"struct({GIVE} AS side, {new[0]} AS key, {new[1]} AS give, {none} AS take)"
    both = f"struct({BOTH} AS side, {new[0]} AS key, {new[1]} AS give, {old[1]} AS take)"
    split = changes.selectExpr(
        TIME,
        rows.ORDER,
        f"CASE WHEN __old IS NULL THEN array({give}) WHEN __new IS NULL THEN array({undo}) "
        f"WHEN {old[0]} = {new[0]} THEN array({both}) ELSE array({undo}, {give}) END AS __steps",
    )
    split = split.selectExpr(TIME, rows.ORDER, "posexplode(__steps) AS (__at, __step)")
    ordered = split.selectExpr(TIME, f"concat({rows.ORDER}, CAST(__at AS BINARY)) AS {rows.ORDER}", "__step")
    steps = "named_struct('give', __step.give, 'take', __step.take)"
    return arriving(ordered, "__step.key", side="__step.side", data=steps)


def _given(struct: str, relation: Aggregate) -> tuple[str, str]:
    """A row's group as bytes, and what it gives to it."""
    groups = [(packing.column(struct, at, k.expr.type), k.expr.type) for at, k in enumerate(relation.keys)]
    types = [a.type for c in relation.calls for a in c.args]
    arguments = [(packing.column(struct, len(groups) + at, t), t) for at, t in enumerate(types)]
    return packing.pack(groups), _data(arguments)


def _data_type(types: list[SqlType]) -> str:
    fields = ", ".join(f"d{at}: {plain_type(t)}" for at, t in enumerate(types))
    return f"STRUCT<{fields or 'none: BOOLEAN'}>"


# ---- what comes out --------------------------------------------------------------------------------------------


def _judged(relation: Aggregate, folded: DataFrame) -> DataFrame:
    """Groups that are, or were, in the result; those that no longer are come as deletions."""
    judged = _with_visibility(relation, _with_visibility(relation, folded, _BEFORE), _AFTER)
    beside = late.carried(folded)
    bad = f"{rows.BAD} IS NOT NULL OR " if beside else ""
    shown = judged.where(f"{bad}{_BEFORE}_visible OR {_AFTER}_visible")
    names = [k.name for k in relation.keys] + ([WINDOWSTART, WINDOWEND] if relation.window else [])
    flat = [f"{from_plain(f'coalesce({_AFTER}, {_BEFORE}).{c.name}', c.type)} AS {c.name}" for c in relation.calls]
    return shown.selectExpr(*names, ROWTIME, rows.ORDER, *flat, f"NOT {_AFTER}_visible AS {rows.DELETED}", *beside)


def _with_visibility(relation: Aggregate, frame: DataFrame, side: str) -> DataFrame:
    """Whether a group fulfilled HAVING on one side. The condition names aggregates as columns: they are laid flat."""
    having = relation.having.spark if relation.having else "TRUE"
    flat = [f"{from_plain(f'{side}.{c.name}', c.type)} AS {c.name}" for c in relation.calls]
    visible = f"({side} IS NOT NULL AND coalesce({having}, FALSE)) AS {side}_visible"
    return frame.selectExpr("*", *flat).selectExpr(*frame.columns, visible)

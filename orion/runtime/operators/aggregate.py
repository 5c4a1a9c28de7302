"""GROUP BY as tasks: what they take and what is made of what they give. See `folds` for the folding itself."""

from __future__ import annotations

from pyspark.sql import DataFrame

from orion.plan.relations import Aggregate, AggregateCall
from orion.plan.sources import ROWTIME, WINDOWEND, WINDOWSTART
from orion.runtime import letters, packing, rows
from orion.runtime.operators.folds import BOTH, GIVE, UNDO, Aggregator, Folds, GroupFolding, Retraction
from orion.runtime.operators.placing import placed_type
from orion.runtime.operators.spread import KEY, TIME, Spread, arriving
from orion.runtime.operators.values import from_plain, plain_type, to_plain
from orion.schema import SqlType, quote

_WAS, _IS, _BEFORE, _AFTER = "__was", "__is", "__before", "__after"
_CARRIED = (ROWTIME, rows.ORDER, rows.BAD, rows.LETTER)


def apply(relation: Aggregate, frame: DataFrame, spread: Spread, *, keeps_late: bool = False) -> DataFrame:
    if relation.of_table:
        given = _changes_of_table(relation, frame, spread)
    else:
        key = [k.expr for k in relation.keys]
        arguments = _data([(a.spark, a.type) for c in relation.calls for a in c.args])
        row = letters.letter_of_row(frame) if keeps_late else None
        given = arriving(frame, packing.packed(key), row, data=arguments, present=packing.present(key))
    how = GroupFolding(
        Folds(relation.calls),
        relation.window,
        final=relation.final,
        each=relation.each,
        of_table=bool(relation.of_table),
        ttl_ms=relation.ttl_ms,
        keeps_late=keeps_late,
        tells_before=relation.having is not None,
    )
    placed = None if relation.of_table else placed_type([k.expr for k in relation.keys])
    folded = spread.apply(given, Aggregator(how), _output(relation, how), placed)
    groups = [k.expr.type for k in relation.keys]
    # A group's key is read once, however many columns are made of it.
    group = packing.unpacked(f"CASE WHEN {rows.BAD} IS NULL THEN {KEY} END", groups)
    folded = spread.read_once(folded, {"__group": group}).selectExpr("*", f"{TIME} AS {ROWTIME}")
    keys = [f"{packing.column('__group', at, k.expr.type)} AS {k.name}" for at, k in enumerate(relation.keys)]
    bounds = [WINDOWSTART, WINDOWEND] if relation.window else []
    sides = [c for c in folded.columns if c.startswith((_BEFORE, _AFTER))]
    return _finished(relation, _judged(relation, folded.selectExpr(*keys, *bounds, *_CARRIED, _WAS, _IS, *sides)))


def _data(arguments: list[tuple[str, SqlType]]) -> dict[str, str]:
    return {f"d{at}": to_plain(spark, type_) for at, (spark, type_) in enumerate(arguments)}


def _output(relation: Aggregate, how: GroupFolding) -> dict[str, str]:
    """The columns of what the operator makes, in its order."""
    sides = (_AFTER, _BEFORE) if how.tells_before else (_AFTER,)
    results = {f"{side}{call.name}": plain_type(call.type) for side in sides for call in relation.calls}
    return {WINDOWSTART: "BIGINT", WINDOWEND: "BIGINT", _WAS: "BOOLEAN", _IS: "BOOLEAN", **results}


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
    passed = (TIME, rows.BAD, rows.LETTER)
    changes = changes.selectExpr(
        *passed,
        rows.ORDER,
        *(f"{packing.unpacked(side, types)} AS {side}" for side in ("__old", "__new")),
    )
    old, new = _given("__old", relation), _given("__new", relation)
    none = f"CAST(NULL AS {_data_type([a.type for a in arguments])})"
    undo = f"struct({UNDO} AS side, {old[0]} AS key, {none} AS give, {old[1]} AS take)"
    give = f"struct({GIVE} AS side, {new[0]} AS key, {new[1]} AS give, {none} AS take)"
    both = f"struct({BOTH} AS side, {new[0]} AS key, {new[1]} AS give, {old[1]} AS take)"
    # A dead letter is one step, of which nothing is looked at.
    split = changes.selectExpr(
        *passed,
        rows.ORDER,
        f"CASE WHEN __old IS NULL THEN array({give}) WHEN __new IS NULL THEN array({undo}) "
        f"WHEN {old[0]} = {new[0]} THEN array({both}) ELSE array({undo}, {give}) END AS __steps",
    )
    split = split.selectExpr(*passed, rows.ORDER, "posexplode(__steps) AS (__at, __step)")
    ordered = split.selectExpr(*passed, f"concat({rows.ORDER}, CAST(__at AS BINARY)) AS {rows.ORDER}", "__step")
    steps = {"give": "__step.give", "take": "__step.take"}
    return arriving(ordered, "__step.key", side="__step.side", data=steps)


def _given(struct: str, relation: Aggregate) -> tuple[str, str]:
    """A row's group as bytes, and what it gives to it."""
    groups = [(packing.column(struct, at, k.expr.type), k.expr.type) for at, k in enumerate(relation.keys)]
    types = [a.type for c in relation.calls for a in c.args]
    arguments = [(packing.column(struct, len(groups) + at, t), t) for at, t in enumerate(types)]
    fields = [f"'{name}', {spark}" for name, spark in _data(arguments).items()]
    return packing.pack(groups), f"named_struct({', '.join(fields)})" if fields else f"CAST(NULL AS {_data_type([])})"


def _data_type(types: list[SqlType]) -> str:
    fields = ", ".join(f"d{at}: {plain_type(t)}" for at, t in enumerate(types))
    return f"STRUCT<{fields or 'none: BOOLEAN'}>"


# ---- what comes out --------------------------------------------------------------------------------------------


def _judged(relation: Aggregate, folded: DataFrame) -> DataFrame:
    """Groups that are, or were, in the result; those that no longer are come as deletions."""
    names = [k.name for k in relation.keys] + ([WINDOWSTART, WINDOWEND] if relation.window else [])
    flat = [f"{from_plain(f'{_AFTER}{c.name}', c.type)} AS {c.name}" for c in relation.calls]
    if relation.having is None:
        return folded.selectExpr(*names, *_CARRIED, *flat, f"NOT coalesce({_IS}, FALSE) AS {rows.DELETED}")
    having = relation.having.spark
    judged = _with_visibility(having, relation.calls, _with_visibility(having, relation.calls, folded, _WAS), _IS)
    shown = judged.where(f"{rows.BAD} IS NOT NULL OR {_WAS}_visible OR {_IS}_visible")
    return shown.selectExpr(*names, *_CARRIED, *flat, f"NOT {_IS}_visible AS {rows.DELETED}")


def _with_visibility(having: str, calls: tuple[AggregateCall, ...], frame: DataFrame, flag: str) -> DataFrame:
    """Whether a group fulfilled HAVING on one side. The condition names aggregates as columns: they are laid flat."""
    side = _BEFORE if flag == _WAS else _AFTER
    flat = [f"{from_plain(f'{side}{c.name}', c.type)} AS {c.name}" for c in calls]
    visible = f"(coalesce({flag}, FALSE) AND coalesce({having}, FALSE)) AS {flag}_visible"
    return frame.selectExpr("*", *flat).selectExpr(*frame.columns, visible)


def _finished(relation: Aggregate, folded: DataFrame) -> DataFrame:
    """The SELECT list over folded columns, with what every frame carries."""
    taken = {i.name for i in relation.items}
    bounds = [n for n in (WINDOWSTART, WINDOWEND) if relation.window is not None and n not in taken]
    items = [f"{i.expr.spark} AS {quote(i.name)}" for i in relation.items]
    return folded.selectExpr(*items, *bounds, *_CARRIED, rows.DELETED)

"""Joins as tasks: both sides packed, told apart, and brought together by key. See `joins` for what a task does."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from orion.plan.relations import Expr, Join, JoinKind, Side
from orion.plan.sources import ROWTIME
from orion.runtime import packing, rows
from orion.runtime.operators.joins import (
    LEFT,
    RIGHT,
    Serve,
    StreamStream,
    StreamTable,
    Subscribe,
    TableTable,
)
from orion.runtime.operators.tasks import DATA, KEY, ROW, SIDE, TIME, Operator, Spread
from orion.schema import quote

_LEFT, _RIGHT, _PAIR = "__left", "__right", "__left BINARY, __right BINARY, __gone BOOLEAN"
_NO_DATA = "CAST(NULL AS STRUCT<none: BINARY>)"


def apply(relation: Join, left: DataFrame, right: DataFrame, spread: Spread) -> DataFrame:
    if relation.kind is JoinKind.FOREIGN_KEY:
        return _shaped(relation, _by_foreign_key(relation, left, right, spread))
    both = _tagged(relation.left, left, LEFT).unionAll(_tagged(relation.right, right, RIGHT))
    return _shaped(relation, spread.apply(both, _operator(relation), _PAIR))


def _operator(relation: Join) -> Operator:
    match relation.kind:
        case JoinKind.STREAM_STREAM:
            assert relation.within is not None
            return StreamStream(relation.type, relation.within)
        case JoinKind.STREAM_TABLE:
            return StreamTable(relation.type)
        case _:
            return TableTable(relation.type)


def _tagged(side: Side, frame: DataFrame, number: int) -> DataFrame:
    """A side's rows for a task. One whose key is NULL equals nothing, and so takes no part."""
    return frame.where(_present(side.on)).selectExpr(
        f"{_packed(side.on)} AS {KEY}",
        f"{number} AS {SIDE}",
        f"CASE WHEN NOT {rows.DELETED} THEN {_row(side)} END AS {ROW}",
        f"{ROWTIME} AS {TIME}",
        f"{_NO_DATA} AS {DATA}",
        rows.ORDER,
    )


def _present(key: Sequence[Expr]) -> str:
    return " AND ".join(f"({k.spark}) IS NOT NULL" for k in key)


def _packed(key: Sequence[Expr]) -> str:
    return packing.pack([(k.spark, k.type) for k in key])


def _row(side: Side) -> str:
    return packing.pack([(c.expr.spark, c.expr.type) for c in side.columns])


def _by_foreign_key(relation: Join, left: DataFrame, right: DataFrame, spread: Spread) -> DataFrame:
    """Two steps: the left row's place is told where it points to, and there it meets the right row."""
    foreign = f"CASE WHEN {_present(relation.left.on)} THEN {_packed(relation.left.on)} END"
    pointing = left.selectExpr(
        f"{_packed(relation.left_key)} AS {KEY}",
        f"{LEFT} AS {SIDE}",
        f"CASE WHEN NOT {rows.DELETED} THEN {_row(relation.left)} END AS {ROW}",
        f"{ROWTIME} AS {TIME}",
        f"named_struct('foreign', {foreign}) AS {DATA}",
        rows.ORDER,
    )
    told = spread.apply(
        pointing, Subscribe(relation.type), "__from BINARY, __mine BINARY, __tell BOOLEAN, __nowhere BOOLEAN"
    )
    subscriptions = told.selectExpr(
        KEY,
        f"{LEFT} AS {SIDE}",
        f"__mine AS {ROW}",
        TIME,
        f"named_struct('from', __from, 'tell', __tell, 'nowhere', __nowhere) AS {DATA}",
        rows.ORDER,
    )
    served = _tagged(relation.right, right, RIGHT).selectExpr(
        KEY,
        SIDE,
        ROW,
        TIME,
        f"CAST(NULL AS STRUCT<from: BINARY, tell: BOOLEAN, nowhere: BOOLEAN>) AS {DATA}",
        rows.ORDER,
    )
    return spread.apply(subscriptions.unionAll(served), Serve(relation.type), _PAIR)


def _shaped(relation: Join, pairs: DataFrame) -> DataFrame:
    """Pairs as columns, beside the key; of a deletion only that is known."""
    sides = {_LEFT: relation.left.columns, _RIGHT: relation.right.columns}
    keys = [k.expr.type for k in relation.key]
    read = [f"{packing.unpacked(name, [c.expr.type for c in columns])} AS {name}" for name, columns in sides.items()]
    frame = pairs.selectExpr(*read, f"{packing.unpacked(KEY, keys)} AS __on", TIME, rows.ORDER, "__gone")
    known = {k.name: packing.column("__on", at, k.expr.type) for at, k in enumerate(relation.key)}
    columns = [
        f"{packing.column(name, at, c.expr.type)} AS {quote(c.name)}"
        for name, found in sides.items()
        for at, c in enumerate(found)
    ]
    on = [f"{spark} AS {quote(name)}" for name, spark in known.items()]
    return frame.selectExpr(*columns, *on, f"{TIME} AS {ROWTIME}", f"__gone AS {rows.DELETED}", rows.ORDER)

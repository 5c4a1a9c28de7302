"""Joins as tasks: both sides packed, told apart, and brought together by key. See `joins` for what a task does."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from orion.plan.relations import Join, JoinKind, Side
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
from orion.runtime.operators.placing import placed_type
from orion.runtime.operators.spread import KEY, TIME, Spread, arriving, kept
from orion.runtime.operators.tasks import Operator
from orion.schema import quote

_LEFT, _RIGHT = "__left", "__right"
_PAIR = {_LEFT: "BINARY", _RIGHT: "BINARY", "__gone": "BOOLEAN"}
_NO_SUBSCRIPTION = {"from": "CAST(NULL AS BINARY)", "tell": "CAST(NULL AS BOOLEAN)", "nowhere": "CAST(NULL AS BOOLEAN)"}


def apply(relation: Join, left: DataFrame, right: DataFrame, spread: Spread) -> DataFrame:
    if relation.kind is JoinKind.FOREIGN_KEY:
        return _shaped(relation, _by_foreign_key(relation, left, right, spread))
    both = _tagged(relation.left, left, LEFT).unionAll(_tagged(relation.right, right, RIGHT))
    placed = placed_type(relation.left.on)
    if placed is not placed_type(relation.right.on):
        placed = None
    return _shaped(relation, spread.apply(both, _operator(relation), _PAIR, placed))


def _operator(relation: Join) -> Operator:
    match relation.kind:
        case JoinKind.STREAM_STREAM:
            assert relation.within is not None
            return StreamStream(relation.type, relation.within)
        case JoinKind.STREAM_TABLE:
            return StreamTable(relation.type)
        case _:
            return TableTable(relation.type)


def _tagged(side: Side, frame: DataFrame, number: int, data: Mapping[str, str] | None = None) -> DataFrame:
    """A side's rows for a task. One whose key is NULL equals nothing, and so takes no part."""
    present = packing.present(side.on)
    return arriving(frame, packing.packed(side.on), _row(side), side=str(number), data=data, present=present)


def _row(side: Side) -> str:
    return kept(packing.packed(c.expr for c in side.columns))


def _by_foreign_key(relation: Join, left: DataFrame, right: DataFrame, spread: Spread) -> DataFrame:
    """Two steps: the left row's place is told where it points to, and there it meets the right row."""
    on = relation.left.on
    foreign = {"foreign": f"CASE WHEN {packing.present(on)} THEN {packing.packed(on)} END"}
    pointing = arriving(left, packing.packed(relation.left_key), _row(relation.left), data=foreign)
    output = {"__from": "BINARY", "__mine": "BINARY", "__tell": "BOOLEAN", "__nowhere": "BOOLEAN"}
    told = spread.apply(pointing, Subscribe(relation.type), output)
    whose = {"from": "__from", "tell": "__tell", "nowhere": "__nowhere"}
    subscriptions = arriving(told, KEY, "__mine", side=str(LEFT), data=whose)
    served = _tagged(relation.right, right, RIGHT, _NO_SUBSCRIPTION)
    return spread.apply(subscriptions.unionAll(served), Serve(relation.type), _PAIR)


def _shaped(relation: Join, pairs: DataFrame) -> DataFrame:
    """Pairs as columns, beside the key; of a deletion only that is known."""
    sides = {_LEFT: relation.left.columns, _RIGHT: relation.right.columns}
    keys = [k.expr.type for k in relation.key]
    read = [f"{packing.unpacked(name, [c.expr.type for c in columns])} AS {name}" for name, columns in sides.items()]
    on_key = packing.unpacked(f"CASE WHEN {rows.BAD} IS NULL THEN {KEY} END", keys)
    frame = pairs.selectExpr(*read, f"{on_key} AS __on", TIME, rows.ORDER, "__gone", rows.BAD, rows.LETTER)
    known = {k.name: packing.column("__on", at, k.expr.type) for at, k in enumerate(relation.key)}
    columns = [
        f"{packing.column(name, at, c.expr.type)} AS {quote(c.name)}"
        for name, found in sides.items()
        for at, c in enumerate(found)
    ]
    on = [f"{spark} AS {quote(name)}" for name, spark in known.items()]
    told = (f"{TIME} AS {ROWTIME}", f"coalesce(__gone, FALSE) AS {rows.DELETED}", rows.ORDER, rows.BAD, rows.LETTER)
    return frame.selectExpr(*columns, *on, *told)

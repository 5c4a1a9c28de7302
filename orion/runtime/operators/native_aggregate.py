"""GROUP BY in Spark's own aggregation: each batch gives every group that changed, once."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orion.plan.relations import Aggregate
from orion.plan.sources import ROWTIME, WINDOWEND, WINDOWSTART
from orion.runtime import rows
from orion.runtime.operators import late
from orion.schema import quote

_TIME = "__time"


def apply(relation: Aggregate, frame: DataFrame) -> DataFrame:
    keys = [f"{k.expr.spark} AS {k.name}" for k in relation.keys]
    # A row with a NULL in its key belongs to no group.
    present = " AND ".join(f"{k.name} IS NOT NULL" for k in relation.keys)
    frame = frame.selectExpr("*", *keys).where(present)
    groups = [F.col(k.name) for k in relation.keys]
    bounds: list[str] = []
    if relation.window is not None:
        window = relation.window
        frame = frame.selectExpr("*", f"timestamp_millis({ROWTIME}) AS {_TIME}")
        frame = frame.withWatermark(_TIME, f"{window.grace_ms} milliseconds")
        groups.append(F.window(_TIME, f"{window.size_ms} milliseconds", f"{window.advance_ms} milliseconds"))
        bounds = [f"unix_millis(window.start) AS {WINDOWSTART}", f"unix_millis(window.end) AS {WINDOWEND}"]
    folds = [F.expr(c.native or "NULL").alias(c.name) for c in relation.calls]
    folded = frame.groupBy(*groups).agg(*folds, F.max(ROWTIME).alias(ROWTIME))
    names = [k.name for k in relation.keys] + [c.name for c in relation.calls]
    # Bytes can't be in the buffers of Spark's hash aggregation, so the rows' order isn't: a group stands by its time.
    order = f"concat(CAST(greatest({ROWTIME}, 0L) AS BINARY), CAST(0L AS BINARY), CAST(0L AS BINARY)) AS {rows.ORDER}"
    folded = folded.selectExpr(*names, ROWTIME, order, *bounds)
    return finished(relation, folded.selectExpr("*", f"FALSE AS {rows.DELETED}"))


def finished(relation: Aggregate, folded: DataFrame) -> DataFrame:
    """The SELECT list over folded columns, with what every frame carries."""
    taken = {i.name for i in relation.items}
    bounds = [n for n in (WINDOWSTART, WINDOWEND) if relation.window is not None and n not in taken]
    items = [f"{i.expr.spark} AS {quote(i.name)}" for i in relation.items]
    return folded.selectExpr(*items, *bounds, ROWTIME, rows.DELETED, rows.ORDER, *late.carried(folded))

"""Rows that come too late for their window: counted, and kept as dead letters where the statement says so.

An operator tells of them beside its results (`tasks.LATE`). Spark adds their number to its report of the batch, where
`progress` finds it. Those that are kept go on as bad records do: every filter lets them pass, and `emit` makes letters
of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import count

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME
from orion.plan.tolerance import LATE_ROW
from orion.runtime import packing, rows
from orion.runtime.operators.tasks import LATE
from orion.schema import Scalar, SqlType, literal, quote, spark_type

METRIC = "late"

# What a letter tells of a row, under the names it has on its way out.
_TOLD: dict[str, SqlType] = {
    rows.RAW_KEY: Scalar.BYTES,
    rows.RAW_VALUE: Scalar.STRING,
    rows.TOPIC: Scalar.STRING,
    rows.STAMP: Scalar.BIGINT,
    ROWPARTITION: Scalar.INTEGER,
    ROWOFFSET: Scalar.BIGINT,
}
_NOTHING: dict[str, str] = {rows.TOPIC: "''", rows.STAMP: ROWTIME}
_numbers = count()


def kept(frame: DataFrame) -> str:
    """The Spark SQL of a row as its letter will tell it: the row as JSON, and where it came from if that is known."""
    columns = [c for c in frame.columns if not c.startswith("__") and c not in (ROWPARTITION, ROWOFFSET)]
    fields = ", ".join(f"{literal(c)}, {quote(c)}" for c in columns)
    known = {
        name: name if name in frame.columns else _NOTHING.get(name, f"CAST(NULL AS {spark_type(type_)})")
        for name, type_ in _TOLD.items()
    }
    known[rows.RAW_VALUE] = f"to_json(named_struct({fields}))"
    return packing.pack([(known[name], type_) for name, type_ in _TOLD.items()])


def told(frame: DataFrame, *, keep: bool) -> DataFrame:
    """What an operator made, without LATE: late rows are counted, and gone or, to be kept, marked as rows.BAD."""
    counted = frame.observe(f"{METRIC}_{next(_numbers)}", F.expr(f"coalesce(sum({LATE}.rows), 0L)").alias(METRIC))
    others = [quote(c) for c in frame.columns if c != LATE]
    if not keep:
        return counted.where(f"{LATE} IS NULL").selectExpr(*others)
    unpacked = packing.unpacked(f"{LATE}.row", list(_TOLD.values()))
    read = counted.selectExpr(*others, f"{LATE}.why AS __why", f"{unpacked} AS __told")
    letter = [f"{packing.column('__told', at, type_)} AS {name}" for at, (name, type_) in enumerate(_TOLD.items())]
    made = read.selectExpr(
        *others, f"CASE WHEN __why IS NOT NULL THEN concat('{LATE_ROW}: ', __why) END AS {rows.BAD}", *letter
    )
    return made.withColumn(rows.RAW_VALUE, F.col(rows.RAW_VALUE).cast("binary"))


def carried(frame: DataFrame) -> list[str]:
    """The columns of kept late rows, where a frame has them."""
    return [name for name in (rows.BAD, *_TOLD) if rows.BAD in frame.columns]


def reason(bounds: Iterable[tuple[int, int]], grace_ms: int, now: int) -> str:
    """Why a row was too late for one window or several, in words."""
    closed = list(bounds)
    start, end = closed[0]
    more = f" (and {len(closed) - 1} more)" if len(closed) > 1 else ""
    return (
        f"the window from {_moment(start)} to {_moment(end)}{more} was closed: "
        f"the stream had come to {_moment(now)}, and its grace is {grace_ms} ms"
    )


def _moment(ms: int) -> str:
    seconds, rest = divmod(ms, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03d}Z"

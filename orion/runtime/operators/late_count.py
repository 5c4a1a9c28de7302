"""The number of rows that came too late, in Spark's report of their batch."""

from __future__ import annotations

from itertools import count

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orion.runtime import rows
from orion.runtime.operators.spread import LATE
from orion.schema import quote

METRIC = "late"
_numbers = count()


def count_late_rows(frame: DataFrame) -> DataFrame:
    """What an operator made, without LATE: late rows are counted, and those that aren't kept as letters are gone."""
    counted = frame.observe(f"{METRIC}_{next(_numbers)}", F.expr(f"coalesce(sum({LATE}), 0L)").alias(METRIC))
    others = [quote(c) for c in frame.columns if c != LATE]
    return counted.where(f"{LATE} IS NULL OR {rows.BAD} IS NOT NULL").selectExpr(*others)

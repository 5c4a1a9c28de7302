"""A frame whose plan Spark has simplified before it runs.

Spark optimizes the plan of a stream anew for each of its batches, and finds the same simplifications each time: for a
small batch that takes as long as the work itself. So the rules that make the plan smaller have run once when a stream
starts, and find nothing left to do later on. The time of a batch stays the batch's: what would make a constant of it
is left out where a plan asks for the time.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

# Of Spark's own optimizer; what they leave, it does at each batch.
_RULES = (
    "ReplaceExpressions",
    "PushDownPredicates",
    "ColumnPruning",
    "CollapseProject",
    "NullPropagation",
    "BooleanSimplification",
    "SimplifyConditionals",
    "PushFoldableIntoBranches",
    "SimplifyCasts",
    "RemoveRedundantAliases",
    "RemoveNoopOperators",
    "SimplifyExtractValueOps",
)
# Would take the time of the start for a constant.
_FOLDING = "ConstantFolding"
_ROUNDS = 5


def simplified(frame: DataFrame) -> DataFrame:
    """The same rows by a smaller plan."""
    spark = frame.sparkSession
    jvm: Any = spark._jvm
    plan = frame._jdf.queryExecution().analyzed()
    timeless = not plan.containsPattern(jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE())
    names = (*_RULES, _FOLDING) if timeless else _RULES
    rules = [getattr(jvm.org.apache.spark.sql.catalyst.optimizer, name) for name in names]
    for _ in range(_ROUNDS):
        before = plan
        for rule in rules:
            plan = rule.apply(plan)
        if plan.fastEquals(before):
            break
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan), spark)

"""A frame whose plan Spark has simplified before it runs.

Spark optimizes the plan of a stream anew for each of its batches, and finds the same simplifications each time: for a
small batch that takes longer than the work itself. So the rules that make the plan smaller have run once when a stream
starts, and are left out of its batches (`skip_optimizer_rules`). The time of a batch stays the batch's: what would make
a constant of it is left out where a plan asks for the time.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

_PACKAGE = "org.apache.spark.sql.catalyst.optimizer"
# Of Spark's own optimizer. The first two stand for expressions that Spark can't evaluate: they run in batches, too.
_NEEDED = ("ReplaceExpressions", "RewriteWithExpression")
_RULES = (
    "PushDownPredicates",
    "ColumnPruning",
    "CollapseProject",
    "NullPropagation",
    "NullDownPropagation",
    "BooleanSimplification",
    "SimplifyConditionals",
    "SimplifyBinaryComparison",
    "ReorderAssociativeOperator",
    "LikeSimplification",
    "OptimizeIn",
    "OptimizeCsvJsonExprs",
    "PushFoldableIntoBranches",
    "SimplifyCasts",
    "RemoveRedundantAliases",
    "RemoveNoopOperators",
    "SimplifyExtractValueOps",
)
# Would take the time of the start for a constant.
FOLDING = f"{_PACKAGE}.ConstantFolding"
_ROUNDS = 5
# What finds nothing to do in such plans, which are projections, filters and operators over a topic, and takes time to
# find that out.
_IDLE = (
    *(
        f"{_PACKAGE}.{name}"
        for name in (
            "ConstantPropagation",
            "EliminateLimits",
            "FoldablePropagation",
            "GenerateOptimization",
            "InferFiltersFromGenerate",
            "OptimizeOneRowRelationSubquery",
            "OptimizeRepartition",
            "PruneFilters",
            "ReplaceNullWithFalseInPredicate",
            "SimplifyCaseConversionExpressions",
            "SimplifyDateTimeConversions",
            "UnwrapCastInBinaryComparison",
        )
    ),
    "org.apache.spark.sql.catalyst.analysis.UpdateAttributeNullability",
    "org.apache.spark.sql.delta.metric.OptimizeConditionalIncrementMetric",
    "org.apache.spark.sql.delta.optimizer.RangePartitionIdRewrite",
    "org.apache.spark.sql.delta.stats.PrepareDeltaScan",
    "org.apache.spark.sql.execution.datasources.PruneFileSourcePartitions",
    "org.apache.spark.sql.execution.datasources.PushVariantIntoScan",
    "org.apache.spark.sql.execution.datasources.SchemaPruning",
)
EXCLUDED_RULES = (*(f"{_PACKAGE}.{name}" for name in _RULES), *_IDLE)


def simplified(frame: DataFrame) -> DataFrame:
    """The same rows by a smaller plan."""
    spark = frame.sparkSession
    jvm: Any = spark._jvm
    plan = apply_rules(jvm, frame._jdf.queryExecution().analyzed(), (*_NEEDED, *_RULES))
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan), spark)


def apply_rules(jvm: Any, plan: Any, names: tuple[str, ...]) -> Any:
    """A plan as these rules leave it, and with its constants worked out unless it asks for the time."""
    timeless = not plan.containsPattern(jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE())
    rules = [getattr(jvm.org.apache.spark.sql.catalyst.optimizer, name) for name in names]
    rules += [jvm.org.apache.spark.sql.catalyst.optimizer.ConstantFolding] if timeless else []
    for _ in range(_ROUNDS):
        before = plan
        for rule in rules:
            plan = rule.apply(plan)
        if plan.fastEquals(before):
            break
    return plan


def skip_optimizer_rules(stream: StreamingQuery, *, is_folded: bool = False) -> None:
    """Have the batches of a stream planned without what is done already. `is_folded`: so are constants."""
    rules = (*EXCLUDED_RULES, FOLDING) if is_folded else EXCLUDED_RULES
    inner: Any = stream._jsq
    with suppress(Py4JError, ConnectionError):  # it has ended
        settings = inner.streamingQuery().sparkSessionForStream().conf()
        settings.set("spark.sql.optimizer.excludedRules", ",".join(rules))

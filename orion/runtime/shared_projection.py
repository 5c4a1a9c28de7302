"""What several statements make of one source's records, as one projection.

Each statement is a chain of projections and filters over the decoded records. Spark's own rules make one condition and
one list of columns of such a chain. A record then becomes an array, with what each statement makes of it, and the array
as many rows as there is something in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from orion.plan.prune import unread_columns
from orion.plan.relations import Query, is_rekeyed, scans
from orion.plan.sources import ROWOFFSET, ROWPARTITION
from orion.runtime import emit
from orion.runtime.dataframe import build_over, with_origin
from orion.runtime.lanes.exact import pack_outgoing
from orion.runtime.operators.pooled import MEMBER
from orion.runtime.scan import decoded
from orion.runtime.simplified import apply_rules

_MADE = "__made"
_ROUNDS = 10


@dataclass(frozen=True)
class Branch:
    """One statement. `starts`: by partition, from which offset on it reads where others begin earlier."""

    query: Query
    starts: Mapping[int, int] = field(default_factory=dict)


class NotShareable(Exception):
    """A statement that can't be one projection; `query` has its id."""

    def __init__(self, query: str, why: str) -> None:
        super().__init__(f"{query}: {why}")
        self.query, self.why = query, why


def project_all(branches: Sequence[Branch], raw: DataFrame) -> DataFrame:
    """What the exact lane sends to its workers, and which statement's it is. All have the same source, which `raw` has
    the records of. Raises NotShareable."""
    first = branches[0].query
    unread = frozenset.intersection(*(unread_columns(branch.query.relation) for branch in branches))
    records = decoded(with_origin(raw), scans(first.relation)[0], unread)
    leaf = leaf_of(records)
    made = [_made_by(branch, number, leaf) for number, branch in enumerate(branches)]
    return inline_structs(records, made)


def inline_structs(frame: DataFrame, made: Sequence[Column]) -> DataFrame:
    """Each row as many rows as there are structs made of it; NULL: none."""
    # In a projection of its own, which Spark compiles in pieces; inside of the generator it doesn't.
    arrays = frame.select(F.array(*made).alias(_MADE))
    return arrays.select(F.inline(_MADE)).where(f"{MEMBER} IS NOT NULL")


def leaf_of(records: DataFrame) -> DataFrame:
    """The same columns and nothing below them, so that rules leave alone how they come about."""
    spark = records.sparkSession
    jvm: Any = spark._jvm
    nothing = jvm.scala.jdk.javaapi.CollectionConverters.asScala(jvm.java.util.ArrayList()).toSeq()
    plan = jvm.org.apache.spark.sql.catalyst.plans.logical.LocalRelation(
        records._jdf.queryExecution().analyzed().output(), nothing, False, jvm.scala.Option.empty()
    )
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan), spark)


def _made_by(branch: Branch, number: int, leaf: DataFrame) -> Column:
    """What a statement makes of a record, as a struct; NULL: nothing."""
    query = branch.query
    read = read_behind(leaf, branch.starts)
    frame = emit.routed(
        build_over(query.relation, read), query.sink, query.dead_letters, rekeyed=is_rekeyed(query.relation)
    )
    return collapse_to_struct(pack_outgoing(frame), query.id, F.lit(number).alias(MEMBER))


def collapse_to_struct(frame: DataFrame, query: str, *more: Column) -> Column:
    """The frame's columns, and `more`, as a struct over its leaf's; NULL for a row that it leaves out."""
    condition, columns = collapse_plan(frame, query)
    struct = F.struct(*columns, *more)
    return struct if condition is None else F.when(condition, struct)


def read_behind(records: DataFrame, starts: Mapping[int, int]) -> DataFrame:
    """The records from where on a statement reads, by partition."""
    if not starts:
        return records
    whens = " ".join(f"WHEN {part} THEN {offset}L" for part, offset in sorted(starts.items()))
    return records.where(f"{ROWOFFSET} >= CASE {ROWPARTITION} {whens} ELSE 0L END")


def collapse_plan(frame: DataFrame, query: str) -> tuple[Column | None, list[Column]]:
    """The frame as one condition, if it has any, and its columns, both over its leaf's."""
    jvm: Any = frame.sparkSession._jvm
    plan = frame._jdf.queryExecution().analyzed()
    if plan.containsPattern(jvm.org.apache.spark.sql.catalyst.trees.TreePattern.PYTHON_UDF()):
        raise NotShareable(query, "it calls a function in Python")
    rules = jvm.org.apache.spark.sql.catalyst.optimizer
    for _ in range(_ROUNDS):
        before = plan
        plan = rules.CollapseProject.apply(rules.PushDownPredicates.apply(plan), True)
        if plan.fastEquals(before):
            break
    plan = apply_rules(jvm, plan, ("ReplaceExpressions", "NullPropagation"))
    kinds = [node.getClass().getSimpleName() for node in _nodes(plan)]
    if kinds not in (["Project", "LocalRelation"], ["Project", "Filter", "LocalRelation"]):
        raise NotShareable(query, f"its plan is {' over '.join(kinds)}")
    columns = jvm.org.apache.spark.sql.classic.ExpressionUtils
    projected = plan.projectList()
    made: list[Column] = [ClassicColumn(columns.column(projected.apply(at))) for at in range(projected.size())]
    condition = ClassicColumn(columns.column(plan.child().condition())) if len(kinds) == 3 else None
    return condition, made


def _nodes(plan: Any) -> Iterator[Any]:
    while True:
        yield plan
        children = plan.children()
        if children.size() != 1:
            return
        plan = children.apply(0)

"""What several statements with a keyed operator make of one source's records, in one stage of tasks.

Each statement is a chain of projections and filters over the decoded record, an operator, and another such chain over
what the operator makes. A record becomes an array, with what each statement gives to its operator; all operators are
one `mapInArrow`; and what comes out goes through the second chain of the statement that it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from orion.plan.prune import unread_columns
from orion.plan.relations import Query, is_rekeyed, scans
from orion.runtime import emit, rows
from orion.runtime.dataframe import build_over
from orion.runtime.lanes.exact import pack_outgoing
from orion.runtime.operators.pooled import MEMBER, ColumnPool, MemberOperator, PooledOperators
from orion.runtime.operators.spread import KEY, TIME, OperatorTask, Spread, struct_of
from orion.runtime.operators.tasks import Operator
from orion.runtime.scan import decoded
from orion.runtime.shared_projection import (
    Branch,
    collapse_plan,
    collapse_to_struct,
    inline_structs,
    leaf_of,
    read_behind,
)
from orion.schema import Scalar

_TASK = "__task"
# What every statement has of every row, on its way to an operator and from there.
_ALWAYS = {KEY: "BINARY", TIME: "BIGINT", rows.ORDER: "BINARY", rows.BAD: "STRING", rows.LETTER: "BINARY"}


@dataclass(frozen=True)
class KeyedBranch:
    """One statement. `group` is its own, by which its failures are told."""

    branch: Branch
    spread: Spread
    group: str


@dataclass
class _Capture(Spread):
    """Takes note of a statement's operator in place of running it. `view` gives what stands for what it makes."""

    view: Callable[[Mapping[str, str]], DataFrame] = field(kw_only=True)
    read: Mapping[str, str] = field(default_factory=dict, init=False)  # columns that are worked out once a row
    given: DataFrame = field(init=False)
    task: OperatorTask = field(init=False)
    output: Mapping[str, str] = field(init=False)

    def apply(
        self, frame: DataFrame, operator: Operator, output: Mapping[str, str], placed: Scalar | None = None
    ) -> DataFrame:
        self.task, _ = self.add_operator(operator, output, placed)
        self.given = frame.select("*", self.task_of_row(frame.sparkSession).alias(_TASK))
        self.output = output
        return self.view(output)

    def read_once(self, made: DataFrame, columns: Mapping[str, str]) -> DataFrame:
        self.read = columns
        return made if set(columns) <= set(made.columns) else super().read_once(made, columns)

    @property
    def own_columns(self) -> dict[str, str]:
        """What the statement gives to its operator beside what every one does."""
        others = {*_ALWAYS, _TASK}
        return {f.name: f.dataType.simpleString() for f in self.given.schema if f.name not in others}


def operate_all(branches: Sequence[KeyedBranch], raw: DataFrame) -> DataFrame:
    """What the exact lane sends to its workers, and which statement's it is. All have the same source, which `raw` has
    the records of. Raises NotShareable."""
    queries = [keyed.branch.query for keyed in branches]
    unread = frozenset.intersection(*(_find_unread(query) for query in queries))
    records = decoded(raw, scans(queries[0].relation)[0], unread)
    leaf = leaf_of(records)
    captures = [_capture_operator(keyed, leaf) for keyed in branches]
    pools = _Pools(
        ColumnPool.of(capture.own_columns for capture in captures), ColumnPool.of(one.output for one in captures)
    )
    given = [_collapse_given(one, number, pools.given, queries[number].id) for number, one in enumerate(captures)]
    operated = _run_operators(branches, captures, pools, inline_structs(records, given))
    own = leaf_of(operated)
    read = [
        column
        for number, one in enumerate(captures)
        for column in _read_results(one, number, _view_results(own, one.output, pools.made), queries[number].id)
    ]
    opened = operated.select("*", *read)
    results = leaf_of(opened)
    finished = [_finish(keyed, number, leaf, results, pools.made) for number, keyed in enumerate(branches)]
    return inline_structs(opened, [_choose_by_member(finished)])


class _Pools(NamedTuple):
    """The columns that statements share: of what they give to their operators, and of what these make."""

    given: ColumnPool
    made: ColumnPool


def _run_operators(
    branches: Sequence[KeyedBranch], captures: Sequence[_Capture], pools: _Pools, arrived: DataFrame
) -> DataFrame:
    tasks = max(keyed.spread.tasks for keyed in branches)
    placed = arrived.coalesce(1) if tasks == 1 else arrived.repartitionById(tasks, F.col(_TASK))
    schema = struct_of({MEMBER: "INT", **_ALWAYS, **pools.made.columns})
    always = {name: name for name in _ALWAYS}
    members = (
        MemberOperator(
            capture.task,
            keyed.group,
            keyed.spread.tasks,
            always | pools.given.place(capture.own_columns),
            always | pools.made.place(capture.output),
        )
        for keyed, capture in zip(branches, captures, strict=True)
    )
    operators = PooledOperators(tuple(members), to_arrow_schema(schema, timezone="UTC"))
    return placed.drop(_TASK).mapInArrow(operators.run_batch, schema)


def _choose_by_member(columns: Sequence[Column]) -> Column:
    """For a row of a statement that one's column."""
    chosen = F.when(F.col(MEMBER) == 0, columns[0])
    for number, column in enumerate(columns[1:], 1):
        chosen = chosen.when(F.col(MEMBER) == number, column)
    return chosen


def _find_unread(query: Query) -> frozenset[str]:
    # The letter of a late row has all of the row's columns.
    return frozenset() if query.keeps_late else unread_columns(query.relation)


def _capture_operator(keyed: KeyedBranch, leaf: DataFrame) -> _Capture:
    def view(output: Mapping[str, str]) -> DataFrame:
        return leaf.sparkSession.createDataFrame([], struct_of(_ALWAYS | dict(output)))

    return _build(keyed, leaf, view)[0]


def _build(
    keyed: KeyedBranch, leaf: DataFrame, view: Callable[[Mapping[str, str]], DataFrame]
) -> tuple[_Capture, DataFrame]:
    """The statement's operator, and what it makes of what the operator gives."""
    query, spread = keyed.branch.query, keyed.spread
    capture = _Capture(spread.tasks, spread.context, spread.by_partitioner, view=view)
    return capture, build_over(
        query.relation, read_behind(leaf, keyed.branch.starts), capture, keeps_late=query.keeps_late
    )


def _collapse_given(capture: _Capture, number: int, pool: ColumnPool, query: str) -> Column:
    """What a statement gives to its operator of a record, as a struct; NULL: nothing."""
    places = {pooled: own for own, pooled in pool.place(capture.own_columns).items()}
    pooled = (
        f"{places[name]} AS {name}" if name in places else f"CAST(NULL AS {type_}) AS {name}"
        for name, type_ in pool.columns.items()
    )
    frame = capture.given.selectExpr(f"{number} AS {MEMBER}", _TASK, *_ALWAYS, *pooled)
    return collapse_to_struct(frame, query)


def _read_results(capture: _Capture, number: int, own: DataFrame, query: str) -> list[Column]:
    """What is worked out once of each row that a statement's operator has made; `own` has these by its own names."""
    found = []
    for name, spark in capture.read.items():
        _, [column] = collapse_plan(own.selectExpr(f"{spark} AS {name}"), query)
        found.append(F.when(F.col(MEMBER) == number, column).alias(_name_read(number, name)))
    return found


def _name_read(number: int, name: str) -> str:
    return f"__read_{number}{name}"


def _view_results(operated: DataFrame, output: Mapping[str, str], pool: ColumnPool, *more: str) -> DataFrame:
    """What a statement's operator has made, by its own names."""
    own = (f"{pooled} AS {name}" for name, pooled in pool.place(output).items())
    return operated.selectExpr(*_ALWAYS, *own, *more)


def _finish(keyed: KeyedBranch, number: int, leaf: DataFrame, results: DataFrame, pool: ColumnPool) -> Column:
    """What is sent of a row that the statement's operator has made, as a struct; NULL: nothing."""
    query = keyed.branch.query

    def view(output: Mapping[str, str]) -> DataFrame:
        head = _name_read(number, "")
        read = (f"{name} AS {name.removeprefix(head)}" for name in results.columns if name.startswith(f"{head}__"))
        return _view_results(results, output, pool, *read)

    _, frame = _build(keyed, leaf, view)
    rekeyed = is_rekeyed(query.relation)
    sent = pack_outgoing(emit.records(frame, query.sink, query.dead_letters, rekeyed=rekeyed))
    return collapse_to_struct(sent, query.id, F.lit(number).alias(MEMBER))

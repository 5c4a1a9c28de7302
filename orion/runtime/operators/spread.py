"""Operators in Spark: rows spread over tasks, handed to an operator as Arrow, and what it makes handed back.

A task is a partition of a batch. For Spark the plan has no state: what a task knows lies in its store
(orion.runtime.state) and in a changelog that its slot writes. So a batch is planned once, and is one job.

Between an operator and the writer travel three kinds of rows: results; dead letters, which pass every operator by; and
changes of state, many in one row.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType, _parse_datatype_string

from orion.plan.sources import ROWTIME
from orion.plan.tolerance import LATE_ROW
from orion.runtime import letters, rows
from orion.runtime.operators.arrival import arrival_order
from orion.runtime.operators.column_folds import ArrivedRows, ColumnAggregator, as_list
from orion.runtime.operators.folds import Aggregator
from orion.runtime.operators.placing import kafka_bytes, kafka_hash
from orion.runtime.operators.tasks import InputRow, Operator, OutputRow, run_rows
from orion.runtime.state.packed_changes import pack_changes
from orion.runtime.state.state import Change, MemoryStore, TaskState
from orion.runtime.state.task_store import DAMAGED, StateContext, TaskId, TaskStore
from orion.runtime.streaming_batch import batch_number
from orion.runtime.workers import settled
from orion.schema import Scalar

KEY, SIDE, ROW, TIME = "__key", "__side", "__row", "__rowtime"
_DATA = "__data_"
_CHUNK = 10_000  # rows that go back to Spark at a time
Batches = Iterator[pa.RecordBatch]


@dataclass
class Spread:
    """How a statement's operators run: over how many tasks, and where their state is. Gives them their numbers.

    State lies with the tasks: another number takes `orion.runtime.respreading`. Without a `context` state lives for one
    batch. `by_partitioner`: keys go to tasks as Kafka puts them in partitions, where it is known how that would be.
    """

    tasks: int
    context: StateContext | None = None
    by_partitioner: bool = True
    operators: list[Operator] = field(default_factory=list)  # by number
    placed: list[Scalar | None] = field(default_factory=list)  # by operator: of which type keys are that go so

    def apply(
        self, frame: DataFrame, operator: Operator, output: Mapping[str, str], placed: Scalar | None = None
    ) -> DataFrame:
        """Run the operator over what `arriving` makes. `placed`: the type of a key of which Kafka has one form.

        Out come KEY, TIME, rows.ORDER, the operator's own columns (`output`: their names and Spark's types), rows.BAD
        and rows.LETTER.
        """
        task, schema = self.add_operator(operator, output, placed)
        return self._spread(frame).mapInArrow(task.run_batch, schema)

    def read_once(self, made: DataFrame, columns: Mapping[str, str]) -> DataFrame:
        """What the operator that came last has made, with these columns more, each Spark SQL over what it makes. They
        are worked out once a row, however often they are asked for."""
        return made.selectExpr("*", *(f"{spark} AS {name}" for name, spark in columns.items()))

    def add_operator(
        self, operator: Operator, output: Mapping[str, str], placed: Scalar | None
    ) -> tuple[OperatorTask, StructType]:
        """The next operator as what runs in workers, and the columns of what it makes."""
        columns = {KEY: "BINARY", TIME: "BIGINT", rows.ORDER: "BINARY", **output}
        columns |= {rows.BAD: "STRING", rows.LETTER: "BINARY"}
        schema = struct_of(columns)
        task = OperatorTask(operator, len(self.operators), to_arrow_schema(schema, timezone="UTC"), self.context)
        self.operators.append(operator)
        self.placed.append(placed if self.by_partitioner else None)
        return task, schema

    def _spread(self, frame: DataFrame) -> DataFrame:
        if self.tasks == 1:
            # Nothing to move for rows of one partition, and nothing to wait for.
            return frame.coalesce(1) if SIDE not in frame.columns else frame.repartition(1)
        return frame.repartitionById(self.tasks, self.task_of_row(frame.sparkSession))

    def task_of_row(self, spark: SparkSession) -> Column:
        """To which task a row goes that is on its way to the operator that came last."""
        placed = self.placed[-1]
        if placed is None:
            return F.expr(f"pmod(hash({KEY}), {self.tasks})")
        hashed = kafka_hash(spark, F.expr(kafka_bytes(KEY, placed)))
        return F.pmod(F.coalesce(hashed, F.lit(0)), F.lit(self.tasks))


def struct_of(columns: Mapping[str, str]) -> StructType:
    """Columns by their names and Spark's types."""
    schema = _parse_datatype_string(", ".join(f"{name} {type_}" for name, type_ in columns.items()))
    assert isinstance(schema, StructType)
    return schema


def arriving(
    frame: DataFrame,
    key: str,
    row: str | None = None,
    *,
    side: str | None = None,
    data: Mapping[str, str] | None = None,
    present: str = "TRUE",
) -> DataFrame:
    """A frame's rows as an operator takes them; `key`, `row`, `side` and `data` are Spark SQL.

    Rows without what `present` says take no part. Dead letters pass, whatever they lack.
    """
    time = TIME if TIME in frame.columns else ROWTIME
    bad = letters.reason_of(frame)
    there = frame if present == "TRUE" else frame.where(f"{bad} IS NOT NULL OR ({present})")
    columns = {KEY: key, ROW: row, SIDE: side, TIME: time, rows.ORDER: rows.ORDER}
    columns |= {f"{_DATA}{name}": spark for name, spark in (data or {}).items()}
    columns |= {rows.BAD: bad, rows.LETTER: letters.letter_of(frame)}
    return there.selectExpr(*(f"{spark} AS {name}" for name, spark in columns.items() if spark is not None))


@contextmanager
def collecting_no_garbage() -> Iterator[None]:
    """What a batch makes is all there until its end: there is no garbage to look for meanwhile."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        settled()


@dataclass
class LateCount:
    """How many rows of a batch came too late for an operator."""

    rows: int = 0

    def take(self, made: Iterable[tuple[bytes, OutputRow]]) -> Iterator[tuple[bytes, OutputRow]]:
        """What the operator makes, without what only tells how many there were."""
        for order, row in made:
            if row.late is not None:
                self.rows += row.late.rows
                if row.late.why is None:
                    continue
            yield order, row


def kept(row: str) -> str:
    """The Spark SQL of a row, and of nothing where it is deleted."""
    return f"CASE WHEN NOT {rows.DELETED} THEN {row} END"


@dataclass(frozen=True)
class OperatorTask:
    """An operator as what `mapInArrow` calls; pickles."""

    operator: Operator
    number: int
    schema: pa.Schema
    context: StateContext | None

    def run_batch(self, batches: Batches) -> Batches:
        with collecting_no_garbage():
            yield from self.take_rows(gather_rows(batches))

    def take_rows(self, table: pa.Table | None) -> Batches:
        """What the operator makes of the rows that a batch has for this worker's task."""
        if self.context is None:
            yield from self._compute(table, None)
            return
        context = TaskContext.get()
        assert context is not None
        store = TaskStore(self.context, TaskId(self.number, context.partitionId(), batch_number()))
        try:
            if store.is_done:
                store.finish([])
                return
            yield from self._compute(table, store)
        except DAMAGED:
            # The changelog has it all: the next run makes the store anew.
            store.discard()
            raise
        finally:
            store.close()

    def _compute(self, table: pa.Table | None, store: TaskStore | None) -> Batches:
        state, late = TaskState(store.store if store else MemoryStore()), LateCount()
        if table is not None:
            good, bad = _part_letters(table)
            yield from self._results(good, state, late)
            if bad is not None:
                yield self._pass_letters(bad)
        changes = state.changes()
        if store is not None:
            store.finish(changes)
            yield from self._changelog(changes, late.rows)

    def _changelog(self, changes: list[Change], late: int) -> Batches:
        if self.context is None or not self.context.changelogs:
            return
        context = TaskContext.get()
        assert context is not None
        packed = list(pack_changes(self.number, context.partitionId(), changes, late))
        if packed:
            yield self._fill_batch(len(packed), {rows.BAD: [rows.NOTE] * len(packed), rows.LETTER: packed})

    # ---- what comes out ----------------------------------------------------------------------------------------

    def _results(self, table: pa.Table, state: TaskState, late: LateCount) -> Batches:
        operator = self.operator
        if not (isinstance(operator, Aggregator) and operator.how.by_columns):
            yield from self._cut_chunks(late.take(run_rows(operator, _input_rows(table), state)))
            return
        folding = ColumnAggregator(operator)
        last = _last_order(table)
        groups, beside = folding.take(_arrive_rows(table), state)
        told = 0
        if groups is not None:
            told = len(groups.keys)
            orders = [last + at.to_bytes(4, "big") for at in range(told)]
            own = zip(self._own_columns, folding.results(groups), strict=True)
            yield self._fill_batch(told, {KEY: groups.keys, TIME: groups.times, rows.ORDER: orders, **dict(own)})
        numbered = ((last + (told + at).to_bytes(4, "big"), row) for at, row in enumerate(beside))
        yield from self._cut_chunks(late.take(numbered))

    def _cut_chunks(self, made: Iterator[tuple[bytes, OutputRow]]) -> Batches:
        while chunk := list(islice(made, _CHUNK)):
            yield self._batch_of(chunk)

    @property
    def _own_columns(self) -> list[str]:
        """The operator's own columns."""
        return [n for n in self.schema.names if n not in (KEY, TIME, rows.ORDER, rows.BAD, rows.LETTER)]

    def _batch_of(self, made: list[tuple[bytes, OutputRow]]) -> pa.RecordBatch:
        orders, found = zip(*made, strict=True)
        keys, times, values, lates = zip(*found, strict=True)
        columns: dict[str, Any] = {KEY: keys, TIME: times, rows.ORDER: orders}
        columns |= dict(zip(self._own_columns, zip(*values, strict=True), strict=True))
        if any(late is not None for late in lates):
            whys = [late.why if late else None for late in lates]
            columns[rows.BAD] = [None if why is None else f"{LATE_ROW}: {why}" for why in whys]
            columns[rows.LETTER] = [late.row if late else None for late in lates]
        return self._fill_batch(len(made), columns)

    def _pass_letters(self, bad: pa.Table) -> pa.RecordBatch:
        """Dead letters as they came; times are there for those who sort."""
        names = (KEY, TIME, rows.ORDER, rows.BAD, rows.LETTER)
        return self._fill_batch(bad.num_rows, {name: bad.column(name).combine_chunks() for name in names})

    def _fill_batch(self, length: int, columns: Mapping[str, Any]) -> pa.RecordBatch:
        """A batch with these columns, and nothing in all others."""
        arrays = [
            column
            if isinstance(column := columns.get(each.name), pa.Array)
            else pa.nulls(length, each.type)
            if column is None
            else pa.array(column, each.type)
            for each in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def gather_rows(batches: Batches) -> pa.Table | None:
    found = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(found) if found else None


def _part_letters(table: pa.Table) -> tuple[pa.Table, pa.Table | None]:
    """Rows, and dead letters if there are any."""
    bad = table.column(rows.BAD)
    if bad.null_count == table.num_rows:
        return table, None
    return table.filter(bad.is_null()), table.filter(bad.is_valid())


def _arrive_rows(table: pa.Table) -> ArrivedRows:
    """A table as a column fold takes it."""
    names = {KEY: "key", TIME: "time", ROW: "row"}
    chosen = [n for n in table.column_names if n in names or n.startswith(_DATA)]
    renamed = [names.get(n) or n.removeprefix(_DATA) for n in chosen]
    return ArrivedRows(table.column(rows.ORDER), table.select(chosen).rename_columns(renamed))


def _last_order(table: pa.Table) -> bytes:
    """Where what a batch's end makes stands: behind its last row."""
    if table.num_rows == 0:
        return b""
    orders = table.column(rows.ORDER)
    last: bytes = orders[int(arrival_order(orders)[-1])].as_py()
    return last


def _input_rows(table: pa.Table) -> Iterator[InputRow]:
    if table.num_rows == 0:
        return iter(())
    ordered = table.take(arrival_order(table.column(rows.ORDER)))
    there = ordered.column_names
    nothing, data = [None] * table.num_rows, [n for n in there if n.startswith(_DATA)]
    columns = [as_list(ordered.column(n)) if n in there else nothing for n in (KEY, ROW, TIME)]
    sides = as_list(ordered.column(SIDE)) if SIDE in there else [0] * table.num_rows
    found: Any = zip(*(as_list(ordered.column(n)) for n in data), strict=True) if data else iter([()] * table.num_rows)
    return map(InputRow, *columns, sides, found, as_list(ordered.column(rows.ORDER)))

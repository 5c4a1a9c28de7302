"""The operators of several statements as one stage of tasks: what a worker does with the rows of all of them.

Spark has one set of columns for all rows. What statements have in their own columns lies in columns that they share: of
each type as many as the statement has that needs most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from orion.runtime.operators.spread import Batches, OperatorTask, collecting_no_garbage, gather_rows, struct_of

MEMBER = "member"  # which of the statements a row is of


class StatementFailed(Exception):
    """An error in one statement's operator. Its text reaches the supervisor through Spark, so it marks itself."""

    @staticmethod
    def mark_of(group: str) -> str:
        """What stands before the error, in the text: whose it is."""
        return f"STATEMENT_FAILED in {group}"


@dataclass(frozen=True)
class ColumnPool:
    """Columns of each type, and how many there are. `types`: Spark's, as it writes them itself."""

    types: Mapping[str, int]

    @classmethod
    def of(cls, statements: Iterable[Mapping[str, str]]) -> ColumnPool:
        """For statements that each have these columns of their own, by name and type."""
        most: Counter[str] = Counter()
        for columns in statements:
            most |= Counter(_simple_types(columns).values())
        return cls(dict(sorted(most.items())))

    @property
    def columns(self) -> dict[str, str]:
        """All of them, with their types."""
        return {
            _name_column(at, number): type_
            for at, (type_, count) in enumerate(self.types.items())
            for number in range(count)
        }

    def place(self, own: Mapping[str, str]) -> dict[str, str]:
        """In which column each of a statement's own lies."""
        places, used = {}, Counter[str]()
        order = list(self.types)
        for name, type_ in _simple_types(own).items():
            places[name] = _name_column(order.index(type_), used[type_])
            used[type_] += 1
        return places


def _simple_types(columns: Mapping[str, str]) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in struct_of(columns)} if columns else {}


def _name_column(type_: int, number: int) -> str:
    return f"__pooled_{type_}_{number}"


@dataclass(frozen=True)
class MemberOperator:
    """One statement's operator. `given` and `made` tell where its columns lie: by its own names those of the pool."""

    task: OperatorTask
    group: str
    tasks: int
    given: Mapping[str, str]
    made: Mapping[str, str]

    def cut_rows(self, table: pa.Table) -> pa.Table:
        """The statement's rows, with its own columns alone."""
        return pa.Table.from_arrays([table.column(pooled) for pooled in self.given.values()], names=[*self.given])


@dataclass(frozen=True)
class PooledOperators:
    """The operators as what `mapInArrow` calls; pickles. `schema` is that of all that leaves."""

    members: tuple[MemberOperator, ...]
    schema: pa.Schema

    def run_batch(self, batches: Batches) -> Batches:
        context = TaskContext.get()
        assert context is not None
        with collecting_no_garbage():
            table = gather_rows(batches)
            found = {} if table is None else _part_members(table)
            for number, member in enumerate(self.members):
                # A statement may have fewer tasks than another.
                if context.partitionId() >= member.tasks:
                    continue
                own = member.cut_rows(found[number]) if number in found else None
                with _blaming(member.group):
                    for made in member.task.take_rows(own):
                        yield self._pool_columns(made, number)

    def _pool_columns(self, made: pa.RecordBatch, number: int) -> pa.RecordBatch:
        places = {pooled: own for own, pooled in self.members[number].made.items()}
        count = made.num_rows
        columns = [
            pa.array([number] * count, each.type)
            if each.name == MEMBER
            else made.column(places[each.name])
            if each.name in places
            else pa.nulls(count, each.type)
            for each in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _part_members(table: pa.Table) -> dict[int, pa.Table]:
    """The rows of each statement that has any."""
    of = table.column(MEMBER)
    return {number: table.filter(pc.equal(of, number)) for number in pc.unique(of).to_pylist()}


@contextmanager
def _blaming(group: str) -> Iterator[None]:
    """An error in here is one statement's affair."""
    try:
        yield
    except Exception as error:
        raise StatementFailed(f"{StatementFailed.mark_of(group)}: {type(error).__name__}: {error}") from error

"""Keyed operators run as tasks, the way Kafka Streams runs them: rows are spread over a fixed number of tasks by their
key, and a task takes its rows one after the other in the order of arrival, with state by key.

How far the stream has come is judged for every row, not once a batch, so a row is late or a window closed exactly when
it is. An operator is plain Python over bytes (see `Operator`): it runs and is tested without Spark. `spread` is what
gives it Spark's rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from orion.runtime.state.places import StatePlace
from orion.runtime.state.state import TaskState


class InputRow(NamedTuple):
    """A row at an operator's door. `row` is None for a deletion; `data` is what the operator looks into."""

    key: bytes
    row: bytes | None
    time: int
    side: int = 0
    data: tuple[Any, ...] = ()
    order: bytes = b""


class LateRows(NamedTuple):
    """Rows that came too late for their window: how many; or one, with why, and what its letter tells."""

    rows: int
    why: str | None = None
    row: bytes | None = None


class OutputRow(NamedTuple):
    """A row that leaves an operator: `values` by the operator's own output columns. With `late` it is none of the
    result's: it tells of rows that came too late, beside it."""

    key: bytes
    time: int
    values: tuple[Any, ...]
    late: LateRows | None = None


class Operator:
    """What a task does with each row. It is sent to Spark's workers, so it pickles and keeps nothing of its own."""

    def take(self, row: InputRow, state: TaskState) -> Iterator[OutputRow]:
        raise NotImplementedError

    def end(self, state: TaskState) -> Iterator[OutputRow]:
        """After the last row of a batch; most have told everything by then."""
        return iter(())

    # Where a record belongs when the number of tasks changes (see `rekeying`).

    def row_key(self, place: StatePlace) -> bytes | None:
        """The key of the rows that a record is kept for; None: it is the task's own, whatever the key."""
        return place.key

    def merge_own(self, values: list[Any]) -> Any:
        """What a task begins with that takes over keys of several, which have these for one of their own records."""
        raise NotImplementedError


def run_rows(operator: Operator, arrived: Iterable[InputRow], state: TaskState) -> Iterator[tuple[bytes, OutputRow]]:
    """What the operator makes of a batch's rows, each with its place in the order of arrival."""
    order = b""
    made_at = 0
    for row in arrived:
        order, made_at = row.order, 0
        for made in operator.take(row, state):
            yield order + struct.pack(">I", made_at), made
            made_at += 1
    for made in operator.end(state):
        yield order + struct.pack(">I", made_at), made
        made_at += 1

"""A batch's rows folded together, where nothing but the batch's end comes out of a group.

Lateness is judged row by row all the same: how far the stream had come at each row is the running maximum of the times
before it. What is associative over numbers is folded by Arrow, and only groups reach Python; other aggregates take
their rows in the order of arrival. Either way a group's state is read and written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from orion.runtime.operators.arrival import arrival_order
from orion.runtime.operators.folds import Aggregator, Bounds, Call, window_key
from orion.runtime.operators.late import reason
from orion.runtime.operators.tasks import LateRows, OutputRow
from orion.runtime.state.state import TaskState

KEY, TIME, START = "key", "time", "start"
Numbers = np.ndarray[Any, np.dtype[np.int64]]
_BEFORE_ALL = -(1 << 63)  # rows may be of times before 1970


@dataclass
class ChangedGroups:
    """The groups that a batch has changed, column by column."""

    keys: list[bytes]
    starts: list[int]  # of their windows
    times: list[int]  # the latest of their rows
    folded: list[list[Any]]  # for each aggregate
    was_there: list[bool]
    before: list[list[Any]] = field(default_factory=list)  # what they came to then, for each aggregate, where wanted


class ArrivedRows:
    """A batch's rows in the order of arrival: keys, times, the columns of the aggregates' arguments, and letters."""

    def __init__(self, orders: pa.Array, table: pa.Table) -> None:
        self.table = table.take(arrival_order(orders)) if table.num_rows else table
        self.times: Numbers = self.table.column(TIME).to_numpy()

    def argument(self, at: int) -> pa.ChunkedArray:
        return self.table.column(f"d{at}")


class ColumnAggregator:
    """An Aggregator's work, a batch at a time."""

    def __init__(self, aggregator: Aggregator) -> None:
        self.rows = aggregator
        self.how, self.window = aggregator.how, aggregator.window

    def take(self, batch: ArrivedRows, state: TaskState) -> tuple[ChangedGroups | None, list[OutputRow]]:
        """The groups that have changed, if they are to be told; and late rows and windows that are over."""
        rows: list[OutputRow] = []
        if self.window is None:
            table = batch.table.append_column(START, pa.array(np.zeros(len(batch.times), np.int64)))
        else:
            at, starts, late, now = self._windows(batch.times, state)
            rows += self._tell_late(batch, late, now)
            every = len(at) == len(batch.times) and (at[1:] > at[:-1]).all()
            table = batch.table if every else batch.table.take(at)
            table = table.append_column(START, pa.array(starts))
        groups = self._change_groups(table, state) if table.num_rows else None
        if self.how.final:
            rows += self.rows.close_windows(state, state.now)
            return None, rows
        if self.window is not None:
            state.drop_due(state.now)
        return groups, rows

    def results(self, groups: ChangedGroups) -> list[list[Any]]:
        """The operator's own columns for what has changed."""
        size = self.window.size_ms if self.window else 0
        ends = [start + size for start in groups.starts]
        after = [_results(call, column) for call, column in zip(self.rows.calls, groups.folded, strict=True)]
        there = [True] * len(ends)
        return [groups.starts, ends, groups.was_there, there, *after, *groups.before]

    # ---- windows -----------------------------------------------------------------------------------------------

    def _windows(self, times: Numbers, state: TaskState) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Which rows fall into which windows that are open: the rows' places and the windows' starts, in the order of
        arrival; the places of rows that some window was closed to; and how far the stream had come at each row."""
        assert self.window is not None
        size, advance, grace = self.window.size_ms, self.window.advance_ms, self.window.grace_ms
        now = np.maximum(np.maximum.accumulate(times), state.now) if len(times) else times
        if len(times):
            state.see(int(now[-1]))
        first = np.maximum(times - size + advance, 0) // advance * advance
        places, starts, late = [], [], np.zeros(len(times), bool)
        for number in range(-(-size // advance)):
            start = first + number * advance
            covers = start <= times
            closed = start + size <= now - grace
            late |= covers & closed
            taken = np.flatnonzero(covers & ~closed)
            places.append(taken)
            starts.append(start[taken])
        at, begins = np.concatenate(places), np.concatenate(starts)
        if len(places) > 1:
            arrived = np.argsort(at, kind="stable")
            at, begins = at[arrived], begins[arrived]
        return at, begins, np.flatnonzero(late), now

    def _tell_late(self, batch: ArrivedRows, late: Numbers, now: Numbers) -> Iterator[OutputRow]:
        if not len(late):
            return
        nothing = self.rows.no_result
        if not self.how.keeps_late:
            yield OutputRow(b"", int(now[-1]), nothing, LateRows(len(late)))
            return
        assert self.window is not None
        told = batch.table.select([KEY, "row"]).take(late).to_pylist()
        for at, row in zip(late.tolist(), told, strict=True):
            time, reached = int(batch.times[at]), int(now[at])
            why = reason(self._list_closed(time, reached), self.window.grace_ms, reached)
            yield OutputRow(row[KEY], time, nothing, LateRows(1, why, row["row"]))

    def _list_closed(self, time: int, now: int) -> list[Bounds]:
        assert self.window is not None
        size, grace = self.window.size_ms, self.window.grace_ms
        return [(s, s + size) for s in self.rows.window_starts(time) if s + size <= now - grace]

    # ---- groups ------------------------------------------------------------------------------------------------

    def _change_groups(self, table: pa.Table, state: TaskState) -> ChangedGroups:
        by_arrow = all(_is_columnar(call, table) for call in self.rows.calls)
        groups, places = self._by_arrow(table, state) if by_arrow else self._by_rows(table, state)
        columns = zip(*groups.folded, strict=True) if groups.folded else iter([()] * len(places))
        values = [[time, list(folded)] for time, folded in zip(groups.times, columns, strict=True)]
        state.put_many(places, values, self._dues(groups))
        return groups

    def _dues(self, groups: ChangedGroups) -> Iterable[int | None]:
        if self.window is None:
            return repeat(None)
        after = self.window.size_ms + self.window.grace_ms
        return (start + after for start in groups.starts)

    def _places(self, keys: list[bytes], starts: list[int]) -> list[bytes]:
        if self.window is None:
            return keys
        heads = {start: window_key(start, b"") for start in set(starts)}
        return [heads[start] + key for start, key in zip(starts, keys, strict=True)]

    def _by_arrow(self, table: pa.Table, state: TaskState) -> tuple[ChangedGroups, list[bytes]]:
        calls = self.rows.calls
        wanted: list[Any] = [(TIME, "max")]
        for call in calls:
            for name in call.fold.columns:
                if call.takes.start == call.takes.stop:
                    wanted.append(([], "count_all"))
                else:
                    options = pc.ScalarAggregateOptions(min_count=0) if name == "sum" else None
                    wanted.append((f"d{call.takes.start}", name, options))
        folded = table.group_by([KEY, START], use_threads=False).aggregate(wanted)
        columns = iter([as_list(column) for column in folded.columns])
        keys, starts, times = next(columns), next(columns), next(columns)
        states = [_states([next(columns) for _ in call.fold.columns]) for call in calls]
        places = self._places(keys, starts)
        kept = state.get_many(places)
        before = self._before(kept)
        times = [t if k is None or t > k[0] else k[0] for t, k in zip(times, kept, strict=True)]
        merged = [
            [new if k is None else call.fold.merge(k[1][at], new) for k, new in zip(kept, column, strict=True)]
            for at, (call, column) in enumerate(zip(calls, states, strict=True))
        ]
        return ChangedGroups(keys, starts, times, merged, [k is not None for k in kept], before), places

    def _by_rows(self, table: pa.Table, state: TaskState) -> tuple[ChangedGroups, list[bytes]]:
        """Row by row, in the order of arrival, into what the groups hold already."""
        calls = self.rows.calls
        columns = [_read(as_list(table.column(f"d{at}")), read) for at, read in enumerate(self.rows.readers)]
        given: Iterator[tuple[Any, ...]] = zip(*columns, strict=True) if columns else iter([()] * table.num_rows)
        keys, starts, times = (as_list(table.column(name)) for name in (KEY, START, TIME))
        groups = dict.fromkeys(zip(keys, starts, strict=True))
        places = self._places([key for key, _ in groups], [start for _, start in groups])
        kept = state.get_many(places)
        before = self._before(kept)
        held: dict[tuple[bytes, int], list[Any]] = {
            one: [_BEFORE_ALL, [c.zero() for c in calls]] if k is None else k
            for one, k in zip(groups, kept, strict=True)
        }
        for key, start, time, row in zip(keys, starts, times, given, strict=True):
            group = held[key, start]
            if time > group[0]:
                group[0] = time
            folded = group[1]
            for at, call in enumerate(calls):
                folded[at] = call.fold.add(folded[at], *row[call.takes])
        found = ChangedGroups(
            [key for key, _ in held],
            [start for _, start in held],
            [group[0] for group in held.values()],
            [[group[1][at] for group in held.values()] for at in range(len(calls))],
            [k is not None for k in kept],
            before,
        )
        return found, places

    def _before(self, kept: list[Any]) -> list[list[Any]]:
        """What groups came to, for each aggregate; to be asked for before they change."""
        if not self.how.tells_before:
            return []
        calls = enumerate(self.rows.calls)
        return [[None if k is None else call.result_of(k[1][at]) for k in kept] for at, call in calls]


def _results(call: Call, folded: list[Any]) -> list[Any]:
    """What an aggregate comes to in each group."""
    return [call.result_of(one) for one in folded]


def _is_columnar(call: Call, table: pa.Table) -> bool:
    """Whether Arrow folds what the aggregate takes: numbers of a fixed size, no NaN among those that are compared, and
    no sum that is too large."""
    names = call.fold.columns
    if not names:
        return False
    if call.takes.start == call.takes.stop or names == ("count",):
        return True
    column = table.column(f"d{call.takes.start}")
    if pa.types.is_integer(column.type):
        # Arrow's sum wraps around, and so does SUM; not so what else is made of a sum.
        return len(names) == 1 or _sum_fits(column)
    compares = "min" in names or "max" in names
    return pa.types.is_floating(column.type) and not (compares and pc.any(pc.is_nan(column)).as_py())


def _sum_fits(column: pa.ChunkedArray) -> bool:
    """Whether no sum over some of these whole numbers leaves 64 bits."""
    if column.type.bit_width < 64:
        return True
    ends = pc.min_max(column).as_py()
    largest = max(abs(ends["min"] or 0), abs(ends["max"] or 0))
    return bool(largest * len(column) < 1 << 63)


def _states(columns: Sequence[list[Any]]) -> list[Any]:
    return columns[0] if len(columns) == 1 else [list(one) for one in zip(*columns, strict=True)]


def _read(values: list[Any], read: Any) -> list[Any]:
    return values if read is None else [None if v is None else read(v) for v in values]


def as_list(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """A column as Python values; by way of numpy, which makes them in C, where that gives the same."""
    type_ = column.type
    through = pa.types.is_binary(type_) or pa.types.is_string(type_)
    numbers = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)
    if through or (numbers and column.null_count == 0):
        made = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
        listed: list[Any] = made.tolist()
        return listed
    listed = column.to_pylist()
    return listed

"""Operators that pass whole rows on, or hold them back: a table thinned out by WHERE, a stream's distinct rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import DataFrame

from orion.plan.relations import Distinct, Named, Settle
from orion.plan.sources import ROWTIME, Window
from orion.runtime import letters, packing, rows
from orion.runtime.operators import late
from orion.runtime.operators.spread import KEY, TIME, Spread, arriving, kept
from orion.runtime.operators.tasks import InputRow, LateRows, Operator, OutputRow
from orion.runtime.state.places import StatePlace
from orion.runtime.state.state import TaskState
from orion.schema import quote

_OUT = {"__out": "BINARY", "__gone": "BOOLEAN"}


class Visible(Operator):
    """A row that goes and was never there is not told; one that nothing changes for its time to live goes."""

    def __init__(self, ttl_ms: int | None = None) -> None:
        self.ttl_ms = ttl_ms

    def take(self, row: InputRow, state: TaskState) -> Iterator[OutputRow]:
        if row.row is not None or state.get(row.key) is not None:
            due = None if self.ttl_ms is None or row.row is None else row.time + self.ttl_ms
            state.put(row.key, None if row.row is None else row.time, due)
            yield OutputRow(row.key, row.time, (row.row, row.row is None))
        if self.ttl_ms is not None:
            for key, _ in state.due(state.see(row.time)):
                gone = state.get(key) + self.ttl_ms
                state.put(key, None)
                yield OutputRow(key, gone, (None, True))


class First(Operator):
    """Of rows that are the same, the first in each window; the row itself is the key. `data` is what the letter of a
    late row tells, where they are kept."""

    def __init__(self, window: Window, *, keeps_late: bool = False) -> None:
        self.window = window
        self.keeps_late = keeps_late

    def take(self, row: InputRow, state: TaskState) -> Iterator[OutputRow]:
        now = state.see(row.time)
        for old, _ in state.due(now):
            state.put(old, None)
        start = row.time // self.window.size_ms * self.window.size_ms
        place = row.key + start.to_bytes(8, "big", signed=True)
        closes = start + self.window.size_ms + self.window.grace_ms
        if closes <= now:
            bounds = (start, start + self.window.size_ms)
            why = late.reason([bounds], self.window.grace_ms, now) if self.keeps_late else None
            told = LateRows(1, why, row.data[0] if self.keeps_late else None)
            yield OutputRow(row.key, row.time, (None, False), told)
            return
        if state.get(place) is not None:
            return
        state.put(place, True, closes)
        yield OutputRow(row.key, row.time, (row.row, False))

    def row_key(self, place: StatePlace) -> bytes:
        return place.key[:-8]  # behind it stands the window's start


def settle(relation: Settle, frame: DataFrame, spread: Spread) -> DataFrame:
    made = spread.apply(_rows(frame, relation.columns, relation.keys), Visible(relation.ttl_ms), _OUT)
    return _shaped(made, relation.columns, relation.keys, spread)


def distinct(relation: Distinct, frame: DataFrame, spread: Spread, *, keeps_late: bool = False) -> DataFrame:
    data = {"late": letters.letter_of_row(frame)} if keeps_late else {}
    given = _rows(frame, relation.columns, len(relation.columns), data)
    made = spread.apply(given, First(relation.window, keeps_late=keeps_late), _OUT)
    return _shaped(made, relation.columns, len(relation.columns), spread)


def _rows(frame: DataFrame, columns: tuple[Named, ...], keys: int, data: Mapping[str, str] | None = None) -> DataFrame:
    every = [c.expr for c in columns]
    return arriving(frame, packing.packed(every[:keys]), kept(packing.packed(every)), data=data)


def _shaped(made: DataFrame, columns: tuple[Named, ...], keys: int, spread: Spread) -> DataFrame:
    """The row's columns again; of a deletion only those of the key are known."""
    types = [c.expr.type for c in columns]
    key = packing.unpacked(f"CASE WHEN {rows.BAD} IS NULL THEN {KEY} END", types[:keys])
    frame = spread.read_once(made, {"__whole": packing.unpacked("__out", types), "__on": key})
    read = [
        f"{packing.column('__on' if at < keys else '__whole', at, t)} AS {quote(c.name)}"
        for at, (c, t) in enumerate(zip(columns, types, strict=True))
    ]
    told = (f"{TIME} AS {ROWTIME}", f"coalesce(__gone, FALSE) AS {rows.DELETED}", rows.ORDER, rows.BAD, rows.LETTER)
    return frame.selectExpr(*read, *told)

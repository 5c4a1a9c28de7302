"""Operators that pass whole rows on, or hold them back: a table thinned out by WHERE, a stream's distinct rows."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame

from orion.plan.relations import Distinct, Named, Settle
from orion.plan.sources import ROWTIME, Window
from orion.runtime import packing, rows
from orion.runtime.operators import late
from orion.runtime.operators.tasks import (
    KEY,
    NO_DATA,
    TIME,
    Arrived,
    Late,
    Made,
    Operator,
    Spread,
    State,
    arriving,
    kept,
)
from orion.schema import quote

_OUT = {"__out": "BINARY", "__gone": "BOOLEAN"}


class Visible(Operator):
    """A row that goes and was never there is not told; one that nothing changes for its time to live goes."""

    def __init__(self, ttl_ms: int | None = None) -> None:
        self.ttl_ms = ttl_ms

    def take(self, row: Arrived, state: State) -> Iterator[Made]:
        if row.row is not None or state.get(row.key) is not None:
            state.put(row.key, None if row.row is None else row.time)
            yield Made(row.key, row.time, (row.row, row.row is None))
        if self.ttl_ms is not None:
            if row.row is not None:
                state.schedule(row.time + self.ttl_ms, row.key, max(1, self.ttl_ms // 64))
            yield from self._expire(state, state.see(row.time), self.ttl_ms)

    @staticmethod
    def _expire(state: State, now: int, ttl_ms: int) -> Iterator[Made]:
        for key in dict.fromkeys(state.due(now)):
            changed = state.get(key)
            if changed is not None and changed + ttl_ms <= now:
                state.put(key, None)
                yield Made(key, changed + ttl_ms, (None, True))


class First(Operator):
    """Of rows that are the same, the first in each window; the row itself is the key. `data` is what the letter of a
    late row tells, where they are kept."""

    tells_late = True

    def __init__(self, window: Window, *, keeps_late: bool = False) -> None:
        self.window = window
        self.keeps_late = keeps_late

    def take(self, row: Arrived, state: State) -> Iterator[Made]:
        now = state.see(row.time)
        for old in state.due(now):
            state.put(old, None)
        start = row.time // self.window.size_ms * self.window.size_ms
        place = row.key + start.to_bytes(8, "big", signed=True)
        closes = start + self.window.size_ms + self.window.grace_ms
        if closes <= now:
            bounds = (start, start + self.window.size_ms)
            why = late.reason([bounds], self.window.grace_ms, now) if self.keeps_late else None
            yield Made(row.key, row.time, (None, False), Late(1, why, row.data[0] if self.keeps_late else None))
            return
        if state.get(place) is not None:
            return
        state.put(place, True)
        state.schedule(closes, place, self.window.size_ms)
        yield Made(row.key, row.time, (row.row, False))


def settle(relation: Settle, frame: DataFrame, spread: Spread) -> DataFrame:
    made = spread.apply(_rows(frame, relation.columns, relation.keys), Visible(relation.ttl_ms), _OUT)
    return _shaped(made, relation.columns, relation.keys)


def distinct(relation: Distinct, frame: DataFrame, spread: Spread, *, keeps_late: bool = False) -> DataFrame:
    data = f"named_struct('late', {late.kept(frame)})" if keeps_late else NO_DATA
    given = _rows(frame, relation.columns, len(relation.columns), data)
    made = spread.apply(given, First(relation.window, keeps_late=keeps_late), _OUT)
    return _shaped(late.told(made, keep=keeps_late), relation.columns, len(relation.columns))


def _rows(frame: DataFrame, columns: tuple[Named, ...], keys: int, data: str = NO_DATA) -> DataFrame:
    every = [c.expr for c in columns]
    return arriving(frame, packing.packed(every[:keys]), kept(packing.packed(every)), data=data)


def _shaped(made: DataFrame, columns: tuple[Named, ...], keys: int) -> DataFrame:
    """The row's columns again; of a deletion only those of the key are known."""
    types = [c.expr.type for c in columns]
    frame = made.selectExpr(
        f"{packing.unpacked('__out', types)} AS __out",
        f"{packing.unpacked(KEY, types[:keys])} AS __on",
        TIME,
        "__gone",
        rows.ORDER,
        *late.carried(made),
    )
    read = [
        f"{packing.column('__on' if at < keys else '__out', at, t)} AS {quote(c.name)}"
        for at, (c, t) in enumerate(zip(columns, types, strict=True))
    ]
    told = (f"{TIME} AS {ROWTIME}", f"__gone AS {rows.DELETED}", rows.ORDER)
    return frame.selectExpr(*read, *told, *late.carried(made))

"""GROUP BY by a processor of our own, for what Spark's aggregation can't do: sessions that merge, rows that HAVING
withdraws, aggregates that hang on the order of arrival.

The processor folds rows in plain Python and gives, for each group that a batch changed, its aggregates before and
after. What SQL says about them (HAVING, the SELECT list) stays Spark's to evaluate, on both: a group that fulfilled
HAVING before and doesn't after is a deletion.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal as Number
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from orion.ksql.functions import functions
from orion.ksql.functions.declare import Fold
from orion.plan.relations import Aggregate, AggregateCall
from orion.plan.sources import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART, Window, WindowKind
from orion.runtime import rows
from orion.runtime.operators.native_aggregate import finished
from orion.schema import Decimal, Scalar, SqlType, spark_type

_TIME, _BEFORE, _AFTER = "__time", "__before", "__after"

Bounds = tuple[int, int]


def apply(relation: Aggregate, frame: DataFrame) -> DataFrame:
    frame = _arguments(relation, frame)
    groups = [k.name for k in relation.keys]
    time_mode = "None"
    if relation.window is not None:
        window = relation.window
        # A late row is judged by its window's end, so the watermark leaves it the window's length besides the grace.
        frame = frame.withWatermark(_TIME, f"{window.grace_ms + window.size_ms} milliseconds")
        time_mode = "EventTime"
        if window.kind is not WindowKind.SESSION:
            spread = f"window({_TIME}, '{window.size_ms} milliseconds', '{window.advance_ms} milliseconds')"
            frame = frame.selectExpr("*", f"{spread} AS __window")
            frame = frame.selectExpr("*", f"unix_millis(__window.start) AS {WINDOWSTART}").drop("__window")
            groups.append(WINDOWSTART)
    processor = Folder(relation.calls, tuple(groups), relation.window)
    folded = frame.groupBy(*groups).transformWithState(processor, _output(relation), "Update", time_mode)
    return finished(relation, _judged(relation, folded))


def _arguments(relation: Aggregate, frame: DataFrame) -> DataFrame:
    """Keys and the aggregates' arguments as columns, and the columns that tell time and order."""
    keys = [f"{k.expr.spark} AS {k.name}" for k in relation.keys]
    args = [f"{a.spark} AS {_arg(c, n)}" for c in relation.calls for n, a in enumerate(c.args)]
    present = " AND ".join(f"{k.name} IS NOT NULL" for k in relation.keys)
    return frame.selectExpr(
        *keys, *args, ROWTIME, ROWPARTITION, ROWOFFSET, f"timestamp_millis({ROWTIME}) AS {_TIME}"
    ).where(present)


def _arg(call: AggregateCall, number: int) -> str:
    return f"{call.name}_{number}"


def _output(relation: Aggregate) -> str:
    keys = [f"{k.name} {spark_type(k.expr.type)}" for k in relation.keys]
    folded = ",".join(f"{c.name}:{spark_type(c.type)}" for c in relation.calls)
    bounds = [f"{WINDOWSTART} BIGINT", f"{WINDOWEND} BIGINT"] if relation.window else []
    folds = [f"{_BEFORE} STRUCT<{folded}>", f"{_AFTER} STRUCT<{folded}>"]
    return ", ".join([*keys, *bounds, f"{ROWTIME} BIGINT", *folds])


def _judged(relation: Aggregate, folded: DataFrame) -> DataFrame:
    """Groups that are, or were, in the result; those that no longer are come as deletions."""
    judged = _with_visibility(relation, _with_visibility(relation, folded, _BEFORE), _AFTER)
    shown = judged.where(f"{_BEFORE}_visible OR {_AFTER}_visible")
    names = [k.name for k in relation.keys] + ([WINDOWSTART, WINDOWEND] if relation.window else [])
    flat = [f"coalesce({_AFTER}, {_BEFORE}).{c.name} AS {c.name}" for c in relation.calls]
    return shown.selectExpr(*names, ROWTIME, *flat, f"NOT {_AFTER}_visible AS {rows.DELETED}")


def _with_visibility(relation: Aggregate, frame: DataFrame, side: str) -> DataFrame:
    """Whether a group fulfilled HAVING on one side. The condition names aggregates as columns: they are laid flat."""
    having = relation.having.spark if relation.having else "TRUE"
    flat = [f"{side}.{c.name} AS {c.name}" for c in relation.calls]
    visible = f"({side} IS NOT NULL AND coalesce({having}, FALSE)) AS {side}_visible"
    return frame.selectExpr("*", *flat).selectExpr(*frame.columns, visible)


@dataclass(slots=True)
class Session:
    """A run of rows of one key, none further from the next than the gap."""

    start: int
    end: int
    rowtime: int
    states: list[Any]


class Folder(StatefulProcessor):
    """Keeps, for each group, its folds (of a session window: one set for each session)."""

    def __init__(self, calls: tuple[AggregateCall, ...], groups: tuple[str, ...], window: Window | None) -> None:
        self.calls = calls
        self.groups = groups
        self.window = window
        self.sessions = window is not None and window.kind is WindowKind.SESSION

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState("folds", "blob BINARY")
        self.folds: list[Fold] = []
        for call in self.calls:
            fold = functions()[call.function].fold
            assert fold is not None
            self.folds.append(fold)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        timer, kept = self._load()
        before = {bounds: self._results(s.states) for bounds, s in kept.items()}
        touched = {self._take(kept, row, key) for row in in_order_of_arrival(rows)}
        yield from self._changes(key, before, kept, touched)
        self._store(kept, timer)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """Windows that can't change any more are forgotten; what they came to stays in the topic."""
        _, kept = self._load()
        expired = expiredTimerInfo.getExpiryTimeInMs()
        self._store({b: s for b, s in kept.items() if self._closes_at(s) > expired}, None)
        yield from ()

    def close(self) -> None:
        pass

    # ---- folding -----------------------------------------------------------------------------------------------

    def _take(self, kept: dict[Bounds, Session], row: Row, key: Any) -> Bounds:
        """Fold one row in; the bounds of the window it fell into."""
        time = int(row[ROWTIME])
        session = self._session_at(kept, time) if self.sessions else self._window_at(kept, time, key)
        session.states = [
            fold.add(state, *(row[_arg(call, n)] for n in range(len(call.args))))
            for fold, call, state in zip(self.folds, self.calls, session.states, strict=True)
        ]
        session.rowtime = max(session.rowtime, time)
        kept[session.start, session.end] = session
        return session.start, session.end

    def _window_at(self, kept: dict[Bounds, Session], time: int, key: Any) -> Session:
        bounds = self._fixed_bounds(key)
        return kept.get(bounds) or Session(*bounds, time, self._zeros())

    def _session_at(self, kept: dict[Bounds, Session], time: int) -> Session:
        """The session that holds the time: all that are near enough, made into one."""
        assert self.window is not None
        gap = self.window.size_ms
        session = Session(time, time, time, self._zeros())
        for bounds in sorted(b for b in kept if b[0] - gap <= time <= b[1] + gap):
            session = self._merged(session, kept.pop(bounds))
        return session

    def _merged(self, new: Session, old: Session) -> Session:
        states = [f.merge(n, o) for f, n, o in zip(self.folds, new.states, old.states, strict=True)]
        return Session(min(new.start, old.start), max(new.end, old.end), max(new.rowtime, old.rowtime), states)

    def _fixed_bounds(self, key: Any) -> Bounds:
        if self.window is None:
            return (0, 0)
        start = int(key[-1])
        return start, start + self.window.size_ms

    def _zeros(self) -> list[Any]:
        return [f.zero(*c.parameters) for f, c in zip(self.folds, self.calls, strict=True)]

    def _results(self, states: list[Any]) -> tuple[Any, ...]:
        return tuple(conformed(f.result(s), c.type) for f, s, c in zip(self.folds, states, self.calls, strict=True))

    def _changes(
        self, key: Any, before: dict[Bounds, Any], kept: dict[Bounds, Session], touched: set[Bounds]
    ) -> Iterator[Row]:
        """Sessions that went into others first, then every window that took a row."""
        latest = max((s.rowtime for s in kept.values()), default=0)
        for bounds in sorted(before.keys() - kept.keys()):
            yield self._row(key, bounds, latest, before[bounds], None)
        for bounds in sorted(touched & kept.keys()):
            session = kept[bounds]
            yield self._row(key, bounds, session.rowtime, before.get(bounds), self._results(session.states))

    def _row(self, key: Any, bounds: Bounds, time: int, before: Any, after: Any) -> Row:
        fields = dict(zip(self.groups, key, strict=True))
        if self.window is not None:
            fields |= {WINDOWSTART: bounds[0], WINDOWEND: bounds[1]}
        return Row(**fields, **{ROWTIME: time, _BEFORE: self._folded_row(before), _AFTER: self._folded_row(after)})

    def _folded_row(self, results: tuple[Any, ...] | None) -> Row | None:
        return None if results is None else Row(**{c.name: r for c, r in zip(self.calls, results, strict=True)})

    # ---- state -------------------------------------------------------------------------------------------------

    def _load(self) -> tuple[int | None, dict[Bounds, Session]]:
        """When the next timer fires, if one is set, and the windows."""
        found = self.state.get()
        if found is None:
            return None, {}
        loaded: tuple[int | None, dict[Bounds, Session]] = pickle.loads(bytes(found[0]))
        return loaded

    def _store(self, kept: dict[Bounds, Session], timer: int | None) -> None:
        if not kept:
            self.state.clear()
            return
        if self.window is not None and timer is None:
            timer = min(self._closes_at(s) for s in kept.values())
            self.handle.registerTimer(timer)
        self.state.update((pickle.dumps((timer, kept), protocol=5),))

    def _closes_at(self, session: Session) -> int:
        assert self.window is not None
        gap = self.window.size_ms if self.sessions else 0
        return session.end + gap + self.window.grace_ms


def in_order_of_arrival(rows_: Iterator[Row]) -> list[Row]:
    """Rows as they would have come from their partitions read together: each partition in its own order, and the
    partition whose next row is oldest goes first."""
    by_partition: dict[int, list[Row]] = {}
    for row in rows_:
        by_partition.setdefault(row[ROWPARTITION], []).append(row)
    ranked: list[tuple[int, int, int, Row]] = []
    for partition, found in by_partition.items():
        reached = 0
        for row in sorted(found, key=lambda r: r[ROWOFFSET]):
            reached = max(reached, int(row[ROWTIME]))
            ranked.append((reached, partition, row[ROWOFFSET], row))
    return [row for *_, row in sorted(ranked, key=lambda r: r[:3])]


def conformed(value: Any, type_: SqlType) -> Any:
    """A fold's result in the Python type that Spark takes for the column."""
    if value is None:
        return None
    if isinstance(type_, Decimal):
        return value if isinstance(value, Number) else Number(value)
    if type_ is Scalar.DOUBLE:
        return float(value)
    if isinstance(value, list):
        return [Row(**v) if isinstance(v, dict) else v for v in value]
    return value

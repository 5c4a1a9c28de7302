"""GROUP BY: folds by group and window, what each change was before and after, and retraction.

A group's change leaves as its aggregates before and after. What SQL says about them (HAVING, the SELECT list) stays
Spark's to evaluate, on both: a group that fulfilled HAVING before and doesn't after is a deletion.

Here rows are taken one after the other. Where only a batch's end counts, `column_folds` takes them all at once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from orion.ksql.functions import functions
from orion.ksql.functions.declare import Fold
from orion.plan.relations import AggregateCall
from orion.plan.sources import Window, WindowKind
from orion.runtime.operators.late import reason
from orion.runtime.operators.tasks import InputRow, LateRows, Operator, OutputRow
from orion.runtime.operators.values import reader, writer
from orion.runtime.state.places import StatePlace
from orion.runtime.state.state import TaskState

# Which way a row goes: it gives to its group, takes back what an earlier one gave, or both in one step.
GIVE, UNDO, BOTH = 0, 1, 2

Bounds = tuple[int, int]
Steps = tuple[list[Any] | None, list[Any] | None]
_FOREVER: Bounds = (0, 0)


@dataclass(frozen=True)
class Call:
    """An aggregate ready to fold."""

    name: str
    fold: Fold
    parameters: tuple[Any, ...]
    takes: slice  # where its arguments stand in a row's data
    result: Any

    def zero(self) -> Any:
        return self.fold.zero(*self.parameters)

    def result_of(self, folded: Any) -> Any:
        value = self.fold.result(folded)
        return None if value is None else self.result(value)


@dataclass(frozen=True)
class Folds:
    """The aggregates of one GROUP BY. Pickles: the folds themselves are found again by name."""

    calls: tuple[AggregateCall, ...]

    def ready(self) -> list[Call]:
        found: list[Call] = []
        at = 0
        for call in self.calls:
            fold = functions()[call.function].fold
            assert fold is not None
            found.append(Call(call.name, fold, call.parameters, slice(at, at + len(call.args)), writer(call.type)))
            at += len(call.args)
        return found

    def readers(self) -> list[Any]:
        return [reader(arg.type) for call in self.calls for arg in call.args]


@dataclass(frozen=True)
class GroupFolding:
    """How a GROUP BY is folded."""

    folds: Folds
    window: Window | None
    final: bool = False  # a window comes out once, when it closes
    each: bool = False  # every row's change comes out; otherwise a batch's changes of a group come out as one
    of_table: bool = False  # rows say what they give and what they take back
    ttl_ms: int | None = None  # a group without a window is deleted when it has got no row for so long
    keeps_late: bool = False  # a late row comes out by itself, with what its letter tells; else their number
    tells_before: bool = False  # what a group came to before its change is wanted too

    @property
    def by_columns(self) -> bool:
        """Whether a batch's rows may be folded together."""
        session = self.window is not None and self.window.kind is WindowKind.SESSION
        return not (self.each or self.of_table or session or self.ttl_ms is not None)


class Aggregator(Operator):
    """Folds rows into groups: without a window, by windows of a fixed size, or by sessions.

    What leaves is (window start, window end, was there, is there, aggregates after, aggregates before): the last only
    where they are wanted, and each aggregate a value of its own.
    """

    def __init__(self, how: GroupFolding) -> None:
        self.how = how
        self.window = how.window
        self._late = 0
        # Of a batch's changed groups: what they hold (behind its time), what they came to before, a time of its own.
        self._pending: dict[tuple[bytes, Bounds], list[Any]] = {}

    @cached_property
    def calls(self) -> list[Call]:
        return self.how.folds.ready()

    @cached_property
    def readers(self) -> list[Any]:
        return self.how.folds.readers()

    @cached_property
    def no_result(self) -> tuple[Any, ...]:
        return (None,) * (4 + len(self.calls) * (2 if self.how.tells_before else 1))

    # ---- the operator ------------------------------------------------------------------------------------------

    def take(self, row: InputRow, state: TaskState) -> Iterator[OutputRow]:
        give, take = self._steps(row)
        now = state.see(row.time)
        if self.window is None:
            yield from self._fold_in(row, (give, take), _FOREVER, row.key, state)
        elif self.window.kind is WindowKind.SESSION:
            yield from self._into_session(row, give or [], now, state)
        else:
            closed = []
            for start in self.window_starts(row.time):
                end = start + self.window.size_ms
                if end > now - self.window.grace_ms:
                    yield from self._fold_in(row, (give, take), (start, end), window_key(start, row.key), state)
                else:
                    closed.append((start, end))
            if closed:
                yield from self._too_late(row, closed, now)
        yield from self.close_windows(state, now)

    def end(self, state: TaskState) -> Iterator[OutputRow]:
        for (key, bounds), (kept, before, time) in self._pending.items():
            yield self._made(key, bounds, kept[0] if time is None else time, before, None if kept is None else kept[1])
        self._pending.clear()
        if self._late:
            yield OutputRow(b"", state.now, self.no_result, LateRows(self._late))
            self._late = 0

    def _too_late(self, row: InputRow, closed: list[Bounds], now: int) -> Iterator[OutputRow]:
        """A row that some of its windows don't take any more counts once."""
        assert self.window is not None
        if self.how.keeps_late:
            why = reason(closed, self.window.grace_ms, now)
            yield OutputRow(row.key, row.time, self.no_result, LateRows(1, why, row.row))
        else:
            self._late += 1

    def _arguments(self, given: tuple[Any, ...] | None) -> list[Any]:
        """The aggregates' arguments as their folds see them."""
        if given is None or not self.readers:
            return []
        return [v if v is None or read is None else read(v) for read, v in zip(self.readers, given, strict=True)]

    def _steps(self, row: InputRow) -> Steps:
        """What the row gives, and what it takes back."""
        if not self.how.of_table:
            return self._arguments(row.data), None
        give, take = (None if d is None else tuple(d.values()) for d in row.data)
        return (
            None if row.side == UNDO else self._arguments(give),
            None if row.side == GIVE else self._arguments(take),
        )

    # ---- windows -----------------------------------------------------------------------------------------------

    def window_starts(self, time: int) -> range:
        assert self.window is not None
        size, advance = self.window.size_ms, self.window.advance_ms
        first = max(0, time - size + advance) // advance * advance
        return range(first, time + 1, advance)

    def _fold_in(
        self, row: InputRow, steps: Steps, bounds: Bounds, place: bytes, state: TaskState
    ) -> Iterator[OutputRow]:
        kept = state.get(place)
        shown = self.how.each and not self.how.final
        before = None
        if kept is None:
            kept = [row.time, [c.zero() for c in self.calls]]
        elif shown or (row.key, bounds) not in self._pending:
            before = self.results_of(kept[1])
        kept = [max(kept[0], row.time), [_changed(c, f, *steps) for c, f in zip(self.calls, kept[1], strict=True)]]
        state.put(place, kept, self.due_of(bounds, kept[0]))
        if shown:
            yield self._made(row.key, bounds, kept[0], before, kept[1])
        elif not self.how.final:
            # What it comes to is worked out once, at the end of the batch.
            self._pending.setdefault((row.key, bounds), [None, before, None])[0] = kept

    def due_of(self, bounds: Bounds, time: int) -> int | None:
        """When a group of a window of a fixed size, or of none, is done with."""
        if self.window is not None:
            return bounds[1] + self.window.grace_ms
        return None if self.how.ttl_ms is None else time + self.how.ttl_ms

    def _into_session(self, row: InputRow, data: list[Any], now: int, state: TaskState) -> Iterator[OutputRow]:
        """All sessions near enough are made into one with the row; each of them is withdrawn."""
        assert self.window is not None
        gap = self.window.size_ms
        # A session can still grow until the gap after its end is over, and late rows have their grace besides.
        closed = now - self.window.grace_ms - gap
        near = []
        for member, folded in state.members(row.key).items():
            start, end = _session_bounds(member)
            if start - gap <= row.time <= end + gap and end >= closed:
                near.append((start, end, folded))
        start = min([row.time, *(s[0] for s in near)])
        end = max([row.time, *(s[1] for s in near)])
        if end < closed:
            yield from self._too_late(row, [(start, end)], now)
            return
        merged = [c.zero() for c in self.calls]
        for session in near:
            bounds = (session[0], session[1])
            if not self.how.final:
                yield from self._change(row.key, bounds, session[1], self.results_of(session[2]), None)
            merged = [c.fold.merge(f, s) for c, f, s in zip(self.calls, merged, session[2], strict=True)]
            if bounds != (start, end):
                state.put_member(row.key, _session_member(bounds), None)
        merged = [c.fold.add(f, *data[c.takes]) for c, f in zip(self.calls, merged, strict=True)]
        due = end + gap + self.window.grace_ms + 1
        state.put_member(row.key, _session_member((start, end)), merged, due)
        if not self.how.final:
            yield from self._change(row.key, (start, end), end, None, [end, merged])

    def close_windows(self, state: TaskState, now: int) -> Iterator[OutputRow]:
        """Forget what can't change any more. It stays in the topic, or comes out now for the first time."""
        if self.window is None and self.how.ttl_ms is None:
            return
        for key, member in state.due(now):
            if member is not None:
                bounds = _session_bounds(member)
                folded = state.members(key)[member]
                state.put_member(key, member, None)
                if self.how.final:
                    yield self._made(key, bounds, bounds[1], None, folded)
                continue
            time, folded = state.get(key)
            state.put(key, None)
            if self.window is None:
                yield from self._change(key, _FOREVER, time + (self.how.ttl_ms or 0), self.results_of(folded), None)
            elif self.how.final:
                start, group = split_window_key(key)
                yield self._made(group, (start, start + self.window.size_ms), time, None, folded)

    # ---- what comes out ----------------------------------------------------------------------------------------

    def _change(
        self, key: bytes, bounds: Bounds, time: int, before: Any, folded: list[Any] | None
    ) -> Iterator[OutputRow]:
        """A session's change, or a group's end: `folded` is what it holds now, behind its time."""
        if self.how.each:
            yield self._made(key, bounds, time, before, None if folded is None else folded[1])
            return
        known = self._pending.pop((key, bounds), None)
        if known is not None:
            before = known[1]
        self._pending[key, bounds] = [folded, before, time]

    def _made(
        self, key: bytes, bounds: Bounds, time: int, before: list[Any] | None, folded: list[Any] | None
    ) -> OutputRow:
        nothing = [None] * len(self.calls)
        # Of a group that is gone nothing is known but what it was.
        after = (before or nothing) if folded is None else self.results_of(folded)
        values = (*bounds, before is not None, folded is not None, *after)
        return OutputRow(key, time, (*values, *(before or nothing)) if self.how.tells_before else values)

    def row_key(self, place: StatePlace) -> bytes:
        in_window = self.window is not None and place.member is None
        return split_window_key(place.key)[1] if in_window else place.key

    def results_of(self, folded: list[Any]) -> list[Any]:
        return [call.result_of(one) for call, one in zip(self.calls, folded, strict=True)]


def window_key(start: int, key: bytes) -> bytes:
    """The windows of a time lie together."""
    return struct.pack(">q", start) + key


def split_window_key(place: bytes) -> tuple[int, bytes]:
    return struct.unpack_from(">q", place)[0], place[8:]


def _session_member(bounds: Bounds) -> bytes:
    return struct.pack(">qq", *bounds)


def _session_bounds(member: bytes) -> Bounds:
    start, end = struct.unpack(">qq", member)
    return start, end


def _changed(call: Call, folded: Any, give: list[Any] | None, take: list[Any] | None) -> Any:
    if take is not None:
        assert call.fold.undo is not None
        folded = call.fold.undo(folded, *take[call.takes])
    return folded if give is None else call.fold.add(folded, *give[call.takes])


class Retraction(Operator):
    """The rows of a table as what they give to a group, and what they take back from it.

    Out comes the row as it was and as it is now; a deletion has only the one, a new row only the other.
    """

    def take(self, row: InputRow, state: TaskState) -> Iterator[OutputRow]:
        before = state.get(row.key)
        if before is None and row.row is None:
            return
        state.put(row.key, row.row)
        yield OutputRow(row.key, row.time, (before, row.row))

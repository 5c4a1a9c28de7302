"""GROUP BY a row at a time: folds by group and window, what each change was before and after, and retraction.

A group's change leaves as its aggregates before and after. What SQL says about them (HAVING, the SELECT list) stays
Spark's to evaluate, on both: a group that fulfilled HAVING before and doesn't after is a deletion.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from orion.ksql.functions import functions
from orion.ksql.functions.declare import Fold
from orion.plan.relations import AggregateCall
from orion.plan.sources import Window, WindowKind
from orion.runtime.operators.late import reason
from orion.runtime.operators.tasks import Arrived, Late, Made, Operator, State
from orion.runtime.operators.values import reader, writer

# Which way a row goes: it gives to its group, takes back what an earlier one gave, or both in one step.
GIVE, UNDO, BOTH = 0, 1, 2

Bounds = tuple[int, int]
Steps = tuple[list[Any] | None, list[Any] | None]
_FOREVER: Bounds = (0, 0)
_NO_RESULT = (None, None, None, None)


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


class Aggregator(Operator):
    """Folds rows into groups: without a window, by windows of a fixed size, or by sessions."""

    def __init__(
        self,
        folds: Folds,
        window: Window | None,
        *,
        final: bool = False,
        each: bool = False,
        of_table: bool = False,
        ttl_ms: int | None = None,
        keeps_late: bool = False,
    ) -> None:
        self.folds = folds
        self.window = window
        self.of_table = of_table  # rows say what they give and what they take back
        self.ttl_ms = ttl_ms  # a group without a window is deleted when it has got no row for so long
        self.final = final  # a window comes out once, when it closes
        self.each = each  # every row's change comes out; otherwise a batch's changes of a group come out as one
        self.tells_late = window is not None
        self.keeps_late = keeps_late  # a late row comes out by itself, with what its letter tells; else their number
        self._late = 0
        # Of a batch's changed groups: what they hold (behind its time), what they came to before, a time of its own.
        self._pending: dict[tuple[bytes, Bounds], list[Any]] = {}

    @cached_property
    def _calls(self) -> list[Call]:
        return self.folds.ready()

    @cached_property
    def _readers(self) -> list[Any]:
        return self.folds.readers()

    # ---- the operator ------------------------------------------------------------------------------------------

    def take(self, row: Arrived, state: State) -> Iterator[Made]:
        give, take = self._steps(row)
        now = state.see(row.time)
        if self.window is None:
            yield from self._fold_in(row, (give, take), _FOREVER, row.key, state)
        elif self.window.kind is WindowKind.SESSION:
            yield from self._into_session(row, give or [], now, state)
        else:
            closed = []
            for start in self._starts(row.time):
                end = start + self.window.size_ms
                if end > now - self.window.grace_ms:
                    place = row.key + struct.pack(">q", start)
                    yield from self._fold_in(row, (give, take), (start, end), place, state)
                else:
                    closed.append((start, end))
            if closed:
                yield from self._too_late(row, closed, now)
        yield from self._close(state, now)

    def end(self, state: State) -> Iterator[Made]:
        for (key, bounds), (kept, before, time) in self._pending.items():
            after = None if kept is None else self._results(kept[1])
            yield self._made(key, bounds, kept[0] if time is None else time, before, after)
        self._pending.clear()
        if self._late:
            yield Made(b"", state.now, _NO_RESULT, Late(self._late))
            self._late = 0

    def _too_late(self, row: Arrived, closed: list[Bounds], now: int) -> Iterator[Made]:
        """A row that some of its windows don't take any more counts once."""
        assert self.window is not None
        if self.keeps_late:
            why = reason(closed, self.window.grace_ms, now)
            yield Made(row.key, row.time, _NO_RESULT, Late(1, why, row.row))
        else:
            self._late += 1

    def _arguments(self, given: Iterable[Any] | None) -> list[Any]:
        """The aggregates' arguments as their folds see them."""
        if given is None or not self._readers:
            return []
        return [v if v is None or read is None else read(v) for read, v in zip(self._readers, given, strict=True)]

    def _steps(self, row: Arrived) -> tuple[list[Any] | None, list[Any] | None]:
        """What the row gives, and what it takes back."""
        if not self.of_table:
            return self._arguments(row.data), None
        give, take = (None if d is None else d.values() for d in row.data)
        return (
            None if row.side == UNDO else self._arguments(give),
            None if row.side == GIVE else self._arguments(take),
        )

    # ---- windows -----------------------------------------------------------------------------------------------

    def _starts(self, time: int) -> range:
        assert self.window is not None
        size, advance = self.window.size_ms, self.window.advance_ms
        first = max(0, time - size + advance) // advance * advance
        return range(first, time + 1, advance)

    def _fold_in(self, row: Arrived, steps: Steps, bounds: Bounds, place: bytes, state: State) -> Iterator[Made]:
        kept = state.get(place)
        shown = self.each and not self.final
        before = None
        if kept is None:
            kept = [row.time, [c.zero() for c in self._calls], row.key, bounds]
            if self.window is not None:
                state.schedule(bounds[1] + self.window.grace_ms, place, 1 if self.final else self.window.advance_ms)
        elif shown or (row.key, bounds) not in self._pending:
            before = self._results(kept[1])
        kept[0] = max(kept[0], row.time)
        if self.ttl_ms is not None:
            state.schedule(kept[0] + self.ttl_ms, place, max(1, self.ttl_ms // 64))
        kept[1] = [_changed(call, folded, *steps) for call, folded in zip(self._calls, kept[1], strict=True)]
        state.put(place, kept)
        if shown:
            yield self._made(row.key, bounds, kept[0], before, self._results(kept[1]))
        elif not self.final:
            # What it comes to is worked out once, at the end of the batch.
            self._pending.setdefault((row.key, bounds), [None, before, None])[0] = kept

    def _into_session(self, row: Arrived, data: list[Any], now: int, state: State) -> Iterator[Made]:
        """All sessions near enough are made into one with the row; each of them is withdrawn."""
        assert self.window is not None
        gap = self.window.size_ms
        # A session can still grow until the gap after its end is over, and late rows have their grace besides.
        closed = now - self.window.grace_ms - gap
        sessions: list[Any] = state.get(row.key) or []
        near = [s for s in sessions if s[0] - gap <= row.time <= s[1] + gap and s[1] >= closed]
        start = min([row.time, *(s[0] for s in near)])
        end = max([row.time, *(s[1] for s in near)])
        if end < closed:
            yield from self._too_late(row, [(start, end)], now)
            return
        folded = [c.zero() for c in self._calls]
        for session in near:
            if not self.final:
                bounds = (session[0], session[1])
                yield from self._change(row.key, bounds, session[1], self._results(session[2]), None)
            folded = [c.fold.merge(f, s) for c, f, s in zip(self._calls, folded, session[2], strict=True)]
        folded = [c.fold.add(f, *data[c.takes]) for c, f in zip(self._calls, folded, strict=True)]
        others = [s for s in sessions if s not in near]
        state.put(row.key, sorted([*others, [start, end, folded]], key=lambda s: s[:2]))
        state.schedule(end + gap + self.window.grace_ms + 1, row.key, 1 if self.final else gap)
        if not self.final:
            yield from self._change(row.key, (start, end), end, None, [end, folded])

    def _close(self, state: State, now: int) -> Iterator[Made]:
        """Forget what can't change any more. It stays in the topic, or comes out now for the first time."""
        if self.window is None:
            yield from self._expire(state, now)
            return
        session = self.window.kind is WindowKind.SESSION
        for place in state.due(now):
            kept = state.get(place)
            if kept is None:
                continue
            if not session:
                state.put(place, None)
                if self.final:
                    time, folded, key, bounds = kept
                    yield self._made(key, bounds, time, None, self._results(folded))
                continue
            closed = now - self.window.grace_ms - self.window.size_ms
            over = [s for s in kept if s[1] < closed]
            state.put(place, [s for s in kept if s[1] >= closed] or None)
            for start, end, folded in over if self.final else ():
                yield self._made(place, (start, end), end, None, self._results(folded))

    def _expire(self, state: State, now: int) -> Iterator[Made]:
        if self.ttl_ms is None:
            return
        for place in dict.fromkeys(state.due(now)):
            kept = state.get(place)
            if kept is not None and kept[0] + self.ttl_ms <= now:
                state.put(place, None)
                yield from self._change(kept[2], _FOREVER, kept[0] + self.ttl_ms, self._results(kept[1]), None)

    # ---- what comes out ----------------------------------------------------------------------------------------

    def _change(self, key: bytes, bounds: Bounds, time: int, before: Any, folded: list[Any] | None) -> Iterator[Made]:
        """A session's change, or a group's end: `folded` is what it holds now, behind its time."""
        if self.each:
            after = None if folded is None else self._results(folded[1])
            yield self._made(key, bounds, time, before, after)
            return
        known = self._pending.pop((key, bounds), None)
        if known is not None:
            before = known[1]
        self._pending[key, bounds] = [folded, before, time]

    def _made(self, key: bytes, bounds: Bounds, time: int, before: Any, after: Any) -> Made:
        return Made(key, time, (*bounds, before, after))

    def _results(self, folded: list[Any]) -> dict[str, Any]:
        found = {}
        for call, state in zip(self._calls, folded, strict=True):
            value = call.fold.result(state)
            found[call.name] = value if value is None else call.result(value)
        return found


def _changed(call: Call, folded: Any, give: list[Any] | None, take: list[Any] | None) -> Any:
    if take is not None:
        assert call.fold.undo is not None
        folded = call.fold.undo(folded, *take[call.takes])
    return folded if give is None else call.fold.add(folded, *give[call.takes])


class Retraction(Operator):
    """The rows of a table as what they give to a group, and what they take back from it.

    Out comes the row as it was and as it is now; a deletion has only the one, a new row only the other.
    """

    def take(self, row: Arrived, state: State) -> Iterator[Made]:
        before = state.get(row.key)
        if before is None and row.row is None:
            return
        state.put(row.key, row.row)
        yield Made(row.key, row.time, (before, row.row))

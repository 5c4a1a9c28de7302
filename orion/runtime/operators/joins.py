"""Joins, a row at a time. Rows of both sides come to one task, told apart by their side; what they make is a pair.

Each pair leaves as (left row, right row, deleted): a side that has no row is None. Streams pair by time, tables by
what is there now, as in Kafka Streams.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from orion.plan.relations import JoinType, Within
from orion.runtime.operators.tasks import Arrived, Made, Operator, State

LEFT, RIGHT = 0, 1


def keeps(kind: JoinType, side: int) -> bool:
    """Whether a row of that side comes out without a partner too."""
    return kind is JoinType.FULL or kind is (JoinType.LEFT if side == LEFT else JoinType.RIGHT)


def _pair(side: int, mine: bytes | None, other: bytes | None) -> tuple[bytes | None, bytes | None, bool]:
    left, right = (mine, other) if side == LEFT else (other, mine)
    return left, right, left is None and right is None


@dataclass(frozen=True)
class StreamStream(Operator):
    """Rows of two streams with the same key, no further apart in time than WITHIN says.

    Without GRACE PERIOD a row that finds no partner comes out alone at once, and perhaps again with one that comes
    later. With it, it waits until none can come any more.
    """

    kind: JoinType
    within: Within

    def take(self, row: Arrived, state: State) -> Iterator[Made]:
        now = state.see(row.time)
        if row.row is None:
            return
        side, other = row.side, 1 - row.side
        back, ahead = self._reach(side)
        kept: tuple[list[Any], list[Any]] = state.get(row.key) or ([], [])
        matched = False
        for time, _, partner in self._between(kept[other], row.time - back, row.time + ahead):
            matched = True
            yield Made(row.key, max(row.time, time), _pair(side, row.row, partner))
            if self.within.patient and keeps(self.kind, other):
                self._answered(state, row.key, other, time)
        if not matched and keeps(self.kind, side):
            if not self.within.patient or row.time + ahead < now:
                yield Made(row.key, row.time, _pair(side, row.row, None))
            else:
                self._wait(state, row)
        if row.time >= self._see(state, side, row.time) - self._kept_ms():
            insort(kept[side], (row.time, len(kept[side]), row.row))
            state.put(row.key, kept)
            state.schedule(row.time + self._kept_ms() + 1, _BUFFER + row.key, max(1, self._kept_ms() // 4))
        yield from self._close(state, now)

    def _reach(self, side: int) -> tuple[int, int]:
        """How far back and ahead of a row its partners may be."""
        before, after = self.within.before_ms, self.within.after_ms
        return (before, after) if side == LEFT else (after, before)

    def _kept_ms(self) -> int:
        return self.within.before_ms + self.within.after_ms + self.within.grace_ms

    @staticmethod
    def _between(found: list[Any], first: int, last: int) -> Iterator[tuple[int, int, bytes]]:
        for at in range(bisect_left(found, (first,)), len(found)):
            if found[at][0] > last:
                return
            yield found[at]

    # ---- rows that wait for a partner --------------------------------------------------------------------------

    def _wait(self, state: State, row: Arrived) -> None:
        closes = row.time + self._reach(row.side)[1] + self.within.grace_ms + 1
        place = _waiting(row.key)
        waiting = state.get(place) or []
        waiting.append((row.time, row.side, closes, row.row))
        state.put(place, waiting)
        state.schedule(closes, place)

    def _answered(self, state: State, key: bytes, side: int, time: int) -> None:
        place = _waiting(key)
        waiting = state.get(place)
        if waiting:
            left = [w for w in waiting if (w[0], w[1]) != (time, side)]
            if len(left) != len(waiting):
                state.put(place, left or None)

    def _close(self, state: State, now: int) -> Iterator[Made]:
        for place in state.due(now):
            if place.startswith(_BUFFER):
                self._forget(state, place[len(_BUFFER) :], now)
                continue
            waiting = state.get(place) or []
            over = [w for w in waiting if w[2] <= now]
            state.put(place, [w for w in waiting if w[2] > now] or None)
            key = place[len(_WAITING) :]
            for time, side, _, mine in over:
                yield Made(key, time, _pair(side, mine, None))

    @staticmethod
    def _see(state: State, side: int, time: int) -> int:
        """How far one side has come: a side that lags behind the other keeps its rows for it."""
        times = state.get(_TIMES) or [-1, -1]
        if time > times[side]:
            times[side] = time
            state.put(_TIMES, times)
        return int(times[side])

    def _forget(self, state: State, key: bytes, now: int) -> None:
        kept = state.get(key)
        if kept is None:
            return
        times = state.get(_TIMES) or [now, now]
        left = tuple(
            [entry for entry in found if entry[0] >= time - self._kept_ms()]
            for found, time in zip(kept, times, strict=True)
        )
        state.put(key, left if any(left) else None)


_BUFFER, _WAITING, _TIMES = b"\x01", b"\x02", b"\x03"


def _waiting(key: bytes) -> bytes:
    return _WAITING + key


@dataclass(frozen=True)
class StreamTable(Operator):
    """Rows of a stream (left) with what the table (right) holds for their key at that moment."""

    kind: JoinType

    def take(self, row: Arrived, state: State) -> Iterator[Made]:
        if row.side == RIGHT:
            state.put(row.key, row.row)
            return
        if row.row is None:
            return
        partner = state.get(row.key)
        if partner is not None or keeps(self.kind, LEFT):
            yield Made(row.key, row.time, (row.row, partner, False))


@dataclass(frozen=True)
class TableTable(Operator):
    """Rows of two tables with the same key. A change of either side is a change of the pair."""

    kind: JoinType

    def take(self, row: Arrived, state: State) -> Iterator[Made]:
        side = row.side
        kept = state.get(row.key) or [None, None]  # of each side its row and time
        now = None if row.row is None else (row.row, row.time)
        changed = [now if at == side else kept[at] for at in (LEFT, RIGHT)]
        state.put(row.key, changed if any(changed) else None)
        other = changed[1 - side]
        is_now = self._shown(changed)
        # An inner join tells every deletion that meets a partner, whether or not there was a row to delete.
        if not (is_now or self._shown(kept) or (other is not None and self.kind is JoinType.INNER)):
            return
        time = max(row.time, other[1]) if other else row.time
        if not is_now:
            yield Made(row.key, time, (None, None, True))
            return
        left, right = changed
        yield Made(row.key, time, (left and left[0], right and right[0], False))

    def _shown(self, kept: list[Any]) -> bool:
        left, right = kept[LEFT] is not None, kept[RIGHT] is not None
        return (left and right) or (left and keeps(self.kind, LEFT)) or (right and keeps(self.kind, RIGHT))


@dataclass(frozen=True)
class Subscribe(Operator):
    """The first half of a foreign-key join, keyed by the left table's key: tells the right row's place whom it serves.

    `data` is the foreign key. Out comes, keyed by a foreign key: the left row's key, the row (None: it is gone from
    there), and whether its going is to be told.
    """

    kind: JoinType

    def take(self, row: Arrived, state: State) -> Iterator[Made]:
        before = state.get(row.key)  # the foreign key it was under
        foreign: bytes | None = row.data[0] if row.row is not None else None
        state.put(row.key, None if row.row is None else (foreign,))
        if row.row is None:
            if before is not None:
                yield Made(before[0] or b"", row.time, (row.key, None, True, before[0] is None))
            return
        if before is not None and before[0] != foreign:
            # The new place tells what becomes of the row; only if it has none does the old one.
            told = foreign is None and not keeps(self.kind, LEFT) and before[0] is not None
            yield Made(before[0] or b"", row.time, (row.key, None, told, before[0] is None))
        if foreign is not None or keeps(self.kind, LEFT):
            yield Made(foreign or b"", row.time, (row.key, row.row, before is not None, foreign is None))


@dataclass(frozen=True)
class Serve(Operator):
    """The second half, keyed by the foreign key: the right table's row and every left row that points to it.

    From the left come `data` = (left key, tell a deletion, no foreign key at all); out come pairs under the left key.
    """

    kind: JoinType

    def take(self, row: Arrived, state: State) -> Iterator[Made]:
        kept = state.get(row.key) or [None, {}]
        right, pointing = kept
        if row.side == RIGHT:
            changed = None if row.row is None else (row.row, row.time)
            state.put(row.key, [changed, pointing] if changed or pointing else None)
            for key, (left, time) in sorted(pointing.items()):
                shown = changed is not None or keeps(self.kind, LEFT)
                yield Made(key, max(row.time, time), (left if shown else None, row.row, not shown))
            return
        left_key, tell, nowhere = row.data
        if row.row is None:
            pointing.pop(left_key, None)
            state.put(row.key, [right, pointing] if right or pointing else None)
            if tell:
                yield Made(left_key, row.time, (None, None, True))
            return
        if not nowhere:
            pointing[left_key] = (row.row, row.time)
            state.put(row.key, [right, pointing])
        if right is not None:
            yield Made(left_key, max(row.time, right[1]), (row.row, right[0], False))
        elif keeps(self.kind, LEFT):
            yield Made(left_key, row.time, (row.row, None, False))
        elif tell:
            yield Made(left_key, row.time, (None, None, True))

"""Joins, a row at a time. Rows of both sides come to one task, told apart by their side; what they make is a pair.

Each pair leaves as (left row, right row, deleted): a side that has no row is None. Streams pair by time, tables by
what is there now, as in Kafka Streams.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from orion.plan.relations import JoinType, Within
from orion.runtime.operators.tasks import InputRow, Operator, OutputRow
from orion.runtime.state.places import StatePlace
from orion.runtime.state.state import TaskState

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

    Each row is a record of its own: side, time and a number, under its key. It holds the row and whether it waits, and
    falls due when its wait ends, and then when no partner can come any more.
    """

    kind: JoinType
    within: Within

    def take(self, row: InputRow, state: TaskState) -> Iterator[OutputRow]:
        now = state.see(row.time)
        if row.row is None:
            return
        side, other = row.side, 1 - row.side
        back, ahead = self._reach(side)
        answers = self.within.patient and keeps(self.kind, other)
        matched = False
        first = max(row.time - back, self._oldest(state, other))
        for member, found in self._between(state, row.key, other, first, row.time + ahead):
            matched = True
            time = _time_of(member)
            yield OutputRow(row.key, max(row.time, time), _pair(side, row.row, found[0]))
            if answers and found[1]:
                state.put_member(row.key, member, [found[0], False], self._expiry(time))
        waits = False
        if not matched and keeps(self.kind, side):
            waits = self.within.patient and row.time + ahead >= now
            if not waits:
                yield OutputRow(row.key, row.time, _pair(side, row.row, None))
        self._see(state, side, row.time)
        if row.time >= self._oldest(state, side):
            member = self._free_member(state, row)
            due = row.time + ahead + self.within.grace_ms + 1 if waits else self._expiry(row.time)
            state.put_member(row.key, member, [row.row, waits], due)
        yield from self._close(state, now)

    def _reach(self, side: int) -> tuple[int, int]:
        """How far back and ahead of a row its partners may be."""
        before, after = self.within.before_ms, self.within.after_ms
        return (before, after) if side == LEFT else (after, before)

    def _kept_ms(self) -> int:
        return self.within.before_ms + self.within.after_ms + self.within.grace_ms

    def _expiry(self, time: int) -> int:
        return time + self._kept_ms() + 1

    @staticmethod
    def _between(state: TaskState, key: bytes, side: int, first: int, last: int) -> list[tuple[bytes, list[Any]]]:
        return state.members(key).between(_member(side, max(first, 0), 0), _member(side, max(last, -1) + 1, 0))

    @staticmethod
    def _free_member(state: TaskState, row: InputRow) -> bytes:
        """Behind the rows of the same side and time."""
        time = max(row.time, 0)
        alike = StreamStream._between(state, row.key, row.side, time, time)
        return _member(row.side, time, _number_of(alike[-1][0]) + 1 if alike else 0)

    def _close(self, state: TaskState, now: int) -> Iterator[OutputRow]:
        for key, member in state.due(now):
            assert member is not None
            row, waits = state.members(key)[member]
            side, time = member[0], _time_of(member)
            if waits:
                yield OutputRow(key, time, _pair(side, row, None))
            # A side that lags behind the other keeps its rows for it.
            over = (state.get(_TIMES) or [now, now])[side] > time + self._kept_ms()
            later = max(self._expiry(time), now + max(1, self._kept_ms() // 4))
            state.put_member(key, member, None if over else [row, False], None if over else later)

    @staticmethod
    def _see(state: TaskState, side: int, time: int) -> None:
        """One side has come so far."""
        times = state.get(_TIMES) or [-1, -1]
        if time > times[side]:
            times[side] = time
            state.put(_TIMES, times)

    def _oldest(self, state: TaskState, side: int) -> int:
        """The time from which on a side's rows find partners. Those before it may be there a while longer."""
        return int((state.get(_TIMES) or [-1, -1])[side]) - self._kept_ms() + 1

    def row_key(self, place: StatePlace) -> bytes | None:
        return None if place == StatePlace(_TIMES) else place.key

    def merge_own(self, values: list[Any]) -> Any:
        """Of each side how far it has come in the task where it is furthest."""
        return [max(times) for times in zip(*values, strict=True)]


_TIMES = b""


def _member(side: int, time: int, number: int) -> bytes:
    return struct.pack(">BQI", side, time, number)


def _time_of(member: bytes) -> int:
    return int.from_bytes(member[1:9], "big")


def _number_of(member: bytes) -> int:
    return int.from_bytes(member[9:], "big")


@dataclass(frozen=True)
class StreamTable(Operator):
    """Rows of a stream (left) with what the table (right) holds for their key at that moment."""

    kind: JoinType

    def take(self, row: InputRow, state: TaskState) -> Iterator[OutputRow]:
        if row.side == RIGHT:
            state.put(row.key, row.row)
            return
        if row.row is None:
            return
        partner = state.get(row.key)
        if partner is not None or keeps(self.kind, LEFT):
            yield OutputRow(row.key, row.time, (row.row, partner, False))


@dataclass(frozen=True)
class TableTable(Operator):
    """Rows of two tables with the same key. A change of either side is a change of the pair."""

    kind: JoinType

    def take(self, row: InputRow, state: TaskState) -> Iterator[OutputRow]:
        side = row.side
        kept = state.get(row.key) or [None, None]  # of each side its row and time
        now = None if row.row is None else [row.row, row.time]
        changed: list[Any] = [now if at == side else kept[at] for at in (LEFT, RIGHT)]
        state.put(row.key, changed if any(changed) else None)
        other = changed[1 - side]
        is_now = self._shown(changed)
        # An inner join tells every deletion that meets a partner, whether or not there was a row to delete.
        if not (is_now or self._shown(kept) or (other is not None and self.kind is JoinType.INNER)):
            return
        time = max(row.time, other[1]) if other else row.time
        if not is_now:
            yield OutputRow(row.key, time, (None, None, True))
            return
        left, right = changed
        yield OutputRow(row.key, time, (left and left[0], right and right[0], False))

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

    def take(self, row: InputRow, state: TaskState) -> Iterator[OutputRow]:
        before = state.get(row.key)  # the foreign key it was under
        foreign: bytes | None = row.data[0] if row.row is not None else None
        state.put(row.key, None if row.row is None else [foreign])
        if row.row is None:
            if before is not None:
                yield OutputRow(before[0] or b"", row.time, (row.key, None, True, before[0] is None))
            return
        if before is not None and before[0] != foreign:
            # The new place tells what becomes of the row; only if it has none does the old one.
            told = foreign is None and not keeps(self.kind, LEFT) and before[0] is not None
            yield OutputRow(before[0] or b"", row.time, (row.key, None, told, before[0] is None))
        if foreign is not None or keeps(self.kind, LEFT):
            yield OutputRow(foreign or b"", row.time, (row.key, row.row, before is not None, foreign is None))


@dataclass(frozen=True)
class Serve(Operator):
    """The second half, keyed by the foreign key: the right table's row and every left row that points to it.

    From the left come `data` = (left key, tell a deletion, no foreign key at all); out come pairs under the left key.
    """

    kind: JoinType

    def take(self, row: InputRow, state: TaskState) -> Iterator[OutputRow]:
        right = state.get(row.key)  # the right table's row and its time
        if row.side == RIGHT:
            state.put(row.key, None if row.row is None else [row.row, row.time])
            for key, (left, time) in state.members(row.key).items():
                shown = row.row is not None or keeps(self.kind, LEFT)
                yield OutputRow(key, max(row.time, time), (left if shown else None, row.row, not shown))
            return
        left_key, tell, nowhere = row.data
        if row.row is None:
            state.put_member(row.key, left_key, None)
            if tell:
                yield OutputRow(left_key, row.time, (None, None, True))
            return
        if not nowhere:
            state.put_member(row.key, left_key, [row.row, row.time])
        if right is not None:
            yield OutputRow(left_key, max(row.time, right[1]), (row.row, right[0], False))
        elif keeps(self.kind, LEFT):
            yield OutputRow(left_key, row.time, (row.row, None, False))
        elif tell:
            yield OutputRow(left_key, row.time, (None, None, True))

"""A task's state during one batch: records by place, read once and written once; the stream's time; what falls due.

An operator reads and changes records here. What it changed is taken from here at the end of the batch, for the
changelog and for the local store. A record may say when it falls due by the stream's time; the store keeps them in
that order.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple, Protocol

from orion.runtime.state.places import CLOCK, SINGLE, StatePlace, group, parse_place, single
from orion.runtime.state.values import decode, encode


class Change(NamedTuple):
    """A record as it is now; no blob: it is gone. `was_due` is where it stood among those that fall due."""

    place: bytes
    blob: bytes | None
    due: int | None
    was_due: int | None


class StateStore(Protocol):
    """Where records are between batches."""

    def load(self, place: bytes) -> bytes | None: ...

    def load_many(self, places: list[bytes]) -> list[bytes | None]: ...

    def scan(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        """Records whose place begins so, in the order of their places."""
        ...

    def upcoming(self) -> Iterator[tuple[int, bytes]]:
        """When records fall due and their places, the earliest first."""
        ...


class MemoryStore:
    """Records in memory: for one batch that nothing comes after, and for tests."""

    def __init__(self) -> None:
        self.blobs: dict[bytes, bytes] = {}

    def load(self, place: bytes) -> bytes | None:
        return self.blobs.get(place)

    def load_many(self, places: list[bytes]) -> list[bytes | None]:
        return [self.blobs.get(place) for place in places]

    def scan(self, prefix: bytes) -> list[tuple[bytes, bytes]]:
        return sorted((place, blob) for place, blob in self.blobs.items() if place.startswith(prefix))

    def upcoming(self) -> Iterator[tuple[int, bytes]]:
        dues = ((decode(blob)[1], place) for place, blob in self.blobs.items())
        return iter(sorted((due, place) for due, place in dues if due is not None))

    def apply(self, changes: list[Change]) -> None:
        for change in changes:
            if change.blob is None:
                self.blobs.pop(change.place, None)
            else:
                self.blobs[change.place] = change.blob


_NEVER = 2**63 - 1
_Held = list[Any]  # value, due, due as the store has it, whether the store has it


class Members:
    """The records of a group by member, in the members' order."""

    def __init__(self, values: dict[bytes, Any]) -> None:
        self._values = values
        self._order = sorted(values)

    def __getitem__(self, member: bytes) -> Any:
        return self._values[member]

    def items(self) -> list[tuple[bytes, Any]]:
        return [(member, self._values[member]) for member in self._order]

    def between(self, first: bytes, end: bytes) -> list[tuple[bytes, Any]]:
        """Those from a member on, and before another."""
        at, until = bisect_left(self._order, first), bisect_left(self._order, end)
        return [(member, self._values[member]) for member in self._order[at:until]]

    def put(self, member: bytes, value: Any) -> None:
        if value is None:
            if self._values.pop(member, None) is not None:
                del self._order[bisect_left(self._order, member)]
        else:
            if member not in self._values:
                insort(self._order, member)
            self._values[member] = value


class TaskState:
    """See the module. Whoever gets a value owns it until the batch's end: it may be changed in place, then put."""

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self._held: dict[bytes, _Held] = {}
        self._changed: dict[bytes, None] = {}
        self._groups: dict[bytes, Members] = {}
        self._unread: dict[bytes, dict[bytes, None]] = {}  # places put in groups that nobody has asked for
        self._heap: list[tuple[int, int, bytes]] = []
        self._numbers = count()
        self._ahead = store.upcoming()
        self._next = next(self._ahead, None)
        self._soonest = self._next[0] if self._next else _NEVER
        clock = self._hold(CLOCK)[0]
        self._now: int = -1 if clock is None else clock
        self._began = self._now

    # ---- records -----------------------------------------------------------------------------------------------

    def get(self, key: bytes) -> Any:
        return self._hold(single(key))[0]

    def put(self, key: bytes, value: Any, due: int | None = None) -> None:
        """None: nothing is kept under the key any more."""
        self._put(single(key), value, due)

    def get_many(self, keys: list[bytes]) -> list[Any]:
        """What `get` gives for each of them; they are all different, and nobody has asked for them in this batch."""
        found: list[Any] = []
        places = [SINGLE + key for key in keys]
        for place, blob in zip(places, self._store.load_many(places), strict=True):
            if blob is None:
                self._held[place] = [None, None, None, False]
                found.append(None)
            else:
                value, due = decode(blob)
                self._held[place] = [value, due, due, True]
                found.append(value)
        return found

    def put_many(self, keys: list[bytes], values: list[Any], dues: Iterable[int | None]) -> None:
        """`put` for each of them, which `get_many` has asked for."""
        held, changed = self._held, self._changed
        for key, value, due in zip(keys, values, dues, strict=False):
            place = SINGLE + key
            one = held[place]
            one[0] = value
            changed[place] = None
            if due is not None and due >= _NEVER:
                due = None
            if due != one[1]:
                self._schedule(place, due)
                one[1] = due

    def members(self, key: bytes) -> Members:
        """All records of a group; to be changed by `put_member`."""
        found = self._groups.get(key)
        if found is None:
            prefix = group(key)
            for place, blob in self._store.scan(prefix):
                if place not in self._held:
                    value, due = decode(blob)
                    self._held[place] = [value, due, due, True]
                self._unread.setdefault(key, {})[place] = None
            held = ((place[len(prefix) :], self._held[place][0]) for place in self._unread.pop(key, ()))
            found = self._groups[key] = Members({member: value for member, value in held if value is not None})
        return found

    def put_member(self, key: bytes, member: bytes, value: Any, due: int | None = None) -> None:
        place = group(key) + member
        self._put(place, value, due)
        found = self._groups.get(key)
        if found is None:
            self._unread.setdefault(key, {})[place] = None
        else:
            found.put(member, value)

    def _hold(self, place: bytes) -> _Held:
        held = self._held.get(place)
        if held is None:
            blob = self._store.load(place)
            if blob is None:
                held = [None, None, None, False]
            else:
                value, due = decode(blob)
                held = [value, due, due, True]
            self._held[place] = held
        return held

    def _put(self, place: bytes, value: Any, due: int | None) -> None:
        if value is None or (due is not None and due >= _NEVER):
            due = None
        held = self._hold(place)
        held[0] = value
        if due != held[1]:
            self._schedule(place, due)
            held[1] = due
        self._changed[place] = None

    def _schedule(self, place: bytes, due: int | None) -> None:
        if due is not None:
            heapq.heappush(self._heap, (due, next(self._numbers), place))
            self._soonest = min(self._soonest, due)

    # ---- time --------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """How far the stream has come: the latest time among its rows; -1 before the first."""
        return self._now

    def see(self, time: int) -> int:
        """A row of this time has come; how far the stream is with it."""
        if time > self._now:
            self._now = time
        return self._now

    def due(self, until: int) -> list[StatePlace]:
        """Whose time has come, in its order. Each is told once, unless it is put with another time."""
        return [parse_place(place) for place, _ in self._take_due(until)]

    def drop_due(self, until: int) -> None:
        """Records whose time has come are gone, without a look at them."""
        for place, due in self._take_due(until):
            held = self._held.get(place)
            if held is None:
                self._held[place] = [None, None, due, True]
            else:
                held[0] = held[1] = None
            self._changed[place] = None
            key, member = parse_place(place)
            if member is not None and key in self._groups:
                self._groups[key].put(member, None)

    def _take_due(self, until: int) -> list[tuple[bytes, int]]:
        if until < self._soonest:
            return []
        while self._next is not None and self._next[0] <= until:
            heapq.heappush(self._heap, (self._next[0], -1, self._next[1]))
            self._next = next(self._ahead, None)
        told: dict[bytes, int] = {}  # a record that was put away from its time and back stands there twice
        while self._heap and self._heap[0][0] <= until:
            due, _, place = heapq.heappop(self._heap)
            held = self._held.get(place)
            # What has been put since with another time, or taken away, isn't due any more.
            if held is None or (held[0] is not None and held[1] == due):
                told[place] = due
        first = [self._heap[0][0]] if self._heap else []
        self._soonest = min([*first, self._next[0] if self._next else _NEVER])
        return list(told.items())

    # ---- the batch's end ---------------------------------------------------------------------------------------

    def changes(self) -> list[Change]:
        """Every record that isn't as it was, once; to be asked for when all rows are taken."""
        if self._now > self._began:
            self._put(CLOCK, self._now, None)
        made = []
        for place in self._changed:
            value, due, was_due, was_there = self._held[place]
            gone = value is None
            if gone and not was_there:
                continue
            made.append(Change(place, None if gone else encode(value, due), None if gone else due, was_due))
        return made

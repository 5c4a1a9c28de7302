"""A task's state during a batch: the same over every store, and what a dict would be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orion.runtime.state.local_store import open_store
from orion.runtime.state.places import CLOCK, StatePlace, group, parse_place, single
from orion.runtime.state.state import Change, MemoryStore, StateStore, TaskState
from orion.runtime.state.values import decode

Batch = Callable[[], TaskState]
Commit = Callable[[TaskState], list[Change]]
Opened = tuple[StateStore, Batch, Commit]


@contextmanager
def memory_opened() -> Iterator[Opened]:
    store = MemoryStore()

    def commit(state: TaskState) -> list[Change]:
        changes = state.changes()
        store.apply(changes)
        return changes

    yield store, lambda: TaskState(store), commit


@contextmanager
def local_opened() -> Iterator[Opened]:
    with TemporaryDirectory() as folder:
        store, note = open_store(Path(folder) / "store", "t/0")

        def begin() -> TaskState:
            store.begin_reading()
            return TaskState(store)

        def commit(state: TaskState) -> list[Change]:
            changes = state.changes()
            store.set_pending(replace(note, batch=note.batch + 1), changes)
            store.apply_pending(note)
            store.begin_reading()
            return changes

        try:
            store.begin_reading()
            yield store, begin, commit
        finally:
            store.close()


# ---- operations, and what a dict makes of them -----------------------------------------------------------------


@dataclass
class Model:
    """What a State is to be, over a dict."""

    records: dict[StatePlace, tuple[Any, int | None]] = field(default_factory=dict)
    now: int = -1
    told: set[StatePlace] = field(default_factory=set)  # of this batch, and not put with another time since
    known: set[StatePlace] = field(default_factory=set)  # those that somebody has asked for in this batch
    put: set[StatePlace] = field(default_factory=set)

    def write(self, place: StatePlace, value: Any, due: int | None) -> None:
        if self.due_of(place) != due:
            self.told.discard(place)
        self.records.pop(place, None)
        if value is not None:
            self.records[place] = (deepcopy(value), due)
        self.known.add(place)
        self.put.add(place)

    def value(self, place: StatePlace) -> Any:
        return deepcopy(self.records[place][0]) if place in self.records else None

    def due_of(self, place: StatePlace) -> int | None:
        return self.records[place][1] if place in self.records else None

    def members(self, key: bytes) -> list[tuple[bytes, Any]]:
        found = {p.member: v for p, (v, _) in self.records.items() if p.key == key and p.member is not None}
        return sorted(found.items())

    def take_due(self, until: int) -> set[StatePlace]:
        """Whose time has come and who isn't told yet; they are now."""
        found = {p for p in self.records if (due := self.due_of(p)) is not None and due <= until} - self.told
        self.told |= found
        return found

    def begin_batch(self) -> None:
        for one in (self.told, self.known, self.put):
            one.clear()


@dataclass(frozen=True)
class Write:
    """Put a value; or None, which has no time."""

    place: StatePlace
    value: Any
    due: int | None

    def run(self, state: TaskState, model: Model) -> None:
        due = None if self.value is None else self.due
        _put(state, self.place, deepcopy(self.value), due)
        model.write(self.place, self.value, due)


@dataclass(frozen=True)
class Grow:
    """Change what is there in place, then put it."""

    place: StatePlace
    due: int | None

    def run(self, state: TaskState, model: Model) -> None:
        value = _get(state, self.place) or []
        value.append(len(value))
        _put(state, self.place, value, self.due)
        model.write(self.place, value, self.due)


@dataclass(frozen=True)
class Read:
    place: StatePlace

    def run(self, state: TaskState, model: Model) -> None:
        assert _get(state, self.place) == model.value(self.place)
        model.known.add(self.place)


@dataclass(frozen=True)
class WriteMany:
    """Ask for many keys and put them; those that somebody has asked for already are no part of it."""

    keys: tuple[bytes, ...]
    value: Any
    dues: tuple[int | None, ...]

    def run(self, state: TaskState, model: Model) -> None:
        keys = [key for key in self.keys if StatePlace(key) not in model.known]
        assert state.get_many(keys) == [model.value(StatePlace(key)) for key in keys]
        values = [deepcopy(self.value) for _ in keys]
        state.put_many(keys, values, self.dues)
        for key, due in zip(keys, self.dues, strict=False):
            model.write(StatePlace(key), self.value, due)


@dataclass(frozen=True)
class ReadGroup:
    key: bytes
    first: bytes
    end: bytes

    def run(self, state: TaskState, model: Model) -> None:
        members, wanted = state.members(self.key), model.members(self.key)
        assert members.items() == wanted
        assert {member: members[member] for member, _ in wanted} == dict(wanted)
        assert members.between(self.first, self.end) == [m for m in wanted if self.first <= m[0] < self.end]


@dataclass(frozen=True)
class See:
    time: int

    def run(self, state: TaskState, model: Model) -> None:
        model.now = max(model.now, self.time)
        assert state.see(self.time) == state.now == model.now


@dataclass(frozen=True)
class TellDue:
    until: int

    def run(self, state: TaskState, model: Model) -> None:
        told = state.due(self.until)
        dues = [due for place in told if (due := model.due_of(place)) is not None]
        assert len(told) == len(dues) == len(set(told))
        assert dues == sorted(dues)
        assert set(told) == model.take_due(self.until)


@dataclass(frozen=True)
class DropDue:
    until: int

    def run(self, state: TaskState, model: Model) -> None:
        state.drop_due(self.until)
        for place in model.take_due(self.until):
            model.write(place, None, None)


Operation = Write | Grow | Read | WriteMany | ReadGroup | See | TellDue | DropDue


def _get(state: TaskState, place: StatePlace) -> Any:
    if place.member is None:
        return state.get(place.key)
    return dict(state.members(place.key).items()).get(place.member)


def _put(state: TaskState, place: StatePlace, value: Any, due: int | None) -> None:
    if place.member is None:
        state.put(place.key, value, due)
    else:
        state.put_member(place.key, place.member, value, due)


def place_bytes(place: StatePlace) -> bytes:
    return single(place.key) if place.member is None else group(place.key) + place.member


keys = st.sampled_from([b"", b"\x00", b"a", b"ab", b"x" * 490, b"x" * 490 + b"y"])
member_names = st.sampled_from([b"", b"\x01", b"m", b"mm", b"z" * 500])
values = st.just([1]) | st.sampled_from([0, False, "", b"v" * 20, {"k": (1, 2)}])
times = st.integers(-2, 4)
dues = st.none() | times
bounds = st.sampled_from([b"", b"\x01", b"m", b"ma", b"n", b"\xff"])


def operations_on(places: list[StatePlace]) -> st.SearchStrategy[Operation]:
    some, own = st.sampled_from(places), st.sampled_from([place.key for place in places])
    return st.one_of(
        st.builds(Write, some, values, times),
        st.builds(Write, some, st.none() | values, dues),
        st.builds(Grow, some, dues),
        st.builds(Read, some),
        st.builds(
            WriteMany,
            st.lists(own, unique=True, max_size=3).map(tuple),
            values,
            st.lists(dues, min_size=3, max_size=3).map(tuple),
        ),
        st.builds(ReadGroup, own, bounds, bounds),
        st.builds(See, times),
        st.builds(TellDue, times),
        st.builds(DropDue, times),
    )


def batches_on(places: st.SearchStrategy[StatePlace], count: int) -> st.SearchStrategy[list[list[Operation]]]:
    """Batches of operations on a few records, so that they meet."""
    few = st.lists(places, min_size=1, max_size=count, unique=True)
    return few.flatmap(lambda chosen: st.lists(st.lists(operations_on(chosen), max_size=12), min_size=1, max_size=3))


singles, members = st.builds(StatePlace, keys), st.builds(StatePlace, keys, member_names)
short = st.builds(StatePlace, keys.filter(lambda key: len(key) < 9), st.none() | st.sampled_from([b"", b"m", b"mm"]))


def is_list(value: Any) -> bool:
    return value is None or isinstance(value, list)


@pytest.mark.parametrize("opened", [memory_opened, local_opened])
@given(batches=batches_on(singles | members, 4))
def test_a_state_is_what_a_dict_would_be(opened: Any, batches: list[list[Operation]]) -> None:
    model = Model()
    with opened() as (store, begin, commit):
        for batch in batches:
            before, began = deepcopy(model.records), model.now
            model.begin_batch()
            state = begin()
            for operation in batch:
                if not isinstance(operation, Grow) or is_list(model.value(operation.place)):
                    operation.run(state, model)
            check_changes(commit(state), model, before, began)
            stored = {place: store.load(place) for place in map(place_bytes, model.records)}
            assert {p: decode(blob) for p, blob in stored.items() if blob is not None} == {
                place_bytes(p): record for p, record in model.records.items()
            }
            assert sorted(store.upcoming()) == sorted(
                (due, place_bytes(p)) for p, (_, due) in model.records.items() if due is not None
            )


def check_changes(
    changes: list[Change], model: Model, before: dict[StatePlace, tuple[Any, int | None]], began: int
) -> None:
    """Every record that isn't as it was, once, with when it was and is due; the clock where it has moved; no others."""
    told = {change.place: change for change in changes}
    assert len(told) == len(changes)
    clock = told.pop(CLOCK, None)
    assert (None if clock is None else clock.blob and decode(clock.blob)) == (
        (model.now, None) if model.now > began else None
    )
    assert {parse_place(place) for place in told} == {p for p in model.put if p in before or p in model.records}
    for bytes_, change in told.items():
        place = parse_place(bytes_)
        assert (None if change.blob is None else decode(change.blob)) == model.records.get(place)
        assert change.due == model.due_of(place)
        assert change.was_due == (before[place][1] if place in before else None)


@settings(max_examples=50)
@given(batches_on(short, 6))
def test_what_is_told_is_told_in_the_same_order_by_both_stores(batches: list[list[Operation]]) -> None:
    """Of records that are due at one time: by their places, if those are keys as they are. A batch that runs again on
    another copy of its state must make the same of it."""
    assert told_by(memory_opened, batches) == told_by(local_opened, batches)


def told_by(opened: Any, batches: list[list[Operation]]) -> list[list[StatePlace]]:
    told = []
    with opened() as (_, begin, commit):
        for batch in batches:
            state = begin()
            for operation in batch:
                if isinstance(operation, Write):
                    _put(state, operation.place, operation.value, None if operation.value is None else operation.due)
                elif isinstance(operation, TellDue):
                    told.append(state.due(operation.until))
            told.append(state.due(4))
            commit(state)
    return told


# ---- one thing at a time ---------------------------------------------------------------------------------------


def stored(*records: tuple[bytes, Any, int | None]) -> MemoryStore:
    store = MemoryStore()
    state = TaskState(store)
    for key, value, due in records:
        state.put(key, value, due)
    store.apply(state.changes())
    return store


def keys_due(state: TaskState, until: int) -> list[bytes]:
    return [place.key for place in state.due(until)]


def test_what_falls_due_is_told_once_and_the_earliest_first() -> None:
    state = TaskState(stored((b"late", 1, 9), (b"b", 1, 5), (b"a", 1, 5), (b"never", 1, None)))
    state.put(b"new", 1, 4)
    assert keys_due(state, 3) == []
    assert keys_due(state, 5) == [b"new", b"a", b"b"]
    assert keys_due(state, 5) == []
    assert keys_due(state, 9) == [b"late"]


def test_what_is_told_and_stays_is_told_again_by_the_next_batch() -> None:
    store = stored((b"a", 1, 5))
    for _ in range(2):
        state = TaskState(store)
        assert keys_due(state, 5) == [b"a"]
        store.apply(state.changes())


def test_what_is_put_with_another_time_is_told_then() -> None:
    state = TaskState(stored((b"a", 1, 5)))
    state.put(b"a", 2, 7)
    assert keys_due(state, 6) == []
    assert keys_due(state, 7) == [b"a"]
    state.put(b"a", 3, 8)
    assert keys_due(state, 8) == [b"a"]


@pytest.mark.parametrize("between", [(2, 7), (None, None)], ids=["another time", "deleted"])
@pytest.mark.parametrize("store", [MemoryStore(), stored((b"a", 1, 5))], ids=["new", "stored"])
def test_what_is_put_back_to_its_time_is_told_once(between: tuple[Any, int | None], store: MemoryStore) -> None:
    state = TaskState(store)
    for value, due in ((1, 5), between, (3, 5)):
        state.put(b"a", value, due)
    assert keys_due(state, 9) == [b"a"]


def test_what_is_deleted_before_its_time_is_not_told() -> None:
    state = TaskState(stored((b"a", 1, 5), (b"b", 1, 5)))
    state.put(b"a", None)
    assert keys_due(state, 5) == [b"b"]


def test_members_that_are_put_later_stand_in_their_order() -> None:
    state = TaskState(MemoryStore())
    state.put_member(b"g", b"m", 1)
    members = state.members(b"g")
    for member in (b"n", b"a", b"mm"):
        state.put_member(b"g", member, 1)
    state.put_member(b"g", b"n", None)
    assert [member for member, _ in members.items()] == [b"a", b"m", b"mm"]
    assert [member for member, _ in members.between(b"b", b"mm")] == [b"m"]
    assert members[b"mm"] == 1


def test_a_member_that_is_dropped_is_no_longer_in_its_group() -> None:
    store = MemoryStore()
    state = TaskState(store)
    for member, due in ((b"m", 5), (b"n", 7)):
        state.put_member(b"g", member, 1, due)
    store.apply(state.changes())
    for asked_before in (False, True):
        state = TaskState(store)
        if asked_before:
            state.members(b"g")
        state.drop_due(5)
        assert state.members(b"g").items() == [(b"n", 1)]


def test_a_record_that_came_and_went_within_a_batch_is_no_change() -> None:
    state = TaskState(stored((b"b", 1, None)))
    for key in (b"a", b"b"):
        state.put(key, 1, 5)
        state.put(key, None)
    assert state.changes() == [Change(single(b"b"), None, None, None)]


def test_what_is_only_read_is_no_change() -> None:
    state = TaskState(stored((b"a", [1], 5)))
    assert state.get(b"a") == [1]
    assert keys_due(state, 9) == [b"a"]
    assert state.get_many([b"b"]) == [None]
    assert state.members(b"g").items() == []
    assert state.changes() == []


def test_a_value_that_is_false_is_one() -> None:
    store = stored((b"a", 0, None), (b"b", False, None), (b"c", "", None))
    assert TaskState(store).get_many([b"a", b"b", b"c"]) == [0, False, ""]


def test_the_clock_is_kept_and_never_goes_back() -> None:
    store = MemoryStore()
    assert TaskState(store).now == -1
    for seen, now, written in (([-7], -1, False), ([3, 9, 5], 9, True), ([8, 9], 9, False), ([10], 10, True)):
        state = TaskState(store)
        for time in seen:
            state.see(time)
        assert state.now == now
        changes = state.changes()
        assert [change.place for change in changes] == ([CLOCK] if written else [])
        store.apply(changes)
    assert decode(store.blobs[CLOCK]) == (10, None)

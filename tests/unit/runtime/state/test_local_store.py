"""The local copy of a task's state: what it holds, what is pending, and when it isn't believed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lmdb
import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orion.runtime.state import local_store
from orion.runtime.state.local_store import LocalStore, StoreNote, StoreTaken, open_store
from orion.runtime.state.places import StatePlace, group, parse_place, single
from orion.runtime.state.state import Change, MemoryStore, TaskState
from orion.runtime.state.values import encode

IDENTITY = "changelog/id/3"
NOTE = StoreNote(IDENTITY)
Records = list[tuple[bytes, bytes | None]]
Dump = tuple[dict[bytes, bytes], list[tuple[int, bytes]]]


@contextmanager
def opened(folder: Path | None = None, identity: str = IDENTITY) -> Iterator[LocalStore]:
    with TemporaryDirectory() as scratch:
        store, _ = open_store(folder or Path(scratch) / "store", identity)
        try:
            yield store
        finally:
            store.close()


# ---- batches of changes ----------------------------------------------------------------------------------------

# Places of 480 bytes are the longest that are keys as they are; those of a group are five bytes longer than its key.
KEYS = [b"", b"a", b"ab", *(b"k" * length for length in (474, 475, 479, 480, 900)), b"k" * 900 + b"l"]
MEMBERS = [None, b"", b"m", b"mn", b"m" * 480, b"m" * 480 + b"n"]
Puts = list[tuple[StatePlace, bytes | None, int | None]]
places = st.builds(StatePlace, st.sampled_from(KEYS), st.sampled_from(MEMBERS))
values = st.none() | st.binary(max_size=3)
dues = st.none() | st.integers(-2, 2) | st.sampled_from([-(2**63), 2**63 - 1])
batches_of_puts = st.lists(places, min_size=1, max_size=6, unique=True).flatmap(
    lambda few: st.lists(st.lists(st.tuples(st.sampled_from(few), values, dues), max_size=6), max_size=4)
)


def changes_of(batches: list[Puts]) -> list[tuple[list[Change], MemoryStore]]:
    """The changes of each batch, and what the state is after them."""
    made: list[tuple[list[Change], MemoryStore]] = []
    store = MemoryStore()
    for at, batch in enumerate(batches):
        state = TaskState(store)
        state.see(at // 2)
        for place, value, due in batch:
            if place.member is None:
                state.put(place.key, value, due)
            else:
                state.put_member(place.key, place.member, value, due)
        changes, after = state.changes(), MemoryStore()
        after.blobs.update(store.blobs)
        after.apply(changes)
        made.append((changes, after))
        store = after
    return made


def held(store: LocalStore) -> Dump:
    """All that the store has, by place and by when it falls due."""
    store.begin_reading()
    found, upcoming = dict(store.scan(b"")), list(store.upcoming())
    assert [due for due, _ in upcoming] == sorted(due for due, _ in upcoming)
    assert store.load_many(list(found)) == [store.load(place) for place in found] == list(found.values())
    store.end_reading()
    assert store.count() == len(found) + len(upcoming) + (store.note is not None) + has_pending(store)
    return found, sorted(upcoming)


def wanted(memory: MemoryStore) -> Dump:
    return memory.blobs, list(memory.upcoming())


def has_pending(store: LocalStore) -> bool:
    with store._env.begin() as txn:
        return txn.get(b"p") is not None


@given(batches_of_puts)
def test_what_is_pending_is_seen_when_it_is_applied_and_not_before(batches: list[Puts]) -> None:
    with opened() as store:
        before = MemoryStore()
        for number, (changes, after) in enumerate(changes_of(batches)):
            note = replace(NOTE, batch=number)
            store.set_pending(note, changes)
            assert held(store) == wanted(before)
            store.apply_pending(note)
            assert not has_pending(store)
            assert held(store) == wanted(after)
            before = after


@given(batches_of_puts, st.data())
def test_records_of_the_changelog_give_what_changes_gave(batches: list[Puts], data: st.DataObject) -> None:
    """Whatever the store had of them already, however they come in parts, and whatever was pending."""
    made = changes_of(batches)
    applied = data.draw(st.integers(0, len(made)))
    read_from = data.draw(st.integers(0, applied))
    records: Records = [(c.place, c.blob) for changes, _ in made[read_from:] for c in changes]
    with opened() as store:
        for number, (changes, _) in enumerate(made[:applied]):
            store.set_pending(replace(NOTE, batch=number), changes)
            store.apply_pending(replace(NOTE, batch=number))
        if made:
            store.set_pending(NOTE, data.draw(st.sampled_from(made))[0])
        while records:
            part = data.draw(st.integers(1, len(records)))
            store.restore(NOTE, records[:part])
            records = records[part:]
        store.restore(NOTE, ())
        assert held(store) == wanted(made[-1][1] if made else MemoryStore())


@settings(max_examples=60)
@given(batches_of_puts, st.sampled_from(KEYS))
def test_a_group_is_found_whole_and_without_others(batches: list[Puts], key: bytes) -> None:
    made = changes_of(batches)
    memory = made[-1][1] if made else MemoryStore()
    with opened() as store:
        store.restore(NOTE, list(memory.blobs.items()))
        store.begin_reading()
        assert store.scan(group(key)) == memory.scan(group(key))
        singles = [single(one) for one in KEYS]
        assert store.load_many(singles) == memory.load_many(singles)
        assert store.load_many(singles[:3]) == memory.load_many(singles[:3])


# ---- what is pending -------------------------------------------------------------------------------------------


def put(place: bytes, value: Any, due: int | None = None) -> Change:
    return Change(place, encode(value, due), due, None)


A, B = single(b"a"), single(b"b")


def test_a_batch_that_runs_again_drops_what_it_left_pending() -> None:
    with opened() as store:
        store.set_pending(replace(NOTE, batch=1), [put(A, "first", 5)])
        store.restore(NOTE, ())
        store.apply_pending(NOTE)
        assert held(store) == ({}, [])
        store.set_pending(replace(NOTE, batch=1), [put(B, "again")])
        store.apply_pending(replace(NOTE, batch=1))
        assert held(store) == ({B: encode("again")}, [])


def test_what_is_left_pending_anew_takes_the_place_of_what_was() -> None:
    with opened() as store:
        store.set_pending(NOTE, [put(A, "first", 5)])
        store.set_pending(NOTE, [put(B, "again")])
        store.apply_pending(NOTE)
        assert held(store) == ({B: encode("again")}, [])


def test_what_is_pending_outlives_the_process_that_left_it(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        store.set_pending(replace(NOTE, run="r", batch=4, position=9), [put(A, 1, 7)])
    with opened(tmp_path / "s") as store:
        assert store.note == replace(NOTE, run="r", batch=4, position=9, boot=local_store.boot_id())
        store.apply_pending(replace(NOTE, batch=4))
        assert held(store) == ({A: encode(1, 7)}, [(7, A)])


def test_a_reader_goes_on_with_what_it_began_with() -> None:
    with opened() as store:
        store.restore(NOTE, [(A, encode(1))])
        store.begin_reading()
        assert store.load(A) == encode(1)
        store.restore(NOTE, [(A, encode(2))])
        store.begin_reading()
        assert store.load(A) == encode(2)


def test_a_deletion_of_what_is_not_there_changes_nothing() -> None:
    with opened() as store:
        store.restore(NOTE, [(A, None), (single(b"x" * 900), None)])
        assert held(store) == ({}, [])


def test_members_are_found_in_their_order_however_long_they_are() -> None:
    members = sorted(group(b"g") + bytes([65 + at]) * length for at in range(8) for length in (1, 500))
    with opened() as store:
        store.restore(NOTE, [(place, encode(1)) for place in members])
        store.begin_reading()
        assert [place for place, _ in store.scan(group(b"g"))] == members


def test_places_that_are_hashed_come_back_whole() -> None:
    long, member = single(b"x" * 5000), group(b"g" * 600) + b"m" * 600
    with opened() as store:
        store.restore(NOTE, [(long, encode(1, 4)), (member, encode(2, 3)), (A, encode(3, 3))])
        store.begin_reading()
        assert sorted(store.upcoming()) == sorted([(4, long), (3, member), (3, A)])
        assert store.scan(group(b"g" * 600)) == [(member, encode(2, 3))]
        assert parse_place(member) == StatePlace(b"g" * 600, b"m" * 600)
        state = TaskState(store)
        assert state.get(b"x" * 5000) == 1
        assert state.members(b"g" * 600).items() == [(b"m" * 600, 2)]
        state.drop_due(9)
        changes = state.changes()
        store.set_pending(NOTE, changes)
        store.apply_pending(NOTE)
        assert held(store) == ({}, [])


# ---- what isn't believed ---------------------------------------------------------------------------------------


def fill(folder: Path, note: StoreNote = NOTE, count: int = 1) -> None:
    with opened(folder, note.identity) as store:
        store.restore(note, [(single(b"%06d" % n), encode("v" * 50, n)) for n in range(count)])


def rewrite_note(folder: Path, note: bytes) -> None:
    with lmdb.open(str(folder)) as env, env.begin(write=True) as txn:
        txn.put(b"n", note)


def check_is_new(folder: Path, identity: str = IDENTITY) -> None:
    """The store opens without anything in it, and works."""
    store, note = open_store(folder, identity)
    try:
        assert (note.identity, note.run, note.batch, note.position) == (identity, "", -1, 0)
        assert store.note is None
        assert store.count() == 0
        store.restore(note, [(A, encode(1, 2))])
        assert held(store) == ({A: encode(1, 2)}, [(2, A)])
    finally:
        store.close()


def test_a_store_is_found_as_it_was_left(tmp_path: Path) -> None:
    fill(tmp_path / "s", replace(NOTE, position=7, positioned_ms=8))
    store, note = open_store(tmp_path / "s", IDENTITY)
    assert (note.position, note.positioned_ms) == (7, 8)
    assert held(store)[1] == [(0, single(b"000000"))]
    store.close()


def test_a_store_of_another_changelog_is_made_anew(tmp_path: Path) -> None:
    fill(tmp_path / "s")
    check_is_new(tmp_path / "s", "changelog/other/3")


def test_a_store_of_before_the_machine_started_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_store, "boot_id", lambda: "earlier")
    fill(tmp_path / "s")
    monkeypatch.undo()
    check_is_new(tmp_path / "s")


def known_note(**others: Any) -> bytes:
    told = {"identity": IDENTITY, "run": "", "batch": 0, "position": 5, "positioned_ms": 0}
    packed: bytes = msgpack.packb({**told, "boot": local_store.boot_id(), "format": 1, **others})
    return packed


NOTES = {
    "another format": known_note(format=2),
    "no format": known_note(format=None),
    "an unknown field": known_note(more=1),
    "a list": msgpack.packb([1, 2]),
    "no MessagePack": b"\xc1",
    "cut off": known_note()[:-3],
    "too long": known_note() + b"x",
    "no text": b"\x81\xa1\xff\x01",
    "empty": b"",
}


@pytest.mark.parametrize("note", NOTES.values(), ids=NOTES)
def test_a_store_whose_note_is_not_understood_is_made_anew(tmp_path: Path, note: bytes) -> None:
    fill(tmp_path / "s")
    rewrite_note(tmp_path / "s", known_note())
    with opened(tmp_path / "s") as store:
        assert store.count() > 1
    rewrite_note(tmp_path / "s", note)
    check_is_new(tmp_path / "s")


def cut(length: int) -> Callable[[bytes], bytes]:
    return lambda content: content[:length]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "nothing": cut(0),
    "a few bytes": cut(10),
    "a page": cut(4096),
    "other content": lambda content: os.urandom(len(content)),
    "zeros": lambda content: bytes(len(content)),
    "a head of other content": lambda content: os.urandom(8192) + content[8192:],
    "a head of zeros": lambda content: bytes(8192) + content[8192:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_store_whose_file_is_damaged_is_made_anew(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    fill(tmp_path / "s", count=500)
    file = tmp_path / "s" / "data.mdb"
    file.write_bytes(damage(file.read_bytes()))
    check_is_new(tmp_path / "s")


def run_apart(code: str, *arguments: str | Path) -> str:
    """What Python code of a process of its own prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr or done.returncode
    return done.stdout


OPEN_CUT_OFF = """
import sys
from pathlib import Path
from orion.runtime.state.local_store import open_store

folder = Path(sys.argv[1])
content = (folder / "data.mdb").read_bytes()
for length in (8192, len(content) // 3, len(content) // 2, len(content) - 4096, len(content) - 1):
    (folder / "data.mdb").write_bytes(content[:length])
    store, note = open_store(folder, "changelog/id/3")
    print(note.batch, store.count())
    store.close()
"""


def test_a_store_that_is_cut_off_is_made_anew(tmp_path: Path) -> None:
    """In a process of its own, since one that reads behind the end of a file that is mapped is ended."""
    fill(tmp_path / "s", replace(NOTE, batch=3), count=3000)
    assert run_apart(OPEN_CUT_OFF, tmp_path / "s").split() == ["-1", "0"] * 5


@settings(max_examples=40)
@given(st.lists(st.lists(st.tuples(st.integers(0, 60), st.sampled_from([0, 20, 5000])), max_size=60), max_size=4))
def test_a_sound_store_is_never_taken_for_one_that_is_cut_off(batches: list[list[tuple[int, int]]]) -> None:
    """Whatever grows and goes: its file is as long as it says."""
    with TemporaryDirectory() as folder:
        for position, batch in enumerate(batches):
            with opened(Path(folder) / "s") as store:
                assert (store.note.position if store.note else -1) == position - 1
                records = [(single(b"%d" % n), encode("v" * size) if size else None) for n, size in batch]
                store.restore(replace(NOTE, position=position), records)


def make_file(folder: Path) -> None:
    folder.mkdir()
    (folder / "something.txt").write_text("else")


def make_folder_instead(folder: Path) -> None:
    (folder / "data.mdb" / "more").mkdir(parents=True)


def make_other_database(folder: Path) -> None:
    with lmdb.open(str(folder), max_dbs=2) as env:
        env.open_db(b"n")


@pytest.mark.parametrize("make", [make_file, make_folder_instead, make_other_database])
def test_what_is_no_store_is_made_one(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "s")
    check_is_new(tmp_path / "s")


# ---- two at one store ------------------------------------------------------------------------------------------

WRITE = """
import sys
from pathlib import Path
from orion.runtime.state.local_store import StoreNote, open_store

store, note = open_store(Path(sys.argv[1]), "changelog/id/3")
store.restore(StoreNote("changelog/id/3", run="theirs"), [(b"\\x02a", b"\\x01\\x92\\xc0\\x01")])
store.close()
"""


@pytest.mark.parametrize("write", ["set_pending", "apply_pending", "restore"])
def test_who_comes_late_to_a_store_changes_nothing(tmp_path: Path, write: str) -> None:
    fill(tmp_path / "s", replace(NOTE, run="ours"))
    with opened(tmp_path / "s") as store:
        run_apart(WRITE, tmp_path / "s")
        mine = {"set_pending": ([put(B, 1)],), "apply_pending": (), "restore": ([(B, encode(1))],)}
        with pytest.raises(StoreTaken):
            getattr(store, write)(replace(NOTE, run="late"), *mine[write])
    with opened(tmp_path / "s") as store:
        assert store.note is not None
        assert store.note.run == "theirs"
        assert held(store)[0] == {A: encode(1), single(b"000000"): encode("v" * 50, 0)}
        assert not has_pending(store)

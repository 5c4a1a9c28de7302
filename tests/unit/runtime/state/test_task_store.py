"""The store of a task at the beginning of a batch: what the changelog says, whatever went before."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.errors import ExternalError
from orion.hub.changelog import TOMBSTONES_MS, Changelog
from orion.runtime.state import local_store, task_store
from orion.runtime.state.local_store import StoreTaken
from orion.runtime.state.restore_reports import read_reports
from orion.runtime.state.state import Change, TaskState
from orion.runtime.state.task_store import StateContext, TaskId, TaskStore

SECOND, DAY = 1000, 86_400_000
Record = tuple[bytes, bytes | None]


@dataclass
class Topic:
    """A partition of a changelog in memory, compacted, and the clock that it is written by."""

    records: dict[int, tuple[Record, int]] = field(default_factory=dict)  # by offset, and when they were written
    end: int = 0
    now: int = DAY

    def commit(self, changes: list[Change]) -> None:
        for change in changes:
            self.records[self.end] = (change.place, change.blob), self.now
            self.end += 1
        self.end += 1  # the transaction's mark

    def compact(self) -> None:
        """Of each place only the last record stays, and no tombstone for ever."""
        last = {place: offset for offset, ((place, _), _) in self.records.items()}
        self.records = {
            offset: (record, written)
            for offset, (record, written) in self.records.items()
            if last[record[0]] == offset and (record[1] is not None or self.now - written <= TOMBSTONES_MS)
        }

    @property
    def content(self) -> dict[bytes, bytes]:
        told = dict(record for record, _ in self.records.values())
        return {place: blob for place, blob in told.items() if blob is not None}

    def read(self, start: int, end: int) -> Iterator[tuple[int, list[Record]]]:
        """Two at a time, so that a catch-up has several steps."""
        offsets = [offset for offset in self.records if start <= offset < end]
        for at in range(0, len(offsets), 2):
            part = offsets[at : at + 2]
            yield part[-1] + 1, [self.records[offset][0] for offset in part]


@contextmanager
def served(topic: Topic) -> Iterator[None]:
    """Task stores find this topic in the place of a broker."""
    clock = SimpleNamespace(time=lambda: topic.now / 1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_store, "time", clock)
        patch.setattr(local_store, "time", clock)
        patch.setattr(task_store, "_kafka", lambda bootstrap: None)
        patch.setattr(task_store, "committed_end", lambda *_: topic.end)
        patch.setattr(task_store, "read_changelog", lambda kafka, name, partition, *ends: topic.read(*ends))
        yield


def context_of(folder: Path, run: str, done: int = -1, *, logged: bool = True) -> StateContext:
    logs = (Changelog("log", "id", 4),) if logged else ()
    return StateContext(str(folder), run, changelogs=logs, done=((2, done),))


def held(store: TaskStore) -> dict[bytes, bytes]:
    return dict(store.store.scan(b""))


Put = tuple[bytes, int | None, int | None]


def run_batch(context: StateContext, batch: int, puts: list[Put]) -> tuple[dict[bytes, bytes], list[Change]]:
    """What a batch finds, and what it changes."""
    store = TaskStore(context, TaskId(0, 2, batch))
    try:
        found, changes = held(store), []
        if not store.is_done:
            state = TaskState(store.store)
            for key, value, due in puts:
                state.put(key, value, due)
            changes = state.changes()
        store.finish(changes)
        return found, changes
    finally:
        store.close()


# ---- whatever goes before --------------------------------------------------------------------------------------

# How a batch ends: it goes on, or the run ends before it was committed, or after.
ENDS = ["goes on", "goes on", "goes on", "not committed", "committed, then ended"]
# What happens between two runs.
BETWEEN = ["nothing", "the folder is lost", "an earlier folder is back", "this folder is kept for later"]
puts = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.none() | st.integers(0, 5), st.none() | st.integers(0, 3)),
    max_size=3,
)
passed = st.sampled_from([0, 0, 0, 29 * SECOND, 31 * SECOND, 3 * DAY, 4 * DAY, 8 * DAY])
steps = st.tuples(puts, st.sampled_from(ENDS), st.sampled_from(BETWEEN), passed, st.booleans())


@given(st.lists(steps, max_size=10))
def test_a_batch_finds_what_was_committed(steps: list[tuple[list[Put], str, str, int, bool]]) -> None:
    topic, batch, run, done = Topic(), 0, 0, -1
    with TemporaryDirectory() as scratch, served(topic):
        folder, earlier = Path(scratch) / "state", Path(scratch) / "earlier"
        for wanted, ends, between, later, compacted in steps:
            committed = topic.content
            found, changes = run_batch(context_of(folder, f"run {run}", done), batch, wanted)
            assert found == committed
            if ends != "not committed" and done < batch:
                topic.commit(changes)
            if ends == "goes on":
                batch += 1
            else:
                # The next run begins with the batch that this one didn't end.
                run += 1
                done = batch if ends != "not committed" else done
                move_folders(folder, earlier, between)
            topic.now += later
            if compacted:
                topic.compact()


def move_folders(folder: Path, earlier: Path, how: str) -> None:
    if how == "the folder is lost":
        shutil.rmtree(folder)
    elif how == "this folder is kept for later":
        shutil.rmtree(earlier, ignore_errors=True)
        shutil.copytree(folder, earlier)
    elif how == "an earlier folder is back" and earlier.exists():
        shutil.rmtree(folder)
        shutil.copytree(earlier, folder)


# ---- one thing at a time ---------------------------------------------------------------------------------------


def test_a_batch_that_an_earlier_run_has_written_is_done(tmp_path: Path) -> None:
    with served(Topic()):
        for one_slot, number, done in ((False, 2, True), (False, 1, False), (True, 1, True)):
            context = replace(context_of(tmp_path, "r"), done=((0, 5), (2, 5)), one_slot=one_slot)
            for batch in (5, 6):
                store = TaskStore(context, TaskId(0, number, batch))
                assert store.is_done == (done and batch == 5)
                store.close()


def test_a_batch_that_follows_reads_nothing_of_the_changelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic()

    def fail(*_: Any) -> Any:
        raise AssertionError("it was read")

    with served(topic):
        context = context_of(tmp_path, "r")
        topic.commit(run_batch(context, 0, [(b"a", 1, None)])[1])
        monkeypatch.setattr(task_store, "read_changelog", fail)
        monkeypatch.setattr(task_store, "committed_end", fail)
        topic.commit(run_batch(context, 1, [(b"b", 2, None)])[1])
        assert run_batch(context, 2, [])[0] == topic.content


def test_a_later_run_reads_only_what_came_since_it_was_seen_last(tmp_path: Path) -> None:
    topic, asked = Topic(), []
    with served(topic):
        for batch in range(4):
            topic.commit(run_batch(context_of(tmp_path, "r"), batch, [(b"%d" % batch, 1, None)])[1])
            topic.now += 20 * SECOND
        whole, read = topic.read, topic.read

        def noted(start: int, end: int) -> Iterator[tuple[int, list[Record]]]:
            asked.append((start, end))
            return whole(start, end)

        topic.read = noted  # type: ignore[method-assign]
        assert run_batch(context_of(tmp_path, "later", 3), 4, [])[0] == topic.content
        topic.read = read  # type: ignore[method-assign]
    assert asked == [(4, 8)]


def test_a_catch_up_tells_how_many_records_it_has_read(tmp_path: Path) -> None:
    """The first one what came since the store was last seen to be right, the next one nothing, a lost one all."""
    topic = Topic()
    with served(topic):
        for batch in range(3):
            puts: list[Put] = [(b"%d%d" % (batch, n), n, None) for n in range(4)]
            topic.commit(run_batch(context_of(tmp_path, "r"), batch, puts)[1])
            topic.now += 20 * SECOND
        run_batch(context_of(tmp_path, "r"), 3, [])
        for run, records in (("s", 4), ("t", 0)):
            run_batch(context_of(tmp_path, run, 2), 3, [])
            (told,) = read_reports(tmp_path, run)
            assert (told.task, told.records, told.is_done) == (2, records, True)
        shutil.rmtree(tmp_path / "0")
        run_batch(context_of(tmp_path, "u", 2), 3, [])
        (told,) = read_reports(tmp_path, "u")
        assert (told.first, told.position, told.end, told.records) == (0, topic.end, topic.end, 12)
        run_batch(context_of(tmp_path, "u", 2), 4, [])
        assert read_reports(tmp_path, "u") == [told], "a batch that follows another tells nothing"


def test_a_batch_that_runs_again_finds_what_it_found(tmp_path: Path) -> None:
    topic = Topic()
    with served(topic):
        topic.commit(run_batch(context_of(tmp_path, "r"), 0, [(b"a", 1, None)])[1])
        for run in ("r", "r", "s"):
            assert run_batch(context_of(tmp_path, run), 1, [(b"b", 2, None)])[0] == topic.content


def test_a_catch_up_that_breaks_off_goes_on_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic()

    def break_off(kafka: Any, name: str, partition: int, start: int, end: int) -> Iterator[tuple[int, list[Record]]]:
        yield next(topic.read(start, end))
        raise ExternalError("BROKER_LOST", "It is gone.")

    with served(topic):
        for batch in range(3):
            records: list[Put] = [(b"%d%d" % (batch, n), n, 7) for n in range(3)]
            topic.commit(run_batch(context_of(tmp_path / "a", "r"), batch, records)[1])
        with monkeypatch.context() as patch:
            patch.setattr(task_store, "read_changelog", break_off)
            for _ in range(2):
                with pytest.raises(ExternalError, match="gone"):
                    run_batch(context_of(tmp_path / "b", "s", 2), 3, [])
        assert run_batch(context_of(tmp_path / "b", "t", 2), 3, [])[0] == topic.content


def test_a_copy_that_may_have_missed_a_deletion_is_made_anew(tmp_path: Path) -> None:
    topic = Topic()
    here, there = tmp_path / "here", tmp_path / "there"
    with served(topic):
        topic.commit(run_batch(context_of(here, "r"), 0, [(b"a", 1, 7), (b"b", 1, None)])[1])
        run_batch(context_of(here, "r"), 1, [])
        topic.commit(run_batch(context_of(there, "s", 0), 1, [(b"a", None, None)])[1])
        topic.now += 8 * DAY
        topic.compact()
        assert len(topic.content) == 1
        assert run_batch(context_of(here, "t", 1), 2, [])[0] == topic.content


def test_a_copy_of_more_than_there_is_is_made_anew(tmp_path: Path) -> None:
    """A broker that lost its disk may have less than it had."""
    topic = Topic()
    with served(topic):
        topic.commit(run_batch(context_of(tmp_path, "r"), 0, [(b"a", 1, 7), (b"b", 1, None)])[1])
        topic.commit(run_batch(context_of(tmp_path, "s", 0), 1, [])[1])
        topic.records, topic.end = {}, 1
        assert run_batch(context_of(tmp_path, "t"), 0, [])[0] == {}


def test_a_transaction_that_does_not_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(Topic()), monkeypatch.context() as patch:
        patch.setattr(task_store, "committed_end", lambda *_: None)
        with pytest.raises(ExternalError, match="doesn't end"):
            TaskStore(context_of(tmp_path, "r"), TaskId(0, 2, 0))


def test_state_without_a_changelog_lives_as_long_as_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    context = context_of(folder, "r", logged=False)
    with served(Topic()):
        assert run_batch(context, 0, [(b"a", 1, None)])[0] == {}
        first = run_batch(context, 1, [(b"b", 2, None)])
        assert len(first[0]) == 1
        assert run_batch(context, 1, [(b"b", 2, None)]) == first
        assert len(run_batch(context, 2, [])[0]) == 2
        shutil.rmtree(folder)
        with pytest.raises(ExternalError, match="gone"):
            run_batch(context, 3, [])


def test_a_store_that_another_has_taken_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes late doesn't remove what the other works with."""
    with served(Topic()):
        context = context_of(tmp_path, "r")
        run_batch(context, 0, [(b"a", 1, None)])

        def taken(*_: Any) -> None:
            raise StoreTaken("by another")

        monkeypatch.setattr(local_store.LocalStore, "apply_pending", taken)
        with pytest.raises(StoreTaken):
            run_batch(context, 1, [])
    assert (tmp_path / "0" / "2" / "data.mdb").exists()

"""The order in which state is moved to other tasks: until the one note that counts, nothing of the old is gone."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orion.errors import Conflict
from orion.hub.changelog import Changelog
from orion.hub.ledger import LedgerNote
from orion.hub.membership import taken_over
from orion.runtime import respreading
from orion.runtime.checkpoint import Checkpoint
from orion.runtime.inputs import Input, Inputs
from orion.runtime.operators.folds import Retraction
from orion.runtime.operators.key_hash import find_tasks
from orion.runtime.operators.spread import Spread
from orion.runtime.query_state import StateEdition
from orion.runtime.respreading import Respreading, StoppedEarly
from orion.runtime.runs import Run
from orion.runtime.state.places import CLOCK, single
from orion.runtime.state.values import decode, encode

KEYS = [b"k%d" % number for number in range(20)]
RANGES = {"S": {0: (5, 9), 1: (0, 3)}}
STANDING = {"S": {0: (9, 9), 1: (3, 3)}}


class Surface:
    """The cluster under a re-spread, which notes what is done to it, one after the other."""

    def __init__(self, tasks: int) -> None:
        self.done: list[Any] = []
        self.kafka = self
        self.bootstrap = ""
        self.query = self
        self.id = "CTAS_O_1"
        self.records: dict[tuple[str, int], list[tuple[bytes, bytes | None]]] = {
            ("old", task): [(CLOCK, encode(10 + task))] for task in range(tasks)
        }
        for key, task in zip(KEYS, find_tasks(KEYS, tasks).tolist(), strict=True):
            self.records["old", task] += [(single(key), encode(b"was")), (single(key), encode(key))]
        self.edition = ""
        self.fenced = False

    def slot_count(self, tasks: int) -> int:
        return tasks

    def create_edition(self, name: str, tasks: int) -> StateEdition:
        self.done.append("create")
        self.edition = name
        for task in range(tasks):
            self.records["new", task] = []
        return StateEdition(name, (Changelog("new", "id-new", tasks),))

    def drop_local(self) -> None:
        self.done.append("drop local")

    def remove_others(self, found: Any, edition: StateEdition) -> None:
        self.done.append(("remove", *found))

    def leave_notes(self, notes: dict[int, LedgerNote]) -> None:
        if self.fenced:
            raise taken_over("orion.CTAS_O_1")
        self.done.extend(notes.items())


class Filling:
    def __init__(self, kafka: Any, topic: str) -> None:
        self.surface, self.topic = kafka, topic

    def write(self, records: Iterable[tuple[int, bytes, bytes | None]]) -> None:
        for task, place, blob in records:
            self.surface.records[self.topic, task].append((place, blob))

    def flush(self, seconds: float) -> bool:
        self.surface.done.append("flush")
        return True

    def abandon(self) -> None:
        self.surface.done.append("abandon")


@pytest.fixture
def surface(monkeypatch: pytest.MonkeyPatch) -> Surface:
    surface = Surface(2)

    def read(kafka: Any, topic: str, task: int, start: int, end: int) -> Iterator[tuple[int, list[Any]]]:
        records = surface.records[topic, task]
        for at in range(0, end, 7):
            yield min(at + 7, end), records[at : at + 7]

    monkeypatch.setattr(respreading, "read_changelog", read)
    monkeypatch.setattr(respreading, "committed_end", lambda kafka, topic, task, _: len(surface.records[topic, task]))
    monkeypatch.setattr(respreading, "ChangelogWriter", Filling)
    return surface


def work_on(surface: Any, folder: Path, tasks: int, *, batch: int | None = 7) -> Respreading:
    inputs = Inputs("CTAS_O_1", (Input("S", "id-S", 2),))
    if batch is not None:
        (folder / "offsets").mkdir()
        for number, at in ((batch - 1, 0), (batch, 1)):
            told = json.dumps({"S": {str(part): both[at] for part, both in RANGES["S"].items()}})
            (folder / "offsets" / str(number)).write_text(f"v1\n{{}}\n{told}")
    run = Run(surface, 16, Checkpoint(folder), surface, inputs)
    before = StateEdition("", (Changelog("old", "id-old", 2),))
    return Respreading(run, surface, Spread(2, operators=[Retraction()], placed=[None]), before, tasks)


@pytest.mark.parametrize("tasks", [1, 3])
def test_slot_0_is_noted_last_and_the_old_goes_after_it(surface: Surface, tmp_path: Path, tasks: int) -> None:
    work = work_on(surface, tmp_path, tasks)
    work.respread()
    ids = {"S": "id-S"}
    others = [(slot, LedgerNote(7, (STANDING,), ids)) for slot in range(1, max(tasks, 2))]
    switch = (0, LedgerNote(7, (STANDING,), ids, edition=surface.edition))
    assert surface.done == ["create", "flush", *others, switch, "drop local", ("remove", "")]
    assert surface.edition
    for key, task in zip(KEYS, find_tasks(KEYS, tasks).tolist(), strict=True):
        assert [b for p, b in surface.records["new", task] if p == single(key)] == [encode(b"was"), encode(key)]
    clocks = [[decode(b or b"")[0] for p, b in surface.records["new", t] if p == CLOCK] for t in range(tasks)]
    assert clocks == [[11]] * tasks
    assert sum(len(surface.records["new", task]) for task in range(tasks)) == 2 * len(KEYS) + tasks
    assert "100 % has moved" in work.describe()


def test_before_the_first_batch_there_is_nothing_to_stand_at(surface: Surface, tmp_path: Path) -> None:
    work_on(surface, tmp_path, 3, batch=None).respread()
    notes = {told[0]: told[1] for told in surface.done if isinstance(told[0], int)}
    assert {slot: (note.batch, note.sources) for slot, note in notes.items()} == dict.fromkeys(range(3), (-1, ()))


def test_one_that_is_stopped_changes_nothing(surface: Surface, tmp_path: Path) -> None:
    work = work_on(surface, tmp_path, 3)
    work.stop()
    with pytest.raises(StoppedEarly):
        work.respread()
    assert surface.done == ["create", "abandon"]


def test_one_that_another_run_has_taken_the_place_of_changes_nothing(surface: Surface, tmp_path: Path) -> None:
    work = work_on(surface, tmp_path, 3)
    surface.fenced = True
    with pytest.raises(Conflict) as refused:
        work.respread()
    assert (refused.value.code, surface.done) == ("TAKEN_OVER", ["create", "flush"])


def test_it_has_the_face_of_a_stream(surface: Surface, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    switched, held = threading.Event(), threading.Event()

    def hold() -> None:
        switched.set()
        held.wait(30)

    monkeypatch.setattr(surface, "drop_local", hold)
    work = work_on(surface, tmp_path, 3)
    active = [work.isActive]
    work.start()
    assert switched.wait(30)
    active.append(work.isActive)
    assert (work.status["isDataAvailable"], work.status["isTriggerActive"], work.lastProgress) == (False, False, None)
    held.set()
    work.stop()
    assert [*active, work.isActive] == [False, True, False]
    assert work.exception() is None
    surface.fenced = True
    failed = work_on(surface, tmp_path / "failed", 3, batch=None).start()
    failed.stop()
    assert failed.exception() is not None

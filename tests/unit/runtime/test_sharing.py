"""Which jobs are started as one, and when."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from orion.plan.sharing import SharedWork
from orion.runtime import gate, sharing, supervised
from orion.runtime.gate import StartGate
from orion.runtime.sharing import Sharing
from orion.runtime.states import State
from orion.runtime.supervised import Supervised
from tests.jobs import Clock, FakeJob

WORK = SharedWork("in", "the same")


class Later(Executor):
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.given: list[Callable[..., Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.given.append(fn)
        return Future()


class Scene:
    def __init__(self, clock: Clock, folder: Path) -> None:
        self.clock, self.folder, self.later = clock, folder, Later()
        self.sharing = Sharing(StartGate(), self.later, lambda: False)
        self.started: list[list[str]] = []
        self.sharing._start_together = lambda entries: self.started.append([e.job.id for e in entries])  # type: ignore[method-assign]
        self.entries: list[Supervised] = []

    def add(self, name: str, state: State = State.STARTING, work: SharedWork | None = WORK) -> Supervised:
        """A job that is to be started, or runs."""
        job = FakeJob(self.folder, id=name, shared_work=work)
        entry = Supervised(job, lambda _: 0, state=state)
        if state is State.RUNNING:
            entry.start()
            entry.state, entry.error = State.RUNNING, None
        self.entries.append(entry)
        return entry

    def look(self, after_s: float = 0.0) -> set[str]:
        self.clock.now += after_s
        held = self.sharing.look(self.entries)
        for start in self.later.given:
            start()
        self.later.given.clear()
        return held


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Scene:
    clock = Clock()
    for module in (supervised, gate, sharing):
        monkeypatch.setattr(module, "time", clock)
    return Scene(clock, tmp_path)


def test_those_that_are_due_together_start_together(scene: Scene) -> None:
    for name in ("a", "b", "c"):
        scene.add(name)
    scene.add("other", work=SharedWork("in", "another"))
    scene.add("own", work=None)
    assert scene.look() == {"a", "b", "c"}
    assert scene.started == [["a", "b", "c"]]


@pytest.mark.parametrize(("count", "parts"), [(2, [2]), (50, [50]), (51, [26, 25]), (101, [34, 34, 33])])
def test_very_many_are_parted_evenly(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, count: int, parts: list[int]
) -> None:
    """One that was left over would have nobody to share with, and try again and again."""
    found: list[int] = []
    monkeypatch.setattr(sharing, "_start_as_one", lambda entries: found.append(len(entries)))
    Sharing._start_together(scene.sharing, [scene.add(f"job{number}") for number in range(count)])
    assert found == parts


def test_one_alone_is_started_by_itself(scene: Scene) -> None:
    scene.add("a")
    assert scene.look() == set()
    assert scene.started == []


def test_those_that_are_due_in_a_moment_are_waited_for(scene: Scene) -> None:
    scene.add("a"), scene.add("b")
    late = scene.add("late")
    late._retry_at = scene.clock.now + 0.5
    assert scene.look() == {"a", "b"}
    assert scene.started == []
    assert scene.look(0.6) == {"a", "b", "late"}
    assert scene.started == [["a", "b", "late"]]


def test_new_ones_join_when_no_more_come(scene: Scene) -> None:
    scene.add("a", State.RUNNING)
    scene.look(2.0)
    scene.add("b", State.RUNNING)
    scene.look(2.0)
    assert scene.started == []
    scene.look(1.5)
    assert scene.started == [["a", "b"]]


def test_they_do_not_wait_for_ever(scene: Scene) -> None:
    """However many come, and one that doesn't come up keeps nobody from it."""
    scene.add("a", State.RUNNING)
    for number in range(7):
        scene.add(f"new{number}", State.RUNNING)
        scene.look(2.2)
    assert [len(names) for names in scene.started[:1]] == [8]


def test_one_that_fails_has_its_own_stream_for_a_while(scene: Scene) -> None:
    bad, _ = scene.add("bad", State.RUNNING), scene.add("good", State.RUNNING)
    bad.stay_alone()
    assert scene.look(30.0) == set()
    assert scene.started == []
    scene.look(31.0)
    assert scene.started == [["bad", "good"]]
    bad.stay_alone()
    assert scene.look(90.0) == set()
    assert len(scene.started) == 1


def test_the_others_are_left_alone_while_one_of_them_fails(scene: Scene) -> None:
    shared = scene.add("shared", State.RUNNING)
    assert shared.run is not None
    shared.run.is_shared = True
    scene.add("new", State.RUNNING)
    shared.state = State.RESTARTING
    scene.look(10.0)
    assert scene.started == []

"""The supervisor over all of its jobs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from orion.errors import Conflict
from orion.runtime import gate, supervised
from orion.runtime.queries import Queries
from tests.jobs import Clock, FakeJob


@pytest.fixture
def job(tmp_path: Path) -> FakeJob:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    return FakeJob(checkpoint)


@pytest.fixture
def running() -> Iterator[Queries]:
    running = Queries(lambda _: None, gate=gate.StartGate(cores=4))
    yield running
    running.close()


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_job_that_fails_at_once_is_told_and_not_kept(running: Queries, job: FakeJob) -> None:
    job.refuses = ValueError("no such topic")
    with pytest.raises(ValueError, match="no such topic"):
        running.start(job)
    assert running.statuses() == []


def test_a_job_of_the_journal_that_fails_is_kept_and_shown(running: Queries, job: FakeJob) -> None:
    job.refuses = ValueError("no such topic")
    running.restore(job, paused=False)
    eventually(lambda: [(s.state, s.error) for s in running.statuses()] == [("RESTARTING", "no such topic")])


def test_a_job_of_the_journal_goes_on(running: Queries, job: FakeJob) -> None:
    running.restore(job, paused=False)
    eventually(lambda: [s.state for s in running.statuses()] == ["RUNNING"])


def test_jobs_with_other_systems_have_their_turn_first(tmp_path: Path) -> None:
    places = gate.StartGate(cores=1)
    assert places.admit("another")
    running, may_start = Queries(lambda _: None, gate=places), threading.Event()
    try:
        for name in ("FIRST", "LAKE", "SECOND"):
            waiting = FakeJob(tmp_path, id=name)
            waiting.waits_for = may_start
            running.restore(waiting, paused=False, outside=name == "LAKE")
        places.leave("another")
        eventually(lambda: "LAKE" in places._starting)
        assert list(places._starting) == ["LAKE"]
        may_start.set()
        eventually(lambda: running.restored == (3, 3))
    finally:
        may_start.set()
        running.close()


def test_it_is_told_how_many_jobs_of_the_journal_are_back(running: Queries, job: FakeJob, tmp_path: Path) -> None:
    slow, resting = FakeJob(tmp_path, id="SLOW"), FakeJob(tmp_path, id="RESTING")
    may_start = threading.Event()
    slow.waits_for = may_start
    running.restore(slow, paused=False)
    running.restore(resting, paused=True)
    running.restore(job, paused=False)
    eventually(lambda: running.restored == (2, 3))  # side by side: one that takes long keeps no other
    assert {s.id: s.state for s in running.statuses()} == {"SLOW": "STARTING", "RESTING": "PAUSED", job.id: "RUNNING"}
    may_start.set()
    eventually(lambda: running.restored == (3, 3))


def test_a_paused_job_of_the_journal_stays_paused(running: Queries, job: FakeJob) -> None:
    running.restore(job, paused=True)
    assert [s.state for s in running.statuses()] == ["PAUSED"]
    assert job.streams == []


def test_only_a_job_that_was_just_made_may_begin_without_a_checkpoint(running: Queries, job: FakeJob) -> None:
    running.restore(job, paused=False)
    eventually(lambda: job.started == [(False, False)])
    running.remove(job.id)
    running.start(job)
    running.pause(job.id)
    running.resume(job.id)
    assert job.started[1:] == [(True, False), (False, True)]


def test_the_supervisor_starts_again_by_itself(running: Queries, job: FakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(supervised, "time", clock)
    running.start(job)
    job.streams[0].fail("boom")
    eventually(lambda: running.statuses()[0].state == "RESTARTING")
    clock.now += 1
    eventually(lambda: len(job.streams) == 2)
    job.streams[1].report(0, 5)
    eventually(lambda: running.statuses()[0].state == "RUNNING")


def test_a_job_pauses_and_resumes(running: Queries, job: FakeJob) -> None:
    running.start(job)
    running.pause(job.id)
    assert running.statuses()[0].state == "PAUSED"
    running.resume(job.id)
    running.resume(job.id)
    eventually(lambda: running.statuses()[0].state == "RUNNING")
    assert [s.isActive for s in job.streams] == [False, True]


def test_a_removed_job_leaves_no_checkpoint(running: Queries, job: FakeJob) -> None:
    running.start(job)
    running.remove(job.id)
    assert running.get(job.id) is None
    assert not job.streams[0].isActive
    assert not job.checkpoint.exists()
    running.remove(job.id)


def test_closing_stops_every_stream_and_keeps_the_checkpoints(job: FakeJob) -> None:
    running = Queries(lambda _: None)
    running.start(job)
    running.close()
    assert not job.streams[0].isActive
    assert job.checkpoint.exists()


def test_an_error_in_one_job_does_not_keep_the_supervisor_from_the_others(
    running: Queries, job: FakeJob, tmp_path: Path
) -> None:
    broken = FakeJob(tmp_path, id="BROKEN")
    running.start(broken)
    broken.streams[0].recentProgress = [SimpleNamespace(json="not JSON")]
    running.start(job)
    job.streams[0].fail("boom")
    eventually(lambda: running.statuses()[1].state == "RESTARTING")
    broken.streams[0].recentProgress = []


@pytest.mark.parametrize("resumed", [False, True])
def test_a_run_that_lost_its_place_stops_for_good_until_somebody_resumes_it(
    running: Queries, job: FakeJob, resumed: bool
) -> None:
    running.start(job)
    job.runs[0].lost = Conflict("TAKEN_OVER", "Another server has taken over.", hint="Stop one.")
    eventually(lambda: running.statuses()[0].state == "ERROR")
    assert running.statuses()[0].error == "Another server has taken over. Stop one."
    assert (job.streams[0].isActive, job.runs[0].closed, len(job.runs)) == (False, True, 1)
    if resumed:
        running.resume(job.id)
        eventually(lambda: running.statuses()[0].state == "RUNNING")
        assert len(job.runs) == 2


def test_closing_waits_for_the_batch_under_way(job: FakeJob) -> None:
    running = Queries(lambda _: None)
    running.start(job)
    job.runs[0].idle = False
    closing = threading.Thread(target=running.close, args=(30.0,))
    closing.start()
    eventually(lambda: job.runs[0].draining)
    assert job.streams[0].isActive
    job.runs[0].idle = True
    closing.join(5)
    assert not closing.is_alive()
    assert not job.streams[0].isActive

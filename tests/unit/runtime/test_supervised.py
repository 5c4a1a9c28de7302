"""One job under supervision, whose streams fail when told; time passes when told."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from orion.errors import Conflict, ExternalError
from orion.runtime import gate, supervised
from orion.runtime.progress import Progress
from orion.runtime.restoring import RestoreWatch
from orion.runtime.state.restore_reports import RestoreReporter
from orion.runtime.states import State
from orion.runtime.supervised import Supervised
from tests.jobs import Clock, FakeJob


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(supervised, "time", clock)
    monkeypatch.setattr(gate, "time", clock)
    return clock


@pytest.fixture
def job(tmp_path: Path) -> FakeJob:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    return FakeJob(checkpoint)


@pytest.fixture
def entry(clock: Clock, job: FakeJob) -> Supervised:
    entry = Supervised(job, lambda progress: progress.batches)
    entry.start()
    entry.look()
    return entry


def waits(entry: Supervised, clock: Clock) -> float:
    """How long after a failure the next start is tried."""
    before, restarts = clock.now, entry.restarts
    while entry.restarts == restarts:
        clock.now += 0.5
        entry.look()
    return clock.now - before


def test_a_started_job_runs(entry: Supervised, job: FakeJob) -> None:
    entry.look()
    assert entry.status().state == "RUNNING"
    assert entry.status().restarts == 0
    assert len(job.streams) == 1


def test_a_stream_that_fails_is_started_again_after_a_second(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.streams[0].fail("boom")
    entry.look()
    assert (entry.status().state, entry.status().error) == ("RESTARTING", "boom")
    assert waits(entry, clock) == 1.0
    entry.look()
    assert (entry.status().state, entry.status().error, entry.status().restarts) == ("RESTARTING", "boom", 1)
    job.streams[1].report(1, 5)
    entry.look()
    assert (entry.status().state, entry.status().error, entry.status().restarts) == ("RUNNING", None, 1)
    assert len(job.streams) == 2


def test_a_job_is_starting_until_a_batch_is_under_way(clock: Clock, job: FakeJob) -> None:
    entry = Supervised(job, lambda progress: 0)
    assert entry.status().state == "STARTING"
    entry.start()
    job.streams[0].under_way = False
    entry.look()
    status = entry.status()
    assert (status.state, status.lag, status.rate, status.well) == ("STARTING", None, None, False)
    job.streams[0].report(0, 0)
    entry.look()
    status = entry.status()
    assert (status.state, status.lag, status.rate, status.well) == ("RUNNING", 0, 0.0, True)


def test_a_run_without_ends_of_batches_runs_once_it_has_lasted(clock: Clock, job: FakeJob) -> None:
    entry = Supervised(job, lambda progress: 0)
    entry.start()
    job.streams[0].under_way, job.runs[0].endless = False, True
    entry.look()
    assert entry.status().state == "STARTING"
    clock.now += 11
    entry.look()
    assert (entry.status().state, entry.status().lag) == ("RUNNING", None)


def test_a_job_that_fails_again_and_again_is_failing_however_its_new_runs_look(
    entry: Supervised, job: FakeJob, clock: Clock
) -> None:
    for number in range(3):
        job.streams[-1].report(number, 10)
        entry.look()
        job.streams[-1].fail(f"OutOfMemoryError: {number}")
        entry.look()
        assert entry.status().state == ("FAILING" if number == 2 else "RESTARTING")
        waits(entry, clock)
    job.streams[-1].report(3, 10)  # a batch that ends shows nothing yet: so it did the other times
    entry.look()
    status = entry.status()
    assert (status.state, status.error, status.well) == ("FAILING", "OutOfMemoryError: 2", False)
    assert [one.error for one in status.failures] == [f"OutOfMemoryError: {n}" for n in range(3)]
    assert {one.cause.value for one in status.failures} == {"OUT_OF_MEMORY"}
    assert (status.restarts, status.restarted_at) == (3, (1001.0, 1003.0, 1007.0))
    assert (status.running_since, status.next_try_at) == (1007.0, None)
    clock.now += 60
    entry.look()
    status = entry.status()
    assert (status.state, status.error, status.well, len(status.failures)) == ("RUNNING", None, True, 3)


def test_one_that_fails_each_minute_and_a_half_is_failing_too(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    for number in range(3):
        job.streams[-1].report(number, 10)
        clock.now += 90
        job.streams[-1].fail("boom")
        entry.look()
        waits(entry, clock)
    job.streams[-1].report(3, 10)
    clock.now += 89
    entry.look()
    assert entry.status().state == "FAILING"


def test_it_is_told_when_a_failed_job_is_tried_again(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.streams[0].fail("boom")
    entry.look()
    status = entry.status()
    assert (status.next_try_at, status.running_since, status.failures[0].at) == (1001.0, None, 1000.0)


def test_a_start_that_fails_for_want_of_time_holds_all_others_back(clock: Clock, job: FakeJob, tmp_path: Path) -> None:
    shared = gate.StartGate(cores=8, jitter=lambda low, high: 1.0)
    other = FakeJob(tmp_path, id="OTHER")
    entries = [Supervised(one, lambda _: 0, gate=shared) for one in (job, other)]
    for entry in entries:
        entry.start()
    job.streams[0].fail("SparkException: Python worker failed to connect back.")
    other.streams[0].fail("boom")
    for entry in entries:
        entry.look()
    assert entries[0].status().failures[0].cause.value == "STARVED"
    assert "too little time" in (entries[0].status().error or "")
    clock.now += 4.9
    for entry in entries:
        entry.look()
    assert [entry.restarts for entry in entries] == [0, 0]
    clock.now += 0.2
    for entry in entries:
        entry.look()
    assert [entry.restarts for entry in entries] == [1, 0]  # one after the other, from here on
    job.streams[1].report(1, 5)
    for entry in entries:
        entry.look()
    assert [entry.restarts for entry in entries] == [1, 1]


def test_a_stream_that_ends_without_an_error_is_started_again_too(entry: Supervised, job: FakeJob) -> None:
    job.streams[0].stop()
    entry.look()
    assert (entry.status().state, entry.status().error) == ("RESTARTING", "the stream ended by itself")


def test_the_wait_doubles_up_to_a_minute(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    waited = []
    for _ in range(8):
        job.streams[-1].fail("boom")
        entry.look()
        waited.append(waits(entry, clock))
    assert waited == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_the_wait_doubles_for_starts_that_fail_as_well(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.streams[0].fail("boom")
    entry.look()
    job.refuses = ValueError("no such topic")
    assert [waits(entry, clock) for _ in range(3)] == [1.0, 2.0, 4.0]
    assert (entry.status().state, entry.status().error, entry.status().restarts) == ("FAILING", "no such topic", 3)
    job.refuses = None
    assert waits(entry, clock) == 8.0
    assert entry.status().state == "FAILING"
    clock.now += 60
    job.streams[-1].report(1, 5)
    entry.look()
    assert entry.status().state == "RUNNING"


def test_a_minute_of_health_begins_the_waits_anew(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    for _ in range(3):
        job.streams[-1].fail("boom")
        entry.look()
        waits(entry, clock)
    clock.now += 61
    job.streams[-1].fail("boom")
    entry.look()
    assert waits(entry, clock) == 1.0


def test_a_stream_that_asks_goes_on_at_once_when_it_is_answered(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.streams[0].fail("schema?")
    entry.look()
    entry.look()
    assert (entry.status().state, entry.status().error, entry.status().restarts) == ("RUNNING", None, 1)
    assert len(job.streams) == 2


def test_a_stream_waits_until_its_question_is_answered(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.away = ExternalError("SCHEMA_AWAITED", "waits for schema 7", retry_after=0.5)
    job.streams[0].fail("schema?")
    entry.look()
    for _ in range(100):
        clock.now += 0.5
        entry.look()
    assert (entry.status().state, entry.status().error, len(job.streams)) == ("WAITING", "waits for schema 7", 1)
    job.away = None
    assert waits(entry, clock) == 0.5
    entry.look()
    assert (entry.status().state, entry.status().error, len(job.streams)) == ("RUNNING", None, 2)


def test_a_paused_job_is_left_alone(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    entry.stop(State.PAUSED)
    assert not job.streams[0].isActive
    clock.now += 1000
    entry.look()
    assert (entry.status().state, entry.status().restarts, len(job.streams)) == ("PAUSED", 0, 1)


def test_a_job_is_pausing_until_its_batch_has_ended(
    entry: Supervised, job: FakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.runs[0].idle = False
    seen: list[str] = []

    def look() -> bool:
        seen.append(entry.status().state)
        return len(seen) == 3

    monkeypatch.setattr(job.runs[0], "drain", look)
    entry.pause(30.0)
    assert (seen, entry.status().state) == (["PAUSING"] * 3, "PAUSED")
    assert (job.streams[0].isActive, job.runs[0].awaited, entry.status().rate) == (False, True, 0.0)


def test_a_batch_that_takes_too_long_is_cut_off_and_its_tasks_are_waited_for(
    entry: Supervised, job: FakeJob, clock: Clock
) -> None:
    job.runs[0].idle = False
    entry.pause(20.0)
    assert 1020.0 <= clock.now < 1021.0
    assert (entry.status().state, job.streams[0].isActive, job.runs[0].awaited) == ("PAUSED", False, True)


def test_pausing_ends_the_tries_of_a_job_that_fails(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.streams[0].fail("boom")
    entry.look()
    entry.stop(State.PAUSED)
    clock.now += 1000
    entry.look()
    assert (entry.status().state, len(job.streams)) == ("PAUSED", 1)


def test_the_status_adds_up_what_was_read_and_written(entry: Supervised, job: FakeJob) -> None:
    job.streams[0].report(0, 10)
    job.streams[0].report(1, 5)
    job.on_written(Counter({"O": 12, "dlq.O": 1}))
    job.on_written(Counter({"O": 1, "dlq.O": 1}))
    entry.look()
    status = entry.status()
    assert (status.id, status.sink) == ("CSAS_O_1", "O")
    assert (status.rows_in, status.rows_out, status.dead_letters) == (15, 13, 2)
    assert (status.batches, status.lag) == (2, 2)


def test_totals_go_on_over_a_restart_and_a_pause(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.streams[0].report(0, 10)
    job.streams[0].fail("boom")
    entry.look()
    assert (entry.status().rate, entry.status().lag) == (None, None)
    waits(entry, clock)
    job.streams[1].report(1, 5)
    entry.stop(State.PAUSED)
    assert entry.status().rows_in == 15


def test_the_line_that_tells_most_is_the_reason(entry: Supervised, job: FakeJob) -> None:
    job.streams[0].fail("[STREAM_FAILED] Query failed\nTraceback:\n  File x\nValueError: bad record\n\n")
    entry.look()
    assert entry.status().error == "ValueError: bad record"


def test_how_far_it_is_is_shown_once_for_each_change(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.streams[0].report(0, 10, sources=[{"endOffset": {"in": {"0": 10}}}])
    entry.look()
    entry.look()
    assert job.runs[0].reached_ == [{"in": {0: 10}}]
    job.streams[0].report(1, 5, sources=[{"endOffset": {"in": {"0": 15}}}])
    clock.now += 1.0
    entry.look()
    assert job.runs[0].reached_ == [{"in": {0: 10}}, {"in": {0: 15}}]


def test_how_far_it_is_is_shown_once_a_second(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    for batch, end in enumerate((10, 15, 20)):
        job.streams[0].report(batch, 5, sources=[{"endOffset": {"in": {"0": end}}}])
        entry.look()
    assert job.runs[0].reached_ == [{"in": {0: 10}}]
    clock.now += 1.0
    entry.look()
    assert job.runs[0].reached_ == [{"in": {0: 10}}, {"in": {0: 20}}]


def test_what_was_done_last_is_shown_at_the_end(entry: Supervised, job: FakeJob) -> None:
    for batch, end in enumerate((10, 15)):
        job.streams[0].report(batch, 5, sources=[{"endOffset": {"in": {"0": end}}}])
        entry.look()
    entry.stop(State.PAUSED)
    assert job.runs[0].reached_ == [{"in": {0: 10}}, {"in": {0: 15}}]


def test_too_many_dead_letters_stop_it_for_good(entry: Supervised, job: FakeJob) -> None:
    counted = {"observedMetrics": {"written": {"records": 10, "letters": 3, "errors": 2, "example": "no JSON"}}}
    job.streams[0].report(0, 10, **counted)
    entry.look()
    assert (job.runs[0].judged, entry.status().state) == ([(7, 2, "no JSON")], "RUNNING")
    job.runs[0].intolerable = Conflict("NOT_TOLERATED", "Too many.")
    job.streams[0].report(1, 10, **counted)
    entry.look()
    assert (entry.status().state, entry.status().error, job.streams[0].isActive) == ("ERROR", "Too many.", False)


def test_a_failure_that_comes_again_by_itself_is_not_tried_again(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.runs[0].final = Conflict("NOT_TOLERATED", "A dead letter.")
    job.streams[0].fail("boom")
    entry.look()
    clock.now += 1000
    entry.look()
    assert (entry.status().state, entry.status().error, len(job.runs)) == ("ERROR", "A dead letter.", 1)


def test_what_nobody_knows_any_more_is_not_tried_again(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.streams[0].fail("boom")
    entry.look()
    job.refuses = Conflict("POSITION_LOST", "Its group has forgotten it.", hint="Restore it.")
    waits(entry, clock)
    assert (entry.status().state, entry.status().error) == ("ERROR", "Its group has forgotten it. Restore it.")
    clock.now += 1000
    entry.look()
    assert entry.status().restarts == 1


def test_lag_is_asked_of_the_progress(clock: Clock, job: FakeJob) -> None:
    asked: list[Progress] = []

    def lag_of(progress: Progress) -> int:
        asked.append(progress)
        return 7

    entry = Supervised(job, lag_of)
    assert (entry.status().lag, asked) == (None, [])  # before it has told anything
    entry.start()
    job.streams[0].report(0, 1)
    entry.look()
    assert entry.status().lag == 7
    assert asked == [entry.progress]


def test_one_whose_tasks_read_their_state_is_restoring(entry: Supervised, job: FakeJob, tmp_path: Path) -> None:
    job.runs[0].restore = RestoreWatch("Q", tmp_path, "r", 2)
    entry.look()
    told = entry.status()
    assert (told.state, told.restore and told.restore.state) == ("RUNNING", "UNKNOWN")
    reporters = [RestoreReporter(str(tmp_path), "r", 0, task) for task in range(2)]
    for reporter in reporters:
        reporter.begin(0, 50_000)
        reporter.advance(30_000, 30_000)
    reporters[0].finish()
    entry.look()
    told = entry.status()
    assert (told.state, told.well) == ("RESTORING", False)
    assert told.restore is not None
    assert (told.restore.done, told.restore.tasks) == (1, 2)
    reporters[1].finish()
    entry.look()
    told = entry.status()
    assert (told.state, told.restore and str(told.restore)) == ("RUNNING", "60,000 records read")


def test_what_every_start_reads_is_no_restoring(entry: Supervised, job: FakeJob, tmp_path: Path) -> None:
    """Between a task's beginning and its end a moment passes at every start."""
    job.runs[0].restore = RestoreWatch("Q", tmp_path, "r", 1)
    RestoreReporter(str(tmp_path), "r", 0, 0).begin(0, 20)
    entry.look()
    assert entry.status().state == "RUNNING"


def test_one_that_fails_again_and_again_is_shown_so_whatever_its_tasks_read(
    entry: Supervised, job: FakeJob, clock: Clock, tmp_path: Path
) -> None:
    job.streams[0].fail("boom")
    entry.look()
    waits(entry, clock)
    job.runs[1].restore = RestoreWatch("Q", tmp_path, "r", 2)
    first, _ = (RestoreReporter(str(tmp_path), "r", 0, task) for task in range(2))
    first.begin(0, 90_000)
    first.advance(90_000, 80_000)
    first.finish()
    entry.look()
    assert (entry.state, entry.status().state, entry.status().error) == (State.RESTARTING, "RESTORING", "boom")
    entry.state = State.FAILING
    assert entry.status().state == "FAILING"


def test_a_run_that_ends_as_it_should_is_followed_by_another_in_its_turn(clock: Clock, job: FakeJob) -> None:
    entry = Supervised(job, lambda _: 0)
    entry.start()
    job.runs[0].is_prelude, job.streams[0].under_way = True, False
    entry.look()
    assert entry.status().state == "STARTING"
    job.streams[0].isActive = False
    entry.look()
    assert (entry.status().state, entry.due, job.runs[0].closed) == ("STARTING", True, True)
    entry.look()
    assert (len(job.runs), entry.status().restarts, entry.status().failures) == (2, 0, ())
    assert job.started[-1] == (False, False)


def test_one_that_fails_is_tried_again_later(clock: Clock, job: FakeJob) -> None:
    entry = Supervised(job, lambda _: 0)
    entry.start()
    job.runs[0].is_prelude = True
    job.streams[0].fail("boom")
    entry.look()
    assert (entry.status().state, entry.status().error, entry.due) == ("RESTARTING", "boom", False)


@pytest.mark.parametrize("state", [State.RUNNING, State.ERROR])
def test_another_job_is_started_in_its_turn_when_the_batch_has_ended(
    entry: Supervised, job: FakeJob, clock: Clock, state: State
) -> None:
    if state is State.ERROR:
        entry.stop(State.ERROR)
    other = FakeJob(job.checkpoint)
    entry.exchange(other, 1.0)
    assert (job.runs[0].closed, entry.status().state, entry.due, other.started) == (True, "STARTING", True, [])
    entry.look()
    assert other.started == [(False, False)]
    assert (entry.status().restarts, entry.status().error) == (0, None)

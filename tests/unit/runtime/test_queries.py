"""The supervisor, over jobs whose streams fail when told; time passes when told."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from orion.errors import Conflict, ExternalError
from orion.runtime import queries
from orion.runtime.progress import Progress
from orion.runtime.queries import Queries, State, Supervised
from orion.runtime.runs import Run


@dataclass
class Clock:
    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


@dataclass
class FakeStream:
    """A stream as Spark names its parts."""

    isActive: bool = True
    failure: Exception | None = None
    recentProgress: list[Any] = field(default_factory=list)

    @property
    def lastProgress(self) -> Any:
        return self.recentProgress[-1] if self.recentProgress else None

    def exception(self) -> Exception | None:
        return self.failure

    def stop(self) -> None:
        self.isActive = False

    def fail(self, text: str) -> None:
        self.isActive, self.failure = False, RuntimeError(text)

    def report(self, batch: int, rows: int, **at: Any) -> None:
        told = {"runId": "r", "batchId": batch, "numInputRows": rows, "processedRowsPerSecond": 2.0, **at}
        self.recentProgress.append(SimpleNamespace(json=json.dumps(told)))


@dataclass
class FakeRun:
    """A run as its supervisor sees it; `lost` is what the next look ends with."""

    stream: FakeStream
    lost: Conflict | None = None
    final: Conflict | None = None
    reached_: list[Any] = field(default_factory=list)
    judged: list[tuple[int, int, str]] = field(default_factory=list)
    intolerable: Conflict | None = None
    draining: bool = False
    idle: bool = True
    warning: str | None = None
    checkpoint: Any = field(default_factory=lambda: SimpleNamespace(reached={}))
    closed: bool = False
    membership: Any = field(default_factory=lambda: SimpleNamespace(group="orion.CSAS_O_1"))

    def look(self) -> None:
        if self.lost is not None:
            raise self.lost

    def reached(self, offsets: Any) -> None:
        self.reached_.append(offsets)

    def judge(self, good: int, errors: int, example: str) -> None:
        self.judged.append((good, errors, example))
        if self.intolerable is not None:
            raise self.intolerable

    def verdict(self, failure: BaseException | None) -> Conflict | None:
        return self.final

    def drain(self) -> bool:
        self.draining = True
        return self.idle

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeJob:
    checkpoint: Path
    id: str = "CSAS_O_1"
    sink: str = "O"
    dead_letters: str = "dlq.O"
    scans: int = 1
    refuses: Exception | None = None  # what the next starts end with
    away: ExternalError | None = None  # what keeps questions from being answered
    streams: list[FakeStream] = field(default_factory=list)
    runs: list[FakeRun] = field(default_factory=list)
    started: list[tuple[bool, bool]] = field(default_factory=list)  # new, accept
    on_written: Callable[[Counter[str]], None] = print

    def start(self, on_written: Callable[[Counter[str]], None], *, new: bool, accept: bool) -> Run:
        self.started.append((new, accept))
        if self.refuses is not None:
            raise self.refuses
        self.on_written = on_written
        self.streams.append(FakeStream())
        self.runs.append(FakeRun(self.streams[-1]))
        return cast(Run, self.runs[-1])

    def learn(self, error: str) -> bool:
        if self.away is not None:
            raise self.away
        return "schema?" in error


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(queries, "time", clock)
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
    assert (entry.status().state, entry.status().error, entry.status().restarts) == ("RUNNING", None, 1)
    assert len(job.streams) == 2


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
    assert (entry.status().state, entry.status().error, entry.status().restarts) == ("RESTARTING", "no such topic", 3)
    job.refuses = None
    assert waits(entry, clock) == 8.0
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
    assert (entry.status().state, entry.status().error, len(job.streams)) == ("RUNNING", None, 2)


def test_a_paused_job_is_left_alone(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    entry.stop(State.PAUSED)
    assert not job.streams[0].isActive
    clock.now += 1000
    entry.look()
    assert (entry.status().state, entry.status().restarts, len(job.streams)) == ("PAUSED", 0, 1)


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
    assert (status.batches, status.lag, status.rate) == (2, 2, 2.0)


def test_totals_go_on_over_a_restart_and_a_pause(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.streams[0].report(0, 10)
    job.streams[0].fail("boom")
    entry.look()
    assert entry.status().rate == 0.0
    waits(entry, clock)
    job.streams[1].report(1, 5)
    entry.stop(State.PAUSED)
    assert entry.status().rows_in == 15


def test_the_line_that_tells_most_is_the_reason(entry: Supervised, job: FakeJob) -> None:
    job.streams[0].fail("[STREAM_FAILED] Query failed\nTraceback:\n  File x\nValueError: bad record\n\n")
    entry.look()
    assert entry.status().error == "ValueError: bad record"


def test_how_far_it_is_is_shown_once_for_each_change(entry: Supervised, job: FakeJob) -> None:
    job.streams[0].report(0, 10, sources=[{"endOffset": {"in": {"0": 10}}}])
    entry.look()
    entry.look()
    assert job.runs[0].reached_ == [{"in": {0: 10}}]
    job.streams[0].report(1, 5, sources=[{"endOffset": {"in": {"0": 15}}}])
    entry.look()
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
        assert (running.statuses()[0].state, len(job.runs)) == ("RUNNING", 2)


def test_a_failure_that_comes_again_by_itself_is_not_tried_again(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.runs[0].final = Conflict("NOT_TOLERATED", "A dead letter.")
    job.streams[0].fail("boom")
    entry.look()
    clock.now += 1000
    entry.look()
    assert (entry.status().state, entry.status().error, len(job.runs)) == ("ERROR", "A dead letter.", 1)


def test_what_is_wrong_with_a_checkpoint_is_not_tried_again(entry: Supervised, job: FakeJob, clock: Clock) -> None:
    job.streams[0].fail("boom")
    entry.look()
    job.refuses = Conflict("CHECKPOINT_BROKEN", "offsets/3 is empty.", hint="Restore it.")
    waits(entry, clock)
    assert (entry.status().state, entry.status().error) == ("ERROR", "offsets/3 is empty. Restore it.")
    clock.now += 1000
    entry.look()
    assert entry.status().restarts == 1


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


# ---- all of them -----------------------------------------------------------------------------------------------


@pytest.fixture
def running() -> Iterator[Queries]:
    running = Queries(lambda _: None)
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
    [status] = running.statuses()
    assert (status.state, status.error) == ("RESTARTING", "no such topic")


def test_a_job_of_the_journal_goes_on(running: Queries, job: FakeJob) -> None:
    running.restore(job, paused=False)
    assert [s.state for s in running.statuses()] == ["RUNNING"]


def test_a_paused_job_of_the_journal_stays_paused(running: Queries, job: FakeJob) -> None:
    running.restore(job, paused=True)
    assert [s.state for s in running.statuses()] == ["PAUSED"]
    assert job.streams == []


def test_only_a_job_that_was_just_made_may_begin_without_a_checkpoint(running: Queries, job: FakeJob) -> None:
    running.restore(job, paused=False)
    assert job.started == [(False, False)]
    running.remove(job.id)
    running.start(job)
    running.pause(job.id)
    running.resume(job.id)
    assert job.started[1:] == [(True, False), (False, True)]


def test_the_supervisor_starts_again_by_itself(running: Queries, job: FakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(queries, "time", clock)
    running.start(job)
    job.streams[0].fail("boom")
    eventually(lambda: running.statuses()[0].state == "RESTARTING")
    clock.now += 1
    eventually(lambda: running.statuses()[0].state == "RUNNING")
    assert len(job.streams) == 2


def test_a_job_pauses_and_resumes(running: Queries, job: FakeJob) -> None:
    running.start(job)
    running.pause(job.id)
    assert running.statuses()[0].state == "PAUSED"
    running.resume(job.id)
    running.resume(job.id)
    assert running.statuses()[0].state == "RUNNING"
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


def test_lag_is_asked_of_the_progress(clock: Clock, job: FakeJob) -> None:
    asked: list[Progress] = []

    def lag_of(progress: Progress) -> int:
        asked.append(progress)
        return 7

    entry = Supervised(job, lag_of)
    assert entry.status().lag == 7
    assert asked == [entry.progress]

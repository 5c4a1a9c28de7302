"""One job under supervision: started, watched, started again when it fails, paused and stopped."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from py4j.protocol import Py4JError
from pyspark.sql.streaming.query import StreamingQuery

from orion.errors import Conflict, ExternalError
from orion.plan.sharing import SharedWork
from orion.runtime.checkpoint_planting import BatchUnfinished
from orion.runtime.failures import WORKER_GONE, Cause, Failure, FailureHistory, cause_of
from orion.runtime.gate import StartGate
from orion.runtime.progress import Offsets, Progress
from orion.runtime.runs import Run
from orion.runtime.shared_stream import MemberStream
from orion.runtime.states import Job, QueryStatus, State

log = structlog.get_logger()

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
_HEALTHY_S = 60.0  # a query that ran this long starts its back-off anew
_ENDLESS_PROOF_S = 10.0  # a run without ends of batches has shown by then that it can read and write
# How long a job has a stream of its own after it has failed, or has brought one down that it shared.
_FIRST_ALONE_S, _LONGEST_ALONE_S = 60.0, 3600.0
_FINISHES_S = 5.0  # and so long to do the batch that was under way
_RESTORING = (State.STARTING, State.RUNNING, State.RESTARTING)  # that is shown for these while tasks read their state
_SHOWN_EVERY_S = 1.0
_LOOKED_AT_EVERY_S = 1.0  # of one that has nothing to do
_SMALL_LAG, _LAG_S = 1_000, 5.0  # one is caught up that is behind by so many records, or seconds
_TRIED = (State.STARTING, State.RESTARTING, State.FAILING)  # those that are to run, and don't yet


@dataclass
class Supervised:
    """One job with its state, guarded by one lock; the supervisor's thread moves it along."""

    job: Job
    lag_of: Callable[[Progress], int | None]
    state: State = State.STARTING
    error: str | None = None
    run: Run | None = None
    gate: StartGate = field(default_factory=StartGate)
    progress: Progress = field(init=False)
    written: Counter[str] = field(default_factory=Counter)
    history: FailureHistory = field(default_factory=FailureHistory)
    restarts: int = 0
    new: bool = False  # it has no checkpoint yet
    outside: bool = False  # it works with another system, which may take its time to answer
    queued: bool = False  # a thread is about to start it
    _shown: Offsets = field(default_factory=dict)
    _shown_at: float = 0.0
    _looked_at: float = 0.0
    _last_report: str = ""
    _retry_at: float = 0.0
    _wait_s: float = _FIRST_WAIT_S
    _started_at: float = 0.0
    _began: float | None = None  # the run at hand, in seconds since 1970
    _question: str = ""
    _alone_until: float = 0.0
    _alone_s: float = _FIRST_ALONE_S
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.progress = Progress()

    def start(self, *, accept: bool = False) -> None:
        """Start a run. It counts as running once it has shown that it does."""
        with self.lock:
            self._started_at, self._began = time.monotonic(), time.time()
            self.progress.begin_run()
            self.run = self.job.start(self.written.update, new=self.new, accept=accept)
            self.new = False
            self.progress.offsets |= self.run.checkpoint.reached
            if self.state not in (State.RESTARTING, State.FAILING):
                self.state, self.error = State.STARTING, None

    @property
    def due(self) -> bool:
        """Whether it is to be started now."""
        return self.run is None and self.state in _TRIED and time.monotonic() >= self._retry_at

    # ---- sharing a stream (orion.runtime.sharing) --------------------------------------------------------------

    @property
    def shared_work(self) -> SharedWork | None:
        """What others have to have in common with it to run in one stream; None: it has its own for now."""
        return None if time.monotonic() < self._alone_until else self.job.shared_work

    @property
    def due_soon(self) -> bool:
        """Whether it isn't to be started yet, but within a second."""
        soon = self._retry_at - 1.0 <= time.monotonic() < self._retry_at
        return self.run is None and self.state in _TRIED and soon

    @property
    def runs_well(self) -> bool:
        return self.run is not None and self.state is State.RUNNING and self.error is None

    @property
    def runs_for_s(self) -> float:
        """How long the run at hand is under way."""
        return time.monotonic() - self._started_at

    @property
    def is_caught_up(self) -> bool:
        """Whether it has read what its topics have, but for what came within the last seconds."""
        lag, rate = self.lag_of(self.progress), self.progress.rate_at(time.time()) or 0.0
        return self.progress.reported and lag is not None and lag <= max(_SMALL_LAG, _LAG_S * rate)

    def leave_stream(self) -> None:
        """End the run between two batches, to go on in another stream at once."""
        if self.run is not None:
            with suppress(Py4JError, ConnectionError):
                self.run.end_batch()
            self._end(self.run)

    def adopt_run(self, run: Run, positions: Offsets) -> None:
        """Go on with a run in a stream that is shared, and reads on at `positions`."""
        if self.state in (State.RESTARTING, State.FAILING):
            self._count_restart()
        elif self.state is not State.RUNNING:
            self.state, self.error = State.STARTING, None
        self._started_at, self._began = time.monotonic(), time.time()
        self.progress.begin_run()
        self.progress.offsets |= {topic: dict(at) for topic, at in positions.items()}
        self.run, self.new = run, False

    def refuse_join(self, error: Exception) -> None:
        """What kept it from joining others: its own affair, or a reason to start by itself."""
        if isinstance(error, BatchUnfinished):
            self._alone_until = time.monotonic() + _FINISHES_S
        else:
            self.stay_alone()
        match error:
            case Conflict():
                self._broken(error)
            case ExternalError():
                self._failed(error.message, Cause.OTHER_SYSTEM)
            case _:
                log.info("query has its own stream", query=self.job.id, reason=str(error))
                self.begin_anew()

    def stay_alone(self) -> None:
        """Have a stream of its own for a while; the longer, the more often this happens."""
        self._alone_until = time.monotonic() + self._alone_s
        self._alone_s = min(_LONGEST_ALONE_S, self._alone_s * 2)

    # ------------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Notice what happened since the last look; start again what is due."""
        with self.lock:
            if self.run is not None:
                self._look_at(self.run)
            elif self.state is State.WAITING and time.monotonic() >= self._retry_at:
                self._ask(self.error or "")
            elif self.due and self.gate.admit(self.job.id, outside=self.outside):
                self._restart()

    def _look_at(self, run: Run) -> None:
        assert run.stream is not None
        if self._rests(run):
            return
        self._looked_at = time.monotonic()
        if run.stream.isActive:
            try:
                if run.restore is not None:
                    run.restore.look()
                self._take_progress(run)
                run.look()
                self._believe(run)
            except Conflict as error:
                self._end(run)
                self._broken(error)
            except ExternalError as error:
                self._end(run)
                self._failed(error.message, Cause.OTHER_SYSTEM)
            return
        if self.state is State.PAUSING:  # whoever pauses it ends it
            return
        failure = run.stream.exception()
        final = run.verdict(failure)
        self._end(run)
        if final is not None:
            self._broken(final)
        elif failure is None and (run.is_prelude or run.is_shared):
            self.begin_anew()  # another of a shared stream has left it, or brought it down
        else:
            self._question = str(failure)
            self._ask(_reason(failure))

    def _rests(self, run: Run) -> bool:
        """Whether nothing can have happened to it that mustn't wait a second."""
        now = time.monotonic()
        took = self.progress.durations.get("triggerExecution", 0)
        is_quiet = self.state is State.RUNNING and run.pace is not None and run.pace.has_rested(now, took)
        return is_quiet and now - self._looked_at < _LOOKED_AT_EVERY_S

    def begin_anew(self) -> None:
        """To be started in its turn, as one that has not been tried yet."""
        self.gate.leave(self.job.id)
        self.state, self.error = State.STARTING, None
        self._started_at = self._retry_at = 0.0

    def _believe(self, run: Run) -> None:
        """A run is running once it shows it: after a failure by a batch that has ended, else by one that has begun."""
        if self.state not in _TRIED:
            return
        shown = self.progress.reported or (run.endless and time.monotonic() - self._started_at > _ENDLESS_PROOF_S)
        if not shown and self.error is None and run.stream is not None:
            shown = bool(run.stream.status["isDataAvailable"])
        if shown and not self.history.persists(time.time(), self._began):
            self.state, self.error = State.RUNNING, None
            self.gate.leave(self.job.id, runs=True)

    def _broken(self, error: Conflict) -> None:
        """Trying again won't help: somebody has to decide."""
        self.state, self.error = State.ERROR, " ".join(filter(None, (error.message, error.hint)))
        self.gate.leave(self.job.id)
        self.history.note(Failure(time.time(), self.error, Cause.STATEMENT))
        log.error("query stopped", query=self.job.id, reason=error.message)

    def _restart(self) -> None:
        if self._started_at > 0:
            self._count_restart()
        try:
            self.start()
        except Conflict as error:
            self._broken(error)
        except ExternalError as error:
            self._failed(error.message, Cause.OTHER_SYSTEM)
        except Exception as error:
            self._question = str(error)
            self._failed(_reason(error), cause_of(self._question))

    def _count_restart(self) -> None:
        self.restarts += 1
        self.history.restarts.append(time.time())

    def _ask(self, reason: str) -> None:
        """A stream that stopped with a question goes on as soon as that is answered."""
        try:
            answered = self.job.learn(self._question)
        except ExternalError as error:
            if self.state is not State.WAITING:
                self.history.note(Failure(time.time(), error.message, Cause.OTHER_SYSTEM))
            self.state, self.error = State.WAITING, error.message
            self.gate.leave(self.job.id)
            self._retry_at = time.monotonic() + (error.retry_after or _FIRST_WAIT_S)
            return
        if answered:
            self.state, self.error, self._retry_at = State.STARTING, None, 0.0
            if self.shared_work is None:  # others may have had the same question: they start together
                self._restart()
        else:
            self._failed(reason, cause_of(self._question))

    def _failed(self, reason: str, cause: Cause) -> None:
        """Try again later: the longer, the more often it has failed, and all jobs where it is for want of time."""
        if time.monotonic() - self._started_at > _HEALTHY_S:
            self._wait_s = _FIRST_WAIT_S
        self.gate.leave(self.job.id)
        self.progress.begin_run()
        self.history.note(Failure(time.time(), reason, cause))
        failing = self.history.persists(time.time(), None)
        if cause in (Cause.STATEMENT, Cause.OUT_OF_MEMORY) or failing:
            self.stay_alone()
        self.state, self.error = State.FAILING if failing else State.RESTARTING, reason
        held = self.gate.hold_back() if cause is Cause.STARVED else 0.0
        self._retry_at = time.monotonic() + max(held, self._wait_s)
        self._wait_s = min(_LONGEST_WAIT_S, self._wait_s * 2)
        log.warning("query failed", query=self.job.id, reason=reason, cause=cause.value)

    def _take_progress(self, run: Run, *, is_last: bool = False) -> None:
        reports = self._reports(run)
        if reports and run.evaluation is not None:
            run.evaluation.adapt(int(reports[-1].get("numInputRows") or 0))
        for report in reports:
            records, letters, errors = self.progress.records, self.progress.letters, self.progress.errors
            self.progress.take(report)
            written, bad = self.progress.records - records, self.progress.letters - letters
            if written:
                run.judge(written - bad, self.progress.errors - errors, self.progress.example)
        if self.progress.offsets == self._shown and not (reports and run.endless):
            return
        # Each has a group of its own, and there may be many: the brokers needn't be told of every batch.
        if is_last or time.monotonic() - self._shown_at >= _SHOWN_EVERY_S:
            self._shown_at = time.monotonic()
            self._shown = {topic: dict(at) for topic, at in self.progress.offsets.items()}
            run.reached(self._shown, self.progress.done)

    def _reports(self, run: Run) -> list[dict[str, Any]]:
        """Those since the last look. Spark is asked for the last one alone, unless there were several."""
        assert run.stream is not None
        last = run.stream.lastProgress
        if last is None or last.json == self._last_report:
            return []
        self._last_report = last.json
        report = json.loads(last.json)
        if self.progress.follows(report):
            return [report]
        return [json.loads(report.json) for report in run.stream.recentProgress]

    def _end(self, run: Run) -> None:
        # Spark's JVM may be gone already, when a signal reached the whole process group: so is the stream then.
        with suppress(Py4JError, ConnectionError):
            if run.stream is not None:
                with suppress(Conflict):  # it ends as it is
                    self._take_progress(run, is_last=True)
                run.stream.stop()
                with suppress(Conflict):  # a batch may have ended meanwhile
                    self._take_progress(run, is_last=True)
        run.close()
        self.run, self._began = None, None

    def stop(self, state: State) -> None:
        """End the run at once, if there is one."""
        with self.lock:
            self.state, self._retry_at = state, 0.0
            self.gate.leave(self.job.id)
            if self.run is not None:
                self._end(self.run)

    def pause(self, grace_s: float) -> None:
        """Stop once the batch under way has ended, which may take `grace_s`; it is PAUSING until then.

        What is paused writes nothing any more: a batch that is cut off is waited for until its tasks are gone.
        """
        with self.lock:
            self.state, self.error = State.PAUSING, None
        until = time.monotonic() + grace_s
        while not self.drain() and time.monotonic() < until:
            time.sleep(0.05)
        with self.lock:
            run = self.run
            if run is not None:
                self._end(run)
                with suppress(Py4JError, ConnectionError):
                    run.await_tasks()
            self.stop(State.PAUSED)

    def exchange(self, job: Job, grace_s: float) -> None:
        """Stop once the batch under way has ended, and have another job started in this one's place, in its turn."""
        self.pause(grace_s)
        with self.lock:
            self.job, self.new, self._wait_s = job, False, _FIRST_WAIT_S
            self.begin_anew()

    def retry_now(self) -> None:
        """Try again without waiting any longer."""
        with self.lock:
            self._retry_at, self._wait_s = 0.0, _FIRST_WAIT_S

    @property
    def warned(self) -> bool:
        return self.run is not None and self.run.warning is not None

    def drain(self) -> bool:
        """Let the batch under way end; whether it has."""
        if self.run is None:
            return True
        with suppress(Py4JError, ConnectionError):
            return self.run.drain()
        return True

    def spark_plan(self) -> str | None:
        """Spark's own words for the last batch, if there was one."""
        run = self.run
        stream = run.stream if run is not None else None
        stream = stream.shared.stream if isinstance(stream, MemberStream) else stream
        if not isinstance(stream, StreamingQuery):
            return None
        with suppress(Py4JError, ConnectionError):
            plan = stream._jsq.explainInternal(False)  # what `explain` prints
            return None if plan.startswith("No physical plan") else str(plan)
        return None

    def status(self) -> QueryStatus:
        progress, run, state = self.progress, self.run, self.state
        letters = self.written.get(self.job.dead_letters, 0) + progress.letters
        resting = 0.0 if state is State.PAUSED else None
        tried = run is None and state in (*_TRIED, State.WAITING)
        restore = run.restore.status if run is not None and run.restore is not None else None
        if restore is not None and restore.is_going and restore.is_notable and state in _RESTORING:
            state = State.RESTORING
        return QueryStatus(
            self.job.id,
            self.job.sink,
            state.value,
            progress.rows_in,
            sum(self.written.values()) + progress.records - letters,
            letters,
            self.lag_of(progress) if progress.reported else None,
            progress.rate_at(time.time()) if run is not None else resting,
            self.error,
            progress.batches,
            self.restarts,
            run.membership.group if run else None,
            progress.freshness_ms if run is None or run.freshness_ms is None else run.freshness_ms,
            (run.warning or run.announce()) if run else None,
            progress.late,
            tuple(self.history.failures),
            tuple(self.history.restarts),
            self._began if run is not None else None,
            time.time() + max(0.0, self._retry_at - time.monotonic()) if tried else None,
            restore,
            run.stream.companions if run is not None and isinstance(run.stream, MemberStream) else (),
        )


def _reason(error: BaseException | None) -> str:
    """The line that says most, of Spark's long texts: the last that names an error, else the first."""
    if error is None:
        return "the stream ended by itself"
    text = str(error)
    if WORKER_GONE in text:
        return "a Python worker has ended; data/logs/spark.log may say why"
    if cause_of(text) is Cause.STARVED:
        return "a Python worker didn't come up in time: the machine has too little time for all that runs on it"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "Exception" in line]
    return (telling or lines or ["unknown"])[-1 if telling else 0][:500]

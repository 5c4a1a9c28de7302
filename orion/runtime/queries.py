"""Running queries: each is one Spark stream, watched, restarted with back-off when it fails, stopped when told."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import structlog
from py4j.protocol import Py4JError

from orion.errors import Conflict, ExternalError
from orion.runtime.progress import Offsets, Progress
from orion.runtime.runs import Run

log = structlog.get_logger()

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
_WORKER_GONE = "Python worker exited unexpectedly"
_HEALTHY_S = 60.0  # a query that ran this long starts its back-off anew


class State(StrEnum):
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    RESTARTING = "RESTARTING"
    WAITING = "WAITING"  # for something that another system will tell
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """How a query or a sink is doing, at one moment. Counts are since this server started it."""

    id: str
    sink: str
    state: str
    rows_in: int
    rows_out: int
    dead_letters: int
    lag: int | None
    rate: float
    error: str | None
    batches: int = 0
    restarts: int = 0
    group: str | None = None  # the consumer group that shows how far it is
    freshness_ms: int | None = None  # from the newest event's time to when its result could be read
    warning: str | None = None
    late: int = 0


class Job(Protocol):
    """What a supervisor runs: something that starts a stream from its checkpoint."""

    @property
    def id(self) -> str: ...
    @property
    def sink(self) -> str: ...
    @property
    def checkpoint(self) -> Path: ...
    @property
    def dead_letters(self) -> str: ...
    @property
    def scans(self) -> int: ...
    def start(self, on_written: Callable[[Counter[str]], None], *, new: bool, accept: bool) -> Run:
        """Start the stream. `new`: for the first time. `accept`: go on over what may be accepted, such as a gap."""
        ...

    def learn(self, error: str) -> bool:
        """Whether an error was a question, and is answered now; raises ExternalError while there is no answer."""
        ...


@dataclass
class Supervised:
    """One job with its state, guarded by one lock; the supervisor's thread moves it along."""

    job: Job
    lag_of: Callable[[Progress], int | None]
    state: State = State.STARTING
    error: str | None = None
    run: Run | None = None
    progress: Progress = field(init=False)
    written: Counter[str] = field(default_factory=Counter)
    restarts: int = 0
    new: bool = False  # it has no checkpoint yet
    _shown: Offsets = field(default_factory=dict)
    _last_report: str = ""
    _retry_at: float = 0.0
    _wait_s: float = _FIRST_WAIT_S
    _started_at: float = 0.0
    _question: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.progress = Progress(self.job.scans)

    def start(self, *, accept: bool = False) -> None:
        with self.lock:
            self._started_at = time.monotonic()
            self.run = self.job.start(self.written.update, new=self.new, accept=accept)
            self.new = False
            self.progress.offsets |= self.run.checkpoint.reached
            self.state, self.error = State.RUNNING, None

    def look(self) -> None:
        """Notice what happened since the last look; start again what is due."""
        with self.lock:
            if self.run is not None and self.state is State.RUNNING:
                self._look_at(self.run)
            elif self.state is State.WAITING and time.monotonic() >= self._retry_at:
                self._ask(self.error or "")
            elif self.state is State.RESTARTING and time.monotonic() >= self._retry_at:
                self._restart()

    def _look_at(self, run: Run) -> None:
        assert run.stream is not None
        if run.stream.isActive:
            try:
                self._take_progress(run)
                run.look()
            except Conflict as error:
                self._end(run)
                self._broken(error)
            except ExternalError as error:
                self._end(run)
                self._failed(error.message)
            return
        failure = run.stream.exception()
        final = run.verdict(failure)
        self._end(run)
        if final is not None:
            self._broken(final)
        else:
            self._question = str(failure)
            self._ask(_reason(failure))

    def _broken(self, error: Conflict) -> None:
        """Trying again won't help: somebody has to decide."""
        self.state, self.error = State.ERROR, " ".join(filter(None, (error.message, error.hint)))
        log.error("query stopped", query=self.job.id, reason=error.message)

    def _restart(self) -> None:
        self.restarts += self._started_at > 0
        try:
            self.start()
        except Conflict as error:
            self._broken(error)
        except Exception as error:
            self._failed(_reason(error))

    def _ask(self, reason: str) -> None:
        """A stream that stopped with a question goes on as soon as that is answered."""
        try:
            answered = self.job.learn(self._question)
        except ExternalError as error:
            self.state, self.error = State.WAITING, error.message
            self._retry_at = time.monotonic() + (error.retry_after or _FIRST_WAIT_S)
            return
        if answered:
            self._restart()
        else:
            self._failed(reason)

    def _failed(self, reason: str) -> None:
        if time.monotonic() - self._started_at > _HEALTHY_S:
            self._wait_s = _FIRST_WAIT_S
        self.state, self.error = State.RESTARTING, reason
        self._retry_at = time.monotonic() + self._wait_s
        self._wait_s = min(_LONGEST_WAIT_S, self._wait_s * 2)
        log.warning("query failed", query=self.job.id, reason=reason)

    def _take_progress(self, run: Run) -> None:
        for report in self._reports(run):
            records, letters, errors = self.progress.records, self.progress.letters, self.progress.errors
            self.progress.take(report)
            written, bad = self.progress.records - records, self.progress.letters - letters
            if written:
                run.judge(written - bad, self.progress.errors - errors, self.progress.example)
        if self.progress.offsets != self._shown:
            self._shown = {topic: dict(at) for topic, at in self.progress.offsets.items()}
            run.reached(self._shown)

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
                    self._take_progress(run)
                run.stream.stop()
        run.close()
        self.run = None

    def stop(self, state: State) -> None:
        with self.lock:
            self.state = state
            if self.run is not None:
                self._end(self.run)

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
        if run is None or run.stream is None:
            return None
        with suppress(Py4JError, ConnectionError):
            plan = run.stream._jsq.explainInternal(False)  # what `explain` prints
            return None if plan.startswith("No physical plan") else str(plan)
        return None

    def status(self) -> QueryStatus:
        progress = self.progress
        letters = self.written.get(self.job.dead_letters, 0) + progress.letters
        return QueryStatus(
            self.job.id,
            self.job.sink,
            self.state.value,
            progress.rows_in,
            sum(self.written.values()) + progress.records - letters,
            letters,
            self.lag_of(progress),
            progress.rate if self.state is State.RUNNING else 0.0,
            self.error,
            progress.batches,
            self.restarts,
            self.run.membership.group if self.run else None,
            progress.freshness_ms,
            self.run.warning if self.run else None,
            progress.late,
        )


def _reason(error: BaseException | None) -> str:
    """The line that says most, of Spark's long texts: the last that names an error, else the first."""
    if error is None:
        return "the stream ended by itself"
    text = str(error)
    if _WORKER_GONE in text:
        return "a Python worker has ended; data/logs/spark.log may say why"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "Exception" in line]
    return (telling or lines or ["unknown"])[-1 if telling else 0][:500]


class Queries:
    """All that runs on this server."""

    def __init__(self, lag_of: Callable[[Progress], int | None]) -> None:
        self._lag_of = lag_of
        self._running: dict[str, Supervised] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="orion-supervisor", daemon=True)
        self._thread.start()

    def start(self, job: Job, *, paused: bool = False) -> None:
        """Start a job. What fails at once is raised, and the job isn't kept."""
        entry = Supervised(job, self._lag_of, new=True)
        if paused:
            entry.state = State.PAUSED
        else:
            entry.start()
        self._running[job.id] = entry

    def restore(self, job: Job, *, paused: bool) -> None:
        """Start a job that the journal knows. What fails is shown as its state, and tried again."""
        entry = Supervised(job, self._lag_of, state=State.PAUSED if paused else State.RESTARTING)
        self._running[job.id] = entry
        entry.look()

    def pause(self, job_id: str) -> None:
        entry = self._running[job_id]
        if entry.state is not State.ERROR:
            entry.stop(State.PAUSED)

    def resume(self, job_id: str) -> None:
        entry = self._running[job_id]
        if entry.state in (State.PAUSED, State.ERROR) or entry.warned:
            entry.stop(State.PAUSED)
            entry.start(accept=True)

    def restart(self, job_id: str, job: Job | None = None) -> None:
        """Stop a job and start it again, or another in its place. What fails is shown as its state, and tried again."""
        entry = self._running[job_id]
        with entry.lock:
            entry.stop(State.RESTARTING)
            entry.job = job or entry.job
            entry.look()

    def remove(self, job_id: str, *, keep: bool = False) -> None:
        """Stop for good: the checkpoint goes too, unless another job is to go on from it."""
        entry = self._running.pop(job_id, None)
        if entry is not None:
            entry.stop(State.PAUSED)
            if not keep:
                shutil.rmtree(entry.job.checkpoint, ignore_errors=True)

    def statuses(self) -> list[QueryStatus]:
        return [entry.status() for entry in list(self._running.values())]

    def get(self, job_id: str) -> Supervised | None:
        return self._running.get(job_id)

    def close(self, grace_s: float = 0.0) -> None:
        """Stop everything; batches that are under way have `grace_s` seconds to end."""
        self._closed.set()
        self._thread.join(timeout=10)
        until = time.monotonic() + grace_s
        while sum(not entry.drain() for entry in self._running.values()) and time.monotonic() < until:
            time.sleep(0.05)
        for entry in self._running.values():
            try:
                entry.stop(State.PAUSED)
            except Exception as error:  # one that can't be stopped doesn't keep the others running
                log.warning("stopping", query=entry.job.id, error=str(error))

    def _watch(self) -> None:
        while not self._closed.wait(0.2):
            for entry in list(self._running.values()):
                try:
                    entry.look()
                except Exception as error:
                    log.warning("supervisor", query=entry.job.id, error=str(error))

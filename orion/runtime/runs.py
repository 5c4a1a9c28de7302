"""One run of a job: from one start of its stream to its end.

A run is a member of the job's group for as long as it lives. Its workers show that when they write to Kafka. A sink's
batches pass through here instead: only a run that nobody has taken the place of lets them in, and none is let in any
more once the server is about to stop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql import SparkSession

from orion.errors import Conflict, ExternalError
from orion.hub.ledger import FastEnd, LedgerNote, narrow_ranges
from orion.hub.membership import Membership, taken_over
from orion.hub.transactions import Intolerable
from orion.plan.tolerance import PROPERTY, Recent, Tolerance, stopped
from orion.runtime.checkpoint import Checkpoint, Distrust
from orion.runtime.checkpoint_planting import read_ranges
from orion.runtime.evaluation import Evaluation
from orion.runtime.inputs import Inputs, Watch
from orion.runtime.pacing import StreamPace
from orion.runtime.restoring import RestoreWatch

# How long a run that may have been shut out waits to be told. One that isn't in that time starts again, and is refused
# there if another server has had a run since.
_TOLD_S = 6.0
# Spark ends the worker of a task that it gives up on after two seconds.
_TASKS_GONE_S = 10.0
_BATCH_ENDS_S = 10.0
_LAST_JOBS = 3  # of a stream: earlier ones have ended
_FENCED = "has been fenced"
_DRAINED = "the server is stopping: this batch is left for its next start"


_NO_INPUTS = Inputs("", ())


class Stream(Protocol):
    """What a supervisor watches, by Spark's names: a stream of Spark's, or work that comes before one."""

    @property
    def isActive(self) -> bool: ...
    @property
    def runId(self) -> str: ...
    @property
    def lastProgress(self) -> Any: ...
    @property
    def recentProgress(self) -> Sequence[Any]: ...
    @property
    def status(self) -> dict[str, Any]: ...
    def exception(self) -> BaseException | None: ...
    def stop(self) -> None: ...


@dataclass
class Run:
    membership: Membership
    slots: int
    checkpoint: Checkpoint
    watch: Watch
    inputs: Inputs = _NO_INPUTS
    stream: Stream | None = None
    spark: SparkSession | None = None  # whose stream it is
    warning: str | None = None  # what is odd about its topics, and doesn't stop it
    credentials: bytes = b""  # what its workers show
    outputs: int = 0  # of the fast lane: the partitions of what it writes
    announce: Callable[[], str | None] = lambda: None  # what else there is to tell of it
    is_prelude: bool = False  # it ends by itself, and the job goes on in another run
    is_shared: bool = False  # its stream does the work of others, too
    endless: bool = False  # a batch runs until its time is up, whatever there is to do: nobody waits for its end
    tolerance: Tolerance = field(default_factory=Tolerance)
    restore: RestoreWatch | None = None  # of one with state
    freshness_ms: int | None = None  # of a lake, which Spark doesn't report: as `Progress.freshness_ms`
    evaluation: Evaluation | None = None  # of its stream, where that is its own
    pace: StreamPace | None = None  # of its stream, shared or not; None: it begins batches by itself
    _recent: Recent = field(default_factory=Recent)
    _draining: bool = False
    _ends_after: int = -1  # the last batch that was done when it was told to end
    _ended_by: Conflict | None = None

    def admit(self) -> None:
        """Let a batch of a sink in, or raise: the sink itself can't tell who writes."""
        if self._draining:
            raise Drained(_DRAINED)
        try:
            self.membership.look()
        except Conflict as error:
            raise self.stopped_by(error) from None

    def begin_batch(self, batch: int, written: Mapping[int, int]) -> None:
        """Note a batch of a sink that is written by the driver, before any of it is. `written`: the last batch that an
        earlier run has written dead letters of, by slot: their note says as much."""
        ids = {known.topic: known.topic_id for known in self.inputs.topics}
        sources = read_ranges(self.checkpoint.path, batch)
        is_whole = narrow_ranges(sources, 0) == sources
        slots = {0} if is_whole else {part for source in sources for ranges in source.values() for part in ranges}
        notes = {slot: LedgerNote(batch, narrow_ranges(sources, slot), ids, is_begun=True) for slot in slots}
        try:
            if missing := {slot: note for slot, note in notes.items() if written.get(slot, -1) < batch}:
                self.membership.leave_notes(missing)
        except Conflict as error:
            raise self.stopped_by(error) from None

    def note_newest(self, time_ms: int) -> None:
        """The newest row of a batch that can be read from now on."""
        self.freshness_ms = max(0, time.time_ns() // 1_000_000 - time_ms)

    def judge(self, good: int, errors: int, example: str = "") -> None:
        """Stop at too many dead letters. They stand, and so does the rest of the batch."""
        if not self.tolerance.bounded:
            return
        self._recent = self._recent.after(good, errors)
        why = self._recent.exceeds(self.tolerance)
        if why is not None:
            raise self.stopped_by(not_tolerated(why, example or "`orion dlq show` has them"))

    def look(self) -> None:
        """Stay a member, and see to its topics; raises Conflict when it must not go on."""
        self.membership.look()
        # What a batch under way has yet to read isn't judged: if it is gone, that batch will say so.
        try:
            found = self.watch.look(self.inputs, lambda: self.checkpoint.ahead)
        except Distrust as error:
            raise ExternalError("CHECKPOINT_LOST", f"The checkpoint is made anew: {error}", retry_after=1.0) from error
        if found is not None and found.fatal:
            raise Conflict(found.code, found.message, hint=found.hint)
        self.warning = f"{found.message} {found.hint}" if found is not None else None

    def reached(self, offsets: Mapping[str, Mapping[int, int]], done: tuple[int, int] | None) -> None:
        """`done`: the last batch, and when it was done."""
        note = None
        if self.outputs and done is not None:
            note = LedgerNote(done[0], fast=FastEnd(done[1], self.outputs))
        self.membership.reached(offsets, note)

    def begin_fast(self, partitions: int) -> FastEnd | None:
        """When the last batch of an earlier run was done, if that is known. From here on each end of a batch is noted;
        until the first one this run has begun now, or where the earlier one was done."""
        notes = self.membership.read_notes(self.slots)
        last = notes[0].fast if 0 in notes else None
        begun = FastEnd(time.time_ns() // 1_000_000 if last is None else last.ended_ms, partitions)
        batch = max((note.batch for note in notes.values()), default=-1)
        self.membership.leave_notes({0: LedgerNote(batch, fast=begun)})
        self.outputs, self.endless = partitions, True
        return last

    def verdict(self, failure: BaseException | None) -> Conflict | None:
        """What ended the run, where trying again won't help."""
        if self._ended_by is not None:
            return self._ended_by
        text = str(failure or "")
        lost = taken_over(self.membership.group)
        # A server that has taken over ends what this one's workers have open: they may be told of that first.
        if (lost.message in text or _FENCED in text) and self._shut_out():
            return lost
        mark = f"{Intolerable.mark_of(self.membership.group)}: "
        if mark in text:
            told = text.split(mark, 1)[1].splitlines()[0]
            return not_tolerated(f"'{PROPERTY}' is none", told)
        return None

    def _shut_out(self) -> bool:
        """Whether another run has this one's place. A worker is refused too when this very run had to join anew, after
        a pause in which the group forgot it: what its workers show is out of date then, and a new run will do."""
        end = time.monotonic() + _TOLD_S
        while time.monotonic() < end:
            try:
                self.membership.look(0.1)
                if self.membership.credentials() != self.credentials:
                    return False
            except Conflict:
                return True
            except ExternalError:
                return False
        return False

    def stopped_by(self, error: Conflict) -> Conflict:
        """Remember what ends the run, to be raised; what Spark makes of it is a text."""
        self._ended_by = error
        return error

    def drain(self) -> bool:
        """Let the batch under way end; whether it has. The one after it is cut off, and runs at the next start."""
        if self.endless or self.stream is None or not self.stream.isActive:
            return True
        if not self._draining:
            self._draining, self._ends_after = True, self._last_batch()
        return not self.stream.status["isTriggerActive"] or self._last_batch() > self._ends_after

    def _last_batch(self) -> int:
        return -1 if self.stream is None else _last_batch_of(self.stream)

    def end_batch(self) -> None:
        """Have no batch begin any more, and wait for the one under way. A shared stream sees to that itself."""
        if self.pace is not None and self.stream is not None and not self.is_shared:
            self.pace.is_stopped = True
            await_batch_end(self.stream)

    def await_tasks(self, deadline_s: float = _TASKS_GONE_S) -> None:
        """Until no task of a stream that was stopped runs any more: Spark gives up on them before they are gone."""
        if self.stream is not None and self.spark is not None:
            await_tasks(self.spark, str(self.stream.runId), deadline_s)

    def close(self) -> None:
        self.membership.close()


def await_batch_end(stream: Stream, deadline_s: float = _BATCH_ENDS_S) -> None:
    """Until the batch under way has ended; of a stream that begins no other."""
    until, last = time.monotonic() + deadline_s, _last_batch_of(stream)
    while stream.isActive and stream.status["isTriggerActive"] and _last_batch_of(stream) == last:
        if time.monotonic() > until:
            return
        time.sleep(0.01)


def _last_batch_of(stream: Stream) -> int:
    report = stream.lastProgress
    return -1 if report is None else int(report.batchId)


def await_tasks(spark: SparkSession, stream: str, deadline_s: float = _TASKS_GONE_S) -> None:
    """Until no task of a stream runs any more; `stream` is the id of its run."""
    until = time.monotonic() + deadline_s
    tracker = spark.sparkContext.statusTracker()
    while time.monotonic() < until:
        jobs = [tracker.getJobInfo(job) for job in sorted(tracker.getJobIdsForGroup(stream))[-_LAST_JOBS:]]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        if not any(stage is not None and stage.numActiveTasks > 0 for stage in stages):
            return
        time.sleep(0.05)


def not_tolerated(why: str, letter: str) -> Conflict:
    return Conflict("NOT_TOLERATED", f"{stopped(why, letter)}.")


class Drained(Exception):
    """The batch came after the end."""

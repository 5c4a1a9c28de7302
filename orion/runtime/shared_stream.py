"""One stream of Spark's that does the work of several statements, and what each of them sees of it.

A statement sees its part as a stream of its own: its records, its failures. It leaves by stopping that. The whole
stream ends then, between two batches, and the others go on in a new one.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from orion.hub.membership import taken_over
from orion.hub.transactions import Intolerable
from orion.plan.relations import scans
from orion.runtime.checkpoint import Checkpoint
from orion.runtime.checkpoint_planting import BatchPlan, plant_checkpoint
from orion.runtime.evaluation import Evaluation
from orion.runtime.jobs import Candidate
from orion.runtime.lanes.shared import SharedLane, StreamMember, read_tallies
from orion.runtime.operators.pooled import StatementFailed
from orion.runtime.pacing import StreamPace
from orion.runtime.progress import WRITTEN, Offsets
from orion.runtime.runs import Run, await_batch_end, await_tasks
from orion.runtime.shared_operators import KeyedBranch, operate_all
from orion.runtime.shared_projection import Branch, NotShareable, project_all

_FOLDER = "shared-"  # where such a stream has its checkpoint: scratch, of a server that runs
_MEMBERS = "queries"  # the file there that says whose it is, a line each: for people, and for tests
# Tasks of a batch beyond the partitions that there were at the start: until the stream is started anew for them.
_ROOM = 4
_SAME_S = 0.1  # for so long all statements get the same answer from Spark


def start_shared(candidates: Sequence[Candidate]) -> list[Run]:
    """Start one stream for several statements of the same shared work; each one's run. Raises NotShareable."""
    around = candidates[0].job.around
    queries = [around.schemas.bound(one.job.query) for one in candidates]
    source = scans(queries[0].relation)[0]
    for query in queries:
        if scans(query.relation)[0] != source:
            raise NotShareable(query.id, "its source has changed")
    positions = [one.start.positions[source.topic] for one in candidates]
    lowest = _find_lowest(positions)
    branches = [
        Branch(query, {part: at for part, at in own.items() if at > lowest[part]})
        for query, own in zip(queries, positions, strict=True)
    ]
    frame, slots = _build_frame(candidates, branches, around.source.stream(source))
    name = f"{_FOLDER}{uuid.uuid4().hex[:12]}"
    folder = around.checkpoints / name
    last = max(one.start.batch for one in candidates)
    plan = BatchPlan(last + 1, ({source.topic: {part: (at, at) for part, at in lowest.items()}},), is_done=True)
    members = tuple(StreamMember(one.permit, one.start.positions) for one in candidates)
    lane = SharedLane(members, slots or len(lowest) + _ROOM, around.trigger_ms)
    try:
        plant_checkpoint(folder, plan, around.grounds.shuffle_partitions)
        (folder / _MEMBERS).write_text("\n".join(one.job.id for one in candidates))
        for one in candidates:
            one.start.run.membership.commit_offsets(one.start.positions)
            one.start.run.checkpoint.leave_to_kafka()
        stream = lane.start(frame, name, folder)
        shared = SharedStream(stream, candidates, {source.topic: lowest}, folder, has_tasks=slots is not None)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return [_let_run(one.start.run, shared, number) for number, one in enumerate(candidates)]


def _build_frame(
    candidates: Sequence[Candidate], branches: Sequence[Branch], raw: DataFrame
) -> tuple[DataFrame, int | None]:
    """What all make, and how many tasks make it; None: a slot is a partition."""
    keyed = [
        KeyedBranch(branch, one.spread, one.permit.group)
        for one, branch in zip(candidates, branches, strict=True)
        if one.spread is not None
    ]
    if not keyed:
        return project_all(branches, raw), None
    return operate_all(keyed, raw), max(one.spread.tasks for one in keyed)


def _find_lowest(positions: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """By partition, where the first of several statements reads on; one that doesn't know of a partition reads it from
    its beginning."""
    known = sorted({part for at in positions for part in at})
    return {part: min(at.get(part, 0) for at in positions) for part in known}


def _let_run(run: Run, shared: SharedStream, number: int) -> Run:
    run.stream, run.spark, run.checkpoint = MemberStream(shared, number), shared.spark, Checkpoint(shared.folder)
    run.is_shared, run.pace = True, shared.pace
    return run


@dataclass(frozen=True)
class MemberReport:
    """What Spark reports of a batch, as far as it is one statement's; by Spark's names."""

    json: str
    batchId: int


def _cut_report(report: dict[str, Any], number: int) -> MemberReport:
    tallies = read_tallies(report.get("observedMetrics", {}).get(WRITTEN), number)
    part = {**report, "observedMetrics": {WRITTEN: tallies}}
    return MemberReport(json.dumps(part), int(report["batchId"]))


def remove_folders(checkpoints: Path) -> None:
    """Remove what streams of an earlier server have left."""
    for folder in checkpoints.glob(f"{_FOLDER}*"):
        shutil.rmtree(folder, ignore_errors=True)


class SharedStream:
    """The stream itself. Spark is asked for all statements at once."""

    def __init__(
        self,
        stream: StreamingQuery,
        candidates: Sequence[Candidate],
        positions: Offsets,
        folder: Path,
        *,
        has_tasks: bool,
    ) -> None:
        """`positions`: where it begins to read. `has_tasks`: its slots are tasks, whatever partitions there are."""
        around = candidates[0].job.around
        self.stream, self.spark, self.folder = stream, around.source.spark, folder
        self.queries = tuple(one.job.id for one in candidates)
        self._groups = tuple(one.permit.group for one in candidates)
        # That the topic had when it started, where each is a slot.
        self._partitions = None if has_tasks else max(map(len, positions.values()))
        self._asking, self._ending = threading.Lock(), threading.Lock()
        self.pace = (
            StreamPace(stream, self.spark, around.trigger_ms, around.freshness_ms) if around.trigger_ms else None
        )
        self._evaluation = Evaluation(stream, around.count_behind(candidates[0].start.run, positions), is_wide=True)
        self._asked_at = float("-inf")
        self._active = True
        self._last: dict[str, Any] | None = None
        self._last_json = ""
        self._parts: dict[int, MemberReport] = {}
        self._ended = False

    @property
    def is_active(self) -> bool:
        self._ask()
        return self._active

    def last_report_of(self, number: int) -> MemberReport | None:
        self._ask()
        with self._asking:
            if self._last is None:
                return None
            if number not in self._parts:
                self._parts[number] = _cut_report(self._last, number)
            return self._parts[number]

    def recent_reports_of(self, number: int) -> list[MemberReport]:
        return [_cut_report(json.loads(report.json), number) for report in self.stream.recentProgress]

    def failure_of(self, number: int) -> BaseException | None:
        """What ended the stream, unless it is another statement's affair."""
        failure = self.stream.exception()
        if failure is None:
            return None
        text = str(failure)
        named = {n for n, group in enumerate(self._groups) if _names(text, group)}
        return failure if not named or number in named else None

    def stop(self) -> None:
        """End it once the batch under way has ended; answers when none of its tasks runs any more."""
        with self._ending:
            if self._ended:
                return
            if self.pace is not None:
                self.pace.is_stopped = True
            try:
                with suppress(Py4JError, ConnectionError):
                    await_batch_end(self.stream)
                self.stream.stop()
                with suppress(Py4JError, ConnectionError):
                    await_tasks(self.spark, str(self.stream.runId))
                    with self._asking:
                        self._read_last()  # of the batch that was let end
            finally:
                shutil.rmtree(self.folder, ignore_errors=True)
                self._ended, self._active = True, False

    def _ask(self) -> None:
        """What Spark says by now. Nothing new while the stream is being stopped, which takes its time: nobody has to
        wait for that here."""
        with self._asking:
            if self._ended or self._ending.locked() or time.monotonic() - self._asked_at < _SAME_S:
                return
            self._active = self.stream.isActive
            self._read_last()
            self._asked_at = time.monotonic()
        if self._active and self._has_grown():
            # All start anew: there is a place for each partition's tallies.
            threading.Thread(target=self.stop, name="orion-shared-stop", daemon=True).start()

    def _read_last(self) -> None:
        last = self.stream.lastProgress
        if last is not None and last.json != self._last_json:
            self._last_json, self._last, self._parts = last.json, json.loads(last.json), {}
            self._evaluation.adapt(int(self._last.get("numInputRows") or 0))

    def _has_grown(self) -> bool:
        if self._partitions is None:
            return False
        ends = [source.get("endOffset") for source in (self._last or {}).get("sources", [])]
        return any(len(parts) > self._partitions for end in ends if isinstance(end, dict) for parts in end.values())


def _names(text: str, group: str) -> bool:
    """Whether an error's text is of one statement alone."""
    marks = (f"{Intolerable.mark_of(group)}:", f"{StatementFailed.mark_of(group)}:", taken_over(group).message)
    return any(mark in text for mark in marks)


@dataclass(frozen=True)
class MemberStream:
    """A statement's part of a shared stream, by the names of Spark's streams."""

    shared: SharedStream
    number: int

    @property
    def companions(self) -> tuple[str, ...]:
        """The other statements."""
        return tuple(query for n, query in enumerate(self.shared.queries) if n != self.number)

    @property
    def isActive(self) -> bool:
        return self.shared.is_active

    @property
    def runId(self) -> str:
        return str(self.shared.stream.runId)

    @property
    def status(self) -> dict[str, Any]:
        return self.shared.stream.status

    @property
    def lastProgress(self) -> MemberReport | None:
        return self.shared.last_report_of(self.number)

    @property
    def recentProgress(self) -> list[MemberReport]:
        return self.shared.recent_reports_of(self.number)

    def exception(self) -> BaseException | None:
        return self.shared.failure_of(self.number)

    def stop(self) -> None:
        self.shared.stop()

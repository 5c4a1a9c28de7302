"""The state of a query spread over another number of tasks, between two of its batches.

All that a query knows lies with its tasks: which records a task has, its clock, and what its slot has noted. So the
number of tasks changes where nothing is under way, and in an order in which every step but one says nothing new:

1.  The last batch that was planned is done in all of its slots, with the old number (`ExactLane.finish`).
2.  This run is the query's one member. Whoever wrote before is shut out, and shuts this one out when it comes back.
3.  New changelogs are made, under a name that none ever had, and filled from the old ones.
4.  Each slot but the first notes the last batch, and that it reads nothing any more. That batch is done in all slots,
    so this is true of the old tasks and of the new ones: when it is run again, whatever is lost, nothing is written.
5.  Slot 0 notes the same with the name of the new changelogs. This is one offset of one partition: it stands or not.
6.  The old changelogs go, before any batch runs.

Killed before 5, the query goes on with the old changelogs, and the next start removes the new ones; after it, it is the
other way round. Batches are numbered on, so each one's number is greater than that of every note.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import structlog

from orion.errors import ExternalError
from orion.hub.changelog import Changelog, ChangelogWriter, Editions, committed_end, name_edition, read_changelog
from orion.hub.ledger import LedgerNote, Ranges
from orion.runtime.checkpoint_planting import read_ranges
from orion.runtime.operators.rekeying import MovedRecord, Rekeying
from orion.runtime.operators.spread import Spread
from orion.runtime.query_state import QueryState, StateEdition
from orion.runtime.runs import Run

log = structlog.get_logger()

_TELLS_S = 5.0
_OPEN_S = 60.0
_FLUSH_S = 0.5
_ENDS_S = 30.0


class StoppedEarly(Exception):
    """The run was told to end."""


@dataclass
class Respreading:
    """The work of one run that re-spreads, in a thread of its own. It has the face of a stream, so that it is watched,
    stopped and tried again as one."""

    run: Run
    state: QueryState
    spread: Spread
    before: StateEdition
    tasks: int
    runId: str = field(default_factory=lambda: str(uuid4()))
    lastProgress: Any = None
    recentProgress: Sequence[Any] = ()
    _failure: BaseException | None = None
    _moved: int = 0  # records
    _passed: int = 0  # offsets
    _whole: int = 0
    _told_at: float = field(default_factory=time.monotonic)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    # ---- a stream's face -----------------------------------------------------------------------------------------

    def start(self) -> Respreading:
        self._thread = threading.Thread(target=self._perform, name=f"orion-respread-{self.state.query.id}", daemon=True)
        self._thread.start()
        return self

    @property
    def isActive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def status(self) -> dict[str, Any]:
        """It may be cut off at any moment, and no batch is under way."""
        return {"message": self.describe(), "isDataAvailable": False, "isTriggerActive": False}

    def describe(self) -> str:
        share = 0 if self._whole == 0 else 100 * self._passed // self._whole
        return f"Its state is being spread over {self.tasks} tasks instead of {self.before.tasks}: {share} % has moved."

    def exception(self) -> BaseException | None:
        return self._failure

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_ENDS_S)

    def _perform(self) -> None:
        try:
            self.respread()
        except BaseException as error:
            self._failure = error

    # ---- the work ------------------------------------------------------------------------------------------------

    def respread(self) -> None:
        """Steps 3 to 6."""
        batch = self.run.checkpoint.last_planned
        query, began = self.state.query.id, time.monotonic()
        self._say("re-spreading", of=self.before.tasks)
        edition = self.state.create_edition(name_edition(), self.tasks)
        self.fill(edition)
        self.note_slots(-1 if batch is None else batch, edition)
        self.state.drop_local()
        self.state.remove_others(self._editions(), edition)
        log.info(
            "re-spread", query=query, tasks=self.tasks, moved=self._moved, seconds=round(time.monotonic() - began, 1)
        )

    def _editions(self) -> Editions:
        return {self.before.name: {log.topic: log for log in self.before.changelogs}}

    def fill(self, edition: StateEdition) -> None:
        """Write what the old changelogs hold into new ones, and wait until the brokers have it."""
        ends = [[self._end(one, task) for task in range(one.partitions)] for one in self.before.changelogs]
        self._whole = sum(map(sum, ends))
        changelogs = zip(self.before.changelogs, edition.changelogs, ends, strict=True)
        operators = zip(self.spread.operators, self.spread.placed, strict=True)
        for (operator, placed), (old, new, until) in zip(operators, changelogs, strict=True):
            self._fill_one(Rekeying(operator, self.before.tasks, self.tasks, placed), old, new.topic, until)

    def _end(self, changelog: Changelog, task: int) -> int:
        end = committed_end(self.state.kafka, changelog.topic, task, _OPEN_S)
        if end is None:
            place = f"{changelog.topic}/{task}"
            raise ExternalError("CHANGELOG_OPEN", f"A transaction on {place} doesn't end.", retry_after=1)
        return end

    def _fill_one(self, rekeying: Rekeying, old: Changelog, new: str, ends: list[int]) -> None:
        writer = ChangelogWriter(self.state.kafka, new)
        try:
            for task, end in enumerate(ends):
                writer.write(self._moved_records(rekeying, old, task, end))
            writer.write(rekeying.merge_own())
            while not writer.flush(_FLUSH_S):
                self._check_wanted()
        except BaseException:
            writer.abandon()
            raise

    def _moved_records(self, rekeying: Rekeying, old: Changelog, task: int, end: int) -> Iterator[MovedRecord]:
        """A task's records as they came: of those of a place, which stay in their order, the last one counts."""
        begun = self._passed
        for position, records in read_changelog(self.state.kafka, old.topic, task, 0, end):
            self._check_wanted()
            yield from rekeying.move(task, records)
            self._moved += len(records)
            self._passed = begun + position
            if time.monotonic() - self._told_at > _TELLS_S:
                self._say("re-spreading", moved=self._moved, share=f"{100 * self._passed // max(self._whole, 1)} %")
        self._passed = begun + end

    def note_slots(self, batch: int, edition: StateEdition) -> None:
        """Steps 4 and 5."""
        state, membership = self.state, self.run.membership
        standing = (
            tuple(_standing(source) for source in read_ranges(self.run.checkpoint.path, batch)) if batch >= 0 else ()
        )
        ids = {noted.topic: noted.topic_id for noted in self.run.inputs.topics}
        for slot in range(1, state.slot_count(max(self.before.tasks, self.tasks))):
            membership.leave_notes({slot: LedgerNote(batch, standing, ids, edition=self.before.name)})
        self._check_wanted()
        membership.leave_notes({0: LedgerNote(batch, standing, ids, edition=edition.name)})

    def _check_wanted(self) -> None:
        if self._stopping.is_set():
            raise StoppedEarly(f"{self.state.query.id} was stopped while its state was re-spread")

    def _say(self, what: str, **told: Any) -> None:
        self._told_at = time.monotonic()
        log.info(what, query=self.state.query.id, tasks=self.tasks, **told)


def _standing(source: Ranges) -> Ranges:
    """From where a batch ended to there."""
    return {topic: {part: (end, end) for part, (_, end) in ranges.items()} for topic, ranges in source.items()}

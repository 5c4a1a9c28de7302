"""The local store of a task at the beginning of a batch: as it was left, or caught up with the changelog.

Runs inside Spark's Python workers. Within a run each batch of a task follows the one before: a store that was left by
that one is right as soon as what it has pending is applied, since Spark begins a batch only when the one before was
committed. Any other store, of an earlier run, of another time, damaged or none, is caught up from the changelog, from
where its note says that it is right.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import lmdb

from orion.errors import ExternalError, OrionError
from orion.hub.changelog import TOMBSTONES_MS, Changelog, committed_end, read_changelog
from orion.hub.kafka import Kafka
from orion.runtime.state.local_store import StoreNote, StoreTaken, open_store
from orion.runtime.state.restore_reports import RestoreReporter
from orion.runtime.state.state import Change
from orion.runtime.state.values import DamagedRecord, UnknownFormat

# How much of a changelog is read again at most after a restart, in the time that it was written in.
_POSITION_MS = 30_000
_OPEN_S = 60.0
_FORGETS_MS = TOMBSTONES_MS // 2
# What a local store that can't be trusted shows itself by.
DAMAGED = (lmdb.Error, DamagedRecord, UnknownFormat)


@dataclass(frozen=True, slots=True)
class StateContext:
    """What the operators of one run need for their state; goes to the workers."""

    folder: str
    run: str
    bootstrap: str = ""
    changelogs: tuple[Changelog, ...] = ()  # by operator; none: state lives as long as its folder
    done: tuple[tuple[int, int], ...] = ()  # slots, and the last batch that an earlier run has written of each
    one_slot: bool = False  # all tasks' results are written by one slot


@dataclass(frozen=True, slots=True)
class TaskId:
    """Which task of which operator, at which batch."""

    operator: int
    number: int
    batch: int


class TaskStore:
    """The store of one task for one batch."""

    def __init__(self, context: StateContext, task: TaskId) -> None:
        self._context, self._task = context, task
        self._changelog = context.changelogs[task.operator] if context.changelogs else None
        folder = Path(context.folder) / str(task.operator) / str(task.number)
        log = self._changelog
        identity = f"{log.topic}/{log.topic_id}/{task.number}" if log else f"{task.operator}/{task.number}"
        self.store, self._note = open_store(folder, identity)
        try:
            self._stand_before_batch()
        except (OrionError, StoreTaken):
            self.store.close()
            raise
        except Exception:
            # Whatever is in it can't be made out: the next run makes it anew.
            self.store.discard()
            raise
        self.store.begin_reading()

    @property
    def is_done(self) -> bool:
        """Whether the batch was written by an earlier run: what it changed is in the state already."""
        slot = 0 if self._context.one_slot else self._task.number
        return dict(self._context.done).get(slot, -1) >= self._task.batch

    def _stand_before_batch(self) -> None:
        note, before = self._note, self._task.batch - 1
        follows = note.batch == before and note.run == self._context.run
        if self._changelog is None:
            self._stand_by_itself(note, before)
        elif follows:
            self._note = self._positioned(note, self._changelog)
            self.store.apply_pending(self._note)
        else:
            self._catch_up(self._changelog)

    def _stand_by_itself(self, note: StoreNote, before: int) -> None:
        """Without a changelog a batch that runs again finds the rows as they were before it."""
        if note.batch == before:
            self.store.apply_pending(note)
        elif note.batch != before + 1:
            raise ExternalError("STATE_LOST", "The state of a query that only lives here is gone.")

    def _positioned(self, note: StoreNote, log: Changelog) -> StoreNote:
        """With a position that is seen anew from time to time: until then everything is in the changelog."""
        now = round(time.time() * 1000)
        if now - note.positioned_ms < _POSITION_MS:
            return note
        end = committed_end(_kafka(self._context.bootstrap), log.topic, self._task.number)
        return note if end is None else replace(note, position=end, positioned_ms=now)

    def _catch_up(self, log: Changelog) -> None:
        kafka, number = _kafka(self._context.bootstrap), self._task.number
        reporter = RestoreReporter(self._context.folder, self._context.run, self._task.operator, number)
        now = round(time.time() * 1000)
        end = committed_end(kafka, log.topic, number, _OPEN_S)
        if end is None:
            raise ExternalError("CHANGELOG_OPEN", f"A transaction on {log.topic}/{number} doesn't end.", retry_after=1)
        note = self._note
        if note.position > end or now - note.positioned_ms > _FORGETS_MS:
            note = self._start_anew(note)
        reporter.begin(note.position, end)
        for position, records in read_changelog(kafka, log.topic, number, note.position, end):
            note = replace(note, position=position, positioned_ms=now, run="", batch=-1)
            self.store.restore(note, records)
            reporter.advance(position, len(records))
        # Nothing may be pending from here on, though nothing was read.
        self._note = replace(note, position=end, positioned_ms=now)
        self.store.restore(self._note, ())
        reporter.finish()

    def _start_anew(self, note: StoreNote) -> StoreNote:
        self.store.close()
        self.store, note = open_store(self.store.folder, "")
        return replace(note, identity=self._note.identity)

    def finish(self, changes: list[Change]) -> None:
        """Leave what the batch changed for the next one."""
        note = replace(self._note, run=self._context.run, batch=self._task.batch)
        self.store.set_pending(note, changes)

    def discard(self) -> None:
        self.store.discard()

    def close(self) -> None:
        self.store.close()


@cache
def _kafka(bootstrap: str) -> Kafka:
    """One client for administration a worker: it starts threads."""
    return Kafka(bootstrap)

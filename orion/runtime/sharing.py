"""Which jobs share a stream, and when: those that do the same work run as one stream once they have caught up.

A new statement runs by itself until it has read what there is; then it joins the others, which start anew for it. Those
that are to be started at the same time, as after a restart of the server, start as one from the beginning. One that
leaves, by a pause or by its end, ends the stream, and the others are due again at once.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack

import structlog

from orion.plan.sharing import SharedWork
from orion.runtime.gate import StartGate
from orion.runtime.jobs import Candidate, QueryJob
from orion.runtime.shared_projection import NotShareable
from orion.runtime.shared_stream import start_shared
from orion.runtime.states import State
from orion.runtime.supervised import Supervised

log = structlog.get_logger()

# Statements come one after the other, from a script: the others aren't started anew for each of them.
_QUIET_S, _PATIENCE_S = 3.0, 15.0
_LOOK_AGAIN_S = 2.0
_MOST = 50  # of one stream: what Spark compiles for it grows with each
_JOIN_THREADS = 8


class Sharing:
    """Looks at all jobs now and then, and has those start together that may."""

    def __init__(self, gate: StartGate, starters: Executor, closed: Callable[[], bool]) -> None:
        self._gate, self._starters, self._closed = gate, starters, closed
        self._busy: set[SharedWork] = set()
        self._not_before: dict[SharedWork, float] = defaultdict(float)

    def look(self, entries: Iterable[Supervised]) -> set[str]:
        """Begin what is to be begun. Gives the jobs that nobody else is to start."""
        by_work: dict[SharedWork, list[Supervised]] = defaultdict(list)
        for entry in entries:
            work = entry.shared_work
            if work is not None:
                by_work[work].append(entry)
        held: set[str] = set()
        for work, found in by_work.items():
            due = [entry for entry in found if entry.due]
            shared = [entry for entry in found if entry.run is not None and entry.run.is_shared]
            soon = any(entry.due_soon for entry in found)
            if work in self._busy or (due and not shared and (soon or len(due) > 1)):
                held |= {entry.job.id for entry in due}
            if work in self._busy or soon or any(entry.queued for entry in found):
                continue
            if len(due) > 1 and not shared:
                self._begin(work, due)
            elif not due:
                self._regroup(work, found, shared)
        return held

    def _regroup(self, work: SharedWork, found: Sequence[Supervised], shared: Sequence[Supervised]) -> None:
        """Have those that run by themselves join the others."""
        alone = [entry for entry in found if entry.runs_well and entry not in shared]
        ages = [entry.runs_for_s for entry in alone]
        calm = all(entry.state is not State.STARTING for entry in found) and min(ages, default=0.0) > _QUIET_S
        ripe = calm or max(ages, default=0.0) > _PATIENCE_S
        together = [*shared, *alone]
        if not alone or len(together) < 2 or not ripe or time.monotonic() < self._not_before[work]:
            return
        if all(entry.runs_well for entry in shared):
            self._begin(work, together)

    def _begin(self, work: SharedWork, entries: Sequence[Supervised]) -> None:
        name = f"shared {work.topic}"
        if not self._gate.admit(name):
            return
        self._busy.add(work)
        for entry in entries:
            entry.queued = True

        def start() -> None:
            try:
                if not self._closed():
                    self._start_together(entries)
            except Exception as error:
                log.warning("sharing", topic=work.topic, error=str(error))
            finally:
                self._not_before[work] = time.monotonic() + _LOOK_AGAIN_S
                for entry in entries:
                    entry.queued = False
                self._gate.leave(name)
                self._busy.discard(work)

        self._starters.submit(start)

    def _start_together(self, entries: Sequence[Supervised]) -> None:
        with ExitStack() as locks:
            # In one order, so that two of these never wait for each other.
            for entry in sorted(entries, key=lambda one: one.job.id):
                locks.enter_context(entry.lock)
            # Much may have happened to them since they were chosen.
            chosen = [entry for entry in entries if entry.due or (entry.runs_well and entry.shared_work is not None)]
            chosen = [e for e in chosen if e.run is None or e.run.is_shared or e.is_caught_up]
            if len(chosen) < 2 or all(e.run is not None and e.run.is_shared for e in chosen):
                return
            # In even parts: one that was left over would be alone.
            size = math.ceil(len(chosen) / math.ceil(len(chosen) / _MOST))
            for number in range(0, len(chosen), size):
                _start_as_one(chosen[number : number + size])


def _start_as_one(entries: Sequence[Supervised]) -> None:
    """End the runs of some jobs, and go on in one stream. Each that can't has its own way."""
    for entry in entries:
        entry.leave_stream()
    joined: list[tuple[Supervised, Candidate]] = []
    with ThreadPoolExecutor(_JOIN_THREADS, thread_name_prefix="orion-join") as pool:
        for entry, found in zip(entries, pool.map(_join, entries), strict=True):
            if isinstance(found, Candidate):
                joined.append((entry, found))
            else:
                entry.refuse_join(found)
    try:
        if len(joined) < 2:
            raise LookupError("there is nobody to share with")
        runs = start_shared([one for _, one in joined])
    except Exception as error:
        _part_company(joined, error)
        return
    for (entry, one), run in zip(joined, runs, strict=True):
        entry.adopt_run(run, one.start.positions)
    log.info("statements share a stream", queries=[entry.job.id for entry, _ in joined])


def _join(entry: Supervised) -> Candidate | Exception:
    assert isinstance(entry.job, QueryJob)
    try:
        return entry.job.join()
    except Exception as error:
        return error


def _part_company(joined: Sequence[tuple[Supervised, Candidate]], error: Exception) -> None:
    """No stream has come about: the one that is in the way starts by itself, or all do."""
    for entry, one in joined:
        one.start.run.close()
        if not isinstance(error, NotShareable) or error.query == entry.job.id:
            entry.stay_alone()
        entry.begin_anew()
    log.info("statements don't share a stream", queries=[e.job.id for e, _ in joined], reason=str(error))

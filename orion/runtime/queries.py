"""Running queries: each is one Spark stream, watched, restarted with back-off when it fails, stopped when told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import structlog

from orion.runtime.gate import StartGate
from orion.runtime.machine import Load, Machine
from orion.runtime.pacing import FindEnds, Paced, Pacer
from orion.runtime.progress import Progress
from orion.runtime.sharing import Sharing
from orion.runtime.states import Job as Job
from orion.runtime.states import QueryStatus as QueryStatus
from orion.runtime.states import State as State
from orion.runtime.supervised import Supervised

log = structlog.get_logger()

_LOOK_EVERY_S = 0.2
_TIDY_EVERY_S = 60.0


class Queries:
    """All that runs on this server."""

    def __init__(
        self,
        lag_of: Callable[[Progress], int | None],
        grace_s: float = 0.0,
        machine: Machine | None = None,
        gate: StartGate | None = None,
        tidy: Callable[[], object] = lambda: None,
        find_ends: FindEnds | None = None,
    ) -> None:
        """`find_ends` tells where topics end; without it streams look by themselves. `tidy` is done each minute: what
        Spark leaves behind by running jobs is put away there."""
        self._lag_of, self._grace_s, self._tidy = lag_of, grace_s, tidy
        self._tidy_at = time.monotonic() + _TIDY_EVERY_S
        self.machine = machine or Machine()
        self._gate = gate or StartGate(lambda: self.machine.starved)
        self._running: dict[str, Supervised] = {}
        self._restored: dict[str, Supervised] = {}
        self._closed = threading.Event()
        self._starters = ThreadPoolExecutor(self._gate.width, thread_name_prefix="orion-start")
        self._sharing = Sharing(self._gate, self._starters, self._closed.is_set)
        self._pacer = Pacer(find_ends, self._list_paced) if find_ends is not None else None
        self._thread = threading.Thread(target=self._watch, name="orion-supervisor", daemon=True)
        self._thread.start()

    def start(self, job: Job, *, paused: bool = False, new: bool = True) -> None:
        """Start a job, `new` or one that goes on. What fails at once is raised, and the job isn't kept."""
        entry = Supervised(job, self._lag_of, gate=self._gate, new=new)
        if paused:
            entry.state = State.PAUSED
        else:
            entry.start()
        self._running[job.id] = entry

    def restore(self, job: Job, *, paused: bool, outside: bool = False) -> None:
        """Have a job started that the journal knows, in its turn. What fails is shown as its state, and tried again.

        One that works with another system (`outside`) has its turn first: its first batch takes the longest.
        """
        state = State.PAUSED if paused else State.STARTING
        entry = Supervised(job, self._lag_of, state=state, gate=self._gate, outside=outside)
        self._running[job.id] = entry
        self._restored[job.id] = entry

    @property
    def restored(self) -> tuple[int, int]:
        """How many of the jobs that the journal knows are back, in whatever state, and how many there are."""
        known = list(self._restored.values())
        return sum(entry.state is not State.STARTING for entry in known), len(known)

    @property
    def load(self) -> Load | None:
        """How much of the machine's time is wanted, and how much there is; None: it isn't known."""
        return self.machine.load

    def pause(self, job_id: str) -> None:
        """Answers when nothing is written any more."""
        entry = self._running[job_id]
        if entry.state not in (State.ERROR, State.PAUSED):
            entry.pause(self._grace_s)

    def resume(self, job_id: str) -> None:
        entry = self._running[job_id]
        if entry.state in (State.PAUSED, State.ERROR) or entry.warned:
            with entry.lock:
                entry.stop(State.PAUSED)
                entry.start(accept=True)
        elif entry.run is None:
            entry.retry_now()

    def restart(self, job_id: str, job: Job | None = None) -> None:
        """Stop a job and start it again, or another in its place. What fails is shown as its state, and tried again."""
        entry = self._running[job_id]
        with entry.lock:
            entry.stop(State.RESTARTING)
            entry.job = job or entry.job
            entry.look()  # by itself: whoever asks for it wants to see what came of it

    def exchange(self, job: Job) -> None:
        """Stop a job and have another one of its id started, in its turn. Answers when the old one writes nothing any
        more; what fails is shown as its state, and tried again."""
        self._running[job.id].exchange(job, self._grace_s)

    def remove(self, job_id: str, *, keep: bool = False) -> None:
        """Stop for good: the checkpoint goes too, unless another job is to go on from it."""
        entry = self._running.pop(job_id, None)
        self._restored.pop(job_id, None)
        if entry is not None:
            entry.stop(State.PAUSED)
            if not keep:
                entry.job.forget()

    def statuses(self) -> list[QueryStatus]:
        return [entry.status() for entry in list(self._running.values())]

    def get(self, job_id: str) -> Supervised | None:
        return self._running.get(job_id)

    def close(self, grace_s: float = 0.0) -> None:
        """Stop everything; batches that are under way have `grace_s` seconds to end."""
        self._closed.set()
        self._thread.join(timeout=10)
        if self._pacer is not None:
            self._pacer.close()
        self._starters.shutdown(wait=True, cancel_futures=True)
        until = time.monotonic() + grace_s
        while sum(not entry.drain() for entry in self._running.values()) and time.monotonic() < until:
            time.sleep(0.05)
        for entry in self._running.values():
            try:
                entry.stop(State.PAUSED)
            except Exception as error:  # one that can't be stopped doesn't keep the others running
                log.warning("stopping", query=entry.job.id, error=str(error))

    def _list_paced(self) -> Iterator[Paced]:
        """The streams that are to be woken when they have something to read."""
        for entry in list(self._running.values()):
            run, progress = entry.run, entry.progress
            if run is None or run.pace is None or entry.state is State.PAUSING:
                continue
            topics = {t.topic: max(t.partitions, len(progress.offsets.get(t.topic, {}))) for t in run.inputs.topics}
            yield Paced(run.pace, topics, progress.offsets, progress.durations.get("triggerExecution", 0))

    def _watch(self) -> None:
        while not self._closed.wait(_LOOK_EVERY_S):
            self.machine.look()
            if time.monotonic() >= self._tidy_at:
                self._tidy_at = time.monotonic() + _TIDY_EVERY_S
                self._tidy()
            entries = sorted(self._running.values(), key=lambda entry: not entry.outside)
            held = self._sharing.look(entries)
            for entry in entries:
                if entry.due:
                    if entry.job.id not in held:
                        self._start_in_turn(entry)
                elif entry.lock.acquire(blocking=False):  # one that is being started or stopped keeps nobody waiting
                    try:
                        self._look_at(entry)
                    finally:
                        entry.lock.release()

    def _start_in_turn(self, entry: Supervised) -> None:
        """Have a thread start a job that is due, if the gate lets it."""
        if not entry.queued and self._gate.admit(entry.job.id, outside=entry.outside):
            entry.queued = True
            self._starters.submit(self._start_queued, entry)

    def _start_queued(self, entry: Supervised) -> None:
        try:
            if not self._closed.is_set():
                self._look_at(entry)
        finally:
            entry.queued = False

    def _look_at(self, entry: Supervised) -> None:
        try:
            entry.look()
        except Exception as error:
            log.warning("supervisor", query=entry.job.id, error=str(error))

"""The states that a job goes through, and how it is doing at one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from orion.plan.sharing import SharedWork
from orion.runtime.failures import Failure
from orion.runtime.restoring import RestoreStatus
from orion.runtime.runs import Run


class State(StrEnum):
    STARTING = "STARTING"
    RESTORING = "RESTORING"  # its tasks read their state from its changelogs: nothing comes out until they have it
    RUNNING = "RUNNING"
    PAUSING = "PAUSING"  # until the batch under way has ended
    PAUSED = "PAUSED"
    RESTARTING = "RESTARTING"  # it has failed, and is tried again
    FAILING = "FAILING"  # it has failed again and again, and is still tried again
    WAITING = "WAITING"  # for something that another system will tell
    ERROR = "ERROR"  # it has stopped: somebody has to decide


# What ksqlDB's API calls a query's status. It knows no more than these, and its clients refuse other words.
KSQL_STATUS = {
    State.STARTING: "RUNNING",
    State.RESTORING: "RUNNING",
    State.RUNNING: "RUNNING",
    State.PAUSING: "RUNNING",
    State.PAUSED: "PAUSED",
    State.RESTARTING: "ERROR",
    State.FAILING: "ERROR",
    State.WAITING: "UNRESPONSIVE",
    State.ERROR: "ERROR",
}


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """How a query or a sink is doing, at one moment. Counts are since this server started it; None: it isn't known."""

    id: str
    sink: str
    state: str
    rows_in: int
    rows_out: int
    dead_letters: int
    lag: int | None
    rate: float | None  # rows a second over its last batches
    error: str | None  # what keeps it from running, or did when it was tried last
    batches: int = 0
    restarts: int = 0
    group: str | None = None  # the consumer group that shows how far it is
    freshness_ms: int | None = None  # from the newest event's time to when its result could be read
    warning: str | None = None
    late: int = 0
    failures: tuple[Failure, ...] = ()  # the last ones, the newest at the end; they stay when it has recovered
    restarted_at: tuple[float, ...] = ()  # seconds since 1970, of the last restarts
    running_since: float | None = None  # of the run at hand; None: there is none
    next_try_at: float | None = None  # of a job that has failed, or waits; None: it isn't tried again by itself
    restore: RestoreStatus | None = None  # of the run at hand; None: it keeps no state, or doesn't run
    shares_with: tuple[str, ...] = ()  # the other jobs of the stream that it runs in

    @property
    def well(self) -> bool:
        """Whether it does what it is meant to do, as far as that is known: one that starts may yet fail."""
        return self.state in (State.RUNNING, State.PAUSING, State.PAUSED) and self.error is None

    @property
    def last_failure(self) -> Failure | None:
        return self.failures[-1] if self.failures else None


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
    def shared_work(self) -> SharedWork | None:
        """What others need to have in common with it to run in one stream; None: it always has its own."""
        ...

    def start(self, on_written: Callable[[Counter[str]], None], *, new: bool, accept: bool) -> Run:
        """Start the stream. `new`: for the first time. `accept`: go on over what may be accepted, such as a gap."""
        ...

    def forget(self) -> None:
        """Remove its checkpoint, and whatever else it keeps: it won't start again."""
        ...

    def learn(self, error: str) -> bool:
        """Whether an error was a question, and is answered now; raises ExternalError while there is no answer."""
        ...

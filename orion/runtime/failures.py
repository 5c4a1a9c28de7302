"""What went wrong with a job and when, and whether it goes wrong again and again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

KEPT = 20
_RECENT_S = 600.0
_OFTEN = 3  # failures in that time: once may be chance, twice what it left behind
_SHORTEST_PROOF_S, _LONGEST_PROOF_S = 5.0, 300.0

# What Spark says when a Python worker has no time to come up: it gives one that has to connect ten seconds.
_WORKER_LATE = ("failed to connect back", "waiting for the Python worker", "Python daemon failed to launch")
WORKER_GONE = "Python worker exited unexpectedly"


class Cause(StrEnum):
    """Why a run ended, as far as its error tells."""

    STARVED = "STARVED"  # the machine has too little time for all that runs on it
    WORKER_GONE = "WORKER_GONE"  # a Python worker has ended by itself, or was ended by the system
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    OTHER_SYSTEM = "OTHER_SYSTEM"  # Kafka, a registry, a store: it didn't answer
    STATEMENT = "STATEMENT"  # what the statement itself does to the rows it reads


def cause_of(text: str) -> Cause:
    """The cause that an error's whole text tells of."""
    if any(mark in text for mark in _WORKER_LATE):
        return Cause.STARVED
    if "OutOfMemoryError" in text or "MemoryError" in text:
        return Cause.OUT_OF_MEMORY
    if WORKER_GONE in text:
        return Cause.WORKER_GONE
    if any(mark in text for mark in ("TimeoutException", "KafkaException", "_TRANSPORT", "_TIMED_OUT", "ConnectError")):
        return Cause.OTHER_SYSTEM
    return Cause.STATEMENT


@dataclass(frozen=True, slots=True)
class Failure:
    """The end of one run, or a start that didn't come about."""

    at: float  # seconds since 1970
    error: str
    cause: Cause


@dataclass
class FailureHistory:
    """The last failures of a job, and when it was started again."""

    failures: deque[Failure] = field(default_factory=lambda: deque(maxlen=KEPT))
    restarts: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))

    def note(self, failure: Failure) -> None:
        self.failures.append(failure)

    @property
    def last(self) -> Failure | None:
        return self.failures[-1] if self.failures else None

    @property
    def failed_since_restart(self) -> bool:
        """Whether it was started again after the last failure that is noted: if it doesn't run, that is another one."""
        return self.last is not None and bool(self.restarts) and self.restarts[-1] >= self.last.at

    def persists(self, now: float, began: float | None) -> bool:
        """Whether it fails again and again, and the run that began then (None: there is none) hasn't shown otherwise.

        It shows so by lasting twice as long as what lay between two failures: one that fails each minute and a half is
        failing, however well it looks a minute after each start.
        """
        recent = [one.at for one in self.failures if now - one.at <= _RECENT_S]
        if len(recent) < _OFTEN:
            return False
        if began is None:
            return True
        apart = max(later - earlier for earlier, later in pairwise(recent))
        return now - began < min(_LONGEST_PROOF_S, max(_SHORTEST_PROOF_S, 2 * apart))

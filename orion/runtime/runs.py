"""One run of a job: from one start of its stream to its end.

A run is a member of the job's group for as long as it lives, and its batches pass through here before they write: only
a run that nobody has taken the place of lets them in, and none is let in any more once the server is about to stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql.streaming.query import StreamingQuery

from orion.errors import Conflict
from orion.hub.membership import Membership, taken_over
from orion.hub.transactions import Intolerable
from orion.plan.tolerance import PROPERTY, stopped
from orion.runtime.checkpoint import Checkpoint
from orion.runtime.inputs import Inputs, Watch

_DRAINED = "the server is stopping: this batch is left for its next start"


@dataclass(frozen=True, slots=True)
class Admission:
    """A batch's leave to write, and which of its slots have written it already, in the run before."""

    membership: bytes
    done: frozenset[int]


_NO_INPUTS = Inputs("", ())


@dataclass
class Run:
    membership: Membership
    slots: int
    checkpoint: Checkpoint
    watch: Watch
    inputs: Inputs = _NO_INPUTS
    stream: StreamingQuery | None = None
    warning: str | None = None  # what is odd about its topics, and doesn't stop it
    endless: bool = False  # a batch runs until its time is up, whatever there is to do: nobody waits for its end
    _fresh: bool = True  # its first batch may have been written before
    _draining: bool = False
    _ended_by: Conflict | None = None

    def admit(self, batch: int) -> Admission:
        """Let a batch in, or raise."""
        if self._draining:
            raise Drained(_DRAINED)
        try:
            credentials = self.membership.credentials()
            written = self.membership.written(self.slots) if self._fresh else {}
        except Conflict as error:
            raise self.stopped_by(error) from None
        return Admission(credentials, frozenset(slot for slot, last in written.items() if last >= batch))

    def went_through(self) -> None:
        """A batch is written: the next one of this run was never tried before."""
        self._fresh = False

    def look(self) -> None:
        """Stay a member, and see to its topics; raises Conflict when it must not go on."""
        self.membership.look()
        # What a batch under way has yet to read isn't judged: if it is gone, that batch will say so.
        found = self.watch.look(self.inputs, lambda: self.checkpoint.ahead)
        if found is not None and found.fatal:
            raise Conflict(found.code, found.message, hint=found.hint)
        self.warning = f"{found.message} {found.hint}" if found is not None else None

    def reached(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        self.membership.reached(offsets)

    def verdict(self, failure: BaseException | None) -> Conflict | None:
        """What ended the run, where trying again won't help."""
        if self._ended_by is not None:
            return self._ended_by
        text = str(failure or "")
        lost = taken_over(self.membership.group)
        if lost.message in text:
            return lost
        if Intolerable.MARK in text:
            told = text.split(f"{Intolerable.MARK}: ", 1)[1].splitlines()[0]
            return not_tolerated(f"'{PROPERTY}' is none", told)
        return None

    def stopped_by(self, error: Conflict) -> Conflict:
        """Remember what ends the run, to be raised; what Spark makes of it is a text."""
        self._ended_by = error
        return error

    def drain(self) -> None:
        """Let the batch under way end, and no other begin."""
        self._draining = True

    @property
    def idle(self) -> bool:
        if self.endless or self.stream is None:
            return True
        return not self.stream.isActive or not self.stream.status["isTriggerActive"]

    def close(self) -> None:
        self.membership.close()


def not_tolerated(why: str, letter: str) -> Conflict:
    return Conflict("NOT_TOLERATED", f"{stopped(why, letter)}.")


class Drained(Exception):
    """The batch came after the end."""

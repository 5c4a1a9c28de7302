"""How everything is doing, now and over the last minutes: one look at a time, remembered for whoever looks next."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from orion.app import Orion
from orion.errors import OrionError
from orion.runtime.queries import QueryStatus

KEPT = 450  # a quarter of an hour of looks
_OVER_S = 12.0  # what a speed is measured over: batches come seconds apart
_LONGEST_GAP_S = 30.0  # after a longer one, what was before tells nothing about how fast it goes now


@dataclass(frozen=True, slots=True)
class Job:
    """A query or a connector's task with how fast it goes: rows a second over the last looks."""

    status: QueryStatus
    connector: str | None = None  # whose task it is
    rate_in: float = 0.0
    rate_out: float = 0.0
    letters: float = 0.0  # dead letters a second


@dataclass(frozen=True, slots=True)
class Reading:
    """One look: jobs by id, and where each topic of the catalog ends."""

    at: float = 0.0
    jobs: Mapping[str, Job] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    topic_rates: Mapping[str, float] = field(default_factory=dict)
    trouble: OrionError | None = None  # Kafka doesn't answer

    @property
    def lag(self) -> int | None:
        """All that is there and not read yet; None where nothing is known."""
        known = [j.status.lag for j in self.jobs.values() if j.status.lag is not None]
        return sum(known) if known else None

    @property
    def rate_in(self) -> float:
        return sum(j.rate_in for j in self.jobs.values())

    @property
    def rate_out(self) -> float:
        return sum(j.rate_out for j in self.jobs.values())

    @property
    def letters(self) -> int:
        return sum(j.status.dead_letters for j in self.jobs.values())


class Pulse:
    """The looks of the last minutes."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kept: deque[Reading] = deque(maxlen=KEPT)
        self._lock = threading.Lock()

    def take(self, orion: Orion) -> Reading:
        """Look, remember, and tell."""
        statuses, owners = _running(orion)
        topics = {s.topic for s in orion.engine.catalog.sources.values()}
        try:
            ends = {topic: sum(at.values()) for topic, at in orion.kafka.ends_of(topics).items()}
            trouble = None
        except OrionError as error:
            ends, trouble = {}, error
        return self.note(statuses, ends, trouble, owners)

    def note(
        self,
        statuses: Iterable[QueryStatus],
        ends: Mapping[str, int],
        trouble: OrionError | None = None,
        owners: Mapping[str, str] | None = None,
    ) -> Reading:
        now = self._clock()
        with self._lock:
            before = self._earlier(now)
            passed = now - before.at if before else 0.0
            reading = Reading(
                now,
                MappingProxyType({s.id: _job(s, (owners or {}).get(s.id), before, passed) for s in statuses}),
                MappingProxyType(dict(ends)),
                MappingProxyType({topic: _topic_rate(topic, end, before, passed) for topic, end in ends.items()}),
                trouble,
            )
            self._kept.append(reading)
            return reading

    def _earlier(self, now: float) -> Reading | None:
        """The look to measure from: the oldest that is recent, with no gap between."""
        if not self._kept or now - self._kept[-1].at > _LONGEST_GAP_S:
            return None
        recent = [reading for reading in self._kept if now - reading.at <= _OVER_S]
        return recent[0] if recent else self._kept[-1]

    @property
    def last(self) -> Reading:
        with self._lock:
            return self._kept[-1] if self._kept else Reading()

    def history(self) -> list[Reading]:
        with self._lock:
            return list(self._kept)

    def series(self, of: Callable[[Reading], float | None]) -> list[tuple[int, float | None]]:
        """Something over time: milliseconds and values, with a hole where nobody looked."""
        found: list[tuple[int, float | None]] = []
        before = 0.0
        for reading in self.history():
            if before and reading.at - before > _LONGEST_GAP_S:
                found.append((round(before * 1000) + 1, None))
            found.append((round(reading.at * 1000), of(reading)))
            before = reading.at
        return found


def _running(orion: Orion) -> tuple[list[QueryStatus], dict[str, str]]:
    """All that runs, and which of it is a task of which connector; captures of databases run elsewhere."""
    statuses, owners = list(orion.queries()), {}
    there = {status.id for status in statuses}
    for name in orion.engine.catalog.connectors:
        for task in orion.engine.connectors.tasks(name):
            owners[task.status.id] = name
            if task.status.id not in there:
                statuses.append(task.status)
    return statuses, owners


def _job(status: QueryStatus, connector: str | None, before: Reading | None, passed: float) -> Job:
    known = before.jobs.get(status.id) if before else None
    if known is None or passed <= 0:
        return Job(status, connector)

    def speed(now: int, then: int) -> float:
        # A query that was started again counts from 0.
        return max(0, now - then) / passed

    was = known.status
    return Job(
        status,
        connector,
        speed(status.rows_in, was.rows_in),
        speed(status.rows_out, was.rows_out),
        speed(status.dead_letters, was.dead_letters),
    )


def _topic_rate(topic: str, end: int, before: Reading | None, passed: float) -> float:
    if before is None or topic not in before.ends or passed <= 0:
        return 0.0
    return max(0, end - before.ends[topic]) / passed

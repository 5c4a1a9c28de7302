"""How everything is doing, now and over the last minutes: one look at a time, remembered for whoever looks next."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

from orion.app import Orion
from orion.errors import OrionError
from orion.plan.sources import Direction
from orion.runtime.connectors import CAPTURE
from orion.runtime.machine import Load
from orion.runtime.states import QueryStatus
from orion.serving.feed import TableStatus

KEPT = 450  # a quarter of an hour of looks
_OVER_S = 12.0  # what a speed is measured over, and over several batches where these take longer
_LONGEST_GAP_S = 30.0  # after a longer one, what was before tells nothing about how fast it goes now
_TABLES_S = 8.0
_FAR_S = 150.0  # how far back it is looked for the batches before
QUERY, SINK, FEED, CAPTURED = "query", "sink", "feed", "capture"
_GOING = ("RUNNING", "PAUSING")


@dataclass(frozen=True, slots=True)
class Job:
    """A query or a connector's task with how fast it goes: rows a second; None: it isn't known."""

    status: QueryStatus
    connector: str | None = None  # whose task it is
    rate_in: float | None = None
    rate_out: float | None = None
    letters: float | None = None  # dead letters a second
    kind: str = QUERY  # or SINK, FEED, CAPTURED

    @property
    def has_lag(self) -> bool:
        """Whether it reads a topic, and so can be behind."""
        return self.kind in (QUERY, SINK)

    @property
    def is_measured(self) -> bool:
        """A capture is run by Kafka Connect, which tells nothing of rows."""
        return self.kind != CAPTURED

    @property
    def is_going(self) -> bool:
        return self.status.state in _GOING


@dataclass(frozen=True, slots=True)
class Reading:
    """One look: jobs by id, tables that answer, and where each topic of the catalog ends."""

    at: float = 0.0
    jobs: Mapping[str, Job] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    topic_rates: Mapping[str, float | None] = field(default_factory=dict)
    trouble: OrionError | None = None  # Kafka doesn't answer
    around: Around = field(default_factory=lambda: Around())

    @property
    def lag(self) -> int | None:
        """All that is there and not read yet; one that isn't known makes the sum unknown."""
        resting = ("PAUSED", "STOPPED")  # of one that was paused before it told anything, nothing is expected either
        jobs = (job.status for job in self.jobs.values() if job.has_lag)
        known = sum_known(status.lag for status in jobs if status.lag is not None or status.state not in resting)
        return None if known is None else round(known)

    @property
    def rate_in(self) -> float | None:
        return sum_known(job.rate_in for job in self.jobs.values() if job.is_measured)

    @property
    def rate_out(self) -> float | None:
        return sum_known(job.rate_out for job in self.jobs.values() if job.is_measured)

    @property
    def letters(self) -> int:
        return sum(j.status.dead_letters for j in self.jobs.values())


@dataclass(frozen=True, slots=True)
class Around:
    """What a look sees beside jobs and topics."""

    owners: Mapping[str, str] = field(default_factory=dict)  # which task is which connector's
    kinds: Mapping[str, str] = field(default_factory=dict)  # and of which kind it is
    absent: tuple[tuple[str, str], ...] = ()  # what the catalog has and nothing runs for: its page, its name
    tables: Mapping[str, TableStatus] = field(default_factory=dict)
    restored: tuple[int, int] = (0, 0)  # how many statements are back since the server's start, and of how many
    load: Load | None = None  # of the machine


def worst_state(states: Collection[str]) -> str:
    """What the states of several jobs come to."""
    bad, going = ("ERROR", "FAILING", "RESTARTING", "WAITING"), ("STARTING", "RESTORING", "PAUSING", "RUNNING")
    order = (*bad, *going, "PAUSED", "STOPPED")
    return next((state for state in order if state in states), next(iter(states), "UNKNOWN"))


def sum_known(values: Iterable[float | None]) -> float | None:
    """The sum; None where a part of it isn't known, or there is none."""
    known: list[float] = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return sum(known) if known else None


class Pulse:
    """The looks of the last minutes."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kept: deque[Reading] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self._tables: tuple[float, Mapping[str, TableStatus]] = (0.0, {})

    def take(self, orion: Orion) -> Reading:
        """Look, remember, and tell."""
        statuses, around = _running(orion, self._tables_of(orion))
        topics = {s.topic for s in orion.engine.catalog.sources.values()}
        try:
            ends = {topic: sum(at.values()) for topic, at in orion.kafka.ends_of(topics).items()}
            trouble = None
        except OrionError as error:
            ends, trouble = {}, error
        return self.note(statuses, ends, trouble, around)

    def _tables_of(self, orion: Orion) -> Mapping[str, TableStatus]:
        """How tables are doing: it takes a question to Kafka and one to DuckDB each, so less often than the rest."""
        at, known = self._tables
        now = self._clock()
        if orion.tables is not None and now - at > _TABLES_S:
            known = {status.name: status for status in orion.tables.statuses()}
            self._tables = (now, known)
        return known

    def note(
        self,
        statuses: Iterable[QueryStatus],
        ends: Mapping[str, int],
        trouble: OrionError | None = None,
        around: Around | None = None,
    ) -> Reading:
        now, seen = self._clock(), around or Around()
        with self._lock:
            before = self._earlier(now)
            passed = now - before.at if before else 0.0
            recent = self._recent(now)
            reading = Reading(
                now,
                MappingProxyType({s.id: _job(s, seen, recent, now) for s in statuses}),
                MappingProxyType(dict(ends)),
                MappingProxyType({topic: _topic_rate(topic, end, before, passed) for topic, end in ends.items()}),
                trouble,
                seen,
            )
            self._kept.append(reading)
            return reading

    def _recent(self, now: float) -> list[Reading]:
        """The looks with no gap between them and now, the oldest first."""
        found: list[Reading] = []
        for reading in reversed(self._kept):
            gap = (found[-1].at if found else now) - reading.at
            if gap > _LONGEST_GAP_S or now - reading.at > _FAR_S:
                break
            found.append(reading)
        return found[::-1]

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


def _running(orion: Orion, tables: Mapping[str, TableStatus]) -> tuple[list[QueryStatus], Around]:
    """All that runs, and which of it is a task of which connector; captures of databases run elsewhere."""
    engine = orion.engine
    statuses, owners, kinds, idle = list(orion.queries()), {}, {}, []
    there = {status.id for status in statuses}
    for name, connector in engine.catalog.connectors.items():
        kind = CAPTURED if connector.plugin == CAPTURE else SINK if connector.direction is Direction.SINK else FEED
        tasks = engine.connectors.tasks(name)
        idle += [] if tasks else [("connectors", name)]
        for task in tasks:
            owners[task.status.id], kinds[task.status.id] = name, kind
            if task.status.id not in there:
                statuses.append(task.status)
    absent = (*(("queries", name) for name in engine.catalog.queries if name not in there), *idle)
    return statuses, Around(owners, kinds, absent, tables, engine.restored, engine.load)


def _job(status: QueryStatus, seen: Around, recent: list[Reading], now: float) -> Job:
    """How fast rows come out is measured here; how fast they are read, the engine knows by its batches."""
    past = [(reading.at, reading.jobs[status.id].status) for reading in recent if status.id in reading.jobs]
    steps = _steps([*past, (now, status)])
    out = _speed([(at, float(one.rows_out)) for at, one in steps], now, status)
    letters = _speed([(at, float(one.dead_letters)) for at, one in steps], now, status)
    kind = seen.kinds.get(status.id, QUERY)
    rate_in = status.rate
    if kind in (QUERY, SINK) and status.rate == 0 and status.lag != 0 and status.state in _GOING:
        # Between batches nothing comes, and where records wait that says nothing about how fast it goes.
        rate_in, out = None, out or None
    return Job(status, seen.owners.get(status.id), rate_in, out, letters, kind)


def _steps(looks: list[tuple[float, QueryStatus]]) -> list[tuple[float, QueryStatus]]:
    """The first look, and those that saw something new: rows come all at once at the end of a batch."""
    found = looks[:1]
    for at, status in looks[1:]:
        if _counts(status) != _counts(found[-1][1]):
            # One that was started again counts from 0.
            found = [*found, (at, status)] if status.rows_out >= found[-1][1].rows_out else [(at, status)]
    return found


def _counts(status: QueryStatus) -> tuple[int, int, int]:
    return status.batches, status.rows_in, status.rows_out


def _speed(steps: list[tuple[float, float]], now: float, status: QueryStatus) -> float | None:
    if status.rate is None or status.state == "PAUSED":
        return status.rate  # nothing is known of it, or it rests
    if len(steps) < 2:
        return _speed_at_rest(steps[0][0], now, status)
    longest = max(later[0] - earlier[0] for earlier, later in pairwise(steps))
    over = max(_OVER_S, 3 * longest)
    within = [step for step in steps if now - step[0] <= over]
    if not within:
        return _speed_at_rest(steps[-1][0], now, status)
    first = steps[max(0, len(steps) - len(within) - 1)]
    last = within[-1]
    if first is last:
        return _speed_at_rest(last[0], now, status)
    until = last[0] if now - last[0] <= longest else now
    return max(0.0, last[1] - first[1]) / (until - first[0])


def _speed_at_rest(since: float, now: float, status: QueryStatus) -> float | None:
    """No rows for a while are none a second; before that, the batch under way may bring some."""
    return 0.0 if status.rate == 0 and now - since >= _OVER_S else None


def _topic_rate(topic: str, end: int, before: Reading | None, passed: float) -> float | None:
    if before is None or topic not in before.ends or passed <= 0:
        return None
    return max(0, end - before.ends[topic]) / passed

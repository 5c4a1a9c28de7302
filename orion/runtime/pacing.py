"""When streams begin their next batches: when there is something to read, and not oftener than freshness asks for.

By itself a stream of Spark's asks several times a second where its topics end. Here one look tells for all of them, and
wakes those that have something to read; at rest nothing else happens. A stream whose batches take long has fewer and
larger ones, up to the freshness that is aimed at, so that a busy machine gets on instead of falling behind.

To be woken, a stream has its trigger's clock replaced by one that stands still until it is set. The clock that batches
are timed by is another, and stays.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from orion.errors import OrionError
from orion.runtime.machine import available_cores
from orion.runtime.progress import Offsets

log = structlog.get_logger()

_BUSY_S, _RESTING_S = 0.04, 0.2  # from one look to the next, and where nothing has come for a while
_RESTS_AFTER_S = 3.0
# A stream is woken now and then whatever the look says: it might have missed something.
_AT_LEAST_EVERY_S = 30.0
_AT_WORK_S = 10.0  # a stream is that was woken since then
_SETTLED_S = 2.0  # after that a batch is over, and told of
# How much of the time a stream may be at work, as long as its results are fresh.
_SHARE = 3
_CLOCK = "clock"  # the field of Spark's ProcessingTimeExecutor

# Where partitions end, by topic, of topics that have so many partitions.
FindEnds = Callable[[Mapping[str, int]], Offsets]


@dataclass
class StreamPace:
    """When one stream is woken."""

    stream: StreamingQuery
    spark: SparkSession
    trigger_ms: int
    freshness_ms: int
    is_stopped: bool = field(default=False, init=False)  # it is about to end: no batch begins any more
    woken_at: float = field(default=float("-inf"), init=False)
    _clock: Any = field(default=None, init=False)
    _ends: Offsets = field(default_factory=dict, init=False)

    @property
    def is_held(self) -> bool:
        """Whether the stream waits to be woken; it may be too early to hold it."""
        if self._clock is None:
            with suppress(Py4JError, ConnectionError):
                self._hold()
        return self._clock is not None

    def is_due(self, ends: Offsets, reached: Iterable[Offsets], interval_ms: float, now: float) -> bool:
        """Whether it is to be woken. `reached`: where its statements stand."""
        waited_ms = (now - self.woken_at) * 1000
        if waited_ms < interval_ms:
            return False
        if ends != self._ends or waited_ms > _AT_LEAST_EVERY_S * 1000:
            return True
        return any(_is_behind(ends, one) for one in reached)

    def has_rested(self, now: float, took_ms: int) -> bool:
        """Whether it has had nothing to do for a while."""
        return self._clock is not None and now - self.woken_at > _SETTLED_S + took_ms / 1000

    def wake(self, ends: Offsets, now: float) -> None:
        self.woken_at, self._ends = now, ends
        with suppress(Py4JError, ConnectionError):  # it has ended
            self._clock.setTime(max(time.time_ns() // 1_000_000, self._clock.getTimeMillis() + self.trigger_ms))

    def interval_ms(self, took_ms: int, crowd_ms: float) -> float:
        """From one batch to the next. `took_ms`: the last batch; `crowd_ms`: how long the machine has to do with one
        batch of each stream."""
        return max(self.trigger_ms, min(_SHARE * took_ms, self.freshness_ms - took_ms), crowd_ms)

    def _hold(self) -> None:
        spark: Any = self.stream._jsq
        executor = spark.streamingQuery().triggerExecutor()
        if executor is None:  # it hasn't come so far yet
            return
        jvm: Any = self.spark._jvm
        clock = jvm.org.apache.spark.util.ManualClock(time.time_ns() // 1_000_000)
        found = executor.getClass().getDeclaredField(_CLOCK)
        found.setAccessible(True)
        found.set(executor, clock)
        self._clock = clock


def _is_behind(ends: Offsets, reached: Offsets) -> bool:
    return any(
        end > reached.get(topic, {}).get(part, 0) for topic, parts in ends.items() for part, end in parts.items()
    )


@dataclass(frozen=True)
class Paced:
    """A stream at one moment, as its supervisor knows it."""

    pace: StreamPace
    topics: Mapping[str, int]  # how many partitions each has
    reached: Offsets
    took_ms: int


class Pacer:
    """A thread that wakes streams."""

    def __init__(self, find_ends: FindEnds, streams: Callable[[], Iterable[Paced]]) -> None:
        self._find_ends, self._streams, self._cores = find_ends, streams, available_cores()
        self._closed = threading.Event()
        self._came_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="orion-pacer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._closed.wait(_BUSY_S if time.monotonic() < self._came_at + _RESTS_AFTER_S else _RESTING_S):
            try:
                self.look()
            except Exception as error:  # the next look may do better
                log.warning("pacer", error=str(error))

    def look(self) -> None:
        """Wake who has something to read."""
        by_stream: dict[int, list[Paced]] = {}
        for one in self._streams():
            by_stream.setdefault(id(one.pace), []).append(one)
        held = {
            key: found for key, found in by_stream.items() if not found[0].pace.is_stopped and found[0].pace.is_held
        }
        topics: dict[str, int] = {}
        for one in (one for found in held.values() for one in found):
            for topic, partitions in one.topics.items():
                topics[topic] = max(partitions, topics.get(topic, 0))
        if not topics:
            return
        try:
            ends: Offsets | None = self._find_ends(topics)
        except OrionError:
            ends = None  # it isn't known: as without a look, each is woken at its intervals
        crowd_ms = self._measure_crowd([found[0] for found in held.values()])
        for found in held.values():
            self._wake(found, ends, crowd_ms)

    def _measure_crowd(self, streams: Iterable[Paced]) -> float:
        """How long a round takes in which each stream that has something to do makes a batch. Where streams take the
        processors from each other, none of them is to come oftener: the others would get ever older."""
        since = time.monotonic() - _AT_WORK_S
        return sum(one.took_ms for one in streams if one.pace.woken_at > since) / self._cores

    def _wake(self, found: list[Paced], ends: Offsets | None, crowd_ms: float) -> None:
        pace, now = found[0].pace, time.monotonic()
        interval_ms = pace.interval_ms(max(one.took_ms for one in found), crowd_ms)
        mine = {topic: (ends or {}).get(topic, {}) for topic in found[0].topics}
        unknown = ends is None or any(not parts for parts in mine.values())
        reached = [{}] if unknown else [one.reached for one in found]
        if pace.is_due({"": {0: 1}} if unknown else mine, reached, interval_ms, now):
            pace.wake(mine, now)
            self._came_at = now

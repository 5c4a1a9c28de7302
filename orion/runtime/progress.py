"""What a streaming query has read, from the reports Spark gives after each batch."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Offsets = dict[str, dict[int, int]]
# The name of what a lane has a batch count, in Spark's reports.
WRITTEN = "written"
# A rate is measured over this long, and over several batches where these take longer.
_RATE_OVER_S = 10.0
_RATE_BATCHES = 3


@dataclass(frozen=True, slots=True)
class Batch:
    """When a batch began and ended, in seconds since 1970, and how many rows it read."""

    began: float
    ended: float
    rows: int


@dataclass
class Progress:
    """Totals since this server started the query; offsets are where it stands."""

    rows_in: int = 0
    late: int = 0  # rows that a window was closed to
    # Of a lane that reports what it writes through Spark alone: its records, the dead letters among them too.
    records: int = 0
    letters: int = 0
    errors: int = 0  # letters that tell of something wrong, where it matters how many
    example: str = ""  # what one of them says
    freshness_ms: int | None = None  # from the newest event's time to when its result could be read
    batches: int = 0
    reported: bool = False  # whether the run at hand has told anything: before that, nothing is known of it
    offsets: Offsets = field(default_factory=dict)
    done: tuple[int, int] | None = None  # the last batch that is done, and when that was, in milliseconds
    durations: dict[str, int] = field(default_factory=dict)
    _seen: tuple[str, int] = ("", -1)
    _timed: deque[Batch] = field(default_factory=lambda: deque(maxlen=50))

    def begin_run(self) -> None:
        """A run begins, or the last one failed: how fast it goes and how far it is behind isn't known any more."""
        self.reported = False
        self._timed.clear()

    def rate_at(self, now: float) -> float | None:
        """Rows a second over the last batches; None before the run at hand has told of one.

        A batch's rows come all at once at its end: up to the time of a batch after the last one, nothing is slower.
        """
        if not self.reported:
            return None
        longest = max((batch.ended - batch.began for batch in self._timed), default=0.0)
        over = max(_RATE_OVER_S, _RATE_BATCHES * longest)
        recent = [batch for batch in self._timed if batch.ended > now - over]
        if not recent:
            return 0.0
        last = recent[-1].ended
        until = last if now - last <= longest else now
        return sum(batch.rows for batch in recent) / max(until - recent[0].began, 0.001)

    def follows(self, report: dict[str, Any]) -> bool:
        """Whether there is no report between this one and the last that was taken."""
        return str(report.get("runId")) == self._seen[0] and int(report["batchId"]) <= self._seen[1] + 1

    def take(self, report: dict[str, Any]) -> None:
        """Add one report, if it is news."""
        run, batch = str(report.get("runId")), int(report["batchId"])
        if run == self._seen[0] and batch < self._seen[1]:
            return
        self.reported = True
        for topic, ends in slowest(_offsets(s.get("endOffset")) for s in report.get("sources", [])).items():
            self.offsets.setdefault(topic, {}).update(ends)
        if (run, batch) == self._seen or _is_idle(report):
            return
        self._seen = (run, batch)
        self.done = (batch, _ended_ms(report)) if "timestamp" in report else None
        rows = int(report.get("numInputRows") or 0)
        self.rows_in += rows
        if "timestamp" in report:
            began, ended = _began_ms(report), _ended_ms(report)
            self._timed.append(Batch(began / 1000, ended / 1000, rows))
        counted = report.get("observedMetrics", {}).get(WRITTEN, {})
        self.records += int(counted.get("records") or 0)
        self.letters += int(counted.get("letters") or 0)
        self.errors += int(counted.get("errors") or 0)
        self.late += int(counted.get("late") or 0)
        self.example = counted.get("example") or self.example
        if counted.get("newest"):
            self.freshness_ms = max(0, _ended_ms(report) - int(counted["newest"]))
        self.batches += 1
        self.durations = dict(report.get("durationMs", {}))


def _is_idle(report: dict[str, Any]) -> bool:
    """Whether it only says that nothing came. It has the number of the batch to come, which isn't that batch."""
    return not report.get("numInputRows") and "addBatch" not in report.get("durationMs", {})


def _began_ms(report: dict[str, Any]) -> int:
    return round(datetime.fromisoformat(report["timestamp"]).timestamp() * 1000)


def _ended_ms(report: dict[str, Any]) -> int:
    """When a batch was done."""
    return _began_ms(report) + int(report.get("durationMs", {}).get("triggerExecution") or 0)


def slowest(scans: Iterable[Offsets]) -> Offsets:
    """Where all scans of each partition have come to: of one that is scanned twice, where the slower one stands."""
    reached: Offsets = {}
    for scan in scans:
        for topic, ends in scan.items():
            known = reached.setdefault(topic, {})
            for partition, offset in ends.items():
                known[partition] = min(offset, known.get(partition, offset))
    return reached


def _offsets(written: Any) -> Offsets:
    if written is None:
        return {}
    loaded = json.loads(written) if isinstance(written, str) else written
    if not isinstance(loaded, dict):
        return {}
    # What is no topic's: a feed has offsets of its own kind.
    topics = {topic: ends for topic, ends in loaded.items() if isinstance(ends, dict)}
    return {topic: {int(p): int(o) for p, o in ends.items()} for topic, ends in topics.items()}

"""How far the tasks of a run are with reading their state, all together: for the log, and for whoever asks.

Before its first batch of a run each task catches its local store up from its changelog. That is a matter of a moment
where the store is whole, and of minutes where a large one is made anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from orion.runtime.state.restore_reports import RestoreReport, last_report_ns, read_reports
from orion.runtime.state.task_store import StateContext

log = structlog.get_logger()

_LOG_EVERY_S = 5.0
_TICK_NS = 1_000_000_000
# A task tells twice a second: one that has told nothing for so long waits for its broker, or hangs, or is gone.
_SILENT_S = 10.0
# From one task's end to the next one's begin, where there are more tasks than cores.
_GAP_S = 3.0
# What a task has told so long before the next one began is of another time.
_APART_S = 60.0
# Less belongs to every start, and isn't worth a word.
_NOTABLE_RECORDS, _NOTABLE_S = 10_000, 1.0


@dataclass(frozen=True, slots=True)
class RestoreStatus:
    """How far the tasks of a query's run are, at one moment; those of all its operators."""

    tasks: int
    begun: int = 0  # tasks that have told of it
    done: int = 0
    records: int = 0  # read so far
    offsets: int = 0  # passed so far
    span: int | None = None  # offsets in all; None: it isn't known of every task
    since: float | None = None  # seconds since 1970
    told: float | None = None  # when the last task was heard
    lasts_s: float = 0.0
    is_going: bool = False
    is_silent: bool = False  # though it goes on

    @property
    def is_notable(self) -> bool:
        """Whether it is more than what belongs to every start."""
        return self.records >= _NOTABLE_RECORDS or self.lasts_s >= _NOTABLE_S

    @property
    def state(self) -> str:
        """UNKNOWN until each task has told: those that haven't may have much to read."""
        if self.is_going:
            return "RESTORING"
        return "DONE" if self.done == self.tasks else "UNKNOWN"

    @property
    def percent(self) -> int | None:
        """Of what there is to read; a hundred only when nothing is left."""
        if self.state == "DONE":
            return 100
        return None if self.span is None or not self.is_going else min(99, self.offsets * 100 // max(1, self.span))

    @property
    def rate(self) -> float | None:
        """Records a second over all the time that it lasts; None where that isn't known."""
        return None if self.is_silent or self.lasts_s <= 0 else self.records / self.lasts_s

    def __str__(self) -> str:
        """In words, for people."""
        if self.state == "UNKNOWN":
            return f"unknown: {self.tasks - self.begun} of {self.tasks} tasks have told nothing since the start"
        if self.state == "DONE":
            return f"{self.records:,} records read"
        of = "of an unknown number of" if self.span is None else f"({self.percent} %) of at most {self.span:,}"
        told = f"restoring: {self.records:,} {of} records, {self.done} of {self.tasks} tasks done"
        if self.is_silent:
            return f"{told}; nothing was heard of it for more than {_SILENT_S:.0f} s"
        return f"{told}, {self.rate:,.0f} records/s" if self.rate is not None else told


def sum_reports(reports: Iterable[RestoreReport], tasks: int, now: float) -> RestoreStatus:
    told = list(reports)
    if not told:
        return RestoreStatus(tasks)
    going = [report for report in told if not report.is_done]
    known = len(told) >= tasks and all(report.end is not None for report in told)
    heard = max(report.told_ms for report in told) / 1000
    silent_s = now - heard
    is_going = bool(going) or (len(told) < tasks and silent_s < _GAP_S)
    last = _take_last(told)
    since = min(report.begun_ms for report in last) / 1000
    return RestoreStatus(
        tasks,
        len(told),
        len(told) - len(going),
        sum(report.records for report in last),
        sum(report.position - report.first for report in last),
        sum((report.end or 0) - report.first for report in last) if known else None,
        since,
        heard,
        max(0.0, (now if is_going else heard) - since),
        is_going,
        bool(going) and silent_s > _SILENT_S,
    )


def _take_last(reports: list[RestoreReport]) -> list[RestoreReport]:
    """Those that belong together: a store that is lost while the query runs is another matter than the run's start."""
    found: list[RestoreReport] = []
    for report in sorted(reports, key=lambda report: (report.is_done, -report.told_ms)):
        since = min((earlier.begun_ms for earlier in found), default=report.told_ms)
        if report.is_done and report.told_ms < since - _APART_S * 1000:
            break
        found.append(report)
    return found


@dataclass
class RestoreWatch:
    """Reads what the tasks of one run tell, and logs it."""

    query: str
    folder: Path
    run: str
    tasks: int
    status: RestoreStatus = field(init=False)
    _seen: int | None = None  # when the reports were written that were read last
    _log_at: float = 0.0
    _is_logged: bool = False  # that it goes on

    def __post_init__(self) -> None:
        self.status = RestoreStatus(self.tasks)

    @classmethod
    def over(cls, query: str, context: StateContext) -> RestoreWatch:
        tasks = sum(changelog.partitions for changelog in context.changelogs)
        return cls(query, Path(context.folder), context.run, tasks)

    def look(self) -> None:
        """Called all the time; costs one look at a folder where nothing has changed."""
        written = last_report_ns(self.folder)
        if written == self._seen and not self.status.is_going:
            return
        # Times of a folder are coarse: one that has just changed may change again within its tick.
        self._seen = written if written is None or time.time_ns() - written > _TICK_NS else None
        was_going = self.status.is_going
        self.status = sum_reports(read_reports(self.folder, self.run), self.tasks, time.time())
        if self.status.is_going:
            self._log_going()
        elif was_going or self._is_logged:
            self._log_end()

    def _log_going(self) -> None:
        if self.status.is_notable and time.monotonic() >= self._log_at:
            self._log_at = time.monotonic() + _LOG_EVERY_S
            told = "state is still being restored" if self._is_logged else "state is being restored"
            self._is_logged = True
            log.info(told, query=self.query, **_list_figures(self.status))

    def _log_end(self) -> None:
        status, is_logged = self.status, self._is_logged
        self._is_logged, self._log_at = False, 0.0
        if is_logged or status.is_notable:
            log.info("state restored", query=self.query, seconds=round(status.lasts_s, 1), **_list_figures(status))


def _list_figures(status: RestoreStatus) -> dict[str, object]:
    unknown = "unknown"
    return {
        "records": status.records,
        "of_at_most": unknown if status.span is None else status.span,
        "records_a_second": unknown if status.rate is None else round(status.rate),
        "tasks_done": status.done,
        "tasks": status.tasks,
    }

"""How far a query is with reading its state: what its tasks tell, put together and logged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from orion.hub.changelog import Changelog
from orion.runtime import restoring
from orion.runtime.restoring import RestoreWatch, sum_reports
from orion.runtime.state import restore_reports
from orion.runtime.state.restore_reports import RestoreReport, RestoreReporter
from orion.runtime.state.task_store import StateContext
from tests.jobs import Clock

REPORT = RestoreReport("r", 0, 0, begun_ms=1_000, told_ms=11_000, first=0, position=500_000, end=2_000_000)
AT = 12.0


def test_what_no_task_has_told_is_unknown() -> None:
    status = sum_reports([], 4, AT)
    assert (status.state, status.percent, status.span, status.rate) == ("UNKNOWN", None, None, None)
    assert str(status) == "unknown: 4 of 4 tasks have told nothing since the start"


def test_tasks_are_put_together() -> None:
    reports = [
        replace(REPORT, records=400_000),
        replace(REPORT, task=1, told_ms=8_000, position=2_000_000, records=1_700_000, is_done=True),
    ]
    status = sum_reports(reports, 2, AT)
    assert (status.state, status.is_going, status.is_notable) == ("RESTORING", True, True)
    assert (status.begun, status.done, status.records, status.span, status.percent) == (2, 1, 2_100_000, 4_000_000, 62)
    assert status.rate == pytest.approx(2_100_000 / 11)
    told = "restoring: 2,100,000 (62 %) of at most 4,000,000 records, 1 of 2 tasks done, 190,909 records/s"
    assert str(status) == told


def test_how_much_there_is_isnt_known_before_every_task_has_told() -> None:
    for reports in ([REPORT], [REPORT, replace(REPORT, task=1, position=0, end=None)]):
        status = sum_reports(reports, 2, AT)
        assert (status.state, status.span, status.percent) == ("RESTORING", None, None)
        assert "of an unknown number of records" in str(status)


def test_it_is_never_a_hundred_percent_before_it_is_done() -> None:
    at_end = replace(REPORT, position=2_000_000)
    assert sum_reports([at_end], 1, AT).percent == 99
    assert sum_reports([replace(at_end, is_done=True)], 1, AT).percent == 100
    # What the others have to read isn't known, whatever these have read.
    status = sum_reports([replace(at_end, is_done=True)], 2, AT)
    assert (status.percent, status.state) == (None, "RESTORING")


def test_between_two_tasks_it_goes_on_for_a_while() -> None:
    done = replace(REPORT, is_done=True)
    assert sum_reports([done], 2, 13.0).is_going
    late = sum_reports([done], 2, 20.0)
    assert (late.is_going, late.state) == (False, "UNKNOWN")
    assert str(late) == "unknown: 1 of 2 tasks have told nothing since the start"


def test_a_store_that_is_lost_while_the_query_runs_is_counted_by_itself() -> None:
    start = [replace(REPORT, task=task, records=5, is_done=True, told_ms=2_000 + task) for task in range(3)]
    lost = replace(REPORT, task=3, begun_ms=500_000, told_ms=510_000, records=400_000, position=400_000)
    status = sum_reports([*start, lost], 4, 510.0)
    assert (status.state, status.begun, status.done) == ("RESTORING", 4, 3)
    assert (status.since, status.records, status.percent, status.rate) == (500.0, 400_000, 20, 40_000)
    status = sum_reports([*start, replace(lost, is_done=True)], 4, 900.0)
    assert (status.state, status.records, status.lasts_s) == ("DONE", 400_000, 10.0)
    # Those that began one after the other, with a batch's work between, are one start.
    status = sum_reports([*start, replace(lost, begun_ms=50_000)], 4, 510.0)
    assert (status.since, status.records) == (1.0, 400_015)


def test_a_task_that_is_not_heard_of_any_more_has_no_rate() -> None:
    status = sum_reports([REPORT], 1, 22.0)
    assert (status.is_silent, status.rate, status.state) == (True, None, "RESTORING")
    assert str(status).endswith("nothing was heard of it for more than 10 s")
    assert not sum_reports([replace(REPORT, is_done=True)], 1, 22.0).is_silent


def test_what_waits_for_a_transaction_becomes_notable() -> None:
    waiting = RestoreReport("r", 0, 0, 1_000, 1_000)
    assert not sum_reports([waiting], 1, 1.5).is_notable
    assert sum_reports([waiting], 1, 2.5).is_notable


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(restoring, "time", _Both(clock))
    monkeypatch.setattr(restore_reports, "_now_ms", lambda: round(clock.now * 1000))
    return clock


class _Both:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def time(self) -> float:
        return self._clock.now

    def time_ns(self) -> int:
        return round(self._clock.now * 1e9)

    def monotonic(self) -> float:
        return self._clock.now


def test_a_restore_is_logged_at_its_beginning_every_few_seconds_and_at_its_end(tmp_path: Path, clock: Clock) -> None:
    context = StateContext(str(tmp_path), "r", changelogs=(Changelog("log", "id", 1),))
    watch = RestoreWatch.over("Q", context)
    with capture_logs() as logged:
        watch.look()
        assert watch.status.state == "UNKNOWN"
        reporter = RestoreReporter(str(tmp_path), "r", 0, 0)
        reporter.begin(0, 140_000)
        for step in range(1, 15):
            clock.now += 1
            reporter.advance(step * 10_000, 9_000)
            watch.look()
        reporter.finish()
        watch.look()
        watch.look()
    assert [line["event"] for line in logged] == [
        "state is being restored",
        "state is still being restored",
        "state is still being restored",
        "state restored",
    ]
    assert all(line["query"] == "Q" for line in logged)
    assert [line["records"] for line in logged] == [9_000, 54_000, 99_000, 126_000]
    assert [line["of_at_most"] for line in logged] == [140_000] * 4
    assert logged[-1]["records_a_second"] == 9_000
    assert logged[-1]["seconds"] == 14.0


def test_what_belongs_to_every_start_is_not_logged(tmp_path: Path, clock: Clock) -> None:
    context = StateContext(str(tmp_path), "r", changelogs=(Changelog("log", "id", 2),))
    watch = RestoreWatch.over("Q", context)
    with capture_logs() as logged:
        for task in range(2):
            reporter = RestoreReporter(str(tmp_path), "r", 0, task)
            reporter.begin(5, 25)
            reporter.advance(25, 20)
            watch.look()
            reporter.finish()
        watch.look()
    assert logged == []
    assert (watch.status.state, watch.status.records, watch.status.percent) == ("DONE", 40, 100)
    assert str(watch.status) == "40 records read"

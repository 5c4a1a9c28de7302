"""What a task tells of reading its changelog: little files, one report or the next, never half of one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from orion.runtime.state import restore_reports
from orion.runtime.state.restore_reports import RestoreReporter, last_report_ns, read_reports


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(ms=5_000)
    monkeypatch.setattr(restore_reports, "_now_ms", lambda: clock.ms)
    return clock


def test_reports_come_twice_a_second_and_hold_all_that_was_read(tmp_path: Path, clock: SimpleNamespace) -> None:
    reporter = RestoreReporter(str(tmp_path), "r", 1, 3)
    (told,) = read_reports(tmp_path, "r")
    assert (told.operator, told.task, told.begun_ms, told.end, told.is_done) == (1, 3, 5_000, None, False)
    reporter.begin(100, 1_100)
    for position in range(200, 1_100, 100):
        clock.ms += 100
        reporter.advance(position, 90)
    (told,) = read_reports(tmp_path, "r")
    assert (told.first, told.position, told.end, told.records, told.told_ms) == (100, 600, 1_100, 450, 5_500)
    reporter.finish()
    (told,) = read_reports(tmp_path, "r")
    assert (told.position, told.end, told.records, told.told_ms, told.is_done) == (1_100, 1_100, 810, 5_900, True)


def test_reports_of_other_runs_and_what_is_no_report_are_left_out(tmp_path: Path) -> None:
    assert read_reports(tmp_path, "r") == []
    assert last_report_ns(tmp_path) is None
    RestoreReporter(str(tmp_path), "earlier", 0, 0)
    RestoreReporter(str(tmp_path), "r", 0, 1)
    folder = tmp_path / "restores"
    (folder / "0-2.json").write_text('{"v": 1')
    (folder / "0-3.json").write_text('{"v": 2, "run": "r", "new": true}')
    (folder / "0-4.json").write_text('{"v": 1, "run": "r"}')
    assert [report.task for report in read_reports(tmp_path, "r")] == [1]
    assert last_report_ns(tmp_path) == folder.stat().st_mtime_ns


def test_a_task_takes_the_place_of_its_own_earlier_report(tmp_path: Path) -> None:
    for run in ("a", "b", "c"):
        RestoreReporter(str(tmp_path), run, 0, 0).finish()
    assert [file.name for file in (tmp_path / "restores").iterdir()] == ["0-0.json"]


def test_a_report_that_cannot_be_written_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "restores").write_text("no folder")
    reporter = RestoreReporter(str(tmp_path), "r", 0, 0)
    reporter.begin(0, 10)
    reporter.advance(10, 10)
    reporter.finish()
    assert read_reports(tmp_path, "r") == []

"""Totals from the reports Spark gives after each batch."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from orion.runtime.progress import Progress


def report(batch: int, rows: int = 0, *, run: str = "r1", ends: str | dict[str, Any] | None = None) -> dict[str, Any]:
    sources = [] if ends is None else [{"endOffset": ends}]
    return {
        "runId": run,
        "batchId": batch,
        "numInputRows": rows,
        "sources": sources,
        "durationMs": {"triggerExecution": batch, "addBatch": 1},
    }


def test_batches_add_up() -> None:
    progress = Progress()
    for batch, rows in enumerate((10, 0, 5)):
        progress.take(report(batch, rows))
    assert (progress.rows_in, progress.batches) == (15, 3)
    assert progress.durations == {"triggerExecution": 2, "addBatch": 1}


def test_a_report_that_is_seen_again_counts_once() -> None:
    progress = Progress()
    for batch in (0, 1, 0, 1, 1):
        progress.take(report(batch, 10))
    assert (progress.rows_in, progress.batches) == (20, 2)


def test_a_restarted_query_goes_on_counting_though_its_batch_numbers_come_again() -> None:
    progress = Progress()
    progress.take(report(7, 10))
    progress.take(report(7, 4, run="r2"))
    assert (progress.rows_in, progress.batches) == (14, 2)


def test_an_idle_report_changes_no_total_and_isnt_taken_for_the_batch_that_it_is_numbered_as() -> None:
    progress = Progress()
    idle = {"durationMs": {"triggerExecution": 3, "latestOffset": 3}}
    for batch, rows in ((0, 10), (1, 0), (1, 0), (1, 7), (2, 0)):
        progress.take(report(batch, rows) | ({} if rows else idle))
    assert (progress.rows_in, progress.batches, progress.reported) == (17, 2, True)


def timed(batch: int, rows: int, began: int, took_s: float) -> dict[str, Any]:
    at = datetime.fromtimestamp(began, UTC).isoformat()
    return report(batch, rows) | {
        "timestamp": at,
        "durationMs": {"triggerExecution": round(took_s * 1000), "addBatch": 1},
    }


def test_a_rate_is_not_known_before_a_batch_and_after_a_failure() -> None:
    progress = Progress()
    assert progress.rate_at(1000) is None
    progress.take(timed(0, 100, 1000, 1.0))
    assert progress.rate_at(1001) == 100.0
    progress.begin_run()
    assert progress.rate_at(1001) is None


@pytest.mark.parametrize("now", [1040.0, 1045.0, 1059.0])
def test_a_rate_is_measured_over_several_batches_and_stands_between_them(now: float) -> None:
    progress = Progress()
    for batch in range(2):
        progress.take(timed(batch, 1000, 1000 + 20 * batch, 20.0))
    assert progress.rate_at(now) == 50.0


def test_a_rate_goes_down_when_no_batch_comes_any_more() -> None:
    progress = Progress()
    for batch in range(3):
        progress.take(timed(batch, 100, 1000 + batch, 1.0))
    assert progress.rate_at(1003) == 100.0
    assert progress.rate_at(1006) == 50.0
    assert progress.rate_at(1060) == 0.0


def test_offsets_are_where_the_query_stands_in_each_partition() -> None:
    progress = Progress()
    progress.take(report(0, 1, ends='{"a": {"0": 5, "1": 2}}'))
    progress.take(report(1, 1, ends={"a": {"1": 3}, "b": {"0": 9}}))
    assert progress.offsets == {"a": {0: 5, 1: 3}, "b": {0: 9}}


def test_an_older_report_does_not_turn_offsets_back() -> None:
    progress = Progress()
    progress.take(report(1, 1, ends={"a": {"0": 8}}))
    progress.take(report(0, 1, ends={"a": {"0": 5}}))
    assert progress.offsets == {"a": {0: 8}}


def test_sources_that_are_no_topics_have_no_offsets() -> None:
    progress = Progress()
    for ends in (None, "17", "null", 17):
        progress.take({**report(0, 1), "sources": [{"endOffset": ends}]})
    assert progress.offsets == {}


def test_a_report_may_leave_things_out() -> None:
    progress = Progress()
    progress.take({"batchId": 0, "numInputRows": None, "durationMs": {"addBatch": 1}})
    assert (progress.rows_in, progress.batches) == (0, 1)


def test_a_topic_that_is_scanned_twice_stands_where_the_slower_scan_stands() -> None:
    progress = Progress()
    ahead, behind = {"endOffset": {"t": {"0": 46, "1": 3}}}, {"endOffset": {"t": {"0": 0, "1": 7}}}
    for sources in ([ahead, behind], [behind, ahead]):
        progress.take({**report(0), "sources": sources})
        assert progress.offsets == {"t": {0: 0, 1: 3}}


def test_late_rows_are_those_that_operators_tell() -> None:
    progress = Progress()
    states = [{"numRowsDroppedByWatermark": 2}]
    observed = {"written": {"late": 4}, "other": {"late": 7}}
    progress.take(report(0, 10) | {"stateOperators": states, "observedMetrics": observed})
    progress.take(report(0, 10) | {"stateOperators": states, "observedMetrics": observed})
    progress.take(report(1, 10) | {"observedMetrics": {"written": {"late": None}}})
    progress.take(report(2, 10) | {"observedMetrics": {"written": {"late": 3}}})
    assert progress.late == 7


def test_what_a_lane_counts_through_spark_adds_up() -> None:
    progress = Progress()
    for batch, (records, letters) in enumerate(((10, 1), (5, 0))):
        progress.take(report(batch) | {"observedMetrics": {"written": {"records": records, "letters": letters}}})
    assert (progress.records, progress.letters) == (15, 1)


def test_freshness_is_from_the_newest_event_to_the_end_of_its_batch() -> None:
    progress = Progress()
    ended = {"timestamp": "1970-01-01T00:00:10.000Z", "durationMs": {"triggerExecution": 500, "addBatch": 1}}
    progress.take(report(0) | ended | {"observedMetrics": {"written": {"records": 1, "newest": 9_900}}})
    assert progress.freshness_ms == 600
    progress.take(report(1) | ended | {"observedMetrics": {"written": {"records": 0, "newest": None}}})
    assert progress.freshness_ms == 600

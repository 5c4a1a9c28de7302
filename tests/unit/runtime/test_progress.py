"""Totals from the reports Spark gives after each batch."""

from __future__ import annotations

from typing import Any

from orion.runtime.progress import Progress


def report(batch: int, rows: int = 0, *, run: str = "r1", ends: str | dict[str, Any] | None = None) -> dict[str, Any]:
    sources = [] if ends is None else [{"endOffset": ends}]
    return {
        "runId": run,
        "batchId": batch,
        "numInputRows": rows,
        "processedRowsPerSecond": float(rows),
        "sources": sources,
        "durationMs": {"triggerExecution": batch},
    }


def test_batches_add_up() -> None:
    progress = Progress()
    for batch, rows in enumerate((10, 0, 5)):
        progress.take(report(batch, rows))
    assert (progress.rows_in, progress.batches) == (15, 3)
    assert progress.rate == 5.0
    assert progress.durations == {"triggerExecution": 2}


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


def test_a_query_that_reads_each_record_twice_counts_it_once() -> None:
    progress = Progress(scans=2)
    progress.take(report(0, 10))
    assert progress.rows_in == 5


def test_an_idle_report_brings_the_rate_down_and_changes_no_total() -> None:
    progress = Progress()
    progress.take(report(0, 10))
    progress.take(report(0, 0))
    assert (progress.rows_in, progress.batches, progress.rate) == (10, 1, 0.0)


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
    progress.take({"batchId": 0, "numInputRows": None})
    assert (progress.rows_in, progress.batches, progress.watermark) == (0, 1, None)
    progress.take({"batchId": 1, "eventTime": {"watermark": "2024-01-01T00:00:00Z"}})
    assert progress.watermark == "2024-01-01T00:00:00Z"


def test_a_topic_that_is_scanned_twice_stands_where_the_slower_scan_stands() -> None:
    progress = Progress()
    ahead, behind = {"endOffset": {"t": {"0": 46, "1": 3}}}, {"endOffset": {"t": {"0": 0, "1": 7}}}
    for sources in ([ahead, behind], [behind, ahead]):
        progress.take({**report(0), "sources": sources})
        assert progress.offsets == {"t": {0: 0, 1: 3}}


def test_late_rows_are_those_behind_sparks_watermark_and_those_that_operators_tell() -> None:
    progress = Progress()
    states = [{"numRowsDroppedByWatermark": 2}, {"numRowsDroppedByWatermark": 1}, {}]
    observed = {"late_0": {"late": 4}, "late_1": {"late": 0}, "other": {"else": 7}}
    progress.take(report(0, 10) | {"stateOperators": states, "observedMetrics": observed})
    progress.take(report(0, 10) | {"stateOperators": states, "observedMetrics": observed})
    progress.take(report(1, 10) | {"observedMetrics": {"late_0": None}})
    assert progress.late == 7


def test_what_a_lane_counts_through_spark_adds_up() -> None:
    progress = Progress()
    for batch, (records, letters) in enumerate(((10, 1), (5, 0))):
        progress.take(report(batch) | {"observedMetrics": {"written": {"records": records, "letters": letters}}})
    assert (progress.records, progress.letters) == (15, 1)


def test_freshness_is_from_the_newest_event_to_the_end_of_its_batch() -> None:
    progress = Progress()
    ended = {"timestamp": "1970-01-01T00:00:10.000Z", "durationMs": {"triggerExecution": 500}}
    progress.take(report(0) | ended | {"observedMetrics": {"written": {"records": 1, "newest": 9_900}}})
    assert progress.freshness_ms == 600
    progress.take(report(1) | ended | {"observedMetrics": {"written": {"records": 0, "newest": None}}})
    assert progress.freshness_ms == 600

"""Causes of failures, and when a job fails again and again."""

from __future__ import annotations

import pytest

from orion.runtime.failures import KEPT, Cause, Failure, FailureHistory, cause_of


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("org.apache.spark.SparkException: Python worker failed to connect back.", Cause.STARVED),
        ("SocketTimeoutException: Timed out while waiting for the Python worker to connect back", Cause.STARVED),
        ("java.lang.OutOfMemoryError: Java heap space", Cause.OUT_OF_MEMORY),
        ("Python worker exited unexpectedly (crashed): MemoryError", Cause.OUT_OF_MEMORY),
        ("Python worker exited unexpectedly (crashed)", Cause.WORKER_GONE),
        ("org.apache.kafka.common.errors.TimeoutException: Topic t not present", Cause.OTHER_SYSTEM),
        ("KafkaException: KafkaError{code=_TRANSPORT}", Cause.OTHER_SYSTEM),
        ("ValueError: bad record", Cause.STATEMENT),
    ],
)
def test_causes(text: str, cause: Cause) -> None:
    assert cause_of(text) is cause


def history(*at: float) -> FailureHistory:
    made = FailureHistory()
    for moment in at:
        made.note(Failure(moment, "boom", Cause.STATEMENT))
    return made


def test_two_failures_are_not_again_and_again() -> None:
    assert not history(1000, 1001).persists(1002, None)
    assert history(1000, 1001, 1003).persists(1003, None)


def test_failures_long_ago_do_not_count() -> None:
    assert not history(1000, 1001, 1700).persists(1700, None)


def test_a_run_that_outlives_what_lay_between_failures_has_recovered() -> None:
    failed = history(1000, 1010, 1030)
    assert failed.persists(1069, 1031)
    assert not failed.persists(1072, 1031)


def test_soon_failures_ask_for_five_seconds_and_late_ones_for_five_minutes_at_most() -> None:
    assert history(1000, 1000.1, 1000.2).persists(1005, 1000.5)
    assert not history(1000, 1000.1, 1000.2).persists(1006, 1000.5)
    assert not history(1000, 1250, 1500).persists(1501 + 301, 1501)


def test_only_the_last_ones_are_kept() -> None:
    kept = history(*range(100)).failures
    assert [one.at for one in kept] == list(range(100 - KEPT, 100))

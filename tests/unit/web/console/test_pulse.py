"""How fast things go, from looks some seconds apart; and what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orion.errors import ExternalError
from orion.runtime.queries import QueryStatus
from orion.web.console.questions.health import health
from orion.web.console.questions.pulse import Pulse

QUERY = QueryStatus("Q", "OUT", "RUNNING", 100, 90, 10, 5, 0.0, None)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def noted(*looks: tuple[float, QueryStatus, int]) -> tuple[Pulse, Any]:
    clock = Clock()
    pulse = Pulse(clock)
    reading = None
    for at, status, end in looks:
        clock.now = at
        reading = pulse.note([status], {"t": end})
    return pulse, reading


def test_speed_is_measured_between_looks() -> None:
    _, reading = noted((1.0, QUERY, 50), (5.0, replace(QUERY, rows_in=140, rows_out=130, dead_letters=12), 90))
    job = reading.jobs["Q"]
    assert (job.rate_in, job.rate_out, job.letters) == (10.0, 10.0, 0.5)
    assert reading.topic_rates["t"] == 10.0
    assert (reading.lag, reading.rate_in) == (5, 10.0)


def test_batches_that_come_seconds_apart_are_no_bursts() -> None:
    looks = [(float(at), replace(QUERY, rows_in=100 + 50 * (at // 5)), 0) for at in range(1, 21, 2)]
    _, reading = noted(*looks)
    assert 5 < reading.rate_in < 15


def test_a_query_that_starts_again_goes_at_no_negative_speed() -> None:
    _, reading = noted((1.0, QUERY, 50), (3.0, replace(QUERY, rows_in=0), 10))
    assert (reading.rate_in, reading.topic_rates["t"]) == (0.0, 0.0)


def test_nothing_is_said_over_a_gap() -> None:
    pulse, reading = noted((1.0, QUERY, 50), (100.0, replace(QUERY, rows_in=10_000), 90))
    assert reading.rate_in == 0.0
    assert pulse.series(lambda r: r.rate_in) == [(1000, 0.0), (1001, None), (100_000, 0.0)]


def test_all_is_well() -> None:
    _, reading = noted((1.0, QUERY, 0))
    found = health(reading)
    assert (found.findings, found.told) == ((), "All well")


def test_what_failed_comes_first_and_says_what_to_do() -> None:
    clock = Clock()
    statuses = [
        replace(QUERY, id="A", state="WAITING", error="The store is away."),
        replace(QUERY, id="B", state="ERROR", error="The topic is gone."),
        replace(QUERY, id="C", lag=50_000),
        replace(QUERY, id="D", state="PAUSED"),
    ]
    reading = Pulse(clock).note(statuses, {}, None, {"A": "STORE"})
    found = health(reading, ["entry 7"])
    assert [f.what.split()[0] for f in found.findings] == ["B", "A", "C", "The"]
    assert (found.bad, found.warnings, found.told) == (1, 3, "1 failing")
    assert [f.href for f in found.findings][:2] == ["/queries/B", "/connectors/STORE"]


def test_kafka_s_absence_is_told() -> None:
    reading = Pulse(Clock()).note([], {}, ExternalError("KAFKA_UNREACHABLE", "No broker answers.", hint="Start it."))
    (one,) = health(reading).findings
    assert (one.tone, one.why, one.todo) == ("bad", "No broker answers.", "Start it.")

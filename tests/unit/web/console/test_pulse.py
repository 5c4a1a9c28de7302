"""How fast things go, from looks some seconds apart; and what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orion.errors import ExternalError
from orion.runtime.failures import Cause, Failure
from orion.runtime.machine import Load
from orion.runtime.restoring import RestoreStatus
from orion.runtime.states import QueryStatus
from orion.serving.feed import TableStatus
from orion.web.console.pages.overview import tiles_of
from orion.web.console.pages.queries import restore_tile
from orion.web.console.pages.sources import table_tiles
from orion.web.console.questions.health import Health, health, why_no_lag, why_unknown
from orion.web.console.questions.pulse import CAPTURED, FEED, Around, Pulse, Reading

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


def batch(number: int, rows: int, **more: Any) -> QueryStatus:
    return replace(QUERY, batches=number, rows_in=rows, rows_out=rows - 10, **more)


def test_speed_is_measured_between_looks() -> None:
    _, reading = noted((1.0, batch(1, 100), 50), (5.0, batch(2, 140, rate=10.0, dead_letters=12), 90))
    job = reading.jobs["Q"]
    assert (job.rate_in, job.rate_out, job.letters) == (10.0, 10.0, 0.5)
    assert reading.topic_rates["t"] == 10.0
    assert (reading.lag, reading.rate_in) == (5, 10.0)


def test_between_batches_the_speed_is_that_of_the_last_ones() -> None:
    """A batch of 300 rows each 30 seconds, looked at each two: never 0, never a burst."""
    looks = [(float(at), batch(at // 30, 300 * (at // 30), rate=10.0), 0) for at in range(31, 181, 2)]
    clock, rates = Clock(), []
    pulse = Pulse(clock)
    for at, status, _ in looks:
        clock.now = at
        rates.append(pulse.note([status], {}).jobs["Q"].rate_out)
    assert rates[:14] == [None] * 14  # nothing is known before the second batch
    assert all(rate is not None and 8 < rate < 12 for rate in rates[45:])


def test_what_isn_t_known_is_none_and_not_0() -> None:
    waiting = replace(QUERY, rate=0.0, lag=50)  # its batch takes long: it reads, and nothing is told of it
    _, reading = noted((1.0, waiting, 50), (20.0, waiting, 50))
    assert (reading.jobs["Q"].rate_in, reading.jobs["Q"].rate_out) == (None, None)
    failing = replace(QUERY, state="FAILING", rate=None, lag=None, error="It broke.")
    _, reading = noted((1.0, QUERY, 50), (5.0, failing, 50))
    assert (reading.lag, reading.rate_in, reading.rate_out) == (None, None, None)
    idle = replace(QUERY, rate=0.0, lag=0)
    _, reading = noted((1.0, idle, 50), (20.0, idle, 50))
    assert (reading.lag, reading.rate_in, reading.rate_out) == (0, 0.0, 0.0)  # nothing is to be read: that is known
    paused = replace(QUERY, state="PAUSED", rate=0.0)
    assert noted((1.0, paused, 5))[1].rate_out == 0.0


def test_a_source_has_no_lag_and_a_capture_no_numbers() -> None:
    feed = replace(QUERY, id="F", lag=None, rate=4.0)
    capture = replace(QUERY, id="C", lag=None, rate=None)
    reading = Pulse(Clock()).note([QUERY, feed, capture], {}, None, Around(kinds={"F": FEED, "C": CAPTURED}))
    assert (reading.lag, reading.rate_in) == (5, None)  # of QUERY alone, between whose batches nothing is known
    assert health(reading).told == "All well"
    assert "Kafka Connect" in why_unknown(reading.jobs["C"])
    assert "no topic" in why_no_lag(reading.jobs["F"])


def test_a_sum_of_which_a_part_isn_t_known_isn_t_known() -> None:
    other = replace(QUERY, id="R", state="STARTING", rate=None, lag=None)
    reading = Pulse(Clock()).note([QUERY, other], {})
    assert (reading.lag, reading.rate_in) == (None, None)
    shown = tiles_of(reading, Pulse(Clock()), health(reading))
    assert "not known of 1" in shown
    assert "It isn&#x27;t known of R." in shown
    assert "1 starting" in shown


def test_a_query_that_starts_again_goes_at_no_negative_speed() -> None:
    _, reading = noted((1.0, batch(7, 100), 50), (3.0, batch(1, 10), 10))
    assert (reading.rate_out, reading.topic_rates["t"]) == (None, 0.0)


def test_nothing_is_said_over_a_gap() -> None:
    pulse, reading = noted((1.0, batch(1, 100), 50), (100.0, batch(2, 10_000), 90))
    assert (reading.rate_out, reading.topic_rates["t"]) == (None, None)
    assert pulse.series(lambda r: r.rate_out) == [(1000, None), (1001, None), (100_000, None)]


def test_all_is_well_only_where_all_is_known() -> None:
    _, reading = noted((1.0, QUERY, 0))
    found = health(reading)
    assert (found.findings, found.told, found.tone) == ((), "All well", "ok")
    for changed in ({"state": "STARTING", "lag": None, "rate": None}, {"lag": None}):
        found = health(Pulse(Clock()).note([replace(QUERY, **changed)], {}))
        assert (found.findings, found.tone) == ((), "busy")
        assert "All well" not in found.told
    assert health(Reading()).told == "Nothing is known yet"
    assert (health(Pulse(Clock()).note([], {})).told, health(Pulse(Clock()).note([], {})).tone) == (
        "Nothing runs yet",
        "idle",
    )


def test_one_that_restores_its_state_is_told_with_how_far_it_is() -> None:
    restore = RestoreStatus(4, 4, 1, 300_000, 310_000, 1_000_000, 1.0, 4.0, 3.0, is_going=True)
    _, reading = noted((1.0, replace(QUERY, state="RESTORING", lag=None, rate=None, restore=restore), 0))
    told = health(reading)
    assert (told.tone, told.findings, told.unknown) == ("busy", (), ("Q is restoring its state",))
    tile = restore_tile(reading.jobs["Q"])
    assert "31 %" in tile
    assert (
        "300,000 (31 %) of at most 1,000,000 records, 1 of 4 tasks done, 100,000 records/s; since 00:00:01 UTC" in tile
    )
    for unknown in (replace(restore, span=None), replace(restore, begun=2, span=None)):
        _, reading = noted((1.0, replace(QUERY, state="RESTORING", restore=unknown), 0))
        assert "%" not in restore_tile(reading.jobs["Q"])
    _, reading = noted((1.0, replace(QUERY, restore=replace(restore, done=4, is_going=False)), 0))
    assert restore_tile(reading.jobs["Q"]) == ""


def test_what_keeps_all_from_being_well() -> None:
    def told(status: QueryStatus = QUERY, **seen: Any) -> tuple[str, str]:
        found = health(Pulse(Clock()).note([status], {}, None, Around(**seen)))
        return found.told, (found.findings[0].what if found.findings else "")

    failure = Failure(1.0, "a Python worker didn't come up", Cause.STARVED)
    failing = replace(
        QUERY, state="FAILING", lag=None, rate=None, error="It broke.", failures=(failure,), restarts=7, next_try_at=1.0
    )
    assert told(failing) == ("1 failing", "Q fails again and again")
    (finding,) = health(Pulse(Clock()).note([failing], {})).findings
    assert finding.why == "It broke. (the machine has too little time)"
    assert finding.todo.startswith("7 restarts so far, the next try")
    assert told(replace(QUERY, error="It broke.")) == ("1 failing", "Q has failed")
    assert told(replace(QUERY, state="NEW_STATE")) == ("1 to look at", "Q is new_state")
    assert told(absent=(("queries", "GONE"),)) == ("1 failing", "GONE isn't running")
    assert told(restored=(3, 10)) == ("Starting, 3 of 10", "")
    assert told(load=Load(9.0, 2.0)) == ("1 to look at", "The machine is starved")
    assert told(load=Load(1.0, 2.0))[0] == "All well"


def test_a_table_that_has_stopped_is_told() -> None:
    table = TableStatus("T", "t", "ERROR", 5, 2, 60.0, 0, "A record can't be read.")

    def found(status: TableStatus) -> Health:
        return health(Pulse(Clock()).note([QUERY], {}, None, Around(tables={"T": status})))

    (one,) = found(table).findings
    assert (one.tone, one.what, one.href) == ("bad", "The table T has stopped", "/sources/T")
    assert one.why == "A record can't be read. Its rows are 1 m old."
    assert found(replace(table, state="RUNNING", bad_records=3)).told == "1 to look at"
    assert found(replace(table, state="BUILDING", error=None)).told == "T is building"
    assert found(replace(table, state="RUNNING", error=None)).told == "All well"
    assert "o-state--bad" in table_tiles(table)


def test_what_failed_comes_first_and_says_what_to_do() -> None:
    clock = Clock()
    statuses = [
        replace(QUERY, id="A", state="WAITING", error="The store is away."),
        replace(QUERY, id="B", state="ERROR", error="The topic is gone."),
        replace(QUERY, id="C", lag=50_000),
        replace(QUERY, id="D", state="PAUSED"),
    ]
    reading = Pulse(clock).note(statuses, {}, None, Around({"A": "STORE"}))
    found = health(reading, ["entry 7"])
    assert [f.what.split()[0] for f in found.findings] == ["B", "A", "C", "The"]
    assert (found.bad, found.warnings, found.told) == (1, 3, "1 failing")
    assert [f.href for f in found.findings][:2] == ["/queries/B", "/connectors/STORE"]


def test_kafka_s_absence_is_told() -> None:
    reading = Pulse(Clock()).note([], {}, ExternalError("KAFKA_UNREACHABLE", "No broker answers.", hint="Start it."))
    (one,) = health(reading).findings
    assert (one.tone, one.why, one.todo) == ("bad", "No broker answers.", "Start it.")

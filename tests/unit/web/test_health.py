"""What the health check says of statements and of the machine."""

from __future__ import annotations

import pytest

from orion.runtime.machine import Load
from orion.runtime.states import QueryStatus
from orion.web.routes.health import machine_health, query_health


def status(state: str, error: str | None = None) -> QueryStatus:
    return QueryStatus(state, "OUT", state, 0, 0, 0, None, None, error)


def test_all_is_well_only_where_all_run_or_rest() -> None:
    told = query_health([status("RUNNING"), status("PAUSED"), status("PAUSING")])
    assert (told["isHealthy"], told["failing"], told["starting"]) == (True, [], [])
    assert told["states"] == {"RUNNING": 1, "PAUSED": 1, "PAUSING": 1}


@pytest.mark.parametrize("state", ["RESTARTING", "FAILING", "WAITING", "ERROR"])
def test_one_that_does_not_run_is_named(state: str) -> None:
    told = query_health([status("RUNNING"), status(state, "boom")])
    assert (told["isHealthy"], told["failing"]) == (False, [state])


def test_of_one_that_starts_nothing_is_known_yet() -> None:
    told = query_health([status("STARTING"), status("RESTORING")])
    assert (told["failing"], told["starting"]) == ([], ["STARTING", "RESTORING"])


def test_a_starved_machine_is_told_with_what_it_wants() -> None:
    assert machine_health(None) == {"isHealthy": True, "starved": None}
    told = machine_health(Load(9.44, 1.96))
    assert (told["starved"], told["cpuSecondsWanted"], told["cpuSecondsThere"]) == (True, 9.4, 2.0)
    assert told["message"] == "starved: 9.4 CPU-seconds wanted a second, 2.0 there"
    assert not machine_health(Load(1.0, 2.0))["starved"]

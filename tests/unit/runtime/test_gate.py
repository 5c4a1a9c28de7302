"""Starts in turn, and held back as a whole where the machine has no time."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from orion.runtime import gate
from orion.runtime.gate import StartGate


@dataclass
class Clock:
    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(gate, "time", clock)
    return clock


def exactly(low: float, high: float) -> float:
    return 1.0


def test_as_many_start_at_once_as_there_are_cores(clock: Clock) -> None:
    starts = StartGate(cores=2)
    assert [starts.admit(name) for name in "abc"] == [True, True, False]
    assert starts.admit("a")  # one that has its place keeps it
    starts.leave("a")
    assert starts.admit("c")


def test_those_that_ask_another_system_leave_a_place_to_the_others(clock: Clock) -> None:
    starts = StartGate(cores=2)
    assert [starts.admit(name, outside=True) for name in ("s3", "jdbc")] == [True, False]
    assert starts.admit("s3", outside=True)
    assert starts.admit("query")
    starts.leave("s3")
    assert starts.admit("jdbc", outside=True)
    starts.leave("query")
    assert not starts.admit("s3", outside=True)
    assert StartGate(cores=1).admit("s3", outside=True)  # where there is one place it is for all of them


def test_one_that_takes_too_long_to_start_gives_its_place_up(clock: Clock) -> None:
    starts = StartGate(cores=1)
    assert starts.admit("a")
    clock.now += 59
    assert not starts.admit("b")
    clock.now += 2
    assert starts.admit("b")


def test_on_a_starved_machine_they_start_one_after_the_other(clock: Clock) -> None:
    starved = [True]
    starts = StartGate(lambda: starved[0], cores=8)
    assert [starts.admit(name) for name in "ab"] == [True, False]
    starved[0] = False
    assert starts.admit("b")


def test_a_start_that_fails_for_want_of_time_holds_all_back_longer_and_longer(clock: Clock) -> None:
    starts = StartGate(cores=8, jitter=exactly)
    held = []
    for _ in range(7):
        starts.hold_back()
        assert starts.hold_back() == starts.held_for_s  # several that fail together are one sign
        held.append(starts.held_for_s)
        assert not starts.admit("a")
        clock.now += held[-1]
        assert starts.admit("a")
        starts.leave("a")
    assert held == [5.0, 10.0, 20.0, 40.0, 80.0, 120.0, 120.0]


def test_after_that_they_start_one_by_one_until_one_runs(clock: Clock) -> None:
    starts = StartGate(cores=8, jitter=exactly)
    starts.hold_back()
    clock.now += 5
    assert [starts.admit(name) for name in "ab"] == [True, False]
    starts.leave("a", runs=True)
    assert [starts.admit(name) for name in "bcd"] == [True, True, True]
    assert starts.hold_back() == 5.0  # and the waits begin anew


def test_starts_that_were_held_back_together_do_not_come_back_together() -> None:
    assert len({round(StartGate(cores=8).hold_back(), 6) for _ in range(20)}) > 1

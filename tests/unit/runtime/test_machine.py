"""What is wanted of the processors and what there is, from the kernel's counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from orion.runtime import machine
from orion.runtime.machine import Load, Machine, available_cores, read_stat


@dataclass
class Clock:
    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(machine, "time", clock)
    return clock


def stat(runnable: int, busy: int = 0, idle: int = 0, stolen: int = 0) -> str:
    return f"cpu  {busy} 0 0 {idle} 0 0 0 {stolen} 0 0\ncpu0 1 2 3\nctxt 1\nbtime 5\nprocs_running {runnable}\n"


def watched(clock: Clock, texts: Sequence[str | None], cores: float = 2.0) -> Machine:
    found = iter(texts)
    seen = Machine(lambda: next(found), cores)
    for _ in texts:
        seen.look()
        clock.now += 1
    return seen


def test_nothing_is_known_before_it_has_looked_for_a_while(clock: Clock) -> None:
    assert watched(clock, [stat(9), stat(9)]).load is None
    assert not watched(clock, [stat(9)]).starved


def test_what_is_wanted_is_how_many_run_or_could(clock: Clock) -> None:
    seen = watched(clock, [stat(n, busy=100 * i) for i, n in enumerate((2, 4, 6, 4))])
    assert seen.load == Load(3.0, 2.0)  # whoever looks is left out
    assert not seen.starved


def test_what_another_machine_has_is_not_there(clock: Clock) -> None:
    seen = watched(clock, [stat(10, busy=50 * i, stolen=50 * i) for i in range(5)])
    assert seen.load == Load(9.0, 1.0)
    assert seen.starved
    assert str(seen.load) == "starved: 9.0 CPU-seconds wanted a second, 1.0 there"


def test_old_looks_do_not_count(clock: Clock) -> None:
    seen = watched(clock, [stat(30, busy=100 * i) for i in range(4)] + [stat(2, busy=100 * i) for i in range(4, 24)])
    assert seen.load == Load(1.0, 2.0)


def test_it_is_not_known_where_the_kernel_does_not_tell(clock: Clock) -> None:
    assert watched(clock, [None] * 6).load is None
    assert watched(clock, ["cpu  x\n"] * 6).load is None


def test_this_machine_tells() -> None:
    text = read_stat()
    assert text is None or "procs_running" in text
    assert available_cores() > 0

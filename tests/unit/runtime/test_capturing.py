"""The supervisor of captures, over a port that answers as told; time passes when told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from orion.errors import ConfigError, ExternalError
from orion.feeds.cdc import Capture, Captures, Options
from orion.feeds.connect.client import Position, Status, Task
from orion.feeds.connect.client import State as ConnectState
from orion.feeds.connect.tables import CapturedColumn, Table
from orion.plan.connectors import Offset
from orion.plan.sources import Connector, Direction, Wanted
from orion.runtime import capturing
from orion.runtime.capturing import Capturing
from orion.runtime.queries import State
from orion.schema import Scalar

OPTIONS = {
    "connector.class": "cdc",
    "database": "postgresql",
    "database.hostname": "db",
    "database.user": "u",
    "database.dbname": "shop",
}
SHOP = Connector("shop", "cdc", (), tuple(OPTIONS.items()), direction=Direction.SOURCE)
USERS = Table("public.users", (CapturedColumn("id", Scalar.INTEGER),), ("id",))
AWAY = ExternalError("DATABASE_UNREACHABLE", "The database at db can't be reached: refused.")


@dataclass
class Clock:
    now: float = 1000.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


@dataclass
class FakeCaptures:
    """What Kafka Connect and the database say, and what was asked of them."""

    state: ConnectState = ConnectState.RUNNING
    trace: str = ""
    away: ExternalError | None = None  # while the database doesn't answer
    lost: str | None = None  # why the capture can't go on
    refuses: Exception | None = None  # what the next restart ends with
    names: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def check(self, name: str, options: Options) -> Capture:
        self.asked.append("check")
        return self.describe(name, options)

    def create(self, name: str, options: Options, checked: Capture | None = None) -> Capture:
        self.asked.append("create")
        self.names.add(name)
        return checked or self.describe(name, options)

    def ensure(self, name: str, options: Options) -> None:
        self.asked.append("ensure")
        if name not in self.names and self.away is not None:
            raise self.away
        self.names.add(name)

    def describe(self, name: str, options: Options) -> Capture:
        return Capture(name, {"topic.prefix": name}, (USERS,))

    def status(self, name: str, options: Options) -> Status:
        return Status(name, self.state, tasks=(Task(0, self.state, self.trace),))

    def ask(self, name: str, options: Options) -> str | None:
        self.asked.append("ask")
        return self.problem(name, options)

    def problem(self, name: str, options: Options) -> str | None:
        if self.away is not None:
            raise self.away
        return self.lost

    def offsets(self, name: str, options: Options) -> list[Position]:
        return [Position({"server": name}, {"lsn": 5})]

    def pause(self, name: str, options: Options) -> None:
        self.asked.append("pause")
        self.state = ConnectState.PAUSED

    def resume(self, name: str, options: Options) -> None:
        self.asked.append("resume")
        self.state = ConnectState.RUNNING

    def restart(self, name: str, options: Options) -> None:
        self.asked.append("restart")
        if self.refuses is not None:
            raise self.refuses

    def drop(self, name: str, options: Options) -> list[str]:
        self.asked.append("drop")
        if self.away is not None:
            raise self.away
        self.names.discard(name)
        return ["The replication slot is still there."]

    def close(self) -> None:
        self.asked.append("close")

    def fail(self, trace: str = "java.lang.X: broken") -> None:
        self.state, self.trace = ConnectState.FAILED, trace

    def count(self, what: str) -> int:
        return self.asked.count(what)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(capturing, "time", clock)
    monkeypatch.setattr(capturing, "_EVERY_S", 3600.0)  # the test itself looks
    return clock


@pytest.fixture
def port() -> FakeCaptures:
    return FakeCaptures()


@pytest.fixture
def held(clock: Clock, port: FakeCaptures) -> Iterator[Capturing]:
    started = Capturing(lambda: cast(Captures, port))
    yield started
    started.close()


@pytest.fixture
def running(held: Capturing) -> Capturing:
    held.create(SHOP)
    held.look()
    assert told(held) == ("RUNNING", None)
    return held


def told(held: Capturing) -> tuple[str, str | None]:
    status = held.status("shop")
    return status.state, status.error


def looks(held: Capturing, clock: Clock, seconds: float) -> None:
    """Time passes, with a look at every second."""
    until = clock.now + seconds
    while clock.now < until:
        clock.now += 1
        held.look()


def test_a_capture_that_is_made_runs(held: Capturing, port: FakeCaptures) -> None:
    assert held.create(SHOP).topics == {"public.users": "shop.public.users"}
    assert told(held) == ("STARTING", None)
    held.look()
    assert told(held) == ("RUNNING", None)
    assert held.topics("shop") == ["shop.public.users"]
    assert held.offsets("shop") == [Offset({"server": "shop"}, {"lsn": 5})]


def test_what_was_checked_is_not_checked_again(held: Capturing, port: FakeCaptures) -> None:
    held.create(SHOP, held.check(SHOP))
    assert port.asked == ["check", "create"]


def test_one_that_is_meant_to_rest_is_paused_at_once(held: Capturing, port: FakeCaptures) -> None:
    resting = Connector("shop", "cdc", (), SHOP.options, direction=Direction.SOURCE, wanted=Wanted.STOPPED)
    held.create(resting)
    held.look()
    assert told(held) == ("PAUSED", None)
    assert port.asked == ["create", "pause"]


def test_a_database_that_is_away_is_waited_for(running: Capturing, port: FakeCaptures, clock: Clock) -> None:
    port.away = AWAY
    looks(running, clock, 11)
    assert told(running) == ("WAITING", AWAY.message)
    looks(running, clock, 5)
    assert told(running) == ("WAITING", AWAY.message)  # whatever Connect says
    port.away = None
    looks(running, clock, 31)
    assert told(running) == ("RUNNING", None)
    assert port.count("restart") == 0


def test_the_database_is_asked_at_intervals_and_later_and_later_while_it_is_away(
    running: Capturing, port: FakeCaptures, clock: Clock
) -> None:
    port.asked.clear()
    looks(running, clock, 100)
    assert 8 <= port.count("ask") <= 10
    port.asked.clear()
    port.away = AWAY
    looks(running, clock, 300)
    assert 10 <= port.count("ask") <= 16
    port.away = None
    looks(running, clock, 31)
    port.asked.clear()
    port.away = AWAY
    looks(running, clock, 15)
    assert port.count("ask") >= 3  # the patience begins anew


def test_a_failed_capture_is_started_again_later_and_later(
    running: Capturing, port: FakeCaptures, clock: Clock
) -> None:
    port.fail()
    running.look()
    assert told(running) == ("RESTARTING", "broken")
    assert port.count("restart") == 0
    looks(running, clock, 3)
    assert port.count("restart") == 1
    looks(running, clock, 300)
    assert 6 <= port.count("restart") <= 10
    assert running.status("shop").restarts == port.count("restart")
    port.state = ConnectState.RUNNING
    running.look()
    assert told(running) == ("FAILING", "broken")
    looks(running, clock, 130)  # longer than twice the time between two of its restarts
    assert told(running) == ("RUNNING", None)


def test_one_that_fails_again_and_again_is_failing(running: Capturing, port: FakeCaptures, clock: Clock) -> None:
    for number in range(3):
        port.fail(f"trace {number}")
        looks(running, clock, 2)
        assert told(running) == ("FAILING" if number == 2 else "RESTARTING", f"trace {number}")
        port.state = ConnectState.RUNNING
        running.look()
    assert told(running) == ("FAILING", "trace 2")  # Connect calls it running: so it did the other times
    assert [one.error for one in running.status("shop").failures] == ["trace 0", "trace 1", "trace 2"]
    looks(running, clock, 10)
    assert told(running) == ("RUNNING", None)


def test_one_that_no_restart_helps_is_failing(running: Capturing, port: FakeCaptures, clock: Clock) -> None:
    port.fail("trace")
    looks(running, clock, 6)
    assert told(running) == ("RESTARTING", "trace")
    looks(running, clock, 60)
    status = running.status("shop")
    assert (told(running), len(status.failures)) == (("FAILING", "trace"), len(status.restarted_at))


def test_one_that_fails_again_soon_waits_longer(running: Capturing, port: FakeCaptures, clock: Clock) -> None:
    for _ in range(4):
        port.fail()
        looks(running, clock, 1)
        port.state = ConnectState.RUNNING
        looks(running, clock, 1)
    port.fail()
    port.asked.clear()
    looks(running, clock, 20)
    assert port.count("restart") == 0
    port.state = ConnectState.RUNNING
    looks(running, clock, 70)  # it is well again
    port.fail()
    looks(running, clock, 4)
    assert port.count("restart") == 1


def test_one_that_fails_because_its_database_is_away_is_not_restarted(
    running: Capturing, port: FakeCaptures, clock: Clock
) -> None:
    port.fail()
    port.away = AWAY
    looks(running, clock, 60)
    assert told(running) == ("WAITING", AWAY.message)
    assert port.count("restart") == 0
    port.away = None
    looks(running, clock, 40)
    assert port.count("restart") > 0


def test_a_restart_that_is_refused_is_tried_again(running: Capturing, port: FakeCaptures, clock: Clock) -> None:
    port.fail()
    port.refuses = RuntimeError("no")
    looks(running, clock, 5)
    assert told(running) == ("RESTARTING", "no")
    port.refuses = None
    looks(running, clock, 60)
    assert port.count("restart") > 1


def test_a_loss_is_the_end(running: Capturing, port: FakeCaptures, clock: Clock) -> None:
    port.lost = "The replication slot is gone."
    looks(running, clock, 11)
    assert told(running) == ("ERROR", "The replication slot is gone.")
    assert port.state is ConnectState.PAUSED
    port.asked.clear()
    looks(running, clock, 100)
    assert port.asked == []
    with pytest.raises(ConfigError) as caught:
        running.steer("shop", Wanted.RUNNING)
    assert caught.value.code == "CAPTURE_LOST"
    with pytest.raises(ConfigError, match="slot is gone"):
        running.restart("shop")
    assert told(running) == ("ERROR", "The replication slot is gone.")


def test_steering(running: Capturing, port: FakeCaptures, clock: Clock) -> None:
    running.steer("shop", Wanted.PAUSED)
    looks(running, clock, 20)
    assert told(running) == ("PAUSED", None)
    running.restart("shop")  # what rests isn't started
    assert (told(running), port.count("restart")) == (("PAUSED", None), 0)
    running.steer("shop", Wanted.RUNNING)
    assert told(running) == ("STARTING", None)
    running.look()
    assert told(running) == ("RUNNING", None)
    running.restart("shop")
    assert running.status("shop").restarts == 1


def test_whoever_steers_ends_the_patience(running: Capturing, port: FakeCaptures, clock: Clock) -> None:
    port.away = AWAY
    looks(running, clock, 200)
    port.away = None
    running.restart("shop")
    running.look()
    assert told(running) == ("RUNNING", None)


def test_one_that_connect_is_still_starting(running: Capturing, port: FakeCaptures) -> None:
    port.state = ConnectState.UNASSIGNED
    running.look()
    assert told(running) == ("STARTING", None)


def test_one_of_the_journal_is_brought_back(held: Capturing, port: FakeCaptures, clock: Clock) -> None:
    port.away = AWAY
    held.restore(SHOP)
    assert port.asked == []  # a server that starts waits for nobody
    looks(held, clock, 10)
    assert told(held) == ("WAITING", AWAY.message)
    assert port.count("ensure") < 6
    port.away = None
    looks(held, clock, 20)
    assert told(held) == ("RUNNING", None)
    assert held.topics("shop") == ["shop.public.users"]


def test_one_of_the_journal_that_rests(held: Capturing, port: FakeCaptures, clock: Clock) -> None:
    held.restore(Connector("shop", "cdc", (), SHOP.options, direction=Direction.SOURCE, wanted=Wanted.PAUSED))
    looks(held, clock, 20)
    assert (told(held), port.asked) == (("PAUSED", None), [])


def test_one_of_the_journal_whose_options_are_wrong_now(held: Capturing, port: FakeCaptures, clock: Clock) -> None:
    held.restore(Connector("shop", "cdc", (), (("database", "postgresql"),), direction=Direction.SOURCE))
    looks(held, clock, 20)
    state, error = told(held)
    assert (state, port.asked) == ("ERROR", [])
    assert "needs the option 'database.hostname'" in (error or "")


def test_a_dropped_capture_is_seen_to_no_more(running: Capturing, port: FakeCaptures, clock: Clock) -> None:
    assert running.drop("shop") == ["The replication slot is still there."]
    port.asked.clear()
    looks(running, clock, 20)
    assert port.asked == []


def test_one_that_cannot_be_dropped_is_still_there(running: Capturing, port: FakeCaptures) -> None:
    port.away = AWAY
    with pytest.raises(ExternalError):
        running.drop("shop")
    assert told(running) == ("RUNNING", None)


def test_nothing_is_started_before_it_is_needed() -> None:
    def never() -> Captures:
        raise AssertionError("nobody needs it")

    Capturing(never).close()


def test_a_capture_reads_no_secrets_that_the_settings_do_not_list(clock: Clock, port: FakeCaptures) -> None:
    held = Capturing(lambda: cast(Captures, port))
    with pytest.raises(ConfigError) as refused:
        held.create(replace(SHOP, options=(*SHOP.options, ("database.password", "${file:/etc/passwd}"))))
    assert refused.value.code == "SECRET_NOT_ALLOWED"
    held.close()


def test_the_watch_looks_by_itself(port: FakeCaptures, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capturing, "_EVERY_S", 0.001)
    held = Capturing(lambda: cast(Captures, port))
    held.create(SHOP)
    deadline = time.monotonic() + 30
    while held.status("shop").state != State.RUNNING:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    held.close()
    assert port.asked[-1] == "close"

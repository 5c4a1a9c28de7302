"""When streams are woken: as soon as there is something to read, and not oftener than freshness asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from orion.errors import ExternalError
from orion.runtime import pacing
from orion.runtime.pacing import Paced, Pacer, StreamPace
from orion.runtime.progress import Offsets
from tests.jobs import Clock


@dataclass
class StandingClock:
    """Spark's ManualClock."""

    now: int = 0

    def getTimeMillis(self) -> int:
        return self.now

    def setTime(self, now: int) -> None:
        self.now = now


@dataclass
class Cluster:
    ends: Offsets = field(default_factory=dict)
    is_away: bool = False
    asked: list[Mapping[str, int]] = field(default_factory=list)

    def find_ends(self, topics: Mapping[str, int]) -> Offsets:
        self.asked.append(topics)
        if self.is_away:
            raise ExternalError("BROKER_UNREACHABLE", "No broker answers.")
        return {topic: dict(self.ends[topic]) for topic in topics if topic in self.ends}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pacing, "time", clock)
    monkeypatch.setattr(Clock, "time_ns", lambda self: round(self.now * 1e9), raising=False)
    return clock


def make_pace(trigger_ms: int = 300, freshness_ms: int = 1_000) -> StreamPace:
    pace = StreamPace(cast(Any, None), cast(Any, None), trigger_ms, freshness_ms)
    pace._clock = StandingClock()
    return pace


@pytest.fixture
def cluster() -> Cluster:
    return Cluster({"in": {0: 10}})


@dataclass
class Scene:
    """Streams, and a pacer whose thread does nothing by itself."""

    cluster: Cluster
    clock: Clock
    paced: list[Paced] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pacer = Pacer.__new__(Pacer)
        self.pacer._find_ends, self.pacer._streams, self.pacer._came_at = self.cluster.find_ends, self.streams, 0.0
        self.pacer._cores = 2.0

    def streams(self) -> Iterable[Paced]:
        return self.paced

    def wakes(self, pace: StreamPace, after_s: float = 0.0) -> bool:
        self.clock.now += after_s
        before = pace.woken_at
        self.pacer.look()
        return pace.woken_at != before


@pytest.fixture
def scene(cluster: Cluster, clock: Clock) -> Scene:
    return Scene(cluster, clock)


def test_one_is_woken_for_what_is_new_and_rests_until_then(scene: Scene, cluster: Cluster) -> None:
    pace = make_pace()
    reached = {"in": {0: 10}}
    scene.paced = [Paced(pace, {"in": 1}, reached, 100)]
    assert scene.wakes(pace)  # it isn't known yet what it has seen
    assert not any(scene.wakes(pace, 0.31) for _ in range(20))
    cluster.ends["in"] = {0: 11}
    assert scene.wakes(pace, 0.04)
    reached["in"] = {0: 11}
    assert not scene.wakes(pace, 1.0)


def test_one_that_is_behind_goes_on(scene: Scene) -> None:
    pace = make_pace()
    scene.paced = [Paced(pace, {"in": 1}, {"in": {0: 4}}, 0)]
    assert [scene.wakes(pace, 0.31) for _ in range(3)] == [True] * 3


@pytest.mark.parametrize(
    ("took_ms", "interval_s"), [(0, 0.3), (50, 0.3), (200, 0.6), (300, 0.7), (600, 0.4), (5_000, 2.5)]
)
def test_long_batches_come_seldom_as_long_as_results_are_fresh(
    scene: Scene, cluster: Cluster, took_ms: int, interval_s: float
) -> None:
    pace = make_pace()
    scene.paced = [Paced(pace, {"in": 1}, {}, took_ms)]
    assert scene.wakes(pace)
    assert not scene.wakes(pace, interval_s - 0.01)
    assert scene.wakes(pace, 0.02)


def test_many_streams_leave_each_other_time(scene: Scene) -> None:
    """Ten that take 400 ms each are 2 s of two cores: none is woken before that."""
    paces = [make_pace() for _ in range(10)]
    scene.paced = [Paced(pace, {"in": 1}, {}, 400) for pace in paces]
    assert scene.wakes(paces[0])
    assert not scene.wakes(paces[0], 1.9)
    assert scene.wakes(paces[0], 0.2)


def test_streams_that_rest_take_no_time(scene: Scene) -> None:
    paces = [make_pace() for _ in range(10)]
    scene.paced = [Paced(pace, {"in": 1}, {"in": {0: 10}}, 400) for pace in paces]
    assert scene.wakes(paces[0])
    busy = Paced(make_pace(), {"in": 1}, {}, 200)
    scene.paced.append(busy)
    assert scene.wakes(busy.pace, 11.0)
    assert scene.wakes(busy.pace, 0.65)


def test_now_and_then_one_is_woken_in_any_case(scene: Scene) -> None:
    pace = make_pace()
    scene.paced = [Paced(pace, {"in": 1}, {"in": {0: 10}}, 0)]
    assert scene.wakes(pace)
    assert not scene.wakes(pace, 29.0)
    assert scene.wakes(pace, 1.1)


def test_without_an_answer_streams_go_on_as_by_themselves(scene: Scene, cluster: Cluster) -> None:
    pace = make_pace()
    scene.paced = [Paced(pace, {"in": 1}, {"in": {0: 10}}, 0)]
    cluster.is_away = True
    assert [scene.wakes(pace, 0.31) for _ in range(3)] == [True] * 3
    cluster.is_away = False
    cluster.ends.clear()  # its leader is away
    assert [scene.wakes(pace, 0.31) for _ in range(3)] == [True] * 3


def test_all_topics_are_asked_for_at_once(scene: Scene, cluster: Cluster) -> None:
    cluster.ends["other"] = {0: 1, 1: 1}
    one, other = make_pace(), make_pace()
    scene.paced = [Paced(one, {"in": 1}, {}, 0), Paced(other, {"other": 2, "in": 1}, {}, 0)]
    scene.pacer.look()
    assert cluster.asked == [{"in": 1, "other": 2}]


def test_statements_of_one_stream_are_woken_together(scene: Scene) -> None:
    pace = make_pace()
    scene.paced = [Paced(pace, {"in": 1}, {"in": {0: 10}}, 0), Paced(pace, {"in": 1}, {"in": {0: 3}}, 0)]
    assert scene.wakes(pace)
    assert scene.wakes(pace, 0.31)  # one of them is behind


def test_one_that_is_about_to_end_begins_no_batch(scene: Scene) -> None:
    pace = make_pace()
    scene.paced = [Paced(pace, {"in": 1}, {}, 0)]
    pace.is_stopped = True
    assert not scene.wakes(pace, 60.0)


def test_its_clock_goes_on_by_a_trigger_at_least(clock: Clock) -> None:
    pace = make_pace(trigger_ms=5_000_000)
    standing = cast(StandingClock, pace._clock)
    pace.wake({}, 1.0)
    first = standing.now
    pace.wake({}, 2.0)
    assert standing.now == first + 5_000_000

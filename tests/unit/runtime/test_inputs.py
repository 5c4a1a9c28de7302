"""What is wrong with a query's topics, and when the cluster is asked for that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest
from structlog.testing import capture_logs

from orion.errors import ExternalError
from orion.hub.kafka import Kafka, Topic
from orion.plan.partitions import Bond
from orion.runtime import inputs as module
from orion.runtime.inputs import Input, Inputs, Watch, accepted, noted, trouble

READS = Inputs("CTAS_T_1", (Input("a", "id-a", 2), Input("b", "id-b", 1)), resume="RESUME CTAS_T_1")
AT = {"a": {0: 10, 1: 20}, "b": {0: 5}}
FIRST = {"a": {0: 0, 1: 20}, "b": {0: 0}}


def topic(name: str, partitions: int, topic_id: str | None = None) -> Topic:
    return Topic(name, partitions, 1, False, topic_id or f"id-{name}")


def seen(*topics: Topic) -> dict[str, Topic]:
    return {t.name: t for t in (topic("a", 2), topic("b", 1), *topics)}


def test_nothing_is_wrong_with_topics_as_they_were_noted() -> None:
    assert noted(("a", "b", "a"), seen()) == READS.topics
    assert trouble(READS, seen(), AT, FIRST) is None
    assert trouble(READS, seen(), {}, {}) is None


def test_a_topic_that_is_gone() -> None:
    found = trouble(READS, {"a": topic("a", 2)}, AT, FIRST)
    assert found is not None
    assert (found.code, found.fatal, found.acceptable) == ("TOPIC_GONE", True, False)
    assert found.message == "Topic b was deleted, and CTAS_T_1 reads it."


def test_another_topic_of_the_same_name() -> None:
    found = trouble(READS, seen(topic("b", 1, "new")), AT, FIRST)
    assert found is not None
    assert (found.code, found.fatal, found.acceptable) == ("TOPIC_RECREATED", True, False)
    assert "its id was id-b and is new" in found.message
    error = found.error
    assert (error.code, error.message, error.hint) == (found.code, found.message, found.hint)


def test_records_that_were_deleted_before_they_were_read() -> None:
    found = trouble(READS, seen(), AT, {"a": {0: 13, 1: 21}, "b": {0: 5}})
    assert found is not None
    assert (found.code, found.fatal, found.acceptable) == ("OFFSETS_GONE", True, True)
    assert "partition 0 offsets 10 to 12, partition 1 offsets 20 to 20." in found.message
    assert "up to 4 records" in found.message
    assert "RESUME CTAS_T_1;" in found.hint


def test_what_no_statement_resumes_is_not_told_to_be_resumed() -> None:
    sink = Inputs("LAKE", READS.topics, {"a": Bond.ORDER})
    lost = trouble(sink, seen(), AT, {"a": {0: 13}})
    grown = trouble(sink, seen(topic("a", 3)), AT, FIRST)
    assert lost is not None
    assert grown is not None
    assert not lost.acceptable
    assert not grown.acceptable
    assert "RESUME" not in lost.hint + grown.hint


def test_what_was_read_may_be_deleted_and_what_is_not_known_is_no_gap() -> None:
    assert trouble(READS, seen(), AT, {"a": {0: 10, 1: 20}, "b": {0: 5}}) is None
    assert trouble(READS, seen(), {"a": {0: 10}}, {"a": {0: 10, 1: 99}, "b": {0: 99}}) is None
    assert trouble(READS, seen(), AT, {}) is None


@pytest.mark.parametrize(
    ("bond", "said"),
    [(Bond.KEY, "Its results stay right"), (Bond.ORDER, "by their timestamps")],
)
def test_partitions_that_were_added(bond: Bond, said: str) -> None:
    reads = Inputs(READS.query, READS.topics, {"a": bond}, READS.resume)
    found = trouble(reads, seen(topic("a", 6)), AT, FIRST)
    assert found is not None
    assert (found.code, found.fatal, found.acceptable) == ("PARTITIONS_ADDED", False, True)
    assert "Topic a has 6 partitions and had 2 when CTAS_T_1 started" in found.message
    assert said in found.message


def test_partitions_do_not_matter_to_rows_that_stand_for_themselves() -> None:
    reads = Inputs(READS.query, READS.topics, {"a": Bond.NONE, "b": Bond.ORDER})
    assert trouble(reads, seen(topic("a", 6)), AT, FIRST) is None


def test_the_worst_is_told() -> None:
    reads = Inputs(READS.query, READS.topics, {"a": Bond.KEY, "b": Bond.ORDER}, READS.resume)
    grown = seen(topic("a", 6))
    lost = {"a": {0: 0, 1: 0}, "b": {0: 6}}
    assert [t and t.code for t in (trouble(reads, grown, AT, FIRST), trouble(reads, grown, AT, lost))] == [
        "PARTITIONS_ADDED",
        "OFFSETS_GONE",
    ]
    worst = trouble(reads, seen(topic("b", 2)), AT, {"a": {0: 11}})
    assert worst is not None
    assert (worst.code, worst.fatal) == ("OFFSETS_GONE", True)
    gone = trouble(reads, {"a": topic("a", 6)}, AT, lost)
    assert gone is not None
    assert gone.code == "TOPIC_GONE"


def test_what_was_accepted_is_no_trouble_and_what_comes_after_is() -> None:
    reads = Inputs(READS.query, READS.topics, {"a": Bond.ORDER})
    now, lost = seen(topic("a", 3)), {"a": {0: 13, 1: 20}, "b": {0: 0}}
    taken = accepted(reads, now, AT, lost)
    assert taken.topics == (Input("a", "id-a", 3, {0: 13}), Input("b", "id-b", 1))
    assert trouble(taken, now, AT, lost) is None
    more = trouble(taken, now, AT, {"a": {0: 15}})
    assert more is not None
    assert "partition 0 offsets 13 to 14." in more.message
    assert trouble(taken, now, {"a": {0: 16}}, {"a": {0: 15}}) is None


def test_another_topic_is_never_accepted() -> None:
    for now in ({"a": topic("a", 2)}, seen(topic("b", 1, "new"))):
        assert accepted(READS, now, AT, FIRST).topics == READS.topics


# ---- when the cluster is asked ---------------------------------------------------------------------------------------


@dataclass
class FakeCluster:
    """A cluster that answers as told, and counts the rounds of questions."""

    topics: dict[str, Topic] = field(default_factory=seen)
    earliest: dict[str, dict[int, int]] = field(default_factory=lambda: {**FIRST, "c": {0: 0}})
    away: bool = False
    asked: list[tuple[str, ...]] = field(default_factory=list)
    on_asked: Callable[[], object] = bool

    def present(self, names: Sequence[str]) -> dict[str, Topic]:
        self.asked.append(tuple(names))
        self.on_asked()
        if self.away:
            raise ExternalError("BROKER_UNREACHABLE", "No Kafka broker answers.")
        return {name: self.topics[name] for name in names if name in self.topics}

    def earliest_of(self, topics: Sequence[Topic]) -> dict[str, dict[int, int]]:
        return {t.name: self.earliest[t.name] for t in topics}


@dataclass
class Clock:
    """Time that passes when told, and threads that run at once."""

    now: float = 1000.0
    on_sleep: Callable[[], object] = bool

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.on_sleep()


class AtOnce:
    def __init__(self, target: Callable[[], None], **_: object) -> None:
        self.start = target


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    # Not for all modules: the log's thread, where a test before has it set up, would run here and never end.
    monkeypatch.setattr(module, "threading", SimpleNamespace(Lock=threading.Lock, Thread=AtOnce))
    return clock


def watch(cluster: FakeCluster) -> Watch:
    return Watch(cast(Kafka, cluster))


def test_all_topics_are_asked_for_together_and_not_each_time(clock: Clock) -> None:
    cluster = FakeCluster({**seen(), "c": topic("c", 1)})
    found = watch(cluster)
    other = Inputs("Q2", (Input("c", "id-c", 1),))
    for _ in range(10):
        assert found.look(READS, lambda: AT) is None
        assert found.look(other, dict) is None
    assert cluster.asked == [("a", "b")]
    clock.now += 6
    found.look(READS, lambda: AT)
    assert cluster.asked[1:] == [("a", "b", "c")]


def test_a_topic_that_nobody_asked_the_cluster_about_is_not_gone(clock: Clock) -> None:
    cluster = FakeCluster()
    found = watch(cluster)
    found.look(Inputs("Q2", (Input("z", "id-z", 1),)), dict)
    assert found.look(READS, lambda: AT) is None


def test_what_has_changed_is_noticed_at_the_next_look(clock: Clock) -> None:
    cluster = FakeCluster()
    found = watch(cluster)
    found.look(READS, lambda: AT)
    cluster.earliest["b"] = {0: 9}
    assert found.look(READS, lambda: AT) is None
    clock.now += 6
    found.look(READS, lambda: AT)
    told = found.look(READS, lambda: AT)
    assert told is not None
    assert told.code == "OFFSETS_GONE"


def test_how_far_a_query_is_is_asked_once_for_each_answer(clock: Clock) -> None:
    found, asked = watch(FakeCluster(earliest={"a": {0: 11}, "b": {}})), []

    def ahead() -> dict[str, dict[int, int]]:
        asked.append(clock.now)
        return AT

    found.look(READS, ahead)
    told = [found.look(READS, ahead) for _ in range(3)]
    assert [t and t.code for t in told] == ["OFFSETS_GONE"] * 3
    assert len(asked) == 1
    taken = accepted(READS, seen(), AT, {"a": {0: 11}})
    assert found.look(taken, ahead) is None
    clock.now += 6
    found.look(taken, ahead)
    found.look(taken, ahead)
    assert asked == [1000.0, 1000.0, 1006.0]  # for either inputs, and for the second answer


def test_a_cluster_that_does_not_answer_is_no_topic_that_is_gone(clock: Clock) -> None:
    cluster = FakeCluster()
    found = watch(cluster)
    found.look(READS, lambda: AT)
    cluster.away = True
    for _ in range(5):
        clock.now += 6
        assert found.look(READS, lambda: AT) is None
    assert len(cluster.asked) == 6
    with pytest.raises(ExternalError):
        found.check(READS, AT)


def test_a_topic_is_gone_only_when_it_is_missed_twice(clock: Clock) -> None:
    cluster = FakeCluster()
    found = watch(cluster)
    missed = cluster.topics.pop("b")
    clock.on_sleep = lambda: cluster.topics.update(b=missed)
    assert found.check(READS, AT) is None
    clock.on_sleep = bool
    del cluster.topics["b"]
    told = found.check(READS, AT)
    assert told is not None
    assert told.code == "TOPIC_GONE"


def test_topics_of_queries_that_are_gone_are_forgotten(clock: Clock) -> None:
    cluster = FakeCluster()
    found = watch(cluster)
    found.look(Inputs("Q2", (Input("z", "id-z", 1),)), dict)
    clock.now += 130
    found.look(READS, lambda: AT)
    assert cluster.asked[-1] == ("a", "b")


def test_a_server_that_has_closed_says_nothing_of_a_cluster_that_is_gone(clock: Clock) -> None:
    cluster = FakeCluster(away=True)
    found = watch(cluster)
    with capture_logs() as said:
        found.look(READS, lambda: AT)
        assert [line["event"] for line in said] == ["topics can't be looked at"]
        cluster.on_asked = found.close  # while an answer is under way
        clock.now += 6
        found.look(READS, lambda: AT)
        clock.now += 6
        found.look(READS, lambda: AT)
    assert len(said) == 1
    assert len(cluster.asked) == 2

"""One stream for many readers, without Spark: who gets what, who is cut off, and when the stream ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from orion.errors import ExternalError, UserError
from orion.runtime import broadcast
from orion.runtime.broadcast import Broadcast, Reader, Shares

SMALL = 300  # room for two rows and a bit
DEADLINE_S = 10.0


class Started:
    """A stream that does nothing by itself."""

    def __init__(self, to: Broadcast) -> None:
        self.to = to
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1


class Starting:
    def __init__(self) -> None:
        self.streams: list[Started] = []

    def __call__(self, to: Broadcast) -> Started:
        self.streams.append(Started(to))
        return self.streams[-1]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast, "PATIENCE_S", 0.05)
    monkeypatch.setattr(broadcast, "_LOOK_S", 0.01)


def joined(shares: Shares, start: Starting, reader: Reader | None = None, key: str = "k") -> tuple[Reader, Leave]:
    reader = reader or Reader()
    return reader, shares.join(key, reader, start)


Leave = Callable[[], None]


def give_each(to: Broadcast, rows: int) -> None:
    for n in range(rows):
        to.give([f"[{n}]"])


def test_readers_of_the_same_share_a_stream_and_each_gets_every_row() -> None:
    shares, start = Shares(), Starting()
    (one, leave_one), (two, leave_two) = joined(shares, start), joined(shares, start)
    joined(shares, start, key="another")
    assert (len(start.streams), len(shares)) == (2, 2)
    start.streams[0].to.give(["[1]", "[2]"])
    assert one.take() == two.take() == ["[1]", "[2]"]
    leave_one()
    assert start.streams[0].stops == 0
    leave_two()
    assert (start.streams[0].stops, start.streams[1].stops, len(shares)) == (1, 0, 1)
    joined(shares, start)
    assert len(start.streams) == 3


def test_a_limit_is_the_readers_own() -> None:
    shares, start = Shares(), Starting()
    (one, _), (all_, _) = joined(shares, start, Reader(limit=1)), joined(shares, start)
    start.streams[0].to.give(["[1]", "[2]"])
    assert (one.take(), one.is_done, one.has_all, one.take()) == (["[1]"], True, True, [])
    start.streams[0].to.give(["[3]"])
    assert (all_.take(), all_.is_done) == (["[1]", "[2]", "[3]"], False)


def test_a_slow_reader_is_cut_off_and_told_so_and_the_others_get_everything() -> None:
    to, slow, quick = Broadcast(), Reader(most_waiting=SMALL), Reader()
    to.add(slow)
    to.add(quick)
    give_each(to, 10)
    assert quick.take() == [f"[{n}]" for n in range(10)]
    assert to.readers == (quick,)
    assert slow.take() == ["[0]", "[1]", "[2]"]  # what had come before stays readable
    assert not slow.is_done
    with pytest.raises(UserError) as told:
        slow.take()
    assert told.value.code == "READER_TOO_SLOW"
    assert slow.is_done


def test_the_only_reader_is_waited_for_until_another_comes() -> None:
    to, slow, other = Broadcast(), Reader(most_waiting=SMALL), Reader()
    to.add(slow)
    with ThreadPoolExecutor(1) as threads:
        given = threads.submit(give_each, to, 20)
        taken: list[str] = []
        while len(taken) < 10:
            slow.wait(DEADLINE_S)
            taken += slow.take(1)
        assert taken == [f"[{n}]" for n in range(10)]
        assert not given.done()
        to.add(other)  # from now on the slow one holds somebody up
        given.result(DEADLINE_S)
    assert to.readers == (other,)


def test_a_reader_that_catches_up_in_time_stays() -> None:
    to, bursty, other = Broadcast(), Reader(most_waiting=SMALL), Reader()
    to.add(bursty)
    to.add(other)
    taken: list[str] = []

    def read() -> None:
        while len(taken) < 100:
            bursty.wait(DEADLINE_S)
            taken.extend(bursty.take())

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(read)
        give_each(to, 100)
        reading.result(DEADLINE_S)
    assert taken == [f"[{n}]" for n in range(100)]


def test_who_leaves_while_the_stream_waits_for_him_lets_it_go_on() -> None:
    shares, start = Shares(), Starting()
    _, leave = joined(shares, start, Reader(most_waiting=SMALL))
    with ThreadPoolExecutor(1) as threads:
        given = threads.submit(give_each, start.streams[0].to, 10)
        leave()
        given.result(DEADLINE_S)
    assert start.streams[0].stops == 1


def test_a_failure_comes_after_the_rows_and_the_next_reader_starts_anew() -> None:
    shares, start = Shares(), Starting()
    reader, leave = joined(shares, start)
    start.streams[0].to.give(["[1]"])
    shares.failed(start.streams[0].to, ExternalError("PUSH_QUERY_FAILED", "The query stopped."))
    assert reader.take() == ["[1]"]
    with pytest.raises(ExternalError):
        reader.take()
    joined(shares, start)
    assert len(start.streams) == 2
    leave()
    assert [one.stops for one in start.streams] == [1, 0]


def test_a_stream_that_does_not_start_leaves_nothing_behind() -> None:
    def refuse(_: Broadcast) -> Started:
        raise ExternalError("DOWN", "No broker.")

    shares, start = Shares(), Starting()
    with pytest.raises(ExternalError):
        shares.join("k", Reader(), refuse)
    joined(shares, start)
    assert (len(shares), len(start.streams)) == (1, 1)


def test_many_come_and_go_at_once() -> None:
    shares, start = Shares(), Starting()

    def come_and_go(_: int) -> None:
        for _ in range(20):
            joined(shares, start)[1]()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(come_and_go, range(8)))
    assert len(shares) == 0
    assert all(one.stops >= 1 and not one.to.readers for one in start.streams)


def test_a_reader_is_woken_by_rows_and_by_the_end() -> None:
    reader, woken = Reader(), threading.Semaphore(0)
    reader.on_change(woken.release)
    assert woken.acquire(timeout=DEADLINE_S)  # at once: rows may have come before
    reader.offer(["[1]"])
    assert woken.acquire(timeout=DEADLINE_S)
    reader.end()
    assert woken.acquire(timeout=DEADLINE_S)
    assert (reader.is_done, reader.take(), reader.offer(["[2]"])) == (True, [], True)


def test_closing_ends_every_stream_and_reader() -> None:
    shares, start = Shares(), Starting()
    (one, leave), (two, _) = joined(shares, start), joined(shares, start, key="another")
    shares.close()
    leave()
    assert (one.is_done, two.is_done, len(shares)) == (True, True, 0)
    assert all(stream.stops >= 1 for stream in start.streams)

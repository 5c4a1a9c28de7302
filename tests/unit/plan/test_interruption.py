"""Work that is ended from elsewhere raises why, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from orion.errors import ExternalError, UserError
from orion.plan.interruption import Interruption, refuse_too_many

LEFT = ExternalError("CLIENT_LEFT", "gone")


def work(interruption: Interruption, ended: threading.Event) -> None:
    with interruption.ended_by(ended.set):
        assert ended.wait(60)
        raise RuntimeError("cancelled")  # as an engine tells it


def test_work_that_is_ended_raises_why() -> None:
    interruption, ended = Interruption(), threading.Event()
    threading.Timer(0.05, lambda: interruption.interrupt(LEFT)).start()
    with pytest.raises(ExternalError) as raised:
        work(interruption, ended)
    assert raised.value is LEFT


def test_an_engine_that_forgets_is_told_again() -> None:
    """DuckDB clears what it was told when a query begins."""
    interruption, told, enough = Interruption(), [], threading.Event()

    def end() -> None:
        told.append(1)
        if len(told) == 3:
            enough.set()

    threading.Timer(0.01, lambda: interruption.interrupt(LEFT)).start()
    with pytest.raises(ExternalError):
        _wait(interruption, end, enough)


def _wait(interruption: Interruption, end: Callable[[], None], enough: threading.Event) -> None:
    with interruption.ended_by(end):
        assert enough.wait(60)
        raise RuntimeError("cancelled at last")


def test_work_that_was_ended_before_is_not_begun() -> None:
    interruption = Interruption()
    interruption.interrupt(LEFT)
    interruption.interrupt(ExternalError("OTHER", "later"))
    with pytest.raises(ExternalError) as raised, interruption.ended_by(lambda: None):
        pytest.fail("it was begun")
    assert raised.value is LEFT


def test_work_that_is_done_is_left_alone() -> None:
    interruption, calls = Interruption(), []
    with interruption.ended_by(lambda: calls.append(1)):
        pass
    interruption.interrupt(LEFT)
    assert calls == []


def test_an_error_of_the_work_itself_stays_what_it_is() -> None:
    with pytest.raises(KeyError), Interruption().ended_by(lambda: None):
        raise KeyError("own")


def test_a_deadline_ends_it() -> None:
    interruption, ended = Interruption(), threading.Event()
    with pytest.raises(ExternalError) as raised, interruption.within(0.05, lambda: LEFT):
        work(interruption, ended)
    assert raised.value is LEFT


def test_an_answer_has_so_many_rows_at_most() -> None:
    refuse_too_many(5, 5)
    with pytest.raises(UserError) as refused:
        refuse_too_many(6, 5)
    assert refused.value.code == "PULL_TOO_LARGE"

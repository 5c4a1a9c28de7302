"""Answers that are kept at hand: as long as their rows are what they were."""

from __future__ import annotations

from orion import ksql
from orion.plan.steps import Pull
from orion.serving.hot import HotRows
from orion.serving.pull import Pulled
from tests.unit.serving.world import catalog

CATALOG = catalog()


def plan(text: str) -> Pull:
    ask = ksql.compile(text, CATALOG).ask
    assert isinstance(ask, Pull)
    return ask


PULL = plan("SELECT * FROM t WHERE k = 'a'")
ANSWER = Pulled(PULL.columns, [("a", 1)])


def test_an_answer_is_at_hand_until_its_row_changes() -> None:
    hot = HotRows(10)
    hot.put(PULL, ["a"], ANSWER, hot.version(PULL))
    assert hot.get(PULL, ["a"]) is ANSWER
    assert hot.get(PULL, ["b"]) is None
    hot.drop("T", ["b"])
    assert hot.get(PULL, ["a"]) is ANSWER
    hot.drop("T", ["a"])
    assert hot.get(PULL, ["a"]) is None


def test_an_answer_from_before_a_change_is_not_kept() -> None:
    hot = HotRows(10)
    version = hot.version(PULL)
    hot.drop("T", ["a"])
    hot.put(PULL, ["a"], ANSWER, version)
    assert hot.get(PULL, ["a"]) is None


def test_there_is_a_bound_and_tables_go_as_a_whole() -> None:
    hot = HotRows(2)
    for key in "abc":
        hot.put(PULL, [key], ANSWER, hot.version(PULL))
    assert [hot.get(PULL, [key]) is not None for key in "abc"] == [False, True, True]
    hot.drop("T")
    assert hot.get(PULL, ["c"]) is None
    off = HotRows(0)
    off.put(PULL, ["a"], ANSWER, off.version(PULL))
    assert off.get(PULL, ["a"]) is None


def test_only_what_hangs_on_one_key_is_a_look_up() -> None:
    assert PULL.is_lookup
    assert plan("SELECT n FROM w WHERE n > 3 AND k = 'a' LIMIT 3").is_lookup
    assert not plan("SELECT * FROM t WHERE k = 'a' OR n = 3").is_lookup
    assert not plan("SELECT * FROM t WHERE n = 3").is_lookup
    assert not plan("SELECT t.k FROM t JOIN w ON t.k = w.k WHERE t.k = 'a'").is_lookup

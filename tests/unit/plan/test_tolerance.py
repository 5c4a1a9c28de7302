"""How many dead letters are too many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orion.errors import UserError
from orion.plan.tolerance import SAMPLE, Recent, Tolerance, stopped


@pytest.mark.parametrize(
    ("text", "share", "written"),
    [
        ("all", 1.0, "all"),
        ("NONE", 0.0, "none"),
        ("0", 0.0, "none"),
        ("0.01", 0.01, "1%"),
        (" 1 % ", 0.01, "1%"),
        (".5%", 0.005, "0.5%"),
        ("100%", 1.0, "all"),
    ],
)
def test_a_tolerance_is_read_and_written(text: str, share: float, written: str) -> None:
    found = Tolerance.parse(text)
    assert found.share == pytest.approx(share)
    assert str(found) == written
    assert Tolerance.parse(written).share == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "some", "2", "101%", "-1%", "1%%", "1e-2", "nan"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UserError) as refused:
        Tolerance.parse(text)
    assert refused.value.code == "INVALID_TOLERANCE"


def test_all_bears_everything_and_none_nothing() -> None:
    assert Tolerance.parse("all").exceeded(0, 1_000_000) is None
    assert Tolerance.parse("none").exceeded(10, 0) is None
    assert Tolerance.parse("none").exceeded(9, 1) == "1 of 10 records can't be used, and 'errors.tolerance' is none"


def test_a_share_is_of_a_thousand_records_at_least() -> None:
    one_percent = Tolerance.parse("1%")
    assert one_percent.exceeded(5, 5) is None
    assert one_percent.exceeded(0, 10) is None
    assert one_percent.exceeded(0, 11) == ("11 of 11 records can't be used, and 'errors.tolerance' is 1%: 10 of 1000")
    assert one_percent.exceeded(99_000, 1_000) is None
    assert one_percent.exceeded(98_999, 1_001) is not None


def test_small_batches_are_judged_together() -> None:
    tolerance, recent = Tolerance.parse("1%"), Recent()
    for _ in range(10):
        recent = recent.after(9, 1)
        assert recent.exceeds(tolerance) is None
    assert recent.after(9, 1).exceeds(tolerance) is not None


def test_what_lies_further_back_is_forgotten() -> None:
    recent = Recent().after(0, 10).after(SAMPLE, 0)
    assert (recent.good, recent.bad) == (SAMPLE, 0)
    assert recent.after(0, 10).exceeds(Tolerance.parse("1%")) is None


def test_a_bad_batch_is_not_hidden_by_a_large_good_one_before_it() -> None:
    recent = Recent().after(100_000, 0).after(400, 11)
    assert recent.bad / (recent.good + recent.bad) < 0.01
    assert recent.exceeds(Tolerance.parse("1%")) is not None


@given(st.lists(st.tuples(st.integers(0, 700), st.integers(0, 700)), max_size=12))
def test_it_holds_the_last_batches_that_make_up_the_sample(batches: list[tuple[int, int]]) -> None:
    recent = Recent()
    for good, bad in batches:
        recent = recent.after(good, bad)
    assert recent.batches == tuple(batches[len(batches) - len(recent.batches) :])
    records = [sum(batch) for batch in recent.batches]
    assert sum(records[1:]) < SAMPLE
    assert len(records) == len(batches) or sum(records) >= SAMPLE


def test_what_stopped_says_what_to_do() -> None:
    why = Tolerance.parse("none").exceeded(0, 1)
    said = stopped(why or "", "in/0/7: VALUE_UNREADABLE")
    assert said.startswith("1 of 1 records can't be used, and 'errors.tolerance' is none. One of them: in/0/7: VALUE")
    assert said.endswith("CREATE OR REPLACE the statement with another ERRORS_TOLERANCE")

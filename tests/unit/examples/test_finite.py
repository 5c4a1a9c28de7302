"""The examples of a fixed length: repeatable records, and expectations that are right on records made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest

from examples.checks import all_hold, same_rows
from examples.clicks.account import enriched
from examples.finite import Act, Example, Fact
from examples.fraud.account import alerts, bursts
from examples.orders.account import charts
from examples.pageviews.account import sessions, views, windows

NAMES = ("clicks", "fraud", "orders", "pageviews")


def example(name: str) -> Example:
    found: Example = import_module(f"examples.{name}.account").EXAMPLE
    return found


def sent(name: str, records: int) -> Sequence[Act]:
    return example(name).acts(records)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_records(name: str) -> None:
    assert sent(name, 300) == sent(name, 300)
    assert len(sent(name, 300)[-1]) in (150, 300)


@pytest.mark.parametrize("name", NAMES)
def test_facts_are_keyed_and_json(name: str) -> None:
    facts = [fact for act in sent(name, 100) for fact in act]
    assert all(fact.key and (fact.value is None or fact.value.startswith(b"{")) for fact in facts)
    assert f"'{facts[0].topic}'" in example(name).pipeline


def test_a_wrong_and_a_missing_row_are_seen() -> None:
    assert all_hold(same_rows("rows", {"a": 1, "b": 2}, {"a": 1, "b": 2}))
    assert not all_hold(same_rows("rows", {"a": 1, "b": 2}, {"a": 1, "b": 3}))
    assert not all_hold(same_rows("rows", {"a": 1, "b": 2}, {"a": 1}))
    assert not all_hold(same_rows("rows", {"a": 1}, {"a": 1, "b": 2}))


def attempt(card: str, at: int, merchant: str = "m") -> Fact:
    return Fact("card_attempts", card, {"merchant": merchant, "attempted_at": at})


def test_fraud_is_more_than_three_in_a_window() -> None:
    four = [attempt("a", at, f"m{at}") for at in (10_000, 10_100, 12_000, 14_999)]
    assert alerts(four) == {("a", 10_000): (4, 4)}
    assert alerts([*four[:3], attempt("b", 10_200)]) == {}
    assert alerts([attempt("a", at) for at in (9_000, 10_100, 12_000, 12_500)]) == {
        ("a", start): (4, 1) for start in (8_000, 9_000)
    }


def test_tumbling_windows_cut_bursts_in_two() -> None:
    burst = [attempt("a", at) for at in (9_500, 9_900, 10_100, 10_400)]
    assert alerts(burst, hop_ms=5_000) == {}
    assert bursts(burst, 1_000) == {"a"}
    assert {card for card, _ in alerts(burst)} == {"a"}
    assert bursts(burst, 900) == set()


def test_thieves_are_few_and_there() -> None:
    (facts,) = sent("fraud", 2_000)
    cards = {fact.name for fact in facts}
    assert 10 < len({card for card, _ in alerts(facts)}) < len(cards) / 3


def test_top_orders_are_those_of_the_hour() -> None:
    def order(zip_code: str, total: float, at: int) -> Fact:
        return Fact("shop_orders", "o", {"zip": zip_code, "total": total, "placed_at": at})

    facts = [order("z", float(total), 3_600_000 + total) for total in range(7)]
    found = charts([*facts, order("z", 9.0, 3_599_999), order("y", 1.5, 3_600_000)])
    assert found == {
        ("z", 3_600_000): ((6.0, 5.0, 4.0, 3.0, 2.0), 7),
        ("z", 0): ((9.0,), 1),
        ("y", 3_600_000): ((1.5,), 1),
    }


def test_a_click_has_its_user_as_he_was() -> None:
    def user(row: dict[str, Any] | None) -> Fact:
        return Fact("click_users", "u", row)

    def click(number: int) -> Fact:
        return Fact("clicks", "u", {"click_id": f"c{number}", "page": "/"})

    basic, gold = ({"name": "Ana", "user_type": type_} for type_ in ("basic", "gold"))
    found = enriched([[click(0)], [user(basic)], [click(1)], [user(gold)], [click(2)], [user(None)], [click(3)]])
    assert found == {
        "c0": ("u", "/", None, None),
        "c1": ("u", "/", "Ana", "basic"),
        "c2": ("u", "/", "Ana", "gold"),
        "c3": ("u", "/", None, None),
    }


def test_users_change_and_leave_between_the_clicks() -> None:
    _, _, changes, _ = sent("clicks", 300)
    assert {fact.row is None for fact in changes} == {True, False}


def test_sessions_end_after_a_minute_of_silence() -> None:
    found = [("r", 0, "a"), ("r", 60_000, "b"), ("r", 120_001, "a"), ("s", 30_000, "c"), ("s", 31_000, "c")]
    assert sessions(found) == {("r", 0, 60_000): (2, 2), ("r", 120_001, 120_001): (1, 1), ("s", 30_000, 31_000): (2, 1)}


def test_a_view_is_in_three_windows() -> None:
    assert windows([("r", 100_000, "a"), ("r", 109_999, "b"), ("r", 110_000, "c")]) == {
        ("r", 80_000): 2,
        ("r", 90_000): 3,
        ("r", 100_000): 3,
        ("r", 110_000): 1,
    }


def test_guests_are_in_no_region() -> None:
    acts = sent("pageviews", 300)
    assert 0 < len(views(acts)) < len(acts[1])

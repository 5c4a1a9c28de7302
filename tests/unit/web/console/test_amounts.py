"""Numbers, durations and times as the console writes them."""

from __future__ import annotations

import pytest

from orion.web.console import amounts


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, "\N{EN DASH}"), (0, "0"), (950, "950"), (12_340, "12.3k"), (4_100_000, "4.1M"), (5e9, "5.0G")],
)
def test_short_numbers_have_about_three_digits(number: float | None, text: str) -> None:
    assert amounts.short(number) == text


def test_whole_numbers_are_grouped() -> None:
    assert amounts.count(1_234_567) == "1\N{NARROW NO-BREAK SPACE}234\N{NARROW NO-BREAK SPACE}567"


@pytest.mark.parametrize(("number", "text"), [(0.0, "0/s"), (0.25, "0.2/s"), (20.0, "20/s"), (25_000.0, "25.0k/s")])
def test_slow_rates_keep_a_digit(number: float, text: str) -> None:
    assert amounts.rate(number) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [(340, "340 ms"), (12_340, "12.3 s"), (60_000, "1 m"), (250_000, "4 m 10 s"), (273_600_000, "3 d 4 h")],
)
def test_durations_have_two_units_at_most(ms: int, text: str) -> None:
    assert amounts.duration(ms) == text


def test_sizes_and_moments() -> None:
    assert amounts.size(999) == "999\N{NARROW NO-BREAK SPACE}B"
    assert amounts.size(5_100_000) == "5.1\N{NARROW NO-BREAK SPACE}MB"
    assert amounts.moment(1_767_225_600_123) == "2026-01-01 00:00:00.123"
    assert amounts.moment(2**62) == str(2**62)
    assert amounts.ago(1_000_000, now=1_060) == "1 m ago"
    assert amounts.ago(1_000_000, now=1_000.5) == "just now"

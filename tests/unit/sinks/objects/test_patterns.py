"""Java's patterns of times."""

from __future__ import annotations

from datetime import datetime

import pytest

from orion.sinks.objects.patterns import Pattern

TIME = datetime(2026, 3, 7, 15, 4, 5, 678_901)


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH", "year=2026/month=03/day=07/hour=15"),
        ("yyyy-MM-dd", "2026-03-07"),
        ("yy/M/d/H/m/s", "26/3/7/15/4/5"),
        ("DDD", "066"),
        ("hh'h'a", "03hPM"),
        ("SSS", "678"),
        ("MMM MMMM EEE EEEE", "Mar March Sat Saturday"),
        ("xxxx-'W'ww-e", "2026-W10-6"),
        ("'it''s'", "it's"),
        ("''yyyy", "'2026"),
    ],
)
def test_a_pattern_writes_a_time(pattern: str, told: str) -> None:
    assert Pattern(pattern).write(TIME) == told


@pytest.mark.parametrize("pattern", ["year=YYYY", "'year=YYYY", "QQ"])
def test_a_pattern_that_cant_be_read(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"means nothing|isn't closed"):
        Pattern(pattern)


def test_words_depend_on_the_language() -> None:
    assert Pattern("MMM").has_names
    assert not Pattern("'MMM' MM").has_names

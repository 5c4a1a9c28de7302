"""How fast records come into topics, from where these ended at several looks."""

from __future__ import annotations

from orion.web.console.questions.topics import EndHistory


def test_a_rate_needs_two_looks_some_time_apart() -> None:
    now = [100.0]
    history = EndHistory(lambda: now[0])
    assert history.rate("t", 1000) is None
    now[0] += 1
    assert history.rate("t", 1100) is None  # too near to tell
    now[0] += 9
    assert history.rate("t", 1500) == 50.0
    now[0] += 10
    assert history.rate("t", 1500) == 25.0
    now[0] += 300
    assert history.rate("t", 9000) is None  # what was before is too long ago


def test_a_topic_that_was_made_anew_begins_anew() -> None:
    now = [0.0]
    history = EndHistory(lambda: now[0])
    history.rate("t", 1000)
    now[0] += 10
    assert history.rate("t", 3) is None
    now[0] += 10
    assert history.rate("t", 13) == 1.0

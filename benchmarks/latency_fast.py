"""Milliseconds through a statement of the fast lane; see benchmarks/latency.py."""

from __future__ import annotations

from benchmarks.latency import by_hand, contest, stateless
from benchmarks.stage import Measured, Stage


def measure(stage: Stage) -> Measured:
    what = "1,000 records/s, at least once"
    return contest(stage, "latency_fast", what, stateless(stage, "fast"), by_hand(stage))

"""Milliseconds through a statement of the exact lane; see benchmarks/latency.py."""

from __future__ import annotations

from benchmarks.latency import by_hand, contest, stateless
from benchmarks.stage import Measured, Stage


def measure(stage: Stage) -> Measured:
    what = "1,000 records/s, exactly once"
    return contest(stage, "latency_exact", what, stateless(stage, "exact"), by_hand(stage))

"""Milliseconds through a statement with state, beside one without, both exactly once; see benchmarks/latency.py."""

from __future__ import annotations

from benchmarks.latency import contest, keyed, stateless
from benchmarks.stage import Measured, Stage


def measure(stage: Stage) -> Measured:
    what = "1,000 records/s counted by key, exactly once"
    return contest(stage, "latency_keyed", what, keyed(stage), stateless(stage, "exact"), "without state")

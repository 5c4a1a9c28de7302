"""Milliseconds through a statement of the exact lane; see benchmarks/latency.py."""

from __future__ import annotations

from benchmarks import latency
from benchmarks.stage import Measured, Stage


def measure(stage: Stage) -> Measured:
    return latency.contest(stage, "latency_exact", "exact", "1,000 records/s, exactly once")

"""Milliseconds through a statement of the fast lane; see benchmarks/latency.py."""

from __future__ import annotations

from benchmarks import latency
from benchmarks.stage import Measured, Stage


def measure(stage: Stage) -> Measured:
    return latency.contest(stage, "latency_fast", "fast", "1,000 records/s, at least once")

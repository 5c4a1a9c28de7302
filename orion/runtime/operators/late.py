"""Rows that come too late for their window: counted, and kept as dead letters where the statement says so.

An operator tells of them beside its results (`OutputRow.late`). Their number goes to the writer with the changes of
state, and from there into Spark's report of the batch, where `progress` finds it. Those that are kept go on as bad
records do: every filter lets them pass, and `emit` makes letters of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable


def reason(bounds: Iterable[tuple[int, int]], grace_ms: int, now: int) -> str:
    """Why a row was too late for one window or several, in words."""
    closed = list(bounds)
    start, end = closed[0]
    more = f" (and {len(closed) - 1} more)" if len(closed) > 1 else ""
    return (
        f"the window from {_moment(start)} to {_moment(end)}{more} was closed: "
        f"the stream had come to {_moment(now)}, and its grace is {grace_ms} ms"
    )


def _moment(ms: int) -> str:
    seconds, rest = divmod(ms, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03d}Z"

"""What helps every Python worker of Spark's, whatever it does."""

from __future__ import annotations

import gc
from functools import cache


@cache
def settled() -> None:
    """Take what a worker has loaded out of the garbage collector's sight; for the end of its first task.

    Spark has a worker collect its garbage, all of it, after every task. Walking through the loaded modules each time
    would be most of what a worker does for a small batch.
    """
    gc.freeze()

"""What helps every Python worker of Spark's, whatever it does."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache
from typing import Any


@cache
def settled() -> None:
    """Take what a worker has loaded out of the garbage collector's sight; for the end of its first task.

    Spark has a worker collect its garbage, all of it, after every task. Walking through the loaded modules each time
    would be most of what a worker does for a small batch.
    """
    gc.freeze()


def pass_on(batches: Iterator[Any]) -> Iterator[Any]:
    """Rows as they are: what a worker does that only has to be there."""
    return batches

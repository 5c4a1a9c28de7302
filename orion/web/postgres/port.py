"""What this door needs of the platform: the tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import duckdb

from orion.serving.relations import Relation


class Tables(Protocol):
    """Tables kept in DuckDB. Sessions only read; each has cursors of its own."""

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A new connection to the database that holds the tables; the caller closes it."""

    def relations(self) -> Sequence[Relation]:
        """What clients see of it now. Asked before each statement."""

    def ready(self, seconds: float) -> bool:
        """Whether the tables can be asked, or can within this time."""

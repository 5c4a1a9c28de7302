"""Statements that change nothing, and that only somebody with the rights to write can run."""

from __future__ import annotations

from orion.sinks.sql.database import Into
from orion.sinks.sql.names import Quoting
from orion.sinks.sql.options import InsertMode


def harmless(quoting: Quoting, into: Into, *, nowhere: str, otherwise: str, deletes: bool) -> list[str]:
    """`nowhere` ends a SELECT that finds nothing; `otherwise` says what an INSERT does where the key is there."""
    table = quoting.table(into.table)
    if into.mode is InsertMode.UPDATE:
        found = [f"UPDATE {table} SET {quoting(into.others[0])} = NULL WHERE false"]
    else:
        nothing = f"SELECT {', '.join('NULL' for _ in into.places)} {nowhere}"
        found = [f"INSERT INTO {table} ({quoting.all(into.names)}) {nothing}{otherwise}"]
    return [*found, f"DELETE FROM {table} WHERE false"] if deletes else found

"""Records put into a table whatever they hold: those that are no rows are left out, noted and counted.

What DuckDB or Arrow refuses of a batch is looked for by halves, so that one record never keeps others out. What fails
for the database's own reasons, a full disk for instance, is no record's fault: it is raised, to be tried again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import duckdb
import structlog

from orion.hub.records import Record
from orion.serving.folding import Fold
from orion.serving.hot import HotRows
from orion.serving.last_rows import LastRows
from orion.serving.store import BadRecord, Changes, Store

log = structlog.get_logger()

# Nothing that a record could be blamed for.
_OWN_TROUBLE = (
    duckdb.IOException,
    duckdb.ConnectionException,
    duckdb.TransactionException,
    duckdb.FatalException,
    duckdb.CatalogException,
    OSError,
)
_LONGEST = 500  # of a reason that is kept


class Intake:
    """What one table's records pass on their way in."""

    def __init__(self, fold: Fold, store: Store, at_hand: tuple[HotRows, LastRows]) -> None:
        self.fold = fold
        self._store = store
        self._hot, self._last = at_hand

    def put(self, records: Sequence[Record]) -> None:
        """All of them, in their order."""
        try:
            self._apply(self._changes(records))
        except _OWN_TROUBLE as error:
            if isinstance(error, duckdb.FatalException):
                self._store.reopen()
            raise
        except Exception as error:
            if isinstance(error, duckdb.InternalException):
                self._store.reopen()  # it answers nothing any more
            if len(records) > 1:
                half = len(records) // 2
                self.put(records[:half])
                self.put(records[half:])
            elif isinstance(error, duckdb.OutOfMemoryException | MemoryError):
                raise
            else:
                self._leave_out(records[0], f"{type(error).__name__}: {error}")

    def _changes(self, records: Sequence[Record]) -> Changes:
        changes, unread = self.fold.changes(records, _reached(records))
        bad = tuple(_bad(records[one.at], one.reason) for one in unread)
        return replace(changes, bad=bad)

    def _leave_out(self, record: Record, reason: str) -> None:
        self._apply(Changes(positions=_reached([record]), bad=(_bad(record, reason),)))

    def _apply(self, changes: Changes) -> None:
        layout = self.fold.layout
        self._store.apply(layout, changes)
        for one in changes.bad[:1]:
            log.warning("table leaves a record out", table=layout.source.name, **_place(one), reason=one.reason)
        self._last.change(layout, changes)
        self._hot.drop(layout.source.name, changes.touched)


def _reached(records: Sequence[Record]) -> dict[int, int]:
    return {record.partition: record.offset + 1 for record in records}


def _bad(record: Record, reason: str) -> BadRecord:
    # What is wrong may be a text that can't be stored, and the reason quote it.
    told = reason.encode(errors="backslashreplace").decode()
    return BadRecord(record.partition, record.offset, told[:_LONGEST])


def _place(bad: BadRecord) -> dict[str, int]:
    return {"partition": bad.partition, "offset": bad.offset}

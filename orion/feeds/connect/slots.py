"""PostgreSQL's replication slots: what keeps the changes that a connector hasn't read yet.

A slot that is gone, or that PostgreSQL has given up, takes changes with it which nobody can read any more. That is
never passed over: the connector stays stopped, with a reason.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

from orion.feeds.connect.catalogs import postgres
from orion.feeds.connect.client import Position

LET_GO_SECONDS = 15.0


def slot_problem(config: Mapping[str, str], offsets: Sequence[Position]) -> str | None:
    """Why a connector that has read before can't go on without a loss; None while it can.

    `offsets` is how far it is, as Connect has it. Raises what PostgreSQL says when it can't be asked.
    """
    read = max((_read(position.offset) for position in offsets), default=0)
    if not read:
        return None
    name = config["slot.name"]
    with postgres(config) as connection:
        found = connection.execute(
            "SELECT wal_status, confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots"
            " WHERE slot_name = %s AND database = current_database()",
            (name,),
        ).fetchone()
    if found is None:
        return f"The replication slot {name} is gone, and with it the changes since {_lsn(read)}."
    status, confirmed = found
    if status == "lost":
        return f"PostgreSQL has dropped log that the replication slot {name} still needed: changes since {_lsn(read)}."
    if confirmed is not None and int(confirmed) > read:
        return (
            f"The replication slot {name} was made anew and begins at {_lsn(int(confirmed))}; "
            f"changes since {_lsn(read)} are lost."
        )
    return None


def release(config: Mapping[str, str]) -> None:
    """Drop the slot and the publication of a connector that is gone, so that PostgreSQL keeps no log for it."""
    with postgres(config) as connection:
        _drop_slot(connection, config["slot.name"])
        if config.get("publication.autocreate.mode") != "disabled":
            publication = sql.Identifier(config["publication.name"])
            connection.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(publication))


def _drop_slot(connection: psycopg.Connection[Any], name: str) -> None:
    """The server notices a moment later that nobody reads the slot any more."""
    deadline = time.monotonic() + LET_GO_SECONDS
    while True:
        try:
            connection.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", (name,)
            )
        except psycopg.errors.ObjectInUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _read(offset: Mapping[str, Any]) -> int:
    """The furthest place in the log that an offset of Debezium's tells of."""
    return max((int(offset.get(name) or 0) for name in ("lsn", "lsn_proc", "lsn_commit")), default=0)


def _lsn(number: int) -> str:
    """A place in the log as PostgreSQL writes it."""
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"

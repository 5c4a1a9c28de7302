"""A slot's rows in one transaction of a database, which ends with the slot's epoch.

The epoch's row is locked as a transfer begins. Whoever else moves the same slot waits for it, and then sees the epoch
and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from orion.errors import ConfigError
from orion.sinks.sql.database import SERVER_REFUSED, Connection, Database, Into, Refused
from orion.sinks.sql.names import TableName, table_name
from orion.sinks.sql.options import InsertMode
from orion.sinks.sql.rows import Piece, routed, sorted_out
from orion.sinks.sql.tables import Allowed, ready
from orion.sinks.sql.target import Target
from orion.sinks.store import OFFSET, Refusal, Slot, StoreAway


@dataclass(frozen=True, slots=True)
class Orders:
    """What is written, where to, and what may be changed for it."""

    database: Database
    target: Target
    allowed: Allowed
    table_format: str
    epochs: TableName
    chunk: int  # most rows at once

    def table(self, topic: str) -> TableName:
        return table_name(self.table_format, topic)


class SqlSession:
    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._connection = orders.database.connect()
        self._tables: dict[str, Into | ConfigError] = {}

    def begin(self, slot: Slot) -> SqlTransfer | None:
        # A table that wasn't there may be by now.
        self._tables = {topic: into for topic, into in self._tables.items() if isinstance(into, Into)}
        self._connection.begin()
        if self._epoch(slot) >= slot.epoch:
            self._connection.rollback()
            return None
        return SqlTransfer(self, slot)

    def close(self) -> None:
        self._connection.rollback()
        self._connection.close()

    @property
    def orders(self) -> Orders:
        return self._orders

    @property
    def connection(self) -> Connection:
        return self._connection

    def into(self, topic: str) -> Into | ConfigError:
        """The table for a topic or route. A route is a row's own: where it can't be followed, the row is refused."""
        if topic not in self._tables:
            try:
                self._tables[topic] = self._ready(topic)
            except ConfigError as error:
                if error.code == SERVER_REFUSED or topic == self._orders.target.topic:
                    raise
                self._tables[topic] = error
        return self._tables[topic]

    def forget(self) -> None:
        """What was made within the transaction went with it."""
        self._tables = {}

    def keep(self, slot: Slot) -> None:
        epochs = self._orders.database.quoting.table(self._orders.epochs)
        self._connection.ask(
            f"UPDATE {epochs} SET epoch = ? WHERE task = ? AND slot = ?", slot.epoch, slot.task, slot.number
        )

    def _ready(self, topic: str) -> Into:
        """Tables are made outside of the transaction, where a database can: nobody waits for its end then."""
        orders = self._orders
        if not orders.database.makes_aside:
            return ready(orders.database, self._connection, orders.table(topic), orders.target, orders.allowed)
        aside = orders.database.connect()
        try:
            return ready(orders.database, aside, orders.table(topic), orders.target, orders.allowed)
        finally:
            aside.close()

    def _epoch(self, slot: Slot) -> int:
        """The slot's epoch, locked until the transaction ends."""
        database, key = self._orders.database, (slot.task, slot.number)
        epochs = database.quoting.table(self._orders.epochs)
        question = f"SELECT epoch FROM {epochs} WHERE task = ? AND slot = ?{database.for_update}"
        lock = database.lock_of(epochs)
        if lock is not None:
            self._connection.ask(lock)
        found = self._connection.ask(question, *key)
        if not found:
            # Only one of several that come first gets past this line before the others' end.
            self._connection.ask(database.first_of(epochs), *key)
            found = self._connection.ask(question, *key)
        if not found:
            raise StoreAway(str(self._orders.epochs), "the slot's row is gone again")
        return int(found[0][0])


class SqlTransfer:
    def __init__(self, session: SqlSession, slot: Slot) -> None:
        self._session, self._slot = session, slot
        self._connection = session.connection

    def write(self, rows: pa.RecordBatch) -> Sequence[Refusal]:
        orders = self._session.orders
        refused: list[Refusal] = []
        for topic, part in routed(rows, orders.target.topic):
            into = self._session.into(topic)
            if isinstance(into, ConfigError):
                told = str(into)
                refused += [Refusal(offset, told) for offset in part.column(OFFSET).to_pylist()]
                continue
            piece, untried = sorted_out(orders.database, into, orders.target, part)
            refused += untried
            for chunk in piece.chunks(orders.chunk):
                refused += self._put(into, chunk)
        return sorted(refused, key=lambda refusal: refusal.offset)

    def finish(self) -> Sequence[Refusal]:
        return ()

    def commit(self) -> None:
        self._session.keep(self._slot)
        self._connection.commit()

    def abort(self) -> None:
        self._connection.rollback()
        self._session.forget()

    def _put(self, into: Into, piece: Piece) -> list[Refusal]:
        """Rows as they come after each other; if the server refuses one, it is found by halves."""
        self._connection.savepoint()
        try:
            self._apply(into, piece)
        except Refused as refused:
            self._connection.back()
            if len(piece) == 1:
                return [Refusal(piece.offsets[0].as_py(), refused.reason)]
            first, second = piece.halves()
            return self._put(into, first) + self._put(into, second)
        self._connection.release()
        return []

    def _apply(self, into: Into, piece: Piece) -> None:
        key = len(into.key)
        match into.mode:
            case InsertMode.INSERT:
                for run in piece.runs() if piece.any_deleted else (piece,):
                    self._write(into, run.kept())
                    self._delete(into, run.gone())
            case InsertMode.UPSERT:
                last = piece.latest(key)
                self._delete(into, last.gone())
                self._write(into, last.kept())
            case InsertMode.UPDATE:
                # A row that is deleted isn't there to be updated after that.
                self._write(into, piece.kept().latest(key))
                self._delete(into, piece.gone().latest(key))

    def _write(self, into: Into, piece: Piece) -> None:
        if len(piece):
            self._connection.write(into, piece.rows)

    def _delete(self, into: Into, piece: Piece) -> None:
        if len(piece):
            key = len(into.key)
            self._connection.delete(into, piece.rows.select(list(range(key))))

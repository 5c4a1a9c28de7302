"""What a store is: another system that takes a connector's rows from Spark's Python workers.

Rows of one Kafka partition in one batch are a *slot*. A worker moves a slot in one *transfer*, which is all or nothing
as far as the store can do that, and which may run again: a store that finds a slot's epoch has it already and takes
nothing. The order of events in a worker is

    session.begin(slot)       None: it is there already
    transfer.write(rows)      as often as there are rows; those that the store refuses come back with its reason
    transfer.finish()         all rows are with the server; what it refuses only now
    (dead letters of what was refused are committed to Kafka)
    transfer.commit()         rows and epoch appear together, where the store can do that

so that a crash at any point loses neither a row nor a dead letter. A store is frozen data that travels to the workers;
a session is what a worker has open, and serves one transfer after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol

import pyarrow as pa

from orion.errors import ExternalError
from orion.plan.sources import Kind
from orion.schema import Column, Role

# What a row brings beside its columns, in this order behind them.
DELETED = "__deleted"  # BOOLEAN: the record has no value; only key columns are filled
PARTITION, OFFSET, TIME = "__partition", "__offset", "__time"  # INT, BIGINT, BIGINT: where it stands; ROWTIME in ms
ROUTE = "__route"  # STRING or NULL: where a transform sends it, in place of the topic's name
BESIDE = (DELETED, PARTITION, OFFSET, TIME, ROUTE)


class Nested(StrEnum):
    """How columns of ARRAY, MAP and STRUCT reach a store."""

    TEXT = "text"  # as JSON, which Spark writes
    ARROW = "arrow"  # as they are


@dataclass(frozen=True, slots=True)
class Layout:
    """What the rows of one topic look like to a store, transforms done. Names are those of the other side."""

    topic: str
    kind: Kind
    columns: tuple[Column, ...]  # the key's first

    @property
    def key(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.role is Role.KEY)

    @property
    def value(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.role is not Role.KEY)

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.columns]


@dataclass(frozen=True, slots=True)
class Slot:
    """One partition of one batch of a connector's task."""

    task: str  # never used twice: another connector of the same name has another
    number: int  # the Kafka partition
    epoch: int  # the batch; of one task and number they only grow


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that the store doesn't take, by its place among the rows of one `write`, or by where it came from."""

    offset: int  # of its record, in the slot's partition
    reason: str  # the server's own words, without values that may be secret


class Transfer(Protocol):
    def write(self, rows: pa.RecordBatch) -> Sequence[Refusal]:
        """Take rows of the layout's columns and BESIDE, in the order of their offsets."""
        ...

    def finish(self) -> Sequence[Refusal]: ...

    def commit(self) -> None: ...

    def abort(self) -> None:
        """Leave nothing of it, as far as the store can do that. Never raises for a server that is away."""
        ...


class Session(Protocol):
    def begin(self, slot: Slot) -> Transfer | None: ...

    def close(self) -> None: ...


class Store(Protocol):
    """Options understood, nothing open; frozen, and picklable with all it holds."""

    @property
    def layout(self) -> Layout: ...

    guarantee: ClassVar[str]  # what a reader of the other side can count on
    nested: ClassVar[Nested]

    def prepare(self) -> None:
        """On the driver, when a statement is checked and before each run: reach the server, log in, and make or widen
        what rows go into.

        Raises ConfigError for what somebody must put right (wrong password, missing table, a type that doesn't fit),
        and StoreAway while nobody answers.
        """
        ...

    def reach(self) -> None:
        """Reach the server and log in, as `prepare` does, and leave everything there as it is."""
        ...

    def open(self) -> Session:
        """In a worker. Raises StoreAway while nobody answers."""
        ...


class StoreAway(ExternalError):
    """The server can't be reached, or has no room right now. Its text crosses from Spark's workers to the supervisor as
    part of a longer one, so it marks itself."""

    MARK: ClassVar[str] = "STORE_AWAY"

    def __init__(self, what: str, why: str) -> None:
        told = f"{what} doesn't answer: {why}"
        super().__init__(self.MARK, told, hint="It is tried again until it does.", retry_after=2.0)

    def __reduce__(self) -> tuple[object, ...]:
        return (ExternalError, (self.code, self.message))

    def __str__(self) -> str:
        return f"{self.MARK}: {self.message}"

"""What a document's `_id` is: the strategies of MongoDB's own sink.

Two of them make ids up, BsonOid and Uuid. A slot that is written again must find its documents, so here such an id is
made from the connector's task and the record's partition and offset: it looks like one, and is the same each time.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Any, assert_never

from bson import Binary, ObjectId

from orion.errors import ConfigError, hint_nearest
from orion.schema import Column
from orion.sinks.documents.rows import Row
from orion.sinks.documents.values import Unfit
from orion.sinks.store import Layout

PACKAGE = "com.mongodb.kafka.connect.sink.processor.id.strategy."


class Strategy(StrEnum):
    KEY = "KeyStrategy"  # Orion's own: the key's column, or a document of several
    BSON_OID = "BsonOidStrategy"
    KAFKA_METADATA = "KafkaMetaDataStrategy"
    FULL_KEY = "FullKeyStrategy"
    PARTIAL_KEY = "PartialKeyStrategy"
    PARTIAL_VALUE = "PartialValueStrategy"
    PROVIDED_IN_KEY = "ProvidedInKeyStrategy"
    PROVIDED_IN_VALUE = "ProvidedInValueStrategy"
    UUID = "UuidStrategy"

    @property
    def by_key(self) -> bool:
        """A record without a value has it too."""
        return self in (Strategy.KEY, Strategy.FULL_KEY, Strategy.PARTIAL_KEY, Strategy.PROVIDED_IN_KEY)


class Projection(StrEnum):
    ALLOW, BLOCK = "allowlist", "blocklist"


@dataclass(frozen=True, slots=True)
class Ids:
    """How the id of a row is found."""

    strategy: Strategy
    topic: str
    columns: tuple[str, ...] = ()  # what it is made of, where it is made of columns
    kept: str | None = None  # a column that is the id wherever it isn't NULL
    binary: bool = False  # a UUID as one, not as its text

    def of(self, row: Row, task: str) -> Any:
        if self.kept is not None and (kept := row.fields.get(self.kept)) is not None:
            return kept
        match self.strategy:
            case Strategy.KEY if len(self.columns) == 1:
                return self._alone(row)
            case Strategy.KEY | Strategy.FULL_KEY | Strategy.PARTIAL_KEY | Strategy.PARTIAL_VALUE:
                return self._together(row)
            case Strategy.PROVIDED_IN_KEY | Strategy.PROVIDED_IN_VALUE:
                return self._alone(row)
            case Strategy.KAFKA_METADATA:
                return f"{self.topic}#{row.partition}#{row.offset}"
            case Strategy.BSON_OID:
                # Begins with seconds, as all do: here the record's own time, if those have a place for it.
                seconds = min(max(row.time // 1000, 0), 0xFFFFFFFF)
                return ObjectId(seconds.to_bytes(4, "big") + _digest(row, task, 8))
            case Strategy.UUID:
                made = uuid.UUID(bytes=_digest(row, task, 16), version=4)
                return Binary.from_uuid(made) if self.binary else str(made)
            case _:
                assert_never(self.strategy)

    def _alone(self, row: Row) -> Any:
        value = row.fields.get(self.columns[0])
        if value is None:
            raise Unfit(f"{self.columns[0]} is NULL, and would be the document's _id")
        return value

    def _together(self, row: Row) -> dict[str, Any]:
        values = {name: row.fields.get(name) for name in self.columns}
        if all(v is None for v in values.values()):
            raise Unfit(f"{', '.join(self.columns)} would be the document's _id, and is NULL")
        return values


def _digest(row: Row, task: str, size: int) -> bytes:
    return blake2b(f"{task}/{row.partition}/{row.offset}".encode(), digest_size=size).digest()


def column_named(columns: tuple[Column, ...], name: str, option: str) -> str:
    """A column by its name, in whatever case it was written."""
    found = next((c.name for c in columns if c.name == name), None)
    found = found or next((c.name for c in columns if c.name.upper() == name.upper()), None)
    if found is None:
        names = [c.name for c in columns]
        raise ConfigError(
            "INVALID_CONNECTOR",
            f"'{option}' names {name}, which isn't there.",
            hint=hint_nearest(name, names) or (f"There are {', '.join(names)}." if names else "There are no columns."),
        )
    return found


def projected(columns: tuple[Column, ...], kind: Projection, listed: tuple[str, ...], option: str) -> tuple[str, ...]:
    """The columns that a list of names allows, or doesn't block."""
    named = {column_named(columns, name, option) for name in listed}
    left = tuple(c.name for c in columns if (c.name in named) is (kind is Projection.ALLOW))
    if not left:
        raise ConfigError("INVALID_CONNECTOR", f"'{option}' leaves nothing.")
    return left


def id_column(columns: tuple[Column, ...]) -> str | None:
    return next((c.name for c in columns if c.name.lower() == "_id"), None)


def columns_of(strategy: Strategy, layout: Layout) -> tuple[str, ...]:
    """What a strategy without a list of its own makes ids of."""
    match strategy:
        case Strategy.KEY | Strategy.FULL_KEY | Strategy.PARTIAL_KEY:
            if not layout.key:
                told = f"'document.id.strategy' makes ids of the key, and {layout.topic} has none."
                raise ConfigError("INVALID_CONNECTOR", told, hint="KafkaMetaDataStrategy needs none.")
            return tuple(c.name for c in layout.key)
        case Strategy.PARTIAL_VALUE:
            return tuple(c.name for c in layout.value)
        case Strategy.PROVIDED_IN_KEY | Strategy.PROVIDED_IN_VALUE:
            side, place = (layout.key, "key") if strategy is Strategy.PROVIDED_IN_KEY else (layout.value, "value")
            found = id_column(side)
            if found is None:
                told = f"'document.id.strategy' takes _id from the {place}, and {layout.topic} has none there."
                raise ConfigError("INVALID_CONNECTOR", told, hint="A transform can rename a column to _id.")
            return (found,)
        case Strategy.BSON_OID | Strategy.KAFKA_METADATA | Strategy.UUID:
            return ()
        case _:
            assert_never(strategy)

"""PROTOBUF_NOSR: a message without a header. Which fields it has, and under which numbers, the columns say alone."""

from __future__ import annotations

from orion.formats import Decoded
from orion.formats.messages import calls
from orion.formats.messages.read import Reading
from orion.formats.messages.schema import linked, schema_of
from orion.formats.messages.write import Writing
from orion.formats.protobuf import there
from orion.plan.sources import Serde
from orion.schema import Column

__all__ = ["decode", "encode", "schema_of"]


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    if not columns:
        return Decoded("1", (), "FALSE", "''")
    files = linked(schema_of(columns, serde))
    reading = Reading(((0, files),), tuple(c.type for c in columns), tuple(c.name for c in columns), framed=False)
    fields = tuple(f"{value}.c{at}" for at in range(len(columns)))
    return Decoded(calls.read(reading, raw), fields, f"{value} IS NULL", "'the bytes are no such message'")


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    if not columns:
        return "CAST(NULL AS BINARY)"
    files = linked(schema_of(columns, serde))
    writing = Writing(files, (0,), tuple(c.type for c in columns), tuple(c.name for c in columns))
    return there(columns, calls.write(writing, columns))

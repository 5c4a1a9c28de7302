"""Bytes to columns and back, as Spark SQL. A format is one file here and one name in NAMES.

A module has two functions:

    decode(columns, serde, raw) -> Decoded     `raw` is the Spark SQL of the bytes; they are not NULL
    encode(columns, serde) -> str              the Spark SQL of the bytes, over columns of those names

Everything is text, so that Spark decodes inside the JVM and its optimiser sees through it. Protobuf alone calls Python.

A format whose records name a schema of a registry has two more, between columns and such a schema:

    schema_of(columns, serde) -> str
    columns_of(schema, serde, role) -> Inferred
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, WireSchema
from orion.schema import Column, Role

NAMES = ("avro", "delimited", "json", "json_sr", "kafka", "none", "protobuf", "protobuf_nosr")

# Formats whose schemas may be other people's, and not take every value: `encode` gives NULL for a row they can't hold.
REFUSING = ("AVRO", "PROTOBUF", "PROTOBUF_NOSR")


@dataclass(frozen=True, slots=True)
class Decoded:
    """`struct` is evaluated once for each record, under the name VALUE; the rest is said over that name."""

    struct: str
    fields: tuple[str, ...]  # one for each column
    bad: str  # a condition: the bytes don't fit
    reason: str  # a text constant: what is wrong then
    empty: str | None = None  # a condition: the bytes say that there is nothing, as no bytes would


VALUE = "__decoded"


class Format(Protocol):
    def decode(self, columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded: ...

    def encode(self, columns: tuple[Column, ...], serde: Serde) -> str: ...


class SchemaFormat(Format, Protocol):
    def schema_of(self, columns: tuple[Column, ...], serde: Serde) -> str: ...

    def columns_of(self, schema: WireSchema, serde: Serde, role: Role) -> Inferred: ...


def schema_format_of(serde: Serde) -> SchemaFormat:
    return cast(SchemaFormat, format_of(serde))


def format_of(serde: Serde) -> Format:
    return cast(Format, _module(serde.format))


@cache
def _module(name: str) -> object:
    return import_module(f"orion.formats.{name.lower()}")

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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, WireSchema
from orion.schema import Column, Role

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAMES = ("avro", "delimited", "json", "json_sr", "kafka", "none", "protobuf", "protobuf_nosr")

# Formats whose schemas may be other people's, and not take every value: `encode` gives NULL for a row they can't hold.
REFUSING = ("AVRO", "PROTOBUF", "PROTOBUF_NOSR")


@dataclass(frozen=True, slots=True)
class Decoded:
    """`struct` is evaluated once for each record, under the name VALUE; the rest is said over that name.

    What `before` has is evaluated once before it, one after the other, under the names that `step_name` gives.
    """

    struct: str
    fields: tuple[str, ...]  # one for each column
    bad: str  # a condition: the bytes don't fit
    reason: str  # a text constant: what is wrong then
    empty: str | None = None  # a condition: the bytes say that there is nothing, as no bytes would
    before: tuple[str, ...] = ()


VALUE = "__decoded"


def step_name(value: str, step: int) -> str:
    """Under what name a step before the struct of this name stands."""
    return f"{value}_{step}"


def evaluate_once(spark: str) -> str:
    """The expression so that Spark evaluates it where it stands, and nowhere else.

    A WHERE over a column is pushed below the projection that makes it, with the column's expression in it: a record
    would be decoded a second time. Below what Spark can't tell beforehand nothing is pushed. Of all there is for that,
    the partition's number is the one that is the same in the code of every batch: `rand` has another seed in each, and
    the code would be compiled anew.
    """
    return f"if(spark_partition_id() >= 0, {spark}, NULL)"


def decode_in_steps(frame: DataFrame, decoded: Mapping[str, tuple[Decoded, str]]) -> DataFrame:
    """The frame with each struct under its name, where a condition holds; NULL elsewhere."""
    depth = max((len(one.before) for one, _ in decoded.values()), default=0)
    for step in range(depth):
        made = [
            f"{evaluate_once(f'CASE WHEN {condition} THEN {one.before[step]} END')} AS {step_name(value, step)}"
            for value, (one, condition) in decoded.items()
            if step < len(one.before)
        ]
        frame = frame.selectExpr("*", *made)
    structs = (
        f"{evaluate_once(f'CASE WHEN {condition} THEN {one.struct} END')} AS {value}"
        for value, (one, condition) in decoded.items()
    )
    return frame.selectExpr("*", *structs)


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

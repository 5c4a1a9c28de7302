"""The types of SQL, and the columns of a source.

Closed and frozen: `match` over `SqlType` is exhaustive. How a type is spelled in Spark's DDL is here too, since
formats, operators and sinks all need that one mapping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never


class Scalar(StrEnum):
    BOOLEAN = "BOOLEAN"
    INTEGER = "INTEGER"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    BYTES = "BYTES"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"

    def __str__(self) -> str:
        return "VARCHAR(STRING)" if self is Scalar.STRING else self.value


@dataclass(frozen=True, slots=True)
class Decimal:
    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Array:
    element: SqlType

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map:
    key: SqlType
    value: SqlType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple[Field, ...]

    def get(self, name: str) -> SqlType | None:
        return next((f.type for f in self.fields if f.name == name), None)

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'{f.name} {f.type}' for f in self.fields)}>"


SqlType = Scalar | Decimal | Array | Map | Struct

INTEGRAL = (Scalar.INTEGER, Scalar.BIGINT)
# Types whose values are the same in Python wherever they come from.
PLAIN = (Scalar.STRING, Scalar.BOOLEAN, *INTEGRAL, Scalar.DOUBLE)
TEMPORAL = (Scalar.DATE, Scalar.TIME, Scalar.TIMESTAMP)


def is_numeric(type_: SqlType) -> bool:
    return isinstance(type_, Decimal) or type_ in (*INTEGRAL, Scalar.DOUBLE)


def spark_type(type_: SqlType) -> str:
    """The type in Spark's DDL. TIME is the milliseconds of the day: Spark's own TIME is no stable type yet."""
    match type_:
        case Scalar.BYTES:
            return "BINARY"
        case Scalar.TIME:
            return "INT"
        case Scalar.INTEGER:
            return "INT"
        case Scalar():
            return type_.value
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Array(element):
            return f"ARRAY<{spark_type(element)}>"
        case Map(key, value):
            return f"MAP<{spark_type(key)},{spark_type(value)}>"
        case Struct(fields):
            return f"STRUCT<{','.join(f'{quote(f.name)}:{spark_type(f.type)}' for f in fields)}>"
        case _:
            assert_never(type_)


def duckdb_type(type_: SqlType) -> str:
    """The type in DuckDB's DDL. TIME is the milliseconds of the day here too."""
    match type_:
        case Scalar.BYTES:
            return "BLOB"
        case Scalar.STRING:
            return "VARCHAR"
        case Scalar.TIME:
            return "INTEGER"
        case Scalar():
            return type_.value
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Array(element):
            return f"{duckdb_type(element)}[]"
        case Map(key, value):
            return f"MAP({duckdb_type(key)}, {duckdb_type(value)})"
        case Struct(fields):
            return f"STRUCT({', '.join(f'{duckdb_name(f.name)} {duckdb_type(f.type)}' for f in fields)})"
        case _:
            assert_never(type_)


def duckdb_name(name: str) -> str:
    """A name as DuckDB reads it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def duckdb_literal(text: str) -> str:
    """A text constant as DuckDB reads it."""
    return "'" + text.replace("'", "''") + "'"


def nested(type_: SqlType) -> Iterator[Field]:
    """The fields of all structs inside a type."""
    match type_:
        case Array(element) | Map(_, element):
            yield from nested(element)
        case Struct(fields):
            for field in fields:
                yield field
                yield from nested(field.type)
        case _:
            return


def quote(name: str) -> str:
    """A name as Spark reads it, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text constant as Spark reads it."""
    return f"'{escaped(text)}'"


def escaped(text: str) -> str:
    """A text as it stands between the quotes of a constant of Spark's."""
    return text.replace("\\", "\\\\").replace("'", "\\'")


class Role(StrEnum):
    """Where in the record a column lives."""

    KEY = "KEY"
    VALUE = "VALUE"
    HEADERS = "HEADERS"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: SqlType
    role: Role = Role.VALUE
    header: str | None = None  # HEADER('name'); None with role HEADERS means all of them
    spelling: str | None = None  # as the declaration wrote it: JSON fields are looked for under it too


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a source, the key's first."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @property
    def key(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.role is Role.KEY)

    @property
    def value(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.role is Role.VALUE)

    @property
    def headers(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.role is Role.HEADERS)

    def get(self, name: str) -> Column | None:
        return next((c for c in self.columns if c.name == name), None)

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.columns]

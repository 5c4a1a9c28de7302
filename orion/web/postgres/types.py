"""DuckDB's types as PostgreSQL's: what they are called there, and how their values are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from orion.web.postgres import binary, text
from orion.web.postgres.text import Encoder


@dataclass(frozen=True, slots=True)
class PgType:
    """A type that PostgreSQL's clients know."""

    name: str  # as pg_type has it
    oid: int
    array: int  # the oid of arrays of it; 0: there are none
    size: int  # -1: values have different ones
    category: str
    spelled: str  # as format_type and information_schema have it
    as_text: Encoder
    as_binary: Encoder


BOOL = PgType("bool", 16, 1000, 1, "B", "boolean", text.boolean, binary.boolean)
BYTEA = PgType("bytea", 17, 1001, -1, "U", "bytea", text.each(text.bytea), binary.raw)
NAME = PgType("name", 19, 1003, 64, "S", "name", text.plain, binary.raw)
INT8 = PgType("int8", 20, 1016, 8, "N", "bigint", text.plain, binary.INT8)
INT2 = PgType("int2", 21, 1005, 2, "N", "smallint", text.plain, binary.number(">i2", pa.int16()))
INT4 = PgType("int4", 23, 1007, 4, "N", "integer", text.plain, binary.INT4)
TEXT = PgType("text", 25, 1009, -1, "S", "text", text.plain, binary.raw)
OID = PgType("oid", 26, 1028, 4, "N", "oid", text.plain, binary.number(">u4", pa.uint32()))
JSON = PgType("json", 114, 199, -1, "U", "json", text.json, text.json)
FLOAT4 = PgType("float4", 700, 1021, 4, "N", "real", text.floating, binary.number(">f4", pa.float32()))
FLOAT8 = PgType("float8", 701, 1022, 8, "N", "double precision", text.floating, binary.number(">f8", pa.float64()))
VARCHAR = PgType("varchar", 1043, 1015, -1, "S", "character varying", text.plain, binary.raw)
DATE = PgType("date", 1082, 1182, 4, "D", "date", text.date, binary.date)
TIME = PgType("time", 1083, 1183, 8, "D", "time without time zone", text.time, binary.time)
TIMESTAMP = PgType("timestamp", 1114, 1115, 8, "D", "timestamp without time zone", text.timestamp, binary.timestamp)
TIMESTAMPTZ = PgType(
    "timestamptz", 1184, 1185, 8, "D", "timestamp with time zone", text.timestamp_with_zone, binary.timestamp
)
INTERVAL = PgType("interval", 1186, 1187, 16, "T", "interval", text.each(text.interval), text.each(binary.interval))
NUMERIC = PgType("numeric", 1700, 1231, -1, "N", "numeric", text.numeric, text.each(binary.numeric))
UUID = PgType("uuid", 2950, 2951, 16, "U", "uuid", text.plain, text.each(binary.uuid))

SCALARS = (
    BOOL, BYTEA, NAME, INT8, INT2, INT4, TEXT, OID, JSON, FLOAT4, FLOAT8, VARCHAR,
    DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, NUMERIC, UUID,
)  # fmt: skip


def array_of(element: PgType) -> PgType:
    return PgType(
        f"_{element.name}",
        element.array,
        0,
        -1,
        "A",
        f"{element.spelled}[]",
        text.array(element.as_text),
        binary.array(element.as_binary, element.oid),
    )


ARRAYS = tuple(array_of(scalar) for scalar in SCALARS)
BY_OID = {t.oid: t for t in (*SCALARS, *ARRAYS)}
_BY_ARRAY = {array.oid: scalar for scalar, array in zip(SCALARS, ARRAYS, strict=True)}


def element_of(oid: int) -> PgType | None:
    """What an array's elements are; none: the type is no array."""
    return _BY_ARRAY.get(oid)


# By the word that a type of DuckDB's begins with. VARCHAR has no length there, so it is text here. No table of Orion's
# has unsigned numbers; those of the catalogs are oids.
_WORDS = {
    "BOOLEAN": BOOL, "TINYINT": INT2, "SMALLINT": INT2, "INTEGER": INT4, "BIGINT": INT8,
    "UTINYINT": INT2, "USMALLINT": INT4, "UINTEGER": OID, "HUGEINT": NUMERIC,
    "FLOAT": FLOAT4, "DOUBLE": FLOAT8, "DECIMAL": NUMERIC, "VARCHAR": TEXT, "BLOB": BYTEA,
    "DATE": DATE, "TIME": TIME, "TIMESTAMP": TIMESTAMP, "TIMESTAMP WITH TIME ZONE": TIMESTAMPTZ,
    "INTERVAL": INTERVAL, "UUID": UUID, "JSON": JSON,
}  # fmt: skip
_NESTED = re.compile(r"^(STRUCT|MAP|UNION|TUPLE|VARIANT)\b|\]$")
_COUNTS = re.compile(r"^TIMESTAMP_(S|MS|NS)$")
_DECIMAL = re.compile(r"^DECIMAL\((\d+),\s*(\d+)\)$")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result: its type, and what DuckDB is asked for so that Arrow can carry it."""

    name: str
    type: PgType
    modifier: int = -1
    fetched: str | None = None  # SQL over `{}`, the column; none: as it is


def column(name: str, duckdb_type: str) -> Column:
    """How a column of a DuckDB type, in DuckDB's spelling, is given to clients."""
    if found := _DECIMAL.match(duckdb_type):
        precision, scale = map(int, found.groups())
        return Column(name, NUMERIC, (precision << 16 | scale) + 4)
    if simple := _WORDS.get(duckdb_type):
        return Column(name, simple)
    if duckdb_type.endswith("[]") and (element := _WORDS.get(_word(duckdb_type[:-2]))):
        return Column(name, array_of(element))
    if duckdb_type == "UBIGINT":
        return Column(name, NUMERIC, fetched="CAST({} AS DECIMAL(20, 0))")
    if _COUNTS.match(duckdb_type):
        return Column(name, TIMESTAMP, fetched="CAST({} AS TIMESTAMP)")
    if duckdb_type == "TIME_NS":
        return Column(name, TIME, fetched="CAST({} AS TIME)")
    if _NESTED.search(duckdb_type):
        return Column(name, JSON, fetched="CAST(to_json({}) AS VARCHAR)")
    return Column(name, TEXT, fetched="CAST({} AS VARCHAR)")


def _word(duckdb_type: str) -> str:
    return "DECIMAL" if _DECIMAL.match(duckdb_type) else duckdb_type


def duckdb_words() -> Iterator[tuple[str, int]]:
    """Types of DuckDB's with their oids, those of lists too."""
    for word, scalar in _WORDS.items():
        yield word, scalar.oid
        yield f"{word}[]", scalar.array


def is_known(duckdb_type: str) -> bool:
    """Whether a type of DuckDB's is a plain one."""
    return duckdb_type in _WORDS


def columns(names: list[str], types: list[Any]) -> tuple[Column, ...]:
    return tuple(column(name, str(type_)) for name, type_ in zip(names, types, strict=True))

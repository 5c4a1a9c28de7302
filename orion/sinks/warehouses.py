"""Warehouses, by way of the s3 sink: the SQL that has one load what the sink has laid down.

The sink's objects are a staging area of which every row stands in one object, whose name is the same whatever is tried
again. A warehouse that remembers which objects it has loaded, as Snowflake does, so has each row once. The texts are
for whoever schedules them; Orion runs none of them. Redshift, and others that speak PostgreSQL's protocol, can also be
written directly, by the jdbc sink.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never

from orion.errors import UnsupportedError
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct
from orion.sinks.store import Layout


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the s3 sink puts the objects of a topic, and as what."""

    bucket: str
    prefix: str  # the topic's folder
    format: str  # parquet, avro or json

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}/"


@dataclass(frozen=True, slots=True)
class Warehouse:
    """How one says types, quotes names and loads objects."""

    scalars: Mapping[Scalar, str]
    decimal: str
    nested: str  # what holds ARRAY, MAP and STRUCT
    mark: str  # around names
    load: Callable[[str, Stage], str]
    largest_decimal: int = 38

    def type_of(self, type_: SqlType) -> str:
        match type_:
            case Scalar():
                return self.scalars[type_]
            case Decimal(precision, scale):
                return f"{self.decimal}({precision}, {scale})"
            case Array() | Map() | Struct():
                return self.nested
            case _:
                assert_never(type_)


def _redshift(table: str, stage: Stage) -> str:
    how = {"parquet": "PARQUET SERIALIZETOJSON", "avro": "AVRO 'auto ignorecase'", "json": "JSON 'auto ignorecase'"}
    return f"COPY {table}\n  FROM '{stage.url}'\n  IAM_ROLE default\n  FORMAT AS {how[stage.format]};"


def _snowflake(table: str, stage: Stage) -> str:
    return (
        f"CREATE STAGE IF NOT EXISTS orion_stage\n  URL = 's3://{stage.bucket}/'\n"
        "  STORAGE_INTEGRATION = orion_integration;\n\n"
        f"COPY INTO {table}\n  FROM @orion_stage/{stage.prefix}/\n"
        f"  FILE_FORMAT = (TYPE = {stage.format.upper()})\n  MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE;"
    )


def _bigquery(table: str, stage: Stage) -> str:
    return (
        f"LOAD DATA INTO {table}\n"
        f"  FROM FILES (format = '{stage.format.upper()}', uris = ['{stage.url}*'])\n"
        "  WITH CONNECTION `aws-us-east-1.orion`;"
    )


def _synapse(table: str, stage: Stage) -> str:
    if stage.format != "parquet":
        raise UnsupportedError("WAREHOUSE_FORMAT", f"Synapse loads Parquet and text, and this is {stage.format}.")
    address = f"https://ACCOUNT.blob.core.windows.net/{stage.bucket}/{stage.prefix}/"
    return (
        f"COPY INTO {table}\n  FROM '{address}'\n"
        "  WITH (FILE_TYPE = 'PARQUET', CREDENTIAL = (IDENTITY = 'Managed Identity'), AUTO_CREATE_TABLE = 'OFF');"
    )


def _scalars(**texts: str) -> dict[Scalar, str]:
    return {Scalar(name): text for name, text in texts.items()}


WAREHOUSES = {
    "bigquery": Warehouse(
        _scalars(
            BOOLEAN="BOOL",
            INTEGER="INT64",
            BIGINT="INT64",
            DOUBLE="FLOAT64",
            STRING="STRING",
            BYTES="BYTES",
            DATE="DATE",
            TIME="TIME",
            TIMESTAMP="TIMESTAMP",
        ),
        "BIGNUMERIC",
        "JSON",
        "`",
        _bigquery,
    ),
    "redshift": Warehouse(
        _scalars(
            BOOLEAN="BOOLEAN",
            INTEGER="INTEGER",
            BIGINT="BIGINT",
            DOUBLE="DOUBLE PRECISION",
            STRING="VARCHAR(65535)",
            BYTES="VARBYTE(1024000)",
            DATE="DATE",
            TIME="TIME",
            TIMESTAMP="TIMESTAMPTZ",
        ),
        "DECIMAL",
        "SUPER",
        '"',
        _redshift,
    ),
    "snowflake": Warehouse(
        _scalars(
            BOOLEAN="BOOLEAN",
            INTEGER="NUMBER(10, 0)",
            BIGINT="NUMBER(19, 0)",
            DOUBLE="FLOAT",
            STRING="VARCHAR",
            BYTES="BINARY",
            DATE="DATE",
            TIME="TIME(3)",
            TIMESTAMP="TIMESTAMP_TZ(6)",
        ),
        "NUMBER",
        "VARIANT",
        '"',
        _snowflake,
    ),
    "synapse": Warehouse(
        _scalars(
            BOOLEAN="BIT",
            INTEGER="INT",
            BIGINT="BIGINT",
            DOUBLE="FLOAT",
            STRING="NVARCHAR(4000)",
            BYTES="VARBINARY(8000)",
            DATE="DATE",
            TIME="TIME(3)",
            TIMESTAMP="DATETIMEOFFSET(6)",
        ),
        "DECIMAL",
        "NVARCHAR(4000)",
        '"',
        _synapse,
    ),
}


def loading(warehouse: str, layout: Layout, stage: Stage) -> str:
    """The statements that make a table for a topic's rows, and load what is staged of them."""
    how = WAREHOUSES[warehouse]
    table = _quoted(layout.topic.replace(".", "_").replace("-", "_").lower(), how)
    columns = ",\n".join(f"  {_quoted(c.name, how)} {how.type_of(c.type)}" for c in layout.columns)
    return f"CREATE TABLE IF NOT EXISTS {table} (\n{columns}\n);\n\n{how.load(table, stage)}"


def _quoted(name: str, how: Warehouse) -> str:
    return how.mark + name.replace(how.mark, how.mark * 2) + how.mark

"""Records as Debezium writes them, read as the tables that a capture declares."""

from __future__ import annotations

import json

import pytest

from orion import ksql
from orion.feeds.connect.mysql_types import mysql_type
from orion.feeds.connect.tables import CapturedColumn, Table, declaration
from orion.plan.catalog import Catalog
from orion.plan.steps import DefineSource
from orion.runtime import rows
from orion.runtime.scan import decoded
from orion.runtime.session import Spark
from orion.schema import Array, Decimal, Scalar, SqlType
from tests.captured import MARIADB, POSTGRES, Captured

RAW = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp BIGINT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
# What the catalog of a real server says is held against the server itself, in tests/services/test_cdc.py.
OF_POSTGRES: dict[str, SqlType] = {
    "INT PRIMARY KEY": Scalar.INTEGER,
    "SMALLINT": Scalar.INTEGER,
    "BIGINT": Scalar.BIGINT,
    "NUMERIC(10, 2)": Decimal(10, 2),
    "NUMERIC(38, 3)": Decimal(38, 3),
    "MONEY": Decimal(19, 2),
    "REAL": Scalar.DOUBLE,
    "DOUBLE PRECISION": Scalar.DOUBLE,
    "BOOLEAN": Scalar.BOOLEAN,
    "BIT(1)": Scalar.BOOLEAN,
    "BIT(5)": Scalar.BYTES,
    "BYTEA": Scalar.BYTES,
    "DATE": Scalar.DATE,
    "TIME": Scalar.TIME,
    "TIMESTAMP": Scalar.TIMESTAMP,
    "TIMESTAMPTZ": Scalar.TIMESTAMP,
    "TIMESTAMPTZ[]": Array(Scalar.TIMESTAMP),
    "TEXT[]": Array(Scalar.STRING),
    "NUMERIC(6, 2)[]": Array(Decimal(6, 2)),
    "DATE[]": Array(Scalar.DATE),
}


def of_mariadb(type_: str) -> SqlType | None:
    name = type_.partition("(")[0].split()[0].lower()
    return mysql_type(name, type_.replace(" PRIMARY KEY", ""), 10, 2)


@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
def test_a_record_is_the_row(spark: Spark, database: str) -> None:
    captured: Captured = POSTGRES if database == "postgresql" else MARIADB
    types = {
        name: OF_POSTGRES.get(type_, Scalar.STRING) if database == "postgresql" else of_mariadb(type_)
        for name, type_, *_ in captured.columns
    }
    table = Table("public.users", tuple(CapturedColumn(*column) for column in types.items()), ("id",))
    plan = ksql.compile(declaration(table, "t"), Catalog(), {}, {})
    (source,) = [step.source for step in plan.steps if isinstance(step, DefineSource)]
    record = (b"7", json.dumps(captured.record).encode(), "t", 0, 0, 5, None)
    raw = spark.createDataFrame([record], RAW)
    (row,) = decoded(raw.withColumn("timestamp", raw.timestamp.cast("timestamp")), source).collect()
    assert row[rows.BAD] is None
    read = {name: bytes(row[name]) if isinstance(row[name], bytearray) else row[name] for name in captured.row}
    assert read == captured.row


@pytest.mark.parametrize(
    ("written", "micros"),
    [
        ('"2024-02-29T14:00:00.345678+02:00"', 1_709_208_000_345_000),
        ('"1969-12-31T23:59:59.9999Z"', -1000),
        ('"-0044-03-15T00:00:00Z"', -63_549_360_000_000_000),
        ("5", 5000),
        ('"5"', 5000),
        ("-1.5e3", -1_500_000),
        ("999999999999999", 999_999_999_999_999_000),
        ("null", None),
    ],
)
def test_times(spark: Spark, written: str, micros: int | None) -> None:
    assert times(spark, written) == (micros, None)


@pytest.mark.parametrize(
    "written",
    [
        *('"12:30"', '"2024-02-29"', '"2024-02-29T12:00:00"', '"2024-13-29T12:00:00Z"', '"soon"', '""', "true", "{}"),
        "9223372036825200000",  # PostgreSQL's infinity, without a zone
        '"+292278994-08-16T23:00:00Z"',  # and with one
    ],
)
def test_what_is_no_time_is_a_dead_letter(spark: Spark, written: str) -> None:
    assert times(spark, written) == (None, "VALUE_UNREADABLE: not the JSON that was declared")


def times(spark: Spark, written: str) -> tuple[int | None, str | None]:
    """A TIMESTAMP as it is read, in microseconds, and why it can't be."""
    columns = (CapturedColumn("id", Scalar.INTEGER), CapturedColumn("seen", Scalar.TIMESTAMP))
    plan = ksql.compile(declaration(Table("users", columns, ("id",)), "t"), Catalog(), {}, {})
    (source,) = [step.source for step in plan.steps if isinstance(step, DefineSource)]
    raw = spark.createDataFrame([(b"7", b'{"id": 7, "seen": %b}' % written.encode(), "t", 0, 0, 5, None)], RAW)
    read = decoded(raw.withColumn("timestamp", raw.timestamp.cast("timestamp")), source)
    (row,) = read.selectExpr("unix_micros(SEEN) AS micros", rows.BAD).collect()
    return row.micros, row[rows.BAD]

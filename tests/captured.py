"""A table of every type in PostgreSQL and in MariaDB: its row, the record that Debezium makes of it, and the row that
SQL reads from the record. A test with the databases holds the record to it, a test with Spark the row."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True)
class Captured:
    """`columns` has for each column its type and value there, its value in the record, and its value in SQL here."""

    columns: tuple[tuple[str, str, str, Any, Any], ...]

    @property
    def table(self) -> str:
        return f"CREATE TABLE users ({', '.join(f'{name} {type_}' for name, type_, *_ in self.columns)})"

    @property
    def insert(self) -> str:
        return f"INSERT INTO users VALUES ({', '.join(value for _, _, value, *_ in self.columns)})"

    @property
    def record(self) -> dict[str, Any]:
        return {name: recorded for name, _, _, recorded, _ in self.columns}

    @property
    def row(self) -> dict[str, Any]:
        return {name.upper(): read for name, _, _, _, read in self.columns}


_NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 345000)
_MILLIS = 1709208000345
_EVE = datetime.datetime(1969, 12, 31, 23, 59, 59, 999000)
_LEAP, _DAYS = datetime.date(2024, 2, 29), 19782
_TIME = 12 * 3_600_000 + 345
_DIGITS = "12345678901234567890123456789012345.678"

POSTGRES = Captured(
    (
        ("id", "INT PRIMARY KEY", "7", 7, 7),
        ("small", "SMALLINT", "-2", -2, -2),
        ("large", "BIGINT", "9007199254740993", 9007199254740993, 9007199254740993),
        ("price", "NUMERIC(10, 2)", "12.50", "12.50", Decimal("12.50")),
        ("exact", "NUMERIC", "1.230", "1.230", "1.230"),
        ("digits", "NUMERIC(38, 3)", _DIGITS, _DIGITS, Decimal(_DIGITS)),
        ("cash", "MONEY", "3.5", "3.50", Decimal("3.50")),
        ("single", "REAL", "1.5", 1.5, 1.5),
        ("ratio", "DOUBLE PRECISION", "0.1", 0.1, 0.1),
        ("yes", "BOOLEAN", "true", True, True),
        ("flag", "BIT(1)", "B'1'", True, True),
        ("bits", "BIT(5)", "B'10101'", "FQ==", b"\x15"),
        ("raw", "BYTEA", r"'\x0102ff'", "AQL/", b"\x01\x02\xff"),
        ("name", "VARCHAR(20)", "'Zoë'", "Zoë", "Zoë"),
        ("fixed", "CHAR(4)", "'ab'", "ab  ", "ab  "),
        ("born", "DATE", "'2024-02-29'", _DAYS, _LEAP),
        ("at", "TIME", "'12:00:00.345678'", _TIME, _TIME),
        ("made", "TIMESTAMP", "'2024-02-29 12:00:00.345678'", _MILLIS, _NOON),
        ("seen", "TIMESTAMPTZ", "'2024-02-29 14:00:00.345678+02'", "2024-02-29T12:00:00.345678Z", _NOON),
        ("whole", "TIMESTAMPTZ", "'2024-02-29 12:00:00Z'", "2024-02-29T12:00:00.000000Z", _NOON.replace(microsecond=0)),
        ("eve", "TIMESTAMPTZ", "'1969-12-31 23:59:59.999999Z'", "1969-12-31T23:59:59.999999Z", _EVE),
        ("never", "TIMESTAMPTZ", "NULL", None, None),
        ("moments", "TIMESTAMPTZ[]", "'{2024-02-29 12:00:00.345678Z}'", ["2024-02-29T12:00:00.345678Z"], [_NOON]),
        ("plain_eve", "TIMESTAMP", "'1969-12-31 23:59:59.999999'", -1, _EVE),
        ("lasts", "INTERVAL", "'1 day 02:00:00'", *2 * ("P0Y0M1DT2H0M0S",)),
        ("uid", "UUID", "'123e4567-e89b-12d3-a456-426614174000'", *2 * ("123e4567-e89b-12d3-a456-426614174000",)),
        ("doc", "JSONB", """'{"a": 1}'""", *2 * ('{"a": 1}',)),
        ("host", "INET", "'10.0.0.1'", *2 * ("10.0.0.1",)),
        ("tags", "TEXT[]", "'{a,b}'", ["a", "b"], ["a", "b"]),
        ("prices", "NUMERIC(6, 2)[]", "'{1.5,2.25}'", ["1.50", "2.25"], [Decimal("1.50"), Decimal("2.25")]),
        ("days", "DATE[]", "'{2024-02-29}'", [_DAYS], [_LEAP]),
        ("nothing", "TEXT", "NULL", None, None),
    )
)

MARIADB = Captured(
    (
        ("id", "INT PRIMARY KEY", "7", 7, 7),
        ("tiny", "TINYINT(1)", "1", 1, 1),
        ("medium", "MEDIUMINT", "-5", -5, -5),
        ("plain", "INT UNSIGNED", "4294967295", 4294967295, 4294967295),
        ("large", "BIGINT", "9007199254740993", 9007199254740993, 9007199254740993),
        ("huge", "BIGINT UNSIGNED", "18446744073709551615", 18446744073709551615, Decimal("18446744073709551615")),
        ("price", "DECIMAL(10, 2)", "12.50", "12.50", Decimal("12.50")),
        ("ratio", "DOUBLE", "0.1", 0.1, 0.1),
        ("single", "FLOAT", "1.5", 1.5, 1.5),
        ("flag", "BIT(1)", "b'1'", True, True),
        ("raw", "VARBINARY(10)", "x'0102ff'", "AQL/", b"\x01\x02\xff"),
        ("picture", "BLOB", "x'0102ff'", "AQL/", b"\x01\x02\xff"),
        ("name", "VARCHAR(20)", "'Zoë'", "Zoë", "Zoë"),
        ("notes", "TEXT", "'long'", "long", "long"),
        ("mood", "ENUM('a', 'b')", "'b'", "b", "b"),
        ("marks", "SET('a', 'b')", "'a,b'", "a,b", "a,b"),
        ("doc", "JSON", """'{"a": 1}'""", *2 * ('{"a": 1}',)),
        ("born", "DATE", "'2024-02-29'", _DAYS, _LEAP),
        ("at", "TIME(3)", "'12:00:00.345'", _TIME, _TIME),
        ("made", "DATETIME(6)", "'2024-02-29 12:00:00.345678'", _MILLIS, _NOON),
        ("seen", "TIMESTAMP(6) NULL", "'2024-02-29 12:00:00.345678'", "2024-02-29T12:00:00.345678Z", _NOON),
        ("never", "TIMESTAMP(6) NULL", "NULL", None, None),
        ("eve", "DATETIME(6)", "'1969-12-31 23:59:59.999999'", -1, _EVE),
        ("year", "YEAR", "2024", 2024, 2024),
        ("nothing", "TEXT", "NULL", None, None),
    )
)

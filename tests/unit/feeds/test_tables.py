"""Captured tables: types of both families, and declarations that SQL takes."""

from __future__ import annotations

import pytest

from orion import ksql
from orion.errors import UserError
from orion.feeds.connect.mysql_types import mysql_type
from orion.feeds.connect.postgres_types import postgres_type
from orion.feeds.connect.tables import CapturedColumn, Table, declaration, quoted
from orion.plan.catalog import Catalog
from orion.plan.steps import DefineSource
from orion.schema import Array, Decimal, Role, Scalar, SqlType

NONE = (None, None)


@pytest.mark.parametrize(
    ("name", "modifier", "expected"),
    [
        ("int2", -1, Scalar.INTEGER),
        ("int8", -1, Scalar.BIGINT),
        ("float4", -1, Scalar.DOUBLE),
        ("numeric", (10 << 16 | 2) + 4, Decimal(10, 2)),
        ("numeric", -1, Scalar.STRING),
        ("numeric", (50 << 16 | 2) + 4, Scalar.STRING),
        ("bool", -1, Scalar.BOOLEAN),
        ("bit", 1, Scalar.BOOLEAN),
        ("bit", 8, Scalar.BYTES),
        ("timestamp", 3, Scalar.TIMESTAMP),
        ("timestamptz", -1, Scalar.TIMESTAMP),
        ("timetz", -1, Scalar.STRING),
        ("point", -1, None),
    ],
)
def test_types_of_postgresql(name: str, modifier: int, expected: SqlType | None) -> None:
    assert postgres_type((name, "b"), NONE, modifier) == expected


def test_arrays_and_enums_of_postgresql() -> None:
    assert postgres_type(("_int4", "b"), ("int4", "b"), -1) == Array(Scalar.INTEGER)
    assert postgres_type(("_mood", "b"), ("mood", "e"), -1) == Array(Scalar.STRING)
    assert postgres_type(("mood", "e"), NONE, -1) == Scalar.STRING
    assert postgres_type(("_point", "b"), ("point", "b"), -1) is None


@pytest.mark.parametrize(
    ("name", "full", "digits", "expected"),
    [
        ("tinyint", "tinyint(1)", (3, 0), Scalar.INTEGER),
        ("int", "int(11)", (10, 0), Scalar.INTEGER),
        ("int", "int(10) unsigned", (10, 0), Scalar.BIGINT),
        ("bigint", "bigint(20) unsigned", (20, 0), Decimal(20, 0)),
        ("decimal", "decimal(10,2)", (10, 2), Decimal(10, 2)),
        ("decimal", "decimal(65,2)", (65, 2), Scalar.STRING),
        ("bit", "bit(1)", (1, None), Scalar.BOOLEAN),
        ("bit", "bit(4)", (4, None), Scalar.BYTES),
        ("datetime", "datetime(6)", (None, None), Scalar.TIMESTAMP),
        ("timestamp", "timestamp", (None, None), Scalar.TIMESTAMP),
        ("geometry", "geometry", (None, None), None),
    ],
)
def test_types_of_mysql(name: str, full: str, digits: tuple[int | None, int | None], expected: SqlType | None) -> None:
    assert mysql_type(name, full, *digits) == expected


def test_a_declaration_is_a_statement() -> None:
    columns: dict[str, SqlType | None] = {
        "name": Scalar.STRING,
        "order": Scalar.INTEGER,
        "user name": Scalar.DATE,
        "a": Scalar.BIGINT,
        "tags": Array(Decimal(5, 1)),
        "where": None,
        "b": Scalar.STRING,
        "Twice": Scalar.TIMESTAMP,
        "twice": Scalar.TIME,
    }
    table = Table("public.users", tuple(CapturedColumn(n, t) for n, t in columns.items()), ("b", "a"))
    plan = ksql.compile(declaration(table, "shop.public.users"), Catalog(), {}, {})
    (source,) = [step.source for step in plan.steps if isinstance(step, DefineSource)]
    assert (source.name, source.topic, source.key.format) == ("USERS", "shop.public.users", "JSON")
    assert [(c.name, c.type) for c in source.columns(Role.KEY)] == [("B", Scalar.STRING), ("A", Scalar.BIGINT)]
    assert [(c.name, c.type) for c in source.columns(Role.VALUE)] == [
        ("NAME", Scalar.STRING),
        ("ORDER", Scalar.INTEGER),
        ("user name", Scalar.DATE),
        ("TAGS", Array(Decimal(5, 1))),
        ("Twice", Scalar.TIMESTAMP),
        ("twice", Scalar.TIME),
    ]


def test_a_table_without_a_key_has_no_declaration_unless_one_is_named() -> None:
    table = Table("public.logs", (CapturedColumn("at", Scalar.BIGINT),), ())
    with pytest.raises(UserError, match="no primary key"):
        declaration(table, "t")
    assert "at BIGINT PRIMARY KEY" in declaration(table, "t", ("at",))


def test_a_time_with_a_zone_is_text_where_it_is_a_key() -> None:
    columns = (CapturedColumn("at", Scalar.TIMESTAMP, zoned=True), CapturedColumn("seen", Scalar.TIMESTAMP, zoned=True))
    text = declaration(Table("public.logs", columns, ("at",)), "t")
    assert "at VARCHAR PRIMARY KEY" in text
    assert "seen TIMESTAMP" in text


def test_names() -> None:
    assert [quoted("id"), quoted("select"), quoted("1st"), quoted("a`b")] == ["id", "`select`", "`1st`", "`a``b`"]

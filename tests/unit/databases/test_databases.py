"""Addresses of databases, logins and tables; a real database where that is a file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from orion.databases.address import Database, Kind, database
from orion.databases.connecting import asked, connected, rows
from orion.databases.tables import columns_of, columns_of_query, found_table, quoted, split_name, type_of
from orion.errors import ConfigError, ExternalError


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("jdbc:postgresql://db:5433/shop", "postgresql://db:5433/shop"),
        ("postgres://db/shop", "postgresql://db:5432/shop"),
        ("jdbc:mysql://db/shop?user=ann&password=geheim", "mysql://db:3306/shop"),
        ("jdbc:mariadb://db:33060/shop", "mysql://db:33060/shop"),
        ("jdbc:sqlite:/data/shop.db", "sqlite:/data/shop.db"),
        ("jdbc:sqlite:shop.db?mode=ro", f"sqlite:{Path('shop.db').absolute()}"),
    ],
)
def test_addresses(url: str, shown: str) -> None:
    found = database(url)
    assert str(found) == shown
    assert "geheim" not in repr(found)


def test_a_login_beside_the_address_wins() -> None:
    found = database("jdbc:postgresql://ann:one@db/shop?currentSchema=sales&sslmode=require", "bo", "two")
    assert (found.user, found.password, found.parameter("currentschema")) == ("bo", "two", "sales")
    assert database("jdbc:postgresql://ann:one@db/shop").password == "one"


@pytest.mark.parametrize(
    ("url", "code", "hint"),
    [
        ("jdbc:oracle:thin:@db:1521/x", "UNKNOWN_DATABASE", "Addresses begin with"),
        ("jdbc:postgresq://db/shop", "UNKNOWN_DATABASE", "Did you mean postgresql?"),
        ("jdbc:postgresql://db", "INVALID_ADDRESS", "localhost:5432"),
        ("jdbc:mysql://db:port/shop", "INVALID_ADDRESS", "localhost:3306"),
        ("jdbc:sqlite:", "INVALID_ADDRESS", "shop.db"),
    ],
)
def test_addresses_that_are_none(url: str, code: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        database(url)
    assert refused.value.code == code
    assert hint in (refused.value.hint or "")


@pytest.fixture
def shop(tmp_path: Path) -> Database:
    with sqlite3.connect(tmp_path / "shop.db") as made:
        made.execute(
            "CREATE TABLE Orders (id INTEGER PRIMARY KEY, item VARCHAR(20) NOT NULL, price DECIMAL(8,2), at DATETIME)"
        )
        made.executemany("INSERT INTO Orders VALUES (?, ?, ?, NULL)", [(n, f"item {n}", n / 4) for n in range(25_000)])
    made.close()
    return database(f"jdbc:sqlite:{tmp_path / 'shop.db'}")


def test_a_table_tells_its_columns(shop: Database) -> None:
    with connected(shop) as connection:
        table = found_table(connection, shop, "orders")
        told = columns_of(connection, shop, table)
        query = columns_of_query(connection, shop, "SELECT id, item FROM orders")
    assert table == ("Orders",)
    assert [(c.name, str(c.type), c.nullable, c.key) for c in told] == [
        ("id", "BIGINT", False, 1),
        ("item", "VARCHAR(STRING)", False, 0),
        ("price", "DECIMAL(8, 2)", True, 0),
        ("at", "TIMESTAMP", True, 0),
    ]
    assert [(c.name, str(c.type)) for c in query] == [("id", "BIGINT"), ("item", "VARCHAR(STRING)")]


def test_rows_come_in_parts(shop: Database) -> None:
    with connected(shop) as connection:
        parts = [len(part) for part in rows(connection, shop, "SELECT id FROM Orders WHERE id >= ?", [5])]
        assert asked(connection, "SELECT COUNT(*) FROM Orders") == [(25_000,)]
    assert parts == [10_000, 10_000, 4995]


def test_a_table_that_is_missed(shop: Database) -> None:
    with connected(shop) as connection, pytest.raises(ConfigError) as refused:
        found_table(connection, shop, "ordres")
    assert (refused.value.code, refused.value.hint) == ("TABLE_MISSING", "Did you mean Orders?")


def test_a_statement_that_is_refused(shop: Database) -> None:
    with pytest.raises(ConfigError, match="no such table"), connected(shop) as connection:
        asked(connection, "SELECT * FROM gone")


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no database"), connected(database(f"sqlite:{tmp_path}/none.db")):
        pass
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_a_server_that_is_away(kind: str) -> None:
    with pytest.raises(ExternalError) as away, connected(database(f"jdbc:{kind}://127.0.0.1:1/shop", "ann", "geheim")):
        pass
    assert away.value.code == "DATABASE_AWAY"
    assert "geheim" not in str(away.value)


@pytest.mark.parametrize(
    ("written", "type_"),
    [
        ("integer", "INTEGER"),
        ("numeric(12,3)", "DECIMAL(12, 3)"),
        ("numeric", "DECIMAL(38, 18)"),
        ("character varying(20)", "VARCHAR(STRING)"),
        ("double precision", "DOUBLE"),
        ("timestamp(3) without time zone", "TIMESTAMP"),
        ("time without time zone", "TIME"),
        ("bigint[]", "ARRAY<BIGINT>"),
        ("uuid", "VARCHAR(STRING)"),
        ("bytea", "BYTES"),
    ],
)
def test_types_of_postgresql(written: str, type_: str) -> None:
    assert str(type_of(Database(Kind.POSTGRESQL, "x"), written)) == type_


@pytest.mark.parametrize(
    ("written", "type_"),
    [
        ("tinyint(1)", "BOOLEAN"),
        ("tinyint(4)", "INTEGER"),
        ("int(10) unsigned", "BIGINT"),
        ("bigint(20) unsigned", "DECIMAL(20, 0)"),
        ("decimal(65,30)", "DECIMAL(38, 18)"),
        ("datetime(6)", "TIMESTAMP"),
        ("varbinary(20)", "BYTES"),
        ("enum('a','b')", "VARCHAR(STRING)"),
    ],
)
def test_types_of_mysql(written: str, type_: str) -> None:
    assert str(type_of(Database(Kind.MYSQL, "x"), written)) == type_


def test_names() -> None:
    postgres, mysql = Database(Kind.POSTGRESQL, "x"), Database(Kind.MYSQL, "x")
    assert split_name(postgres, 'sales."Order.Lines"') == ["sales", "Order.Lines"]
    assert quoted(mysql, "sales", "a`b") == "`sales`.`a``b`"

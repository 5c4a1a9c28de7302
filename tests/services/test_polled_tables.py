"""Tables of real PostgreSQL and MariaDB, polled without Spark: every type, every mode, and what a server refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from typing import Any

import pytest

from orion import ksql
from orion.errors import ConfigError
from orion.feeds import FeedAway, frames, open_feed
from orion.feeds.jdbc import JdbcFeed
from orion.feeds.polled.bounds import Place
from orion.plan.catalog import Catalog
from orion.plan.sources import Connector, Direction, Source
from orion.plan.steps import DefineSource
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Postgres

NUMBER = {"mode": "incrementing", "incrementing.column.name": "id"}
BOTH = {"mode": "timestamp+incrementing", "incrementing.column.name": "id", "timestamp.column.name": "changed"}
Row = dict[str, Any]


@dataclass(frozen=True)
class Shop:
    """A database with a login, whichever server has it."""

    url: str
    user: str
    password: str
    connect: Callable[[], Any]

    def run(self, *statements: str) -> None:
        with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)

    def feed(self, options: Mapping[str, str]) -> JdbcFeed:
        login = {
            "connection.url": f"jdbc:{self.url}",
            "connection.user": self.user,
            "connection.password": self.password,
        }
        told = {**login, "poll.interval.ms": "0", **options}
        if "query" not in told:
            told.setdefault("table.whitelist", "orders")
        made = open_feed(Connector("SHOP", "jdbc", (), tuple(told.items()), direction=Direction.SOURCE))
        assert isinstance(made, JdbcFeed)
        return made

    def batches(self, options: Mapping[str, str], columns: str, at: Mapping[str, Any] | None = None) -> list[list[Row]]:
        return [rows for _, rows in self.ends(options, columns, at)]

    def ends(
        self, options: Mapping[str, str], columns: str, at: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[dict[str, Any], list[Row]]]:
        feed = self.feed(options)
        feed.prepare()
        polling = feed.polling(declared(columns), at)
        session = polling.open()
        try:
            start = session.begin()
            while (end := session.ahead(start)) != start:
                rows = [row for batch in polling.read(start, end) for row in batch.to_pylist()]
                yield end, [row for row in rows if row[frames.BAD] != frames.NOTE]
                start = end
        finally:
            session.close()


def declared(columns: str) -> Source:
    text = f"CREATE STREAM target ({columns}) WITH (KAFKA_TOPIC = 'target', VALUE_FORMAT = 'JSON')"
    return next(step.source for step in ksql.compile(text, Catalog()).steps if isinstance(step, DefineSource))


@pytest.fixture(params=["postgres", "mariadb"])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    server: Postgres | MariaDB = request.getfixturevalue(request.param)
    with server.database() as database:
        yield Shop(database.url, server.user, server.password, database.connect)


@pytest.mark.parametrize("mode", [NUMBER, BOTH, {**BOTH, "mode": "timestamp", "incrementing.column.name": ""}])
def test_new_rows_alone(shop: Shop, mode: dict[str, str]) -> None:
    options = {name: value for name, value in mode.items() if value} | {"batch.max.rows": "2"}
    shop.run(
        "CREATE TABLE orders (id INT PRIMARY KEY, item VARCHAR(9), changed TIMESTAMP(6) NOT NULL)",
        *(f"INSERT INTO orders VALUES ({n}, 'x', '2026-01-02 03:04:0{n // 2}.123456')" for n in range(1, 6)),
    )
    found = list(shop.ends(options, "ID INT KEY, ITEM STRING"))
    assert [row["ID"] for _, rows in found for row in rows] == [1, 2, 3, 4, 5]
    for at, (end, _) in enumerate(found):
        stands = Place.of(end).offset
        behind = [row["ID"] for _, rows in found[at + 1 :] for row in rows]
        assert [row["ID"] for rows in shop.batches(options, "ID INT KEY", stands) for row in rows] == behind
    stands = Place.of(found[-1][0]).offset
    shop.run("INSERT INTO orders VALUES (9, 'y', '2026-01-02 03:04:09')")
    assert [[row["ID"] for row in rows] for rows in shop.batches(options, "ID INT KEY", stands)] == [[9]]


def test_a_query_tells_its_columns_and_is_polled(shop: Shop) -> None:
    shop.run(
        "CREATE TABLE orders (id INT PRIMARY KEY, item VARCHAR(9), price DECIMAL(8, 2), made TIMESTAMP NULL)",
        "INSERT INTO orders VALUES (1, 'a', 1.5, NULL), (2, 'b', 2.5, NULL), (3, 'a', 3.5, '2026-01-02 03:04:05')",
    )
    options = {**NUMBER, "query": "SELECT id, price, made FROM orders WHERE item = 'a'"}
    told = shop.feed(options).columns()
    assert told is not None
    assert [str(column.type) for column in told] == ["INTEGER", "DECIMAL(8, 2)", "TIMESTAMP"]
    ((first, second),) = shop.batches(options, "ID INT, PRICE DECIMAL(8, 2), MADE TIMESTAMP")
    assert (first["ID"], first["PRICE"], second["MADE"]) == (
        1,
        Number("1.50"),
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )


def test_what_a_server_refuses(shop: Shop) -> None:
    shop.run("CREATE TABLE orders (id INT PRIMARY KEY, item VARCHAR(9) NOT NULL)")
    wrong = {
        "DATABASE_REFUSED": {**NUMBER, "connection.password": "not-the-one"},
        "TABLE_MISSING": {**NUMBER, "table.whitelist": "order"},
        "COLUMN_MISSING": {**NUMBER, "incrementing.column.name": "ids"},
        "COLUMN_UNFIT": {**NUMBER, "incrementing.column.name": "item"},
    }
    for code, options in wrong.items():
        with pytest.raises(ConfigError) as refused:
            shop.feed(options).prepare()
        assert refused.value.code == code
        assert "not-the-one" not in f"{refused.value} {refused.value.hint}"
    with pytest.raises(ConfigError, match="refuses"):
        shop.feed({**NUMBER, "connection.url": f"jdbc:{shop.url}_gone"}).prepare()


def test_times_of_a_clock_somewhere(shop: Shop) -> None:
    kind = "TIMESTAMP" if shop.url.startswith("postgres") else "DATETIME"
    shop.run(
        f"CREATE TABLE orders (id INT PRIMARY KEY, changed {kind} NOT NULL)",
        "INSERT INTO orders VALUES (1, '2026-01-02 00:04:05')",
    )
    options = {**BOTH, "db.timezone": "America/Sao_Paulo"}
    ((end, (row,)),) = shop.ends(options, "ID INT KEY, CHANGED TIMESTAMP")
    assert row["CHANGED"] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert end["timestamp"] == 1767323045000


POSTGRES = {
    "a": ("boolean", "true", True),
    "b": ("smallint", "7", 7),
    "c": ("bigint", "8", 8),
    "d": ("double precision", "1.5", 1.5),
    "e": ("numeric(8,2)", "12.34", Number("12.34")),
    "f": ("text", "'é'", "é"),
    "g": ("bytea", r"'\x0102'", b"\x01\x02"),
    "h": ("date", "'2026-01-02'", date(2026, 1, 2)),
    "i": ("time", "'03:04:05.006'", 11045006),
    "j": ("timestamptz", "'2026-01-02 03:04:05+01'", datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)),
    "k": ("integer[]", "'{1,NULL}'", [1, None]),
    "l": ("jsonb", """'{"a": [1]}'""", '{"a": [1]}'),
    "m": ("uuid", "'00000000-0000-0000-0000-000000000005'", "00000000-0000-0000-0000-000000000005"),
}
MARIADB = {
    "a": ("BOOLEAN", "TRUE", True),
    "b": ("TINYINT", "7", 7),
    "c": ("BIGINT", "8", 8),
    "d": ("DOUBLE", "1.5", 1.5),
    "e": ("DECIMAL(8,2)", "12.34", Number("12.34")),
    "f": ("VARCHAR(5)", "'é'", "é"),
    "g": ("VARBINARY(5)", "X'0102'", b"\x01\x02"),
    "h": ("DATE", "'2026-01-02'", date(2026, 1, 2)),
    "i": ("TIME(3)", "'03:04:05.006'", 11045006),
    "j": ("TIMESTAMP NULL", "'2026-01-02 02:04:05'", datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)),
    "k": ("INT UNSIGNED", "4000000000", 4000000000),
    "l": ("JSON", """'{"a": [1]}'""", '{"a": [1]}'),
    "m": ("ENUM('x','y')", "'y'", "y"),
}


def test_every_type(shop: Shop) -> None:
    types = POSTGRES if shop.url.startswith("postgres") else MARIADB
    shop.run(
        f"CREATE TABLE orders (id INT PRIMARY KEY, {', '.join(f'{n} {t}' for n, (t, _, _) in types.items())})",
        f"INSERT INTO orders VALUES (1, {', '.join(value for _, value, _ in types.values())})",
        f"INSERT INTO orders VALUES (2, {', '.join('NULL' for _ in types)})",
    )
    told = shop.feed(NUMBER).columns()
    assert told is not None
    named = ", ".join(f"{c.name} {c.type}{' KEY' if c.role.value == 'KEY' else ''}" for c in told)
    ((full, empty),) = shop.batches(NUMBER, named.replace("VARCHAR(STRING)", "STRING"))
    assert {name: full[name.upper()] for name in types} == {name: value for name, (_, _, value) in types.items()}
    assert {name: empty[name.upper()] for name in types} == dict.fromkeys(types)


def test_times_that_python_has_not_are_letters(postgres: Postgres) -> None:
    with postgres.database() as database:
        shop = Shop(database.url, postgres.user, postgres.password, database.connect)
        shop.run(
            "CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMPTZ)",
            "INSERT INTO orders VALUES (1, 'infinity'), (2, '0044-03-15 BC'), (3, '2026-01-02')",
        )
        ((one, two, three),) = shop.batches(NUMBER, "ID INT KEY, AT TIMESTAMP")
    assert [one[frames.BAD], two[frames.BAD]] == ["VALUE_UNREADABLE: AT is no TIMESTAMP"] * 2
    assert json.loads(one[frames.RAW_VALUE]) == {"id": 1, "at": "infinity"}
    assert three["AT"] == datetime(2026, 1, 2, tzinfo=UTC)


def test_a_server_that_dies_is_away_and_comes_back(postgres: Postgres) -> None:
    with postgres.database() as database:
        shop = Shop(database.url, postgres.user, postgres.password, database.connect)
        shop.run("CREATE TABLE orders (id INT PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
        polling = shop.feed(NUMBER).polling(declared("ID INT KEY"), None)
        session = polling.open()
        end = session.ahead({})
        postgres.kill()
        with pytest.raises(FeedAway, match="doesn't answer"):
            session.ahead(end)
        with pytest.raises(FeedAway, match="doesn't answer"):
            list(polling.read({}, end))
        postgres.start()
        assert [row["ID"] for batch in polling.read({}, end) for row in batch.to_pylist()] == [1, None]

"""Polling a real database: which rows are new, restarts at any place, and what is refused."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orion import ksql
from orion.databases.address import Database, Kind, database
from orion.errors import ConfigError, ExternalError
from orion.feeds import FeedAway, frames, open_feed
from orion.feeds.jdbc import JdbcFeed
from orion.feeds.polled.bounds import POLLED, Bounds, Place
from orion.feeds.polled.reading import Pace, Polling
from orion.plan.catalog import Catalog
from orion.plan.sources import Connector, Direction, Source
from orion.plan.steps import DefineSource

NUMBER = {"mode": "incrementing", "incrementing.column.name": "id"}
TIME = {"mode": "timestamp", "timestamp.column.name": "at"}
BOTH = {"mode": "timestamp+incrementing", "incrementing.column.name": "ID", "timestamp.column.name": "At"}


class Shop:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "shop.db"
        self.connection = sqlite3.connect(self.file, isolation_level=None)
        self.connection.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, at TIMESTAMP NOT NULL, seen TIMESTAMP)"
        )

    def add(self, *rows: tuple[int, Any, Any]) -> None:
        self.connection.executemany("INSERT INTO orders VALUES (?, ?, ?, NULL)", rows)

    def feed(self, **options: str) -> JdbcFeed:
        told = {"connection.url": f"jdbc:sqlite:{self.file}", "poll.interval.ms": "0", **options}
        if "query" not in told:
            told.setdefault("table.whitelist", "orders")
        made = open_feed(Connector("SHOP", "jdbc", (), tuple(told.items()), direction=Direction.SOURCE))
        assert isinstance(made, JdbcFeed)
        return made

    def polling(
        self,
        options: Mapping[str, str],
        columns: str = "ID BIGINT KEY, ITEM STRING",
        at: Mapping[str, Any] | None = None,
    ) -> Polling:
        feed = self.feed(**options)
        feed.prepare()
        made = pickle.loads(pickle.dumps(feed.polling(declared(columns), at)))
        assert isinstance(made, Polling)
        return made


def declared(columns: str) -> Source:
    text = f"CREATE STREAM target ({columns}) WITH (KAFKA_TOPIC = 'target', VALUE_FORMAT = 'JSON')"
    return next(step.source for step in ksql.compile(text, Catalog()).steps if isinstance(step, DefineSource))


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    yield made
    made.connection.close()


def batches(polling: Polling, start: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """What one run makes of what is there."""
    session, at = polling.open(), dict(start)
    try:
        while (end := session.ahead(at)) != at:
            yield end, [row for batch in polling.read(at, end) for row in batch.to_pylist()]
            at = end
    finally:
        session.close()


def ids(polling: Polling, start: Mapping[str, Any]) -> list[list[int]]:
    return [[row["ID"] for row in rows if row[frames.BAD] is None] for _, rows in batches(polling, start)]


@pytest.mark.parametrize("options", [NUMBER, TIME, BOTH])
def test_new_rows_alone_from_any_place(shop: Shop, options: dict[str, str]) -> None:
    shop.add(*((n, f"item {n}", f"2026-01-02 03:04:{n:02}.5") for n in range(1, 8)))
    polling = shop.polling(options | {"batch.max.rows": "3"})
    assert ids(polling, {}) == [[1, 2, 3], [4, 5, 6], [7]]
    for end, _ in batches(polling, {}):
        # A new run from a place in Kafka, or from a checkpoint, goes on behind it.
        stands = Place.of(end).offset
        seen = [one for some in ids(shop.polling(options, at=stands), stands) for one in some]
        assert seen == list(range(int(end.get("incrementing") or stands["timestamp"] % 60_000 // 1000) + 1, 8))
    *_, (end, _) = batches(polling, {})
    shop.add((9, "late", "2026-01-02 03:05:00"))
    assert ids(polling, end) == [[9]]


def test_a_batch_ends_with_a_note_of_where_it_stands(shop: Shop) -> None:
    shop.add((4, "a", "2026-01-02T03:04:05.678"))
    ((end, rows),) = batches(shop.polling(BOTH), {})
    assert end == {"incrementing": 4, "timestamp": 1767323045678, "timestamp_nanos": 678_000_000, POLLED: end[POLLED]}
    row, note = rows
    assert row["ROWTIME"] == end[POLLED]
    assert note[frames.BAD] == frames.NOTE
    assert json.loads(note[frames.RAW_KEY]) == ["SHOP", {"table": "orders"}]
    assert json.loads(note[frames.RAW_VALUE]) == {k: v for k, v in end.items() if k != POLLED}


def test_rows_of_one_moment_are_told_apart_by_their_numbers(shop: Shop) -> None:
    shop.add(*((n, "x", "2026-01-02 03:04:05") for n in range(1, 6)))
    polling = shop.polling(BOTH | {"batch.max.rows": "2"})
    assert ids(polling, {}) == [[1, 2], [3, 4], [5]]
    *_, (end, _) = batches(polling, {})
    shop.add((6, "x", "2026-01-02 03:04:05"))
    assert ids(polling, end) == [[6]]


def test_by_time_alone_a_batch_has_all_rows_of_its_last_moment(shop: Shop) -> None:
    shop.add(*((n, "x", "2026-01-02 03:04:05") for n in range(1, 6)), (6, "x", "2026-01-02 03:04:06"))
    assert ids(shop.polling(TIME | {"batch.max.rows": "2"}), {}) == [[1, 2, 3, 4, 5], [6]]


def test_rows_of_a_second_that_is_not_over_wait(shop: Shop) -> None:
    shop.connection.execute("INSERT INTO orders VALUES (1, 'x', strftime('%Y-%m-%d %H:%M:%f', 'now', '+1 hour'), NULL)")
    polling = shop.polling(TIME)
    assert ids(polling, {}) == []
    shop.add((2, "x", 1767323045000))  # milliseconds are a time too
    assert ids(polling, {}) == [[2]]


def test_a_delay_lets_transactions_end(shop: Shop) -> None:
    shop.connection.execute(
        "INSERT INTO orders VALUES (1, 'x', strftime('%Y-%m-%d %H:%M:%f', 'now', '-5 minutes'), NULL)"
    )
    assert ids(shop.polling(TIME | {"timestamp.delay.interval.ms": "3600000"}), {}) == []
    assert ids(shop.polling(TIME), {}) == [[1]]


def test_everything_each_time(shop: Shop) -> None:
    shop.add((1, "a", "2026-01-01"), (2, "b", "2026-01-01"))
    polling = shop.polling({"mode": "bulk"})
    some = batches(polling, {})
    assert [[row["ID"] for row in rows] for _, rows in (next(some), next(some))] == [[1, 2], [1, 2]]
    assert polling.partition is None


def test_a_query_is_polled_like_a_table(shop: Shop) -> None:
    shop.add((1, "a", "2026-01-01"), (2, "b", "2026-01-01"), (3, "a", "2026-01-01"))
    polling = shop.polling(NUMBER | {"query": "SELECT id, upper(item) AS item FROM orders WHERE item = 'a';"})
    assert [[row["ITEM"] for row in rows if not row[frames.BAD]][:2] for _, rows in batches(polling, {})] == [
        ["A", "A"]
    ]
    assert polling.partition == {"query": "query"}


def test_where_a_new_one_begins(shop: Shop) -> None:
    shop.add((1, "a", "2026-01-02 03:04:05"), (2, "b", "2026-01-02 03:04:06"))
    begun = shop.polling(TIME | {"timestamp.initial": "1767323045000"}).open().begin()
    assert begun == {"timestamp": 1767323045000, "timestamp_nanos": 0}
    assert ids(shop.polling(TIME), begun) == [[2]]
    assert shop.polling(TIME | {"timestamp.initial": "-1"}).open().begin()["timestamp"] > 1767323045000
    assert shop.polling(NUMBER, at={"incrementing": 1}).open().begin() == {"incrementing": 1}
    assert shop.polling(NUMBER).open().begin() == {}


def test_a_value_that_does_not_fit_is_a_letter_of_its_own(shop: Shop) -> None:
    shop.add((1, "many", "2026-01-01"), (2, "5", "2026-01-01"))
    ((_, rows),) = batches(shop.polling(NUMBER, "ID BIGINT KEY, ITEM INT"), {})
    bad, good, _ = rows
    assert bad[frames.BAD] == "VALUE_UNREADABLE: ITEM is no INTEGER"
    assert json.loads(bad[frames.RAW_VALUE]) == {"id": 1, "item": "many"}
    assert bad[frames.PLACE] == "orders"
    assert good["ITEM"] == 5


def test_columns_by_the_table(shop: Shop) -> None:
    told = shop.feed(**NUMBER).columns()
    assert told is not None
    assert [(c.name, str(c.type), c.role.value) for c in told] == [
        ("ID", "BIGINT", "KEY"),
        ("ITEM", "VARCHAR(STRING)", "VALUE"),
        ("AT", "TIMESTAMP", "VALUE"),
        ("SEEN", "TIMESTAMP", "VALUE"),
    ]


@pytest.mark.parametrize(
    ("options", "code", "told", "hint"),
    [
        ({**NUMBER, "table.whitelist": "order"}, "TABLE_MISSING", "There is no table order", "Did you mean orders?"),
        ({**NUMBER, "incrementing.column.name": "ids"}, "COLUMN_MISSING", "'incrementing.column.name' is ids", "id?"),
        ({**NUMBER, "incrementing.column.name": "item"}, "COLUMN_UNFIT", "item is TEXT, and has to be a whole", ""),
        ({**TIME, "timestamp.column.name": "seen"}, "COLUMN_UNFIT", "seen may be NULL", "validate.non.null"),
        ({**NUMBER, "query": "SELECT gone"}, "DATABASE_REFUSED", "no such column", ""),
    ],
)
def test_refused_by_what_the_database_says(
    shop: Shop, options: dict[str, str], code: str, told: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        shop.feed(**options).prepare()
    assert refused.value.code == code
    assert told in refused.value.message
    assert hint in (refused.value.hint or "")


def test_null_is_left_out_where_that_is_said(shop: Shop) -> None:
    shop.add((1, "a", "2026-01-01"))
    shop.feed(**TIME | {"timestamp.column.name": "seen"}, **{"validate.non.null": "false"}).prepare()
    several = {**TIME, "timestamp.column.name": "seen, at"}
    assert ids(shop.polling(several), {}) == [[1]]


def test_a_target_with_a_column_that_the_table_lacks(shop: Shop) -> None:
    with pytest.raises(ConfigError) as refused:
        shop.polling(NUMBER, "ID BIGINT KEY, ITEMS STRING")
    assert refused.value.hint == "Did you mean item?"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"mode": "incrementing"}, "needs 'incrementing.column.name'"),
        ({"mode": "bulk", "incrementing.column.name": "id"}, "has no use for 'incrementing.column.name'"),
        ({**NUMBER, "table.whitelist": "a,b"}, "names one table"),
        ({**NUMBER, "table.whitelist": "a", "query": "SELECT 1"}, "one of the two"),
        ({**NUMBER, "db.timezone": "Mars"}, "Mars is no time zone"),
        ({"mode": "sometimes"}, "mode"),
    ],
)
def test_options_that_do_not_go_together(shop: Shop, options: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        shop.feed(**options)


def test_an_unknown_option_has_its_nearest_name(shop: Shop) -> None:
    with pytest.raises(ConfigError) as refused:
        shop.feed(**NUMBER, **{"poll.intervall.ms": "1"})
    assert refused.value.hint == "Did you mean poll.interval.ms?"


def test_a_database_that_is_away_marks_itself() -> None:
    told = {"connection.url": "jdbc:postgresql://127.0.0.1:1/shop", "table.whitelist": "t", **NUMBER}
    feed = open_feed(Connector("SHOP", "jdbc", (), tuple(told.items()), direction=Direction.SOURCE))
    with pytest.raises(ExternalError, match="doesn't answer"):
        feed.prepare()
    bounds = Bounds(database(told["connection.url"]), '"t"', "incrementing", "id")
    polling = Polling("SHOP", "t", {"table": "t"}, bounds, Pace(0, 1), (), ("id",), (), ())
    with pytest.raises(FeedAway, match="FEED_AWAY: postgresql") as away:
        polling.open().ahead({})
    assert str(pickle.loads(pickle.dumps(away.value))) == str(away.value)
    with pytest.raises(FeedAway):
        list(polling.read({}, {"incrementing": 1, POLLED: 1}))


def test_topics_by_prefix(shop: Shop) -> None:
    assert shop.feed(**NUMBER, **{"topic.prefix": "shop."}).topic == "shop.orders"
    assert shop.feed(**NUMBER, **{"topic.prefix": "x", "table.whitelist": 'a."b"'}).topic == "xb"
    assert shop.feed(**NUMBER, topic="t").topic == "t"
    assert shop.feed(**NUMBER).topic is None


def test_secrets_are_shown_nowhere(shop: Shop) -> None:
    feed = shop.feed(**NUMBER, **{"connection.user": "ann", "connection.password": "geheim"})
    assert "geheim" not in repr(feed)


# ---- statements ------------------------------------------------------------------------------------------------------


def test_statements_of_a_server() -> None:
    both = Bounds(Database(Kind.POSTGRESQL, "x"), '"t"', "timestamp+incrementing", "id", ("at",), "America/Sao_Paulo")
    statement, parameters = both.between('"id"', Place(1_000_000, 5), Place(2_500_000, 9))
    assert statement == (
        'SELECT "id" FROM "t" WHERE ("at" > %s OR ("at" = %s AND "id" > %s)) AND ("at" < %s OR ("at" = %s AND '
        '"id" <= %s)) AND "at" IS NOT NULL AND "id" IS NOT NULL ORDER BY "at", "id"'
    )
    assert [str(p) for p in parameters] == [
        "1969-12-31 21:00:01",
        "1969-12-31 21:00:01",
        "5",
        "1969-12-31 21:00:02.500000",
        "1969-12-31 21:00:02.500000",
        "9",
    ]
    assert both.place(("1969-12-31 21:00:02.5", 9, 3)) == (Place(2_500_000, 9), 3)


def test_places_as_kafka_connect_writes_them() -> None:
    place = Place(1_767_323_045_678_901, 5)
    told = {"incrementing": 5, "timestamp": 1767323045678, "timestamp_nanos": 678_901_000}
    assert place.offset == told
    assert Place.of(told) == place
    assert Place.of({"timestamp": 1500}) == Place(1_500_000)

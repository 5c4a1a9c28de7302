"""Options of the jdbc sink: what goes together, what is refused at the statement, and that no secret is told."""

from __future__ import annotations

import pickle

import pytest

from orion.databases.address import parsed
from orion.errors import ConfigError
from orion.options import definitions
from orion.plan.sources import Connector, Kind
from orion.schema import Column, Role, Scalar
from orion.sinks import plugin
from orion.sinks.jdbc import JdbcStore, open_sink
from orion.sinks.sql.names import Quoting, TableName, nearest, table_name
from orion.sinks.store import Layout

KEY, NAME, AGE = (
    Column("ID", Scalar.BIGINT, Role.KEY),
    Column("NAME", Scalar.STRING),
    Column("AGE", Scalar.INTEGER),
)
URL = {"connection.url": "jdbc:postgresql://db:5433/shop"}


def store(options: dict[str, str], *columns: Column) -> JdbcStore:
    layout = Layout("people", Kind.STREAM, columns or (KEY, NAME, AGE))
    return open_sink(Connector("C", "jdbc", (), tuple((URL | options).items())), layout)


def refusal(options: dict[str, str], *columns: Column) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        store(options, *columns)
    return told.value


def written(made: JdbcStore) -> tuple[list[str], list[str]]:
    """The names of the key and of the other columns."""
    items = made.orders.target.items
    return [i.name for i in items if i.key], [i.name for i in items if not i.key]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"insert.mode": "upsert"}, "'insert.mode' upsert needs a key: set 'pk.mode'"),
        ({"insert.mode": "update"}, "'insert.mode' update needs a key"),
        ({"insert.mode": "merge"}, "'insert.mode'"),
        ({"delete.enabled": "true"}, "'delete.enabled' needs 'pk.mode' record_key"),
        ({"delete.enabled": "true", "pk.mode": "record_value"}, "'delete.enabled' needs 'pk.mode' record_key"),
        ({"pk.fields": "ID"}, "'pk.fields' needs a 'pk.mode'"),
        ({"pk.mode": "kafka", "pk.fields": "a,b"}, "three names"),
        (
            {"pk.mode": "record_key", "pk.fields": "NAME"},
            "'pk.fields' names NAME, which the key of people doesn't have",
        ),
        ({"fields.whitelist": "NMAE"}, "'fields.whitelist' names NMAE, which people doesn't have"),
        ({"db.timezone": "Mars/Olympus"}, "Mars/Olympus is no time zone"),
        ({"batch.size": "0"}, "'batch.size'"),
        ({"table.name.format": "a.b.${topic}"}, "TABLE or SCHEMA.TABLE"),
        ({"dialect.name": "MySqlDatabaseDialect"}, "'dialect.name' is MySqlDatabaseDialect"),
        ({"connection.url": "jdbc:oracle:thin:@db"}, "must begin with one of jdbc:postgresql:"),
        ({"connection.url": "jdbc:sqlite::memory:"}, "must name a file"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, str], told: str) -> None:
    error = refusal(options)
    assert error.code == "INVALID_CONNECTOR"
    assert told in error.message
    assert "hush" not in str(error.as_dict())


def test_a_misspelled_option_or_column_gets_the_nearest_name() -> None:
    assert refusal({"insert.mod": "upsert"}).hint == "Did you mean insert.mode?"
    assert refusal({"fields.whitelist": "NMAE"}).hint == "Did you mean NAME?"


def test_a_stream_without_key_has_none_to_write_by() -> None:
    assert "has no key" in refusal({"pk.mode": "record_key"}, NAME, AGE).message


def test_names_that_databases_take_for_one_are_refused() -> None:
    assert "one column" in refusal({}, NAME, Column("name", Scalar.STRING)).message


def test_update_needs_something_to_change() -> None:
    assert "nothing to change" in refusal({"insert.mode": "update", "pk.mode": "record_key"}, KEY).message


@pytest.mark.parametrize(
    ("options", "key", "others"),
    [
        ({}, [], ["ID", "NAME", "AGE"]),
        ({"pk.mode": "record_key"}, ["ID"], ["NAME", "AGE"]),
        ({"pk.mode": "record_key", "pk.fields": "id"}, ["ID"], ["NAME", "AGE"]),
        ({"pk.mode": "record_value", "pk.fields": "name"}, ["NAME"], ["ID", "AGE"]),
        ({"pk.mode": "record_value"}, ["NAME", "AGE"], ["ID"]),
        (
            {"pk.mode": "kafka"},
            ["__connect_topic", "__connect_partition", "__connect_offset"],
            ["ID", "NAME", "AGE"],
        ),
        ({"pk.mode": "kafka", "pk.fields": "t, p, o", "fields.whitelist": "name"}, ["t", "p", "o"], ["NAME"]),
        ({"pk.mode": "record_key", "fields.whitelist": "age"}, ["ID"], ["AGE"]),
    ],
)
def test_the_key_and_the_columns_that_are_written(options: dict[str, str], key: list[str], others: list[str]) -> None:
    assert written(store(options)) == (key, others)


def test_a_store_travels_and_tells_no_password() -> None:
    url = "jdbc:postgresql://db/shop?user=ann&password=hush-1"
    made = store({"connection.url": url, "connection.password": "hush-2"})
    assert pickle.loads(pickle.dumps(made)) == made
    assert "hush" not in f"{made!r} {made.orders!r} {made.orders.database!r}"


def test_options_of_kafka_connect_are_taken() -> None:
    store({"max.retries": "5", "retry.backoff.ms": "100", "connection.attempts": "2", "tasks.max": "3"})


def test_every_option_says_what_it_is_for() -> None:
    options = definitions(plugin("jdbc").OPTIONS)
    assert all(d.doc for d in options)
    assert next(d for d in options if d.name == "insert.mode").values == ("insert", "upsert", "update")
    assert next(d for d in options if d.name == "connection.password").type == "PASSWORD"


def test_addresses() -> None:
    several = parsed("jdbc:postgresql://a:1,[::1]:2,c/shop?currentSchema=x")
    assert several.hosts == (("a", 1), ("::1", 2), ("c", 5432))
    assert (several.database, several.parameter("currentSchema")) == ("shop", "x")
    assert parsed("jdbc:yugabytedb://y/shop").hosts == (("y", 5433),)
    assert parsed("jdbc:mariadb://m/shop").kind == parsed("jdbc:mysql://m/shop").kind
    assert parsed("jdbc:sqlite:/tmp/a.db").database == "/tmp/a.db"
    assert parsed("jdbc:sqlite:a.db").database.startswith("/")
    inside = parsed("jdbc:mysql://ann:hu%2Fsh@db/shop")
    assert (inside.hosts, inside.parameter("user"), inside.parameter("password")) == ((("db", 3306),), "ann", "hu/sh")
    assert "hu/sh" not in f"{inside} {inside!r}"


def test_an_unknown_parameter_of_the_url_is_refused() -> None:
    made = store({"connection.url": "jdbc:postgresql://db/shop?sslmod=require"})
    with pytest.raises(ConfigError, match="sslmod") as told:
        made.prepare()
    assert told.value.hint == "Did you mean sslmode?"


def test_names_of_tables() -> None:
    assert table_name("${topic}", "a.b") == TableName(None, "a.b")
    assert table_name("sales.t_${topic}", "a.b") == TableName("sales", "t_a.b")
    assert nearest("id", ["ID", "Name"]) == "ID"
    assert nearest("ID", ["id", "ID"]) == "ID"
    assert nearest("Id", ["id", "ID"]) is None


def test_quoting() -> None:
    assert Quoting('"').table(TableName("s", 'a"; DROP TABLE b; --')) == '"s"."a""; DROP TABLE b; --"'
    assert Quoting("`")("a`b") == "`a``b`"
    assert Quoting('"', always=False)("plain_1") == "plain_1"
    for name, quoting in [
        ("a b", Quoting('"', always=False)),
        ("a\x00", Quoting('"')),
        ("", Quoting('"')),
        ("é" * 32, Quoting('"', longest=63, in_bytes=True)),
    ]:
        with pytest.raises(ConfigError):
            quoting(name)

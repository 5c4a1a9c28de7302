"""What a person says of a capture, and what Debezium is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from orion.errors import ConfigError
from orion.feeds.connect.debezium import Options, hidden, slot_name, topic_of, translate
from orion.feeds.connect.tables import CapturedColumn, Table
from orion.feeds.connect.worker_settings import Surroundings
from orion.schema import Scalar

AROUND = Surroundings("b:9092", Path("/data"), "svc", partitions=3)
POSTGRES = {
    "connector.class": "cdc",
    "database": "postgresql",
    "database.hostname": "db",
    "database.user": "u",
    "database.password": "hush",
    "database.dbname": "shop",
}
MYSQL = {"database": "mysql", "database.hostname": "db", "database.user": "u", "database.password": "hush"}


def table(name: str, *key: str) -> Table:
    return Table(name, tuple(CapturedColumn(column, Scalar.STRING) for column in (*key, "v")), key)


def told(given: dict[str, str], *tables: Table) -> dict[str, str]:
    return translate("Shop", Options.of(given), AROUND, tables)


def test_a_capture_of_postgresql() -> None:
    config = told(POSTGRES, table("public.users", "id"), table("public.pairs", "a", "b"), table("s.cities", "id"))
    assert config["name"] == "Shop"
    assert config["connector.class"] == "io.debezium.connector.postgresql.PostgresConnector"
    assert config["topic.prefix"] == "shop"
    assert (config["slot.name"], config["publication.name"]) == ("svc_shop", "svc_shop")
    assert config["offset.mismatch.strategy"] == "trust_offset"
    assert config["exactly.once.support"] == "required"
    assert config["topic.creation.default.partitions"] == "3"
    assert config["transforms"] == "unwrap,key0"
    assert config["predicates"] == "key0"
    assert config["transforms.key0.field"] == "id"
    assert config["predicates.key0.pattern"] == r"shop\.public\.users|shop\.s\.cities"
    assert "database" not in config


def test_each_column_that_is_a_key_has_its_transform() -> None:
    config = told(POSTGRES, table("public.users", "id"), table("public.cities", "zip"))
    assert config["transforms"] == "unwrap,key0,key1"
    assert [config[f"transforms.key{at}.field"] for at in (0, 1)] == ["id", "zip"]


def test_what_is_said_wins() -> None:
    said = {"slot.name": "mine", "snapshot.mode": "no_data", "decimal.handling.mode": "double", "topic.prefix": "p"}
    config = told({**POSTGRES, **said})
    assert {name: config[name] for name in said} == said


def test_transforms_that_are_said_come_after_the_row_is_there() -> None:
    said = {"transforms": "mask", "transforms.mask.type": "M", "predicates": "q", "predicates.q.type": "P"}
    config = told({**POSTGRES, **said}, table("public.users", "id"))
    assert (config["transforms"], config["predicates"]) == ("unwrap,key0,mask", "key0,q")
    assert config["transforms.mask.type"] == "M"


def test_the_envelope_can_be_kept() -> None:
    config = told({**POSTGRES, "unwrap": "false"}, table("public.users", "id"))
    assert "transforms" not in config
    assert "unwrap" not in config


def test_keys_that_are_said() -> None:
    config = told({**POSTGRES, "message.key.columns": "public.logs:at ; public.users:a,b"}, table("public.users", "id"))
    assert config["transforms"] == "unwrap,key0"
    assert (config["transforms.key0.field"], config["predicates.key0.pattern"]) == ("at", r"shop\.public\.logs")


def test_mysql_keeps_the_history_of_its_tables_in_a_topic() -> None:
    config = told(MYSQL)
    assert config["schema.history.internal.kafka.bootstrap.servers"] == "b:9092"
    assert config["schema.history.internal.kafka.topic"] == "_svc_connect_history_Shop"
    assert 10_000 <= int(config["database.server.id"]) < 2**31
    assert config["database.server.id"] != translate("Other", Options.of(MYSQL), AROUND)["database.server.id"]


def test_mongodb_has_one_key() -> None:
    config = told({"database": "mongodb", "mongodb.connection.string": "mongodb://u:hush@h/"})
    assert config["transforms"] == "unwrap,key0"
    assert config["transforms.unwrap.type"].endswith("ExtractNewDocumentState")
    assert config["predicates.key0.pattern"] == r"shop\..*"
    assert "hush" not in str(hidden(config))


def test_a_cluster_elsewhere_may_not_write_once() -> None:
    assert told({**POSTGRES, "connect.url": "http://c:8083"})["exactly.once.support"] == "requested"


def test_debeziums_own_class_says_the_database() -> None:
    given = POSTGRES | {"connector.class": "io.debezium.connector.postgresql.PostgresConnector"}
    del given["database"]
    assert Options.of(given).kind.name == "postgresql"


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({"connector.class": "cdc"}, "INVALID_OPTION", "'database' is missing"),
        ({"database": "postgres"}, "INVALID_OPTION", "Did you mean postgresql?"),
        ({"connector.class": "io.debezium.connector.mysql.MySQLConnecter"}, "UNKNOWN_CONNECTOR", "MySqlConnector?"),
        ({"database": "mysql"}, "OPTION_MISSING", "needs the option 'database.hostname'"),
        ({"database": "mysql", "unwrap": "perhaps"}, "INVALID_OPTION", "Option 'unwrap'"),
    ],
)
def test_what_is_wrong_with_options(given: dict[str, str], code: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Options.of(given)
    assert caught.value.code == code
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_secrets_are_not_shown() -> None:
    options = Options.of(POSTGRES)
    assert "hush" not in f"{options} {options!r} {hidden(told(POSTGRES))}"
    assert hidden({"a": "1", "database.ssl.keystore.password": "x", "token": ""}) == {
        "a": "1",
        "database.ssl.keystore.password": "********",
        "token": "",
    }


def test_names_in_postgresql() -> None:
    assert slot_name("My Shop!", AROUND) == "svc_my_shop_"
    long, other = slot_name("a" * 100, AROUND), slot_name("a" * 101, AROUND)
    assert len(long) == 63
    assert long != other


def test_topics() -> None:
    assert topic_of({"topic.prefix": "shop"}, "public.user data") == "shop.public.user_data"
    assert topic_of({"topic.prefix": "shop", "topic.delimiter": "-"}, "public.users") == "shop-public-users"

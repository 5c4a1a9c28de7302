"""How topics of captured tables are made: as Kafka Connect's options say."""

from __future__ import annotations

from pathlib import Path

from orion.feeds.connect.debezium import Options, translate
from orion.feeds.connect.topics import NewTopic, new_topic
from orion.feeds.connect.worker_settings import Surroundings

GIVEN = {"database": "mysql", "database.hostname": "db", "database.user": "u"}


def made(topic: str, **said: str) -> NewTopic:
    options = Options.of(GIVEN | {f"topic.creation.{name.replace('_', '.')}": value for name, value in said.items()})
    return new_topic(translate("shop", options, Surroundings("b:9092", Path("/data"), partitions=3)), topic)


def test_what_is_not_said_is_the_platforms() -> None:
    assert made("shop.d.users") == NewTopic(3, None, {"cleanup.policy": "compact"})


def test_what_is_said_wins() -> None:
    said = {"default_partitions": "6", "default_replication_factor": "2", "default_cleanup_policy": "delete"}
    assert made("t", **said, default_retention_ms="5") == NewTopic(
        6, 2, {"cleanup.policy": "delete", "retention.ms": "5"}
    )


def test_groups_say_more_of_their_topics() -> None:
    said = {"groups": "logs, users", "logs_include": r"shop\.d\.logs.*", "logs_exclude": r"shop\.d\.logs_old"}
    said |= {"logs_partitions": "9", "users_include": r"shop\.d\..*", "users_partitions": "4"}
    assert made("shop.d.logs1", **said) == NewTopic(9, None, {"cleanup.policy": "compact"})
    assert [made(topic, **said).partitions for topic in ("shop.d.logs_old", "shop.d.users", "other")] == [4, 4, 3]


def test_a_number_that_is_the_brokers() -> None:
    assert made("t", default_partitions="-1").partitions == 1

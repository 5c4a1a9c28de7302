"""Connectors and fast statements whose checkpoint is lost go on from what stands in Kafka."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

from orion.app import Orion
from orion.hub.kafka import Kafka
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.runtime.session import Spark
from orion.sinks.delta import DeltaSink
from tests.scenarios.conftest import Await
from tests.servers.postgres import Database, Postgres


@pytest.fixture
def database(postgres: Postgres) -> Iterator[Database]:
    with postgres.database() as fresh:
        yield fresh


def send_numbers(kafka: Kafka, topic: str, numbers: range) -> None:
    """In turn to two partitions."""
    send_all(kafka, topic, [Outgoing(json.dumps({"N": n}).encode(), partition=n % 2) for n in numbers])


def ask(database: Database, query: str) -> list[tuple[Any, ...]]:
    with database.connect() as connection:
        return connection.execute(query.encode()).fetchall()


def find_folder(scratch: Path, connector: str) -> Path:
    (found,) = (scratch / "orion" / "checkpoints").glob(f"connector-{connector}_*")
    return found


def test_a_batch_of_which_half_is_in_a_store_runs_again_over_the_same_rows(
    orion: Orion, kafka: Kafka, until: Await, scratch: Path, postgres: Postgres, database: Database
) -> None:
    orion.execute(
        "CREATE STREAM dl (n INT) WITH (kafka_topic='dl', value_format='JSON', partitions=2);"
        "CREATE SINK CONNECTOR dl_store WITH ('connector.class' = 'jdbc', 'topics' = 'dl',"
        f" 'connection.url' = 'jdbc:{database.url}', 'connection.user' = '{postgres.user}',"
        f" 'connection.password' = '{postgres.password}', 'table.name.format' = 'numbers', 'auto.create' = 'true');"
    )

    def numbers() -> list[int]:
        there = ask(database, "SELECT 1 FROM pg_tables WHERE tablename = 'numbers'")
        return [n for (n,) in ask(database, 'SELECT "N" FROM numbers ORDER BY 1')] if there else []

    send_numbers(kafka, "dl", range(100))
    until(lambda: numbers() == list(range(100)), 120)
    (epochs,) = ask(database, "SELECT tablename FROM pg_tables WHERE tablename LIKE '%epochs%'")
    with database.connect() as holding:
        holding.autocommit = False
        holding.execute(f"SELECT * FROM {epochs[0]} WHERE slot = 1 FOR UPDATE".encode())
        send_numbers(kafka, "dl", range(100, 200))
        until(lambda: numbers() == sorted([*range(100), *range(100, 200, 2)]), 60)
        shutil.rmtree(find_folder(scratch, "DL_STORE"))
        send_numbers(kafka, "dl", range(200, 300))  # the batch must not take these along
        # The worker that waits for the lock, and so its batch, ends here.
        waiting = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        until(lambda: bool(ask(database, waiting)), 60)
        holding.rollback()
    until(lambda: len(numbers()) >= 300, 120)
    assert numbers() == list(range(300))
    orion.execute("PAUSE CONNECTOR dl_store;")
    shutil.rmtree(find_folder(scratch, "DL_STORE"))
    send_numbers(kafka, "dl", range(300, 400))
    orion.execute("RESUME CONNECTOR dl_store;")
    until(lambda: len(numbers()) >= 400, 120)
    assert numbers() == list(range(400))
    orion.execute("DROP CONNECTOR dl_store;")


def test_a_batch_that_is_in_a_lake_already_takes_no_other_rows_along(
    orion: Orion,
    kafka: Kafka,
    until: Await,
    scratch: Path,
    spark: Spark,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    struck: list[int] = []
    write = DeltaSink.write

    def write_and_lose(sink: DeltaSink, batch: DataFrame, epoch: int) -> int:
        written = write(sink, batch, epoch)
        if written and epoch > 0 and not struck:
            struck.append(epoch)
            shutil.rmtree(find_folder(scratch, "DB_LAKE"))
            send_numbers(kafka, "db", range(200, 300))
            raise RuntimeError("cut off behind its commit")
        return written

    monkeypatch.setattr(DeltaSink, "write", write_and_lose)
    orion.execute(
        "CREATE STREAM db (n INT) WITH (kafka_topic='db', value_format='JSON', partitions=2);"
        f"CREATE SINK CONNECTOR db_lake WITH ('connector.class'='delta', 'topics'='db', 'path'='{tmp_path / 'lake'}');"
    )

    def numbers() -> list[int]:
        return sorted(row.N for row in spark.read.format("delta").load(str(tmp_path / "lake")).collect())

    send_numbers(kafka, "db", range(100))
    until(lambda: len(numbers()) >= 100, 120)
    send_numbers(kafka, "db", range(100, 200))
    until(lambda: bool(struck) and len(numbers()) >= 300, 120)
    assert numbers() == list(range(300))
    orion.execute("DROP CONNECTOR db_lake;")

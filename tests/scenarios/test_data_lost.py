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
from tests.scenarios.conftest import Await, everything
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
        return [n for (n,) in ask(database, "SELECT n FROM numbers ORDER BY 1")] if there else []

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


def read_numbers(kafka: Kafka, topic: str) -> list[int]:
    return sorted(json.loads(record.value or b"{}")["N"] for record in everything(kafka, topic))


def has_passed(kafka: Kafka, group: str, topic: str) -> bool:
    """Whether the group has the whole topic behind it."""
    stands = [part for part in kafka.describe_group(group).progress if part.topic == topic]
    return bool(stands) and all(part.lag == 0 for part in stands)


def test_a_fast_statement_goes_on_behind_its_last_batch_and_tells_repeats(
    orion: Orion, kafka: Kafka, until: Await, scratch: Path
) -> None:
    orion.execute("""
        SET 'orion.fast.batch.ms' = '5000';
        CREATE STREAM df (k STRING KEY, n INT) WITH (kafka_topic='df', value_format='JSON', partitions=2);
        CREATE STREAM df_fast WITH (guarantee='fast', partitions=3) AS SELECT k, n FROM df EMIT CHANGES;
        CREATE STREAM df_copy AS SELECT k, n FROM df_fast EMIT CHANGES;
    """)
    query = next(q.id for q in orion.engine.catalog.queries.values() if q.sink.name == "DF_FAST")

    def send(numbers: range) -> None:
        keys = (None if n % 3 == 0 else f"k{n % 7}".encode() for n in numbers)
        values = (json.dumps({"N": n}).encode() for n in numbers)
        send_all(kafka, "df", [Outgoing(value, key) for value, key in zip(values, keys, strict=True)])

    def lose_all() -> None:
        orion.execute(f"PAUSE {query};")
        (folder,) = (scratch / "orion" / "checkpoints").glob(f"{query}-*")
        shutil.rmtree(folder)
        orion.execute(f"RESUME {query};")

    send(range(60))
    until(lambda: len(read_numbers(kafka, "DF_FAST")) >= 60, 60)
    lose_all()  # perhaps in its first batch: what it has written then comes again, and says so
    until(lambda: has_passed(kafka, f"orion.{query}", "df"), 60)
    before = len(read_numbers(kafka, "DF_FAST"))
    send(range(60, 100))
    until(lambda: len(read_numbers(kafka, "DF_FAST")) >= before + 40, 60)
    lose_all()
    send(range(100, 140))
    until(lambda: set(read_numbers(kafka, "DF_FAST")) == set(range(140)), 60)
    again = read_numbers(kafka, "DF_FAST")
    assert len([n for n in again if n < 60]) == before, "what the group is behind was written again"
    until(lambda: len(read_numbers(kafka, "DF_COPY")) >= 140, 60)
    assert read_numbers(kafka, "DF_COPY") == list(range(140))
    orion.execute("UNSET 'orion.fast.batch.ms';")
    for name in ("DF_COPY", "DF_FAST", "DF"):
        orion.execute(f"DROP STREAM {name};")

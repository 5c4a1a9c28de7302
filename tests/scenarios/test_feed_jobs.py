"""Feeds under the supervisor, on a broker: rows arrive once, a restart goes on, what can't be read is a dead letter."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orion import ksql
from orion.app import Orion
from orion.errors import ConfigError
from orion.hub.dead_letters import Letter
from orion.hub.kafka import Kafka
from orion.hub.positions import Standpoint, forget_offsets, offsets_of, set_offsets
from orion.plan.catalog import Catalog
from orion.plan.sources import Connector, Direction, Source
from orion.plan.steps import DefineSource
from orion.runtime.feed_job import FeedJob
from orion.runtime.inputs import Watch
from orion.runtime.jobs import Surroundings
from orion.runtime.kafka_source import KafkaSource
from orion.runtime.queries import Queries, QueryStatus
from orion.runtime.schemas import Schemas
from orion.runtime.session import Spark
from orion.runtime.starting import Grounds
from tests.scenarios.conftest import Await, everything
from tests.servers.postgres import Database, Postgres


@dataclass
class World:
    """A supervisor and what jobs need, over the run's broker; what it runs is named after the test."""

    kafka: Kafka
    around: Surroundings
    until: Await
    name: str
    queries: Queries = field(default_factory=lambda: Queries(lambda _: None))

    def declared(self, columns: str, properties: str = "VALUE_FORMAT = 'JSON'", kind: str = "STREAM") -> Source:
        text = f"CREATE {kind} target ({columns}) WITH (KAFKA_TOPIC = '{self.name}', {properties})"
        steps = ksql.compile(text, Catalog()).steps
        return next(step.source for step in steps if isinstance(step, DefineSource))

    def job(self, plugin: str, options: Mapping[str, str], target: Source, number: int = 1) -> FeedJob:
        told = tuple(options.items())
        made = Connector(self.name, plugin, (target,), told, number=number, direction=Direction.SOURCE)
        self.kafka.create_topic(target.topic, 2, exist_ok=True)
        self.kafka.create_topic(f"dlq.{self.name}", 1, exist_ok=True)
        return FeedJob(made, self.around)

    def values(self) -> list[Any]:
        return [json.loads(record.value or b"null") for record in everything(self.kafka, self.name)]

    def letters(self) -> list[Letter]:
        return [Letter(record) for record in everything(self.kafka, f"dlq.{self.name}")]

    @property
    def status(self) -> QueryStatus:
        (found,) = self.queries.statuses()
        return found

    def restarted(self) -> None:
        """As when a server stops and another starts over the same folder."""
        self.queries.close()
        self.queries = Queries(lambda _: None)


@pytest.fixture
def world(kafka: Kafka, spark: Spark, tmp_path: Path, until: Await, request: pytest.FixtureRequest) -> Iterator[World]:
    name = request.node.name.replace("test_", "").replace("[", "-").replace("]", "")
    grounds = Grounds(kafka, Watch(kafka), name, tmp_path / "writers")
    source = KafkaSource(spark, kafka.bootstrap, "earliest", 1000)
    made = World(kafka, Surroundings(grounds, source, tmp_path / "checkpoints", 50, Schemas(None)), until, name)
    yield made
    made.queries.close()


def test_generated_rows_go_on_after_a_restart(world: World) -> None:
    target = world.declared("ID BIGINT KEY, NAME STRING, AT BIGINT", "VALUE_FORMAT = 'JSON', TIMESTAMP = 'AT'")
    options = {"schema": "id BIGINT KEY", "rows.per.second": "40", "iterations": "60"}
    job = world.job("datagen", options, target)
    world.queries.start(job)
    world.until(lambda: world.status.rows_out > 0, 150.0)
    world.restarted()
    world.queries.restore(job, paused=False)
    world.until(lambda: len(world.values()) >= 60, 150.0)
    keys = [int.from_bytes(record.key or b"", "big") for record in everything(world.kafka, world.name)]
    assert sorted(keys) == list(range(60))
    world.until(lambda: world.status.state == "RUNNING", 150.0)
    group = world.kafka.describe_group(f"{world.name}.connector.{world.name}_1")
    assert len(group.members) == 1


def test_files_are_read_once_and_bad_lines_are_letters(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    properties = "KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON'"
    target = world.declared("ID STRING PRIMARY KEY, N INT", properties, "TABLE")
    (folder / "1.csv").write_text("a,1\nb,two\n,3\nc,4,5\n")
    job = world.job("files", {"path": f"{folder}/*.csv", "poll.interval.ms": "50", "cleanup.policy": "delete"}, target)
    world.queries.start(job)
    world.until(lambda: len(world.letters()) >= 3, 150.0)
    assert {(letter.code, letter.record.value, letter.reason) for letter in world.letters()} == {
        ("VALUE_UNREADABLE", b"b,two", "N is no INTEGER"),
        ("KEY_MISSING", b",3", "no key"),
        ("VALUE_UNREADABLE", b"c,4,5", "3 cells, and there are 2 columns"),
    }
    told = dict(world.letters()[0].record.headers)
    assert told["orion.source.topic"] == str(folder / "1.csv").encode()
    assert told["orion.source.offset"] in (b"2", b"3", b"4")
    world.restarted()
    (folder / "2.csv").write_text("d,6\n")
    world.queries.restore(job, paused=False)
    world.until(lambda: len(world.values()) >= 2, 150.0)
    assert sorted(value["N"] for value in world.values()) == [1, 6]
    assert len(world.letters()) == 3
    (folder / "3.csv").write_text("e,7\n")
    world.until(lambda: not (folder / "1.csv").exists(), 150.0)
    world.until(lambda: world.status.rows_out == 2, 150.0)


def test_generated_rows_go_on_without_a_checkpoint(world: World) -> None:
    target = world.declared("ID BIGINT KEY, NAME STRING")
    options = {"schema": "id BIGINT KEY", "rows.per.second": "40", "iterations": "120"}
    job = world.job("datagen", options, target)
    world.queries.start(job)
    world.until(lambda: world.status.rows_out > 0, 150.0)
    world.restarted()
    before = len(world.values())
    assert before < 120, "all rows were made before the checkpoint was lost"
    shutil.rmtree(job.checkpoint)
    world.queries.restore(job, paused=False)
    world.until(lambda: len(world.values()) >= 120, 150.0)
    keys = [int.from_bytes(record.key or b"", "big") for record in everything(world.kafka, world.name)]
    assert sorted(keys) == list(range(120))


FILES = ("1.jsonl", "a b%20c.jsonl", "ü+&=,'.jsonl")


def has_values(world: World, count: int) -> bool:
    return len(world.values()) >= count


def write_file(folder: Path, name: str, number: int) -> None:
    (folder / f".{name}").write_text(json.dumps({"N": number}) + "\n")
    (folder / f".{name}").rename(folder / name)


def test_files_that_were_read_are_known_without_a_checkpoint(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number, name in enumerate(FILES):
        write_file(folder, name, number)
    job = world.job("files", {"path": str(folder), "format": "json", "poll.interval.ms": "50"}, world.declared("N INT"))
    world.queries.start(job)
    world.until(lambda: len(world.values()) >= 3, 150.0)
    for number in (3, 4):
        world.restarted()
        shutil.rmtree(job.checkpoint)
        write_file(folder, f"new {number}.jsonl", number)
        world.queries.restore(job, paused=False)
        world.until(partial(has_values, world, number + 1), 150.0)
    write_file(folder, "last.jsonl", 5)
    world.until(lambda: len(world.values()) >= 6, 150.0)
    assert sorted(value["N"] for value in world.values()) == list(range(6))
    there = {one.partition["file"] for one in offsets_of(world.kafka, world.name, world.name)}
    assert there == {str(folder / name) for name in (*FILES, "new 3.jsonl", "new 4.jsonl", "last.jsonl")}
    # One that is set to nothing is read again, and only that one; a connector that is moved is another one.
    world.restarted()
    set_offsets(world.kafka, world.name, world.name, [Standpoint({"file": str(folder / FILES[1])}, None)])
    options = {"path": str(folder), "format": "json", "poll.interval.ms": "50"}
    world.queries.start(world.job("files", options, world.declared("N INT"), number=2))
    world.until(partial(has_values, world, 7), 150.0)
    assert sorted(value["N"] for value in world.values()) == [0, 1, 1, 2, 3, 4, 5]


def test_files_that_an_earlier_version_has_read_are_noted_at_the_next_start(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number, name in enumerate(FILES):
        write_file(folder, name, number)
    job = world.job("files", {"path": str(folder), "format": "json", "poll.interval.ms": "50"}, world.declared("N INT"))
    world.queries.start(job)
    world.until(lambda: len(world.values()) >= 3 and world.status.rows_out == 3, 150.0)
    world.restarted()
    forget_offsets(world.kafka, world.name, world.name)
    world.queries.restore(job, paused=False)
    world.until(lambda: len(offsets_of(world.kafka, world.name, world.name)) == 3, 150.0)
    world.restarted()
    shutil.rmtree(job.checkpoint)
    write_file(folder, "new.jsonl", 3)
    world.queries.restore(job, paused=False)
    world.until(lambda: len(world.values()) >= 4, 150.0)
    assert sorted(value["N"] for value in world.values()) == list(range(4))


SHOP = {"mode": "timestamp+incrementing", "incrementing.column.name": "id", "timestamp.column.name": "changed"}


def polled(postgres: Postgres, database: Database) -> dict[str, str]:
    return {
        "connection.url": f"jdbc:{database.url}",
        "connection.user": postgres.user,
        "connection.password": postgres.password,
        "table.whitelist": "orders",
        "poll.interval.ms": "50",
        **SHOP,
    }


def test_a_table_is_polled_across_restarts_and_without_a_checkpoint(world: World, postgres: Postgres) -> None:
    target = world.declared("ID BIGINT KEY, ITEM STRING, PRICE DECIMAL(8,2)")
    with postgres.database() as database, database.connect() as shop:
        shop.execute(
            "CREATE TABLE orders (id SERIAL PRIMARY KEY, item TEXT, price NUMERIC, "
            "changed TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())"
        )
        ordered = "INSERT INTO orders (item, price) SELECT 'item ' || n, %s FROM generate_series(1, %s) n"
        shop.execute(ordered, [1.5, 500])
        job = world.job("jdbc", polled(postgres, database) | {"batch.max.rows": "200"}, target)
        world.queries.start(job)
        world.until(lambda: len(world.values()) >= 500, 150.0)

        # As after a crash between the batch and Spark's note of it: the batch runs again, and writes nothing.
        world.restarted()
        planned = max(int(entry.name) for entry in (job.checkpoint / "offsets").glob("[0-9]*"))
        (job.checkpoint / "commits" / str(planned)).unlink(missing_ok=True)
        shop.execute(ordered, [2.5, 100])
        world.queries.restore(job, paused=False)
        world.until(lambda: len(world.values()) >= 600, 150.0)

        # Its folder is gone, and a value doesn't fit: the offsets in Kafka say where to go on.
        world.restarted()
        shutil.rmtree(job.checkpoint)
        shop.execute(ordered, [12345678, 1])
        shop.execute(ordered, [3.5, 100])
        world.queries.restore(job, paused=False)
        world.until(lambda: len(world.values()) >= 700, 150.0)
        world.until(lambda: len(world.letters()) >= 1, 30.0)
    keys = [int.from_bytes(record.key or b"", "big") for record in everything(world.kafka, world.name)]
    assert sorted(keys) == [n for n in range(1, 702) if n != 601]
    (letter,) = world.letters()
    assert letter.reason == "PRICE is too large for DECIMAL(8, 2)"
    (stands,) = offsets_of(world.kafka, world.name, world.name)
    assert stands.partition == {"table": "orders"}
    assert stands.offset is not None
    assert stands.offset["incrementing"] == 701
    assert world.status.rows_out == 100


def test_a_database_that_dies_is_awaited(world: World, postgres: Postgres) -> None:
    target = world.declared("ID BIGINT KEY, CHANGED TIMESTAMP", "VALUE_FORMAT = 'JSON', TIMESTAMP = 'CHANGED'")
    with postgres.database() as database:
        with database.connect() as shop:
            shop.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, changed TIMESTAMPTZ NOT NULL)")
            shop.execute("INSERT INTO orders VALUES (1, '2026-01-02 03:04:05Z')")
        world.queries.start(world.job("jdbc", polled(postgres, database), target))
        world.until(lambda: len(world.values()) == 1, 150.0)
        postgres.kill()
        world.until(lambda: world.status.state == "WAITING", 150.0)
        assert "doesn't answer" in (world.status.error or "")
        postgres.start()
        with database.connect() as shop:
            shop.execute("INSERT INTO orders VALUES (2, '2026-01-02 03:04:06Z')")
        world.until(lambda: len(world.values()) == 2, 150.0)
        times = {record.timestamp for record in everything(world.kafka, world.name)}
        assert times == {1767323045000, 1767323046000}


def test_a_source_in_sql_declares_what_it_finds(orion: Orion, kafka: Kafka, until: Await, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE Lamps (id INTEGER PRIMARY KEY, name TEXT)")
        shop.execute("INSERT INTO Lamps VALUES (1, 'desk'), (2, 'floor')")
    shop.close()
    url = f"'connection.url' = 'jdbc:sqlite:{tmp_path}/shop.db', 'mode' = 'incrementing'"
    options = f"'connector.class' = 'jdbc', {url}, 'table.whitelist' = 'lamps', 'topic.prefix' = 'shop_'"
    with pytest.raises(ConfigError, match="which lamps doesn't have"):
        orion.execute(f"CREATE SOURCE CONNECTOR lamps WITH ({options}, 'incrementing.column.name' = 'ident');")
    orion.execute(f"CREATE SOURCE CONNECTOR lamps WITH ({options}, 'incrementing.column.name' = 'id');")
    until(lambda: len(everything(kafka, "shop_lamps")) == 2, 120.0)
    rows = {int.from_bytes(r.key or b"", "big"): json.loads(r.value or b"") for r in everything(kafka, "shop_lamps")}
    assert rows == {1: {"NAME": "desk"}, 2: {"NAME": "floor"}}
    assert orion.engine.catalog.sources["SHOP_LAMPS"].topic == "shop_lamps"
    orion.execute("DROP CONNECTOR lamps;")
    assert offsets_of(kafka, orion.engine.config.service_id, "LAMPS") == []


def test_where_a_feed_stands_can_be_set_and_forgotten(kafka: Kafka) -> None:
    table = {"table": "t"}
    set_offsets(kafka, "standing", "A", [Standpoint(table, {"incrementing": 5})])
    set_offsets(kafka, "standing", "B", [Standpoint(table, {"incrementing": 7})])
    set_offsets(kafka, "standing", "A", [Standpoint(table, {"incrementing": 6})])
    assert offsets_of(kafka, "standing", "A") == [Standpoint(table, {"incrementing": 6})]
    forget_offsets(kafka, "standing", "A")
    assert offsets_of(kafka, "standing", "A") == []
    assert offsets_of(kafka, "standing", "B") == [Standpoint(table, {"incrementing": 7})]

"""Sinks on the whole platform: what SQL makes arrives once in other systems, and their trouble is nobody else's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orion.app import Orion
from orion.errors import OrionError
from orion.hub.dead_letters import DeadLetters
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from orion.options import HIDDEN
from tests.scenarios.conftest import Await
from tests.servers.postgres import Database, Postgres


def send(orion: Orion, topic: str, *rows: tuple[str, object]) -> None:
    """(key, value) each; None deletes."""
    values = [None if v is None else json.dumps(v).encode() for _, v in rows]
    send_all(orion.kafka, topic, [Outgoing(v, k.encode()) for (k, _), v in zip(rows, values, strict=True)])


def state(orion: Orion, name: str) -> dict[str, Any]:
    return next(c for c in orion.execute("SHOW CONNECTORS;")[0]["connectors"] if c["name"] == name)


@pytest.fixture
def database(postgres: Postgres) -> Iterator[Database]:
    with postgres.database() as fresh:
        yield fresh


def rows(database: Database, query: str) -> list[tuple[Any, ...]]:
    with database.connect() as connection:
        return connection.execute(query.encode()).fetchall()


def login(postgres: Postgres, database: Database) -> str:
    return (
        f"'connection.url' = 'jdbc:{database.url}', 'connection.user' = '{postgres.user}', "
        f"'connection.password' = '{postgres.password}'"
    )


def test_rows_arrive_transformed_and_those_the_server_refuses_are_letters(
    orion: Orion, until: Await, postgres: Postgres, database: Database
) -> None:
    with database.connect() as connection:
        connection.execute("CREATE TABLE people (id text, full_name text, age int CHECK (age < 200), card text)")
    orion.execute(
        "CREATE STREAM sk (id STRING KEY, name STRING, age INT, card STRING, x STRING)"
        " WITH (kafka_topic='sk', value_format='JSON', partitions=2);"
        "CREATE SINK CONNECTOR sk_people WITH ('connector.class' = 'jdbc', 'topics' = 'sk',"
        f" {login(postgres, database)},"
        " 'table.name.format' = 'people', 'pk.mode' = 'record_key', 'pk.fields' = 'id', 'insert.mode' = 'insert',"
        " 'transforms' = 'shape,mask',"
        " 'transforms.shape.type' = 'org.apache.kafka.connect.transforms.ReplaceField$Value',"
        " 'transforms.shape.renames' = 'name:full_name', 'transforms.shape.exclude' = 'x',"
        " 'transforms.mask.type' = 'org.apache.kafka.connect.transforms.MaskField$Value',"
        " 'transforms.mask.fields' = 'card', 'transforms.mask.replacement' = '****');"
    )
    people = [(f"p{i}", {"name": f"n{i}", "age": 500 if i % 50 == 7 else i % 90, "card": "4000"}) for i in range(300)]
    send(orion, "sk", *people)
    send_all(orion.kafka, "sk", [Outgoing(b"{oops", b"q")])
    until(lambda: len(rows(database, "SELECT * FROM people")) == 294, 120)
    until(lambda: len(list(DeadLetters(orion.kafka).read("SK_PEOPLE"))) == 7, 60)
    found = {bytes(one.record.key or b"").decode(): one for one in DeadLetters(orion.kafka).read("SK_PEOPLE")}
    assert set(found) == {"q", *(f"p{i}" for i in range(7, 300, 50))}
    assert found["q"].code == "VALUE_UNREADABLE"
    assert found["p57"].code == "ROW_REFUSED"
    assert "people_age_check" in found["p57"].reason
    assert json.loads(found["p57"].record.value or b"") == dict(people[57][1])
    assert rows(database, "SELECT * FROM people WHERE id = 'p12'") == [("p12", "n12", 12, "****")]
    told = ("state", "type", "rowsOut", "deadLetters", "lag")
    until(lambda: [state(orion, "SK_PEOPLE")[name] for name in told] == ["RUNNING", "SINK", 294, 7, 0], 60)
    described = orion.execute("DESCRIBE CONNECTOR sk_people;")[0]
    assert described["options"]["connection.password"] == HIDDEN
    assert postgres.password not in json.dumps(described)
    orion.execute("DROP CONNECTOR sk_people;")


def test_a_table_is_kept_up_to_date_with_its_deletes_and_new_columns(
    orion: Orion, until: Await, postgres: Postgres, database: Database
) -> None:
    orion.execute(
        "CREATE TABLE st (id STRING PRIMARY KEY, n INT) WITH (kafka_topic='st', value_format='JSON', partitions=2);"
        f"CREATE SINK CONNECTOR st_sink WITH ('connector.class' = 'jdbc', 'topics' = 'st', {login(postgres, database)},"
        " 'table.name.format' = 'copy_of_${topic}', 'pk.mode' = 'record_key', 'insert.mode' = 'upsert',"
        " 'delete.enabled' = 'true', 'auto.create' = 'true', 'auto.evolve' = 'true');"
    )
    send(orion, "st", ("a", {"n": 1}), ("b", {"n": 2}), ("a", {"n": 3}), ("c", {"n": 4}), ("b", None))
    until(lambda: rows(database, "SELECT id, n FROM copy_of_st ORDER BY id") == [("a", 3), ("c", 4)], 120)
    orion.execute("PAUSE CONNECTOR st_sink;")
    assert state(orion, "ST_SINK")["state"] == "PAUSED"
    send(orion, "st", ("d", {"n": 5}))
    orion.execute("ALTER TABLE st ADD COLUMN more DECIMAL(8, 2);")
    orion.execute("RESUME CONNECTOR st_sink;")
    send(orion, "st", ("a", {"n": 6, "more": 12.5}))
    wanted = [("a", 6, "12.50"), ("c", 4, None), ("d", 5, None)]
    until(lambda: _texts(rows(database, "SELECT id, n, more::text FROM copy_of_st ORDER BY id")) == wanted, 120)
    orion.execute("DROP CONNECTOR st_sink;")


def _texts(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in found]


def test_a_server_that_dies_is_waited_for_and_others_go_on(
    orion: Orion, until: Await, postgres: Postgres, database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "here.db"
    orion.execute(
        "CREATE STREAM sd (id STRING KEY, n INT) WITH (kafka_topic='sd', value_format='JSON', partitions=2);"
        f"CREATE SINK CONNECTOR sd_far WITH ('connector.class' = 'jdbc', 'topics' = 'sd', {login(postgres, database)},"
        " 'auto.create' = 'true', 'pk.mode' = 'none');"
        f"CREATE SINK CONNECTOR sd_near WITH ('connector.class' = 'jdbc', 'topics' = 'sd',"
        f" 'connection.url' = 'jdbc:sqlite:{file}', 'auto.create' = 'true', 'pk.mode' = 'none');"
    )

    def here() -> int:
        with closing(sqlite3.connect(file)) as connection:
            return int(connection.execute("SELECT count(*) FROM sd").fetchone()[0])

    send(orion, "sd", *((f"k{i}", {"n": i}) for i in range(500)))
    until(lambda: rows(database, "SELECT count(*), count(DISTINCT n) FROM sd") == [(500, 500)], 120)
    postgres.kill()
    try:
        send(orion, "sd", *((f"k{i}", {"n": i}) for i in range(500, 900)))
        until(lambda: here() == 900, 120)
        until(lambda: state(orion, "SD_FAR")["state"] == "WAITING", 60)
        assert "doesn't answer" in state(orion, "SD_FAR")["error"]
        assert state(orion, "SD_NEAR")["state"] == "RUNNING"
    finally:
        postgres.start()
    until(lambda: rows(database, "SELECT count(*), count(DISTINCT n) FROM sd") == [(900, 900)], 120)
    until(lambda: state(orion, "SD_FAR")["state"] == "RUNNING", 60)
    orion.execute("DROP CONNECTOR sd_far; DROP CONNECTOR sd_near;")


def test_what_is_wrong_is_refused_at_the_statement(orion: Orion, postgres: Postgres, database: Database) -> None:
    with database.connect() as connection:
        connection.execute("CREATE TABLE sw (id text, n date)")
    orion.execute("CREATE STREAM sw (id STRING KEY, n INT) WITH (kafka_topic='sw', value_format='JSON', partitions=1);")
    given = {
        "connection.url": f"jdbc:{database.url}",
        "connection.user": postgres.user,
        "connection.password": postgres.password,
        "table.name.format": "other",
        "auto.create": "true",
        "pk.mode": "none",
    }
    for changed, said in (
        ({"connection.password": "wrong-password"}, "password"),
        ({"auto.create": "false"}, "other"),
        ({"table.name.format": "sw"}, "n"),
        ({"insert.mod": "insert"}, "there is no option 'insert.mod'"),
    ):
        written = ", ".join(f"'{name}' = '{value}'" for name, value in (given | changed).items())
        with pytest.raises(OrionError) as refused:
            orion.execute(f"CREATE SINK CONNECTOR sw_c WITH ('connector.class' = 'jdbc', 'topics' = 'sw', {written});")
        told = json.dumps(refused.value.as_dict())
        assert said in refused.value.message, told
        assert refused.value.hint
        assert "wrong-password" not in told
        assert postgres.password not in told
    assert "SW_C" not in orion.engine.catalog.connectors


def test_several_topics_are_as_many_tasks(orion: Orion, until: Await, tmp_path: Path) -> None:
    file = tmp_path / "both.db"
    orion.execute(
        "CREATE STREAM sm1 (id STRING KEY, n INT) WITH (kafka_topic='sm1', value_format='JSON', partitions=1);"
        "CREATE STREAM sm2 (id STRING KEY, t STRING) WITH (kafka_topic='sm2', value_format='JSON', partitions=1);"
        "CREATE SINK CONNECTOR sm WITH ('connector.class' = 'io.confluent.connect.jdbc.JdbcSinkConnector',"
        f" 'topics.regex' = 'sm[12]', 'connection.url' = 'jdbc:sqlite:{file}', 'auto.create' = 'true',"
        " 'tasks.max' = '4', 'value.converter' = 'org.apache.kafka.connect.json.JsonConverter');"
    )
    send(orion, "sm1", ("a", {"n": 1}))
    send(orion, "sm2", ("b", {"t": "x"}))

    def there(table: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(file)) as connection:
            return connection.execute(f"SELECT * FROM {table}").fetchall()

    until(lambda: (there("sm1"), there("sm2")) == ([("a", 1)], [("b", "x")]), 120)

    def tasks() -> list[tuple[str, str]]:
        return [(t["topic"], t["state"]) for t in orion.execute("DESCRIBE CONNECTOR sm;")[0]["status"]["tasks"]]

    until(lambda: tasks() == [("sm1", "RUNNING"), ("sm2", "RUNNING")], 60)
    orion.execute("DROP CONNECTOR sm;")


def test_a_table_in_the_lake_is_merged_by_key(orion: Orion, until: Await, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    orion.execute(
        "CREATE TABLE sl (id STRING PRIMARY KEY, n INT) WITH (kafka_topic='sl', value_format='JSON', partitions=2);"
        f"CREATE SINK CONNECTOR sl_lake WITH ('connector.class' = 'delta', 'topics' = 'sl', 'path' = '{lake}');"
    )

    def there() -> dict[str, int]:
        return {row["ID"]: row["N"] for row in orion.spark.read.format("delta").load(str(lake)).collect()}

    send(orion, "sl", ("a", {"n": 1}), ("b", {"n": 2}), ("a", {"n": 3}), ("c", {"n": 4}))
    send_all(orion.kafka, "sl", [Outgoing(b"{oops", b"x")])
    until(lambda: there() == {"a": 3, "b": 2, "c": 4}, 120)
    send(orion, "sl", ("b", None), ("c", {"n": 5}))
    until(lambda: there() == {"a": 3, "c": 5}, 120)
    # The records are of now: the lake's newest row is a few seconds old.
    until(lambda: (next(s for s in orion.queries() if s.id == "SL_LAKE").freshness_ms or 120_000) < 120_000, 30)
    assert [one.code for one in DeadLetters(orion.kafka).read("SL_LAKE")] == ["VALUE_UNREADABLE"]
    orion.execute("DROP CONNECTOR sl_lake;")

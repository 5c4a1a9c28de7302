"""Every SQL type, from one topic into every kind of sink at once, upserts and deletes included."""

from __future__ import annotations

import datetime
import io
import json
import sqlite3
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pyarrow.fs
import pyarrow.parquet
import pytest

from orion.app import Orion
from orion.hub.records import Outgoing
from orion.hub.writer import send_all
from tests.required import long
from tests.scenarios.conftest import Await
from tests.servers.ferretdb import FerretDB
from tests.servers.mariadb import MariaDB
from tests.servers.opensearch import OpenSearch
from tests.servers.postgres import Postgres
from tests.servers.seaweedfs import SeaweedFS

COLUMNS = (
    "id STRING {key}, b BOOLEAN, i INT, l BIGINT, d DOUBLE, s STRING, y BYTES, m DECIMAL(10, 2), dt DATE, tm TIME, "
    "ts TIMESTAMP, a ARRAY<INT>, mp MAP<STRING, INT>, st STRUCT<x INT, z STRING>"
)
DAY = datetime.date(2026, 1, 31)
MOMENT = datetime.datetime(2026, 1, 31, 12, 30, 15, 250_000, tzinfo=datetime.UTC)
MIDDAY_MS = 45_015_250
FULL: Mapping[str, Any] = {
    "b": True,
    "i": -7,
    "l": 2**53 + 1,
    "d": 2.5,
    "s": "naïve 🎵",
    "y": b64encode(b"\x00\x01\xff").decode(),
    "m": 12345.67,
    "dt": (DAY - datetime.date(1970, 1, 1)).days,
    "tm": MIDDAY_MS,
    "ts": round(MOMENT.timestamp() * 1000),
    "a": [1, 2, 3],
    "mp": {"k": 4},
    "st": {"x": 5, "z": "é"},
}
Look = Callable[[], dict[str, Any]]  # by id, what tells most of the row


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as open_:
        yield open_


def sink(orion: Orion, name: str, topic: str, options: Mapping[str, str]) -> None:
    said = ", ".join(f"'{n}' = '{v}'" for n, v in options.items())
    orion.execute(f"CREATE SINK CONNECTOR {name} WITH ('topics' = '{topic}', {said});")


def send(orion: Orion, topic: str, **rows: Mapping[str, Any] | None) -> None:
    values = {key: None if row is None else json.dumps(row).encode() for key, row in rows.items()}
    send_all(orion.kafka, topic, [Outgoing(value, key.encode()) for key, value in values.items()])


@long
def test_a_table_of_every_type_in_every_store(
    orion: Orion,
    until: Await,
    tmp_path: Path,
    stack: ExitStack,
    postgres: Postgres,
    mariadb: MariaDB,
    ferretdb: FerretDB,
    opensearch: OpenSearch,
) -> None:
    orion.execute(
        f"CREATE TABLE ty ({COLUMNS.format(key='PRIMARY KEY')})"
        " WITH (kafka_topic='ty', value_format='JSON', partitions=1);"
    )
    pg, maria = stack.enter_context(postgres.database()), stack.enter_context(mariadb.database())
    mongo, prefix = stack.enter_context(ferretdb.database()), stack.enter_context(opensearch.indices())
    file, lake = tmp_path / "ty.db", tmp_path / "lake"
    upsert = {"insert.mode": "upsert", "pk.mode": "record_key", "delete.enabled": "true", "auto.create": "true"}
    jdbc = {"connector.class": "jdbc", **upsert}
    pg_login = {"connection.user": postgres.user, "connection.password": postgres.password}
    maria_login = {"connection.user": mariadb.user, "connection.password": mariadb.password}
    sink(orion, "ty_pg", "ty", {**jdbc, "connection.url": f"jdbc:{pg.url}", **pg_login})
    sink(orion, "ty_maria", "ty", {**jdbc, "connection.url": f"jdbc:{maria.url}", **maria_login})
    sink(orion, "ty_file", "ty", {**jdbc, "connection.url": f"jdbc:sqlite:{file}"})
    sink(orion, "ty_lake", "ty", {"connector.class": "delta", "path": str(lake)})
    login = f"mongodb://{ferretdb.user}:{ferretdb.password}@{ferretdb.host}:{ferretdb.port}/?authSource=admin"
    decimals = {"decimal.handling.mode": "string"}  # FerretDB has no decimal128
    sink(
        orion,
        "ty_mongo",
        "ty",
        {"connector.class": "mongodb", "connection.uri": login, "database": mongo.name} | decimals,
    )
    search = {"connector.class": "elasticsearch", "connection.url": opensearch.url, "key.ignore": "false"}
    named = {"behavior.on.null.values": "delete", "index.name.format": f"{prefix}${{topic}}"}
    sink(orion, "ty_search", "ty", search | named)

    def in_postgres() -> dict[str, Any]:
        with pg.connect() as connection:
            return {row[0]: row[1:] for row in connection.execute("SELECT * FROM ty").fetchall()}

    def in_maria() -> dict[str, Any]:
        with closing(maria.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT * FROM ty")
            return {row[0]: row[1:] for row in cursor.fetchall()}

    def in_file() -> dict[str, Any]:
        with closing(sqlite3.connect(file)) as connection:
            return {row[0]: row[1:] for row in connection.execute("SELECT * FROM ty").fetchall()}

    def in_lake() -> dict[str, Any]:
        return {row["ID"]: row for row in orion.spark.read.format("delta").load(str(lake)).collect()}

    def in_mongo() -> dict[str, Any]:
        with mongo.connect() as database:
            return {found["_id"]: found for found in database["ty"].find()}

    def in_search() -> dict[str, Any]:
        httpx.post(f"{opensearch.url}/{prefix}ty/_refresh", timeout=150).raise_for_status()
        asked = httpx.get(f"{opensearch.url}/{prefix}ty/_search", timeout=150).raise_for_status().json()
        return {hit["_source"]["ID"]: hit["_source"] for hit in asked["hits"]["hits"]}

    looks: dict[str, Look] = {
        "postgres": in_postgres,
        "maria": in_maria,
        "file": in_file,
        "lake": in_lake,
        "mongo": in_mongo,
        "search": in_search,
    }

    def everywhere(wanted: set[str]) -> bool:
        return all(set(look()) == wanted for look in looks.values())

    send(orion, "ty", full=FULL, empty={}, gone=FULL)
    until(lambda: everywhere({"full", "empty", "gone"}), 200)
    send(orion, "ty", gone=None)
    until(lambda: everywhere({"full", "empty"}), 200)
    rows = {name: look()["full"] for name, look in looks.items()}
    nested = [[1, 2, 3], {"k": 4}, {"X": 5, "Z": "é"}]
    plain = (-7, 2**53 + 1, 2.5, "naïve 🎵", b"\x00\x01\xff")
    found = rows["postgres"]
    assert (found[0], *found[1:6]) == (True, *plain)
    assert found[6:10] == (Decimal("12345.67"), DAY, datetime.time(12, 30, 15, 250_000), MOMENT)
    assert list(found[10:]) == nested
    found = rows["maria"]
    assert (bool(found[0]), *found[1:6]) == (True, *plain)
    midday = datetime.timedelta(milliseconds=MIDDAY_MS)
    assert found[6:10] == (Decimal("12345.67"), DAY, midday, MOMENT.replace(tzinfo=None))
    assert [json.loads(text) for text in found[10:]] == nested
    found = rows["file"]
    assert (bool(found[0]), *found[1:6]) == (True, *plain)
    assert [json.loads(text) for text in found[10:]] == nested
    found = rows["lake"]
    assert (found["B"], found["I"], found["L"], found["D"], found["S"], bytes(found["Y"])) == (True, *plain)
    assert (found["M"], found["DT"], found["TM"]) == (Decimal("12345.67"), DAY, MIDDAY_MS)
    assert [found["A"], found["MP"], found["ST"].asDict()] == nested
    found = rows["mongo"]
    assert (found["B"], found["I"], found["L"], found["D"], found["S"], found["Y"]) == (True, *plain)
    assert (found["M"], found["TS"]) == ("12345.67", MOMENT.replace(tzinfo=None))
    assert [found["A"], found["MP"], found["ST"]] == nested
    found = rows["search"]
    assert (found["B"], found["I"], found["L"], found["D"], found["S"]) == (True, *plain[:4])
    assert (found["M"], [found["A"], found["MP"], found["ST"]]) == ("12345.67", nested)
    empty = looks["postgres"]()["empty"]
    assert set(empty) == {None}

    def states() -> dict[str, str]:
        listed = orion.execute("SHOW CONNECTORS;")[0]["connectors"]
        return {c["name"]: c["state"] for c in listed if c["name"].startswith("TY_")}

    until(lambda: set(states().values()) == {"RUNNING"}, 60)
    for name in states():
        orion.execute(f"DROP CONNECTOR {name};")


def test_objects_are_cut_by_rows_and_by_time_and_hold_each_row_once(
    orion: Orion, until: Await, stack: ExitStack, seaweedfs: SeaweedFS
) -> None:
    orion.execute(
        f"CREATE STREAM so ({COLUMNS.format(key='KEY')}) WITH (kafka_topic='so', value_format='JSON', partitions=1);"
    )
    bucket = stack.enter_context(seaweedfs.bucket())
    said = {"aws.access.key.id": seaweedfs.access_key, "aws.secret.access.key": seaweedfs.secret}
    place = {"s3.bucket.name": bucket.name, "store.url": seaweedfs.url, "s3.region": seaweedfs.region}
    cut = {"flush.size": "40", "rotate.schedule.interval.ms": "4000", "partitioner.class": "field"}
    sink(orion, "so_s3", "so", {"connector.class": "s3", **said, **place, **cut, "partition.field.name": "b"})
    send(orion, "so", **{f"k{i}": {**FULL, "i": i, "b": i % 2 == 0} for i in range(100)})

    def objects() -> dict[str, list[dict[str, Any]]]:
        chosen = pyarrow.fs.FileSelector(f"{bucket.name}/topics/so", recursive=True, allow_not_found=True)
        files = [f for f in bucket.files.get_file_info(chosen) if f.is_file]
        return {
            f.path: pyarrow.parquet.read_table(io.BytesIO(bucket.files.open_input_file(f.path).read())).to_pylist()
            for f in files
        }

    until(lambda: sum(map(len, objects().values())) == 100, 150)
    found = objects()
    assert sorted(row["I"] for part in found.values() for row in part) == list(range(100))
    assert max(map(len, found.values())) <= 40
    assert all(f"/B={'true' if row['B'] else 'false'}/so+0+" in path for path, part in found.items() for row in part)
    row = next(row for part in found.values() for row in part if row["I"] == 2)
    assert (row["M"], row["DT"], row["TS"], row["Y"]) == (Decimal("12345.67"), DAY, MOMENT, b"\x00\x01\xff")
    assert (row["A"], dict(row["MP"]), row["ST"]) == ([1, 2, 3], {"k": 4}, {"X": 5, "Z": "é"})
    orion.execute("DROP CONNECTOR so_s3;")

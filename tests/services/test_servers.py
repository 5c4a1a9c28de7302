"""The servers that connectors are tried against: each takes a write, dies, and comes back with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pymongo
import pymysql
import pytest
from pyarrow.fs import FileType, S3FileSystem

from tests.faults import processes
from tests.servers.ferretdb import FerretDB
from tests.servers.mariadb import MariaDB
from tests.servers.opensearch import OpenSearch
from tests.servers.postgres import Postgres
from tests.servers.seaweedfs import SeaweedFS

ROOT = Path(__file__).parents[2]
STARTS = """
import sys
from pathlib import Path
from tests.servers.postgres import Postgres

Postgres(Path(sys.argv[1])).start()
print("started", flush=True)
sys.stdin.read()
"""


def test_postgres_comes_back(postgres: Postgres) -> None:
    with postgres.database() as database:
        with database.connect() as connection:
            connection.execute("CREATE TABLE t (id int)")
            connection.execute("INSERT INTO t VALUES (1)")
        postgres.kill()
        with pytest.raises(psycopg.OperationalError):
            postgres.connect()
        postgres.start()
        with database.connect() as connection:
            assert connection.execute("SELECT id FROM t").fetchall() == [(1,)]
            assert connection.execute("SHOW wal_level").fetchone() == ("logical",)


def test_postgres_drops_a_database_that_is_replicated(postgres: Postgres) -> None:
    with postgres.database() as database:
        with database.connect() as connection:
            connection.execute("SELECT pg_create_logical_replication_slot('left_behind', 'pgoutput')")
        connected = database.connect()
    with postgres.connect() as connection:
        assert connection.execute("SELECT count(*) FROM pg_replication_slots").fetchone() == (0,)
    connected.close()


def test_postgres_wants_a_password(postgres: Postgres) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(f"{postgres.url}?user={postgres.user}&password=wrong", connect_timeout=10)


def test_mariadb_comes_back(mariadb: MariaDB) -> None:
    with mariadb.database() as database:
        with database.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE t (id int)")
            cursor.execute("INSERT INTO t VALUES (1)")
        mariadb.kill()
        with pytest.raises(pymysql.err.OperationalError):
            mariadb.connect()
        mariadb.start()
        with database.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id, @@log_bin, @@binlog_format FROM t")
            assert cursor.fetchall() == ((1, 1, "ROW"),)


@pytest.mark.parametrize("user", ["orion", "root", "anybody"])
def test_mariadb_wants_a_password(mariadb: MariaDB, user: str) -> None:
    with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
        pymysql.connect(host=mariadb.host, port=mariadb.port, user=user, password="", connect_timeout=10)


def test_seaweedfs_comes_back(seaweedfs: SeaweedFS) -> None:
    with seaweedfs.bucket() as bucket:
        path = f"{bucket.name}/folder/file"
        with bucket.files.open_output_stream(path) as file:
            file.write(b"kept")
        seaweedfs.kill()
        seaweedfs.start()
        with bucket.files.open_input_stream(path) as file:
            assert file.read() == b"kept"
    assert seaweedfs.files().get_file_info(bucket.name).type == FileType.NotFound


def test_seaweedfs_wants_a_secret(seaweedfs: SeaweedFS) -> None:
    stranger = S3FileSystem(
        access_key=seaweedfs.access_key, secret_key="wrong", endpoint_override=seaweedfs.url, region=seaweedfs.region
    )
    with seaweedfs.bucket() as bucket, pytest.raises(OSError, match="SIGNATURE_DOES_NOT_MATCH"):
        stranger.open_output_stream(f"{bucket.name}/x").close()


def test_ferretdb_comes_back(ferretdb: FerretDB) -> None:
    with ferretdb.database() as database:
        with database.connect() as connection:
            connection["t"].insert_one({"_id": 1, "x": "kept"})
        ferretdb.kill()
        ferretdb.start()
        with database.connect() as connection:
            assert list(connection["t"].find()) == [{"_id": 1, "x": "kept"}]


def test_ferretdb_wants_a_password(ferretdb: FerretDB) -> None:
    stranger: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(
        ferretdb.url, username=ferretdb.user, password="wrong"
    )
    with stranger, pytest.raises(pymongo.errors.OperationFailure, match="Authentication failed"):
        stranger.list_database_names()


def test_opensearch_comes_back(opensearch: OpenSearch) -> None:
    with opensearch.indices() as prefix, httpx.Client(base_url=opensearch.url, timeout=60) as client:
        path = f"/{prefix}orders/_doc/1"
        client.put(path, json={"item": "kept"}).raise_for_status()
        opensearch.kill()
        with pytest.raises(httpx.TransportError):
            client.get(path)
        opensearch.start()
        assert client.get(path).json()["_source"] == {"item": "kept"}
        found = client.post(f"/{prefix}orders/_search", json={"query": {"match": {"item": "kept"}}})
        assert found.json()["hits"]["total"]["value"] == 1


def test_a_server_stops_and_starts_in_order(postgres: Postgres) -> None:
    postgres.stop()
    postgres.stop()
    postgres.start()
    postgres.start()
    postgres.connect().close()


def test_a_server_ends_with_a_run_that_is_killed(scratch: Path, until: Callable[[Callable[[], bool]], None]) -> None:
    command = [sys.executable, "-c", STARTS, str(scratch / "left-behind")]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "started\n"
        servers = processes.tree(run.pid)[1:]
        assert any("postgres" in one.command for one in servers)
        run.kill()
    until(lambda: not any(one.runs for one in servers))

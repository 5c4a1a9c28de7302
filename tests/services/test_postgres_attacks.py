"""Clients that mean no good, on PostgreSQL's door: files, other databases, floods, half messages, endless queries."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from psycopg import errors

from orion.web.postgres import connection as connections
from orion.web.postgres import server as servers
from orion.web.postgres.portal import MAX_PORTALS
from orion.web.postgres.session import MAX_STATEMENTS
from tests.services.postgres_world import ENDLESS, Kept, Wire, serving, soon

SYNC = (b"S", b"")


@pytest.fixture(scope="module")
def tables() -> Iterator[Kept]:
    """The database itself may read files here: only what stands before it keeps it from that."""
    kept = Kept()
    yield kept
    kept.database.close()


@pytest.fixture(scope="module")
def address(tables: Kept) -> Iterator[str]:
    with serving(tables) as url:
        yield url


@pytest.fixture
def connection(address: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(address, user="ann", autocommit=True) as connection:
        yield connection


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file under names that DuckDB would find without a path."""
    monkeypatch.chdir(tmp_path)
    for name in ("secret.csv", "main.csv", "orion.csv", "pg_catalog.csv"):
        (tmp_path / name).write_text("a,b\nvery,hidden\n")
    return tmp_path / "secret.csv"


READS = [
    "SELECT * FROM read_csv('{file}')", "SELECT * FROM read_csv_auto('{file}')", "FROM read_text('{file}')",
    "FROM read_blob('{file}')", "FROM glob('{folder}/*')", "FROM sniff_csv('{file}')", "FROM '{file}'", 'FROM "{file}"',
    "FROM secret.csv", "FROM main.csv", "FROM orion.csv", "FROM pg_catalog.csv", 'FROM "main"."csv"',
    "FROM read_json('{file}')", "FROM read_parquet('{file}')", "FROM parquet_metadata('{file}')",
    "FROM query('FROM ''{file}''')", "FROM query_table('{file}')", "SELECT json_serialize_plan('FROM ''{file}''')",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM ''{file}'''))", "SELECT getenv('HOME')",
    "SELECT * FROM (VALUES (1)) t(x), LATERAL (FROM read_text('{file}'))",
    "SELECT (SELECT content FROM read_text('{file}'))",
    "EXPLAIN FROM '{file}'", "EXPLAIN ANALYZE FROM '{file}'", "SUMMARIZE '{file}'", "DESCRIBE FROM '{file}'",
    "WITH x AS MATERIALIZED (FROM read_text('{file}')) FROM x", "SELECT 1 WHERE EXISTS (FROM read_text('{file}'))",
    "FROM histogram('{file}', a)", "FROM duckdb_secrets()", "FROM duckdb_settings()", "FROM duckdb_databases()",
    "PREPARE p AS FROM '{file}'", "DECLARE c CURSOR WITH HOLD FOR FROM '{file}'", "COPY (FROM '{file}') TO STDOUT",
    "COPY \"{file}\" TO STDOUT", "FROM read_csv('http://127.0.0.1:9/x.csv')", "FROM 'https://example.com/x.parquet'",
    "FROM 's3://bucket/x.parquet'",
]  # fmt: skip
CHANGES = [
    "COPY everything TO '{folder}/out.csv'", "COPY everything TO PROGRAM 'cat > {folder}/out'",
    "COPY orders FROM STDIN",
    "COPY orders FROM '{file}'", "ATTACH '{folder}/x.db'", "DETACH memory", "INSTALL httpfs", "LOAD httpfs",
    "PRAGMA enable_profiling", "CALL pragma_version()", "EXPORT DATABASE '{folder}/x'", "IMPORT DATABASE '{folder}/x'",
    "CREATE MACRO m() AS TABLE FROM '{file}'", "CREATE TEMP MACRO m(a) AS (SELECT content FROM read_text(a))",
    "CREATE TEMP VIEW v AS FROM '{file}'", "CREATE SECRET (TYPE s3)", "USE memory", "VACUUM", "FORCE CHECKPOINT",
    "INSERT INTO orders VALUES (1, 1, 1)", "UPDATE orders SET total = 1", "DELETE FROM orders", "DROP VIEW orders",
    "TRUNCATE orders", "ALTER TABLE orders ADD COLUMN x INTEGER", "SELECT nextval('s')", "SELECT setseed(0.5)",
    "SELECT write_log('x')", "MERGE INTO orders USING everything ON true WHEN MATCHED THEN DELETE",
    "PREPARE p AS DELETE FROM orders", "SELECT 1; DROP TABLE orders",
]  # fmt: skip


@pytest.mark.parametrize("text", [*READS, *CHANGES])
def test_no_statement_reads_files_or_changes_anything(
    connection: psycopg.Connection[Any], secret: Path, text: str
) -> None:
    filled = text.replace("{file}", str(secret)).replace("{folder}", str(secret.parent))
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(filled.encode())
    assert refused.value.sqlstate is not None
    assert "hidden" not in str(refused.value)
    assert sorted(os.listdir(secret.parent)) == ["main.csv", "orion.csv", "pg_catalog.csv", "secret.csv"]
    assert connection.execute("SELECT count(*) FROM orders").fetchone() == (0,)


def test_settings_are_words_only(connection: psycopg.Connection[Any], secret: Path, tables: Kept) -> None:
    for name in ("enable_external_access", "python_enable_replacements", "temp_directory", "home_directory"):
        connection.execute(f"SET {name} = true")
    with pytest.raises(errors.UndefinedTable):
        connection.execute(f"FROM '{secret}'".encode())
    found = tables.database.execute("SELECT current_setting('home_directory')").fetchone()
    assert found == ("",)


def test_what_a_client_calls_itself_is_no_sql(address: str, secret: Path) -> None:
    """Names and settings go into the catalogs, which are SQL."""
    parts = ["'", "''", "{user}", "{settings}", "{known}", "$$", "\\", "'; DROP VIEW everything; --"]
    read = f" || (SELECT content FROM read_text($${secret}$$)) || "
    for name in (*parts, "{user}" + read, read):
        with psycopg.connect(
            address, user=name, dbname="{user}" + name, application_name=name + "{user}", autocommit=True
        ) as connection:
            asked = "SELECT current_user, current_database(), current_setting('application_name')"
            assert connection.execute(asked).fetchone() == (name, "{user}" + name, name + "{user}")
            connection.execute("SELECT set_config('x.y', %s, false)", (name,))
            assert connection.execute("SELECT datname FROM pg_database").fetchone() == ("{user}" + name,)
            assert connection.execute("SELECT count(*) FROM everything").fetchone() == (2,)


@pytest.mark.parametrize(
    "value", ["'; DROP TABLE orders; --", "1 OR 1=1", "Ann' OR '1'='1", "{x}", "$1", "'{1,2}'", "\\' --", "x" * 100_000]
)
def test_parameters_are_never_sql(connection: psycopg.Connection[Any], value: str) -> None:
    assert connection.execute("SELECT count(*) FROM everything WHERE name = %s", (value,)).fetchone() == (0,)
    assert connection.execute("SELECT %s AS a, %s::text AS b", (value, value)).fetchone() == (value, value)


def bind(value: bytes, form: int = 0) -> tuple[bytes, bytes]:
    return b"B", b"\0\0" + struct.pack("!hhhI", 1, form, 1, len(value)) + value + b"\0\0"


def test_values_that_are_no_values(address: str) -> None:
    """Bytes that aren't UTF-8, a NUL, numbers of a wrong length: an error, or a value, and the session goes on."""
    wire = Wire(address)
    with closing(wire.socket):
        wire.start()
        for text in (
            "SELECT $1::text",
            "SELECT $1::int",
            "SELECT id FROM everything WHERE id > $1",
            "SELECT $1::int[]",
        ):
            for form in (0, 1):
                for value in (b"\xff\xfe", b"a\0b", b"", b"\0\0\0", b"\x7f" * 20, b"{1,2"):
                    wire.send((b"P", b"\0" + text.encode() + b"\0\0\0"), bind(value, form), (b"E", b"\0\0\0\0\0"), SYNC)
                    assert wire.until(b"Z")[-1] == (b"Z", b"I")
        wire.send((b"Q", b"SELECT 1\0"))
        assert [tag for tag, _ in wire.until(b"Z")] == [b"T", b"D", b"C", b"Z"]


def test_messages_have_a_length(address: str) -> None:
    for body in (
        b"Q" + struct.pack("!I", 1 << 30),
        b"Q\xff\xff\xff\xff",
        b"Q\0\0\0\3",
        b"P\0\0\0\5x",
        b"B\0\0\0\6\0\0",
    ):
        wire = Wire(address)
        with closing(wire.socket):
            wire.start()
            wire.socket.sendall(body)
            assert b"08P01" in wire.until(b"E")[-1][1]
            assert wire.socket.recv(1) == b""
    for opening in (
        struct.pack("!I", 1 << 30),
        struct.pack("!I", 0),
        struct.pack("!II", 8, 2 << 16),
        b"GET / HTTP/1.1\r\n\r\n",
    ):
        wire = Wire(address)
        with closing(wire.socket):
            wire.socket.sendall(opening)
            assert wire.read()[0] == b"E"
            assert wire.socket.recv(1) == b""


def test_statements_have_a_length_and_a_depth(connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(errors.ProgramLimitExceeded):
        connection.execute("SELECT '" + "x" * (1 << 20) + "'")
    for deep in ("(" * 600 + "1" + ")" * 600, "[" * 600 + "1" + "]" * 600, "-" * 1 + "abs(" * 600 + "1" + ")" * 600):
        with pytest.raises(errors.StatementTooComplex):
            connection.execute(f"SELECT {deep}".encode())
    for long in ("+".join(["1"] * 50_000), "NOT " * 50_000 + "true"):
        with pytest.raises(psycopg.Error):
            connection.execute(f"SELECT {long}".encode())
    assert connection.execute("SELECT 1 IN (" + ",".join(["1"] * 5000) + ")").fetchone() == (True,)


def test_a_session_keeps_only_so_much(connection: psycopg.Connection[Any]) -> None:
    for number in range(MAX_STATEMENTS):
        connection.execute(f"PREPARE p{number} AS SELECT 1".encode())
    with pytest.raises(errors.ConfigurationLimitExceeded):
        connection.execute("PREPARE another AS SELECT 1")
    connection.execute("DEALLOCATE ALL")
    for number in range(MAX_PORTALS - 1):  # one is for the statement that is being answered
        connection.execute(f"DECLARE c{number} CURSOR WITH HOLD FOR SELECT 1".encode())
    with pytest.raises(errors.ConfigurationLimitExceeded):
        connection.execute("DECLARE another CURSOR WITH HOLD FOR SELECT 1")
    connection.execute("CLOSE ALL")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_who_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch, tables: Kept) -> None:
    monkeypatch.setattr(connections, "_OPENING_S", 0.2)
    with serving(tables) as url, ExitStack() as stack:
        silent = [stack.enter_context(closing(Wire(url).socket)) for _ in range(5)]
        for at, one in enumerate(silent):
            one.sendall(b"\0\0\0\x20\0\3\0\0user\0"[: at * 3])
        assert [one.recv(1) for one in silent] == [b""] * 5
        with psycopg.connect(url, user="ann") as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_flood_of_connections(monkeypatch: pytest.MonkeyPatch, tables: Kept) -> None:
    """More than there is place for are sent away; when they have gone, there is place again."""
    monkeypatch.setattr(servers, "SOCKETS", 20)
    monkeypatch.setattr(servers, "CONNECTIONS", 10)
    with serving(tables) as url:
        with ExitStack() as stack:
            for _ in range(10):
                stack.enter_context(psycopg.connect(url, user="ann"))
            with pytest.raises(psycopg.OperationalError, match="too many connections"):
                psycopg.connect(url, user="ann")
            for _ in range(300):
                stack.enter_context(closing(Wire(url).socket))
        assert soon(lambda: _answers(url))


def _answers(url: str) -> bool:
    try:
        with psycopg.connect(url, user="ann") as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def test_cancelling_needs_the_secret(address: str, connection: psycopg.Connection[Any]) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: connection.execute(ENDLESS).fetchall())
        host, port = address.removeprefix("postgresql://").removesuffix("/orion").split(":")
        for guess in (b"\0\0\0\0", b"", b"\xff" * 4, b"\0" * 200):
            with socket.create_connection((host, int(port)), timeout=30) as wire:
                body = struct.pack("!II", 80877102, connection.info.backend_pid) + guess
                wire.sendall(struct.pack("!I", len(body) + 4) + body)
                assert wire.recv(1) == b""
        assert not running.done()

        def cancelled() -> bool:
            connection.cancel_safe()
            return running.done()

        assert soon(cancelled)
        assert isinstance(running.exception(30), errors.QueryCanceled)


ENDLESS_ONES = [
    ENDLESS, "COPY (SELECT range FROM range(1000000000000)) TO STDOUT", "SELECT pg_sleep(100000)",
    "SELECT count(*) FROM everything a, range(1000000) b, range(1000000) c, range(1000000) d",
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r",
    "SELECT sum(hash(x)) FROM generate_series(1, 2000000000) t(x), range(1000) u(y)",
]  # fmt: skip


@pytest.mark.parametrize("text", ENDLESS_ONES)
def test_whatever_runs_ends_with_its_client(tables: Kept, address: str, text: str) -> None:
    assert soon(lambda: tables.running() <= 1)
    wire = Wire(address)
    wire.start()
    wire.send((b"Q", text.encode() + b"\0"))
    assert soon(lambda: tables.running() > 1)
    wire.socket.close()
    assert soon(lambda: tables.running() <= 1, 60.0)


def test_a_client_that_leaves_while_much_of_it_waits(tables: Kept, address: str) -> None:
    """No more is read than is being answered, but that the client has left is heard of all the same."""
    assert soon(lambda: tables.running() <= 1)
    wire = Wire(address)
    wire.start()
    wire.send((b"P", b"\0SELECT $1::text, count(*) FROM range(1000000000000) t(i) WHERE i % 3 = 5\0\0\0"))
    wire.send(bind(b"x" * (2 << 20)), (b"E", b"\0\0\0\0\0"), SYNC)
    assert soon(lambda: tables.running() > 1)
    wire.socket.close()
    assert soon(lambda: tables.running() <= 1, 60.0)


def test_the_database_has_not_changed(tables: Kept) -> None:
    """After all of that."""
    found = tables.database.execute("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'memory'").fetchone()
    assert found == (2,)
    with pytest.raises(duckdb.Error):
        tables.database.execute("FROM memory.main.m")

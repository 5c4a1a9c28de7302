"""What may reach DuckDB, and what may not."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from orion.web.postgres import guard
from orion.web.postgres.errors import Refused
from orion.web.postgres.lexer import tokens

READS = [
    "SELECT 1", "FROM t", "VALUES (1)", "TABLE t", "DESCRIBE t", "SUMMARIZE t", "EXPLAIN SELECT 1",
    "EXPLAIN (ANALYZE) SELECT 1", "WITH a AS (SELECT 1) SELECT * FROM a", "SELECT * FROM range(3)",
]  # fmt: skip
CHANGES = [
    "INSERT INTO t VALUES (1)", "COPY t TO '/tmp/x'", "ATTACH '/tmp/x'", "PRAGMA database_list", "SET threads = 1",
    "INSTALL httpfs", "CREATE TABLE x (a INTEGER)", "CALL pragma_version()", "EXPLAIN ANALYZE DELETE FROM t",
    "EXPLAIN (ANALYZE, FORMAT json) DELETE FROM t", "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
    "COPY t TO STDOUT", "LOAD httpfs", "DETACH memory", "SELECT setseed(0.5)", "SELECT write_log('x')",
    "SELECT nextval('s')", "EXPORT DATABASE '/tmp/x'", "USE memory", "PREPARE x AS SELECT 1", "VACUUM",
]  # fmt: skip
FILES = [
    "FROM '{file}'", 'FROM "{file}"', "SELECT * FROM read_csv('{file}')", "SELECT (FROM read_text('{file}'))",
    "FROM glob('*')", "FROM query('SELECT 1')", "DESCRIBE '{file}'", "SELECT * FROM t LIMIT (SELECT 1 FROM '{file}')",
    "SELECT 1 UNION SELECT size FROM read_blob('{file}')", "FROM t, LATERAL (FROM read_text('{file}'))",
    "EXPLAIN ANALYZE FROM '{file}'", "FROM duckdb_secrets()", "FROM main.csv", "FROM orion.csv", "FROM duckdb_tables",
    "FROM duckdb_tables()", "FROM sqlite_master", "FROM memory.main.t", "FROM system.information_schema.tables",
    "SELECT * FROM (SHOW ALL TABLES)", "SELECT json_serialize_plan('FROM ''{file}''')", "SELECT system.main.version()",
    "SELECT * FROM (WITH \"{file}\" AS (SELECT 1) FROM \"{file}\"), '{file}'",
]  # fmt: skip


@pytest.fixture
def tables() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute('CREATE TABLE t (a INTEGER); CREATE SEQUENCE s; CREATE TABLE "odd.name" (a INTEGER)').fetchall()
    return connection


@pytest.mark.parametrize("sql", [*READS, 'FROM "odd.name"'])
def test_queries_pass(tables: duckdb.DuckDBPyConnection, sql: str) -> None:
    assert guard.check(tables, tuple(tokens(sql))) == frozenset()


@pytest.mark.parametrize("sql", CHANGES)
def test_changes_are_refused(tables: duckdb.DuckDBPyConnection, sql: str) -> None:
    with pytest.raises((Refused, duckdb.Error)) as refused:
        guard.check(tables, tuple(tokens(sql)))
    assert isinstance(refused.value, Refused)


@pytest.mark.parametrize("sql", FILES)
def test_files_are_refused(tables: duckdb.DuckDBPyConnection, tmp_path: Path, sql: str) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(Refused):
        guard.check(tables, tuple(tokens(sql.replace("{file}", str(file)))))


def test_parameters_of_a_statement_are_told(tables: duckdb.DuckDBPyConnection) -> None:
    assert guard.check(tables, tuple(tokens("SELECT $2 FROM t WHERE a = $1"))) == {"1", "2"}


def test_statements_have_a_length_and_a_depth(tables: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(Refused) as long:
        guard.measure("x" * (guard.MAX_STATEMENT + 1))
    with pytest.raises(Refused) as deep:
        guard.check(tables, tuple(tokens("SELECT " + "(" * 501 + "1" + ")" * 501)))
    assert (long.value.code, deep.value.code) == ("54000", "54001")
    assert guard.check(tables, tuple(tokens("SELECT " + "(" * 100 + "1" + ")" * 100))) == frozenset()

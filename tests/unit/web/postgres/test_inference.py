"""What a parameter without a cast is: by its place in the statement, as PostgreSQL would say."""

from __future__ import annotations

import duckdb
import pytest

from orion.web.postgres import types
from orion.web.postgres.inference import infer_types


@pytest.fixture(scope="module")
def cursor() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t (n INTEGER, b BIGINT, x DOUBLE, d DECIMAL(10, 2), k VARCHAR, ts TIMESTAMPTZ, day DATE, "
        "clock TIME, a INTEGER[], raw BLOB, ok BOOLEAN, u UUID)"
    ).fetchall()
    return connection


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT 1 FROM t WHERE n > $1 OR b = $2 OR x < $3 OR d >= $4 OR k <> $5", "int4 int8 float8 numeric text"),
        ("SELECT 1 FROM t WHERE ts < $1 AND day = $2 AND clock > $3 AND raw = $4 AND ok = $5 AND u = $6",
         "timestamptz date time bytea bool uuid"),
        ("SELECT 1 FROM t WHERE n BETWEEN $1 AND $2 AND $3 BETWEEN n AND b", "int4 int4 int8"),
        ("SELECT 1 FROM t WHERE n IN ($1, $2) AND k NOT IN ($3)", "int4 int4 text"),
        ("SELECT n FROM t LIMIT $1 OFFSET $2", "int8 int8"),
        ("SELECT n + $1, $2 * x, b % $3, k || $4, -n - $5 FROM t", "int4 float8 int8 text int4"),
        ("SELECT 1 FROM t WHERE n < $1 * 2 AND b BETWEEN $2 AND $2 + 10", "int4 int8"),
        ("SELECT 1 FROM t WHERE k LIKE $1 AND k ILIKE $2 AND starts_with(k, $3) AND upper($4) = k",
         "text text text text"),
        ("SELECT substr(k, $1, $2), round(d, $3), lag(n, $4) OVER (ORDER BY n) FROM t", "int8 int8 int4 int8"),
        ("SELECT coalesce($1, n), greatest(x, $2), CASE WHEN n = $3 THEN $4 ELSE 'x' END FROM t",
         "int4 float8 int4 text"),
        ("SELECT 1 FROM t WHERE n = ANY($1) AND k = ANY($2) AND b <> ALL($3)", "_int4 _text _int8"),
        ("SELECT list_contains(a, $1), a[$2] FROM t", "int4 int8"),
        ("SELECT 1 FROM t WHERE ts > now() - $1", "interval"),
        ("SELECT 1 FROM t WHERE ts BETWEEN $1 AND $2 + INTERVAL 1 DAY", "timestamptz timestamptz"),
        ("SELECT 1 FROM t WHERE (n, k) > ($1, $2)", "int4 text"),
        ("SELECT max(n) FROM t GROUP BY k HAVING count(*) > $1 AND sum(n) < $2", "int8 numeric"),
        ("WITH q AS (SELECT n + $1 AS m FROM t) SELECT * FROM q WHERE m > $2", "int4 int4"),
        ("SELECT 1 FROM t WHERE k IN (SELECT k FROM t WHERE n = $1) AND EXISTS (SELECT 1 FROM t s WHERE s.b = $2)",
         "int4 int8"),
        ("SELECT * FROM range($1)", "int8"),
        ("SELECT 1 FROM t WHERE n = $1 AND b = $1", "int4"),
        ("SELECT 1 FROM t WHERE $1 AND date_trunc('day', ts) = $2", "bool timestamptz"),
    ],
)  # fmt: skip
def test_parameters_have_the_type_of_their_place(cursor: duckdb.DuckDBPyConnection, sql: str, names: str) -> None:
    wanted = dict(enumerate(names.split(), 1))
    found = infer_types(cursor, sql, list(wanted))
    assert {number: types.BY_OID[oid].name for number, oid in found.items()} == wanted


@pytest.mark.parametrize(
    "sql", ["SELECT $1", "SELECT $1 = $2", "SELECT $1 + $2", "SELECT 1 WHERE $1 IS NULL", "SELECT -$1"]
)
def test_some_could_be_anything(cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
    assert infer_types(cursor, sql, [1, 2]) == {}


def test_one_that_is_unknown_leaves_the_others_known(cursor: duckdb.DuckDBPyConnection) -> None:
    found = infer_types(cursor, "SELECT $1 FROM t WHERE n > $2 AND k = $3", [1, 2, 3])
    assert found == {2: types.INT4.oid, 3: types.TEXT.oid}

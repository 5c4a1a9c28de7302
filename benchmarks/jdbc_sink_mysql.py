"""The jdbc sink on MariaDB beside INSERT of many rows by hand: the same rows into the same kind of table.

Orion's clock begins with Arrow batches, as Spark's workers get them. By hand the rows are tuples of Python, and the
client's `executemany` puts them into statements of many rows, in one transaction.
"""

from __future__ import annotations

import time
from typing import Any

import pymysql

from benchmarks.stage import Measured, Stage
from benchmarks.table_rows import COLUMNS, ROWS, TABLE, batches, opened, rows_per_second
from tests.servers.mariadb import Database, MariaDB, missing


def measure(stage: Stage) -> Measured | None:
    reason = missing()
    if reason is not None:
        stage.say(f"jdbc_sink_mysql: {reason}")
        return None
    server = MariaDB(stage.folder / "mariadb")
    server.start()
    try:
        with server.database() as database:
            return _measured(stage, database)
    finally:
        server.kill()


def _measured(stage: Stage, database: Database) -> Measured:
    rows = batches()
    tuples = [t for batch in rows for t in zip(*(batch.column(c.name).to_pylist() for c in COLUMNS), strict=True)]
    options = {
        "connection.url": f"jdbc:{database.url}",
        "connection.user": database.server.user,
        "connection.password": database.server.password,
    }

    with database.connect() as connection, connection.cursor() as cursor:

        def orion(number: int) -> float:
            table = _table(cursor, f"orion_{number + 10}")
            return _checked(cursor, table, rows_per_second(opened(table, options), rows))

        def by_hand(number: int) -> float:
            table = _table(cursor, f"by_hand_{number + 10}")
            return _checked(cursor, table, _inserted(connection, table, tuples))

        what = "rows into MariaDB by the jdbc sink (by hand: executemany, many rows a statement)"
        return stage.take_turns("jdbc_sink_mysql", orion, by_hand, "rows/s", what)


def _inserted(connection: pymysql.Connection[Any], table: str, rows: list[tuple[Any, ...]]) -> float:
    start = time.perf_counter()
    with connection.cursor() as cursor:
        connection.begin()
        cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join('%s' for _ in COLUMNS)})", rows)
        connection.commit()
    return ROWS / (time.perf_counter() - start)


def _table(cursor: pymysql.cursors.Cursor, name: str) -> str:
    cursor.execute(TABLE.format(name=name, text="TEXT", instant="DATETIME(6)"))
    return name


def _checked(cursor: pymysql.cursors.Cursor, table: str, rate: float) -> float:
    cursor.execute(f"SELECT count(*), count(title), sum(price) FROM {table}")
    found = cursor.fetchone()
    if found is None or tuple(map(int, found)) != (ROWS, ROWS - ROWS // 50, ROWS // 10_000 * 499_950):
        raise RuntimeError(f"{table} has other rows: {found}")
    cursor.execute(f"DROP TABLE {table}")
    return rate

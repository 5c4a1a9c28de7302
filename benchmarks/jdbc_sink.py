"""The jdbc sink on PostgreSQL beside one COPY by hand: the same rows into the same kind of table, in one transaction.

Orion's clock begins with Arrow batches, as Spark's workers get them: it looks for rows that can't go in, makes COPY's
text, sets a savepoint for each chunk and keeps the epoch. By hand the text is there before the clock begins, and goes
to the server in one COPY without any of that.
"""

from __future__ import annotations

import io
import time
from typing import Any

import psycopg
import pyarrow.csv

from benchmarks.stage import Measured, Stage
from benchmarks.table_rows import COLUMNS, ROWS, TABLE, batches, opened, rows_per_second
from tests.servers.postgres import Database, Postgres, missing


def measure(stage: Stage) -> Measured | None:
    reason = missing()
    if reason is not None:
        stage.say(f"jdbc_sink: {reason}")
        return None
    stage.folder.chmod(0o711)  # PostgreSQL doesn't run as root, and gets to its folder as another user
    server = Postgres(stage.folder / "postgres")
    server.start()
    try:
        with server.database() as database:
            return _measured(stage, database)
    finally:
        server.kill()


def _measured(stage: Stage, database: Database) -> Measured:
    rows = batches()
    text = io.BytesIO()
    for batch in rows:
        columns = batch.select([c.name for c in COLUMNS])
        pyarrow.csv.write_csv(columns, text, pyarrow.csv.WriteOptions(include_header=False))
    options = {
        "connection.url": f"jdbc:{database.url}",
        "connection.user": database.server.user,
        "connection.password": database.server.password,
    }

    with database.connect() as connection:

        def orion(number: int) -> float:
            table = _table(connection, f"orion_{number + 10}")
            return _checked(connection, table, rows_per_second(opened(table, options), rows))

        def by_hand(number: int) -> float:
            table = _table(connection, f"by_hand_{number + 10}")
            return _checked(connection, table, _copied(connection, table, text.getvalue()))

        what = "rows into PostgreSQL by the jdbc sink (by hand: one COPY of a text that is there)"
        return stage.take_turns("jdbc_sink", orion, by_hand, "rows/s", what)


def _copied(connection: psycopg.Connection[Any], table: str, text: bytes) -> float:
    start = time.perf_counter()
    with (
        connection.transaction(),
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy,
    ):
        copy.write(text)
    return ROWS / (time.perf_counter() - start)


def _table(connection: psycopg.Connection[Any], name: str) -> str:
    connection.execute(TABLE.format(name=name, text="TEXT", instant="TIMESTAMPTZ"))
    return name


def _checked(connection: psycopg.Connection[Any], table: str, rate: float) -> float:
    found = connection.execute(f"SELECT count(*), count(title), sum(price) FROM {table}").fetchone()
    if found is None or tuple(map(int, found)) != (ROWS, ROWS - ROWS // 50, ROWS // 10_000 * 499_950):
        raise RuntimeError(f"{table} has other rows: {found}")
    connection.execute(f"DROP TABLE {table}")
    return rate

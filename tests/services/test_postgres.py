"""Real clients on PostgreSQL's door: psycopg, psql and SQLAlchemy, over tables with every type."""

from __future__ import annotations

import asyncio
import datetime as dt
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row

from orion.config import Postgres
from orion.errors import ConfigError
from orion.web.postgres.access import Passwords
from orion.web.postgres.server import serving_postgres
from orion.web.sockets import bound, bound_somewhere
from tests.services.postgres_world import ANN, ENDLESS, Kept, Wire, serving, soon


@pytest.fixture(scope="module")
def tables() -> Iterator[Kept]:
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


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("text", ["SELECT * FROM everything ORDER BY id", "FROM everything WHERE id < %s ORDER BY id"])
def test_every_type(connection: psycopg.Connection[Any], binary: bool, text: str) -> None:
    parameters = (3,) if "%s" in text else None
    rows = connection.cursor(binary=binary).execute(text, parameters).fetchall()
    assert rows == [ANN, (2, *[None] * 4, "Bob", *[None] * 8)]


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("id = %b", 1), ("id = %t", "1"), ("big = %s", 9000000000), ("share > %b", 1.25), ("flag = %b", True),
        ("amount = %s", Decimal("12.34")), ("amount = %b", Decimal("12.34")),
        ("name = %b", "Ann"), ("raw = %b", b"\xab\xcd"), ("raw = %t", b"\xab\xcd"),
        ("day = %b", dt.date(2024, 2, 29)), ("day = %t", "2024-02-29"), ("clock > %b", dt.time(10)),
        ("moment < %b", dt.datetime(2024, 1, 3, tzinfo=dt.UTC)), ("moment < %t", dt.datetime(2024, 1, 3)),
        ("id = ANY(%s)", [1, 7]), ("name = ANY(%s)", ["Ann", "O'Hara, \"x\""]), ("name = ANY(%b)", ["Ann"]),
        ("moment - %t < TIMESTAMPTZ '2024-01-02 03:00:00+00'", dt.timedelta(hours=1)),
        ("moment - %b < TIMESTAMPTZ '2024-01-02 03:00:00+00'", dt.timedelta(hours=1)),
    ],
)  # fmt: skip
def test_parameters(connection: psycopg.Connection[Any], condition: str, value: Any) -> None:
    found = connection.execute(f"SELECT id FROM everything WHERE {condition}", (value,))
    assert found.fetchall() == [(1,)]


def test_prepared_statements_are_kept(connection: psycopg.Connection[Any]) -> None:
    for number in (1, 2, 1, 2):
        row = connection.execute("SELECT id, name FROM everything WHERE id = %s", (number,), prepare=True).fetchone()
        assert row == (number, "Ann" if number == 1 else "Bob")


def test_several_statements_at_once_and_none(connection: psycopg.Connection[Any]) -> None:
    cursor = connection.execute("SELECT 1 AS a; SET application_name = 'x'; ; SELECT 'b;c' -- ;\n, 2")
    assert cursor.fetchall() == [(1,)]
    assert cursor.nextset()
    assert cursor.statusmessage == "SET"
    assert cursor.nextset()
    assert cursor.fetchall() == [("b;c", 2)]
    assert connection.info.parameter_status("application_name") == "x"
    assert connection.execute("").statusmessage is None
    assert connection.execute(" -- nothing").statusmessage is None


def test_an_error_has_a_code_and_the_session_goes_on(connection: psycopg.Connection[Any]) -> None:
    for text, kind in (
        ("SELEC 1", errors.SyntaxError),
        ("SELECT * FROM nowhere", errors.UndefinedTable),
        ("SELECT nothing FROM everything", errors.UndefinedColumn),
        ("SELECT nofunction(1)", errors.UndefinedFunction),
        ("SELECT 'x'::INTEGER", errors.InvalidTextRepresentation),
        ("SELECT $1", errors.UndefinedParameter),
        ("SHOW nothing", errors.UndefinedObject),
        ("SELECT 1; SELEC 1", errors.SyntaxError),
        ("SET TimeZone = 'Nowhere/Atall'", errors.InvalidParameterValue),
        ("COPY everything FROM STDIN", errors.ReadOnlySqlTransaction),
    ):
        with pytest.raises(kind):
            connection.execute(text)
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_transactions_are_played_along_with(address: str) -> None:
    with psycopg.connect(address, user="ann") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert connection.info.transaction_status.name == "INTRANS"
        with pytest.raises(errors.UndefinedTable):
            connection.execute("SELECT * FROM nowhere")
        assert connection.info.transaction_status.name == "INERROR"
        with pytest.raises(errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        with connection.transaction(), pytest.raises(errors.UndefinedTable), connection.transaction():
            connection.execute("SELECT * FROM nowhere")
        connection.commit()
        assert connection.info.transaction_status.name == "IDLE"


def test_settings(address: str) -> None:
    with psycopg.connect(
        address, user="ann", options="-c geqo=off", application_name="bi", autocommit=True
    ) as connection:
        assert connection.execute("SHOW application_name").fetchone() == ("bi",)
        assert connection.execute("SHOW TRANSACTION ISOLATION LEVEL").fetchone() == ("read committed",)
        assert ("TimeZone", "UTC", "") in connection.execute("SHOW ALL").fetchall()
        connection.execute("SET TIME ZONE 'Asia/Kolkata'")
        assert connection.info.parameter_status("TimeZone") == "Asia/Kolkata"
        row = connection.execute("SELECT moment, moment::DATE::VARCHAR FROM everything WHERE id = 1").fetchone()
        assert row is not None
        assert (row[0], row[0].utcoffset(), row[1]) == (ANN[9], dt.timedelta(hours=5.5), "2024-01-02")
        connection.execute("RESET ALL")
        assert connection.info.parameter_status("TimeZone") == "UTC"
        for text in ("DISCARD ALL", "DEALLOCATE ALL", "SET TRANSACTION READ ONLY", "LISTEN x", "CLOSE ALL"):
            connection.execute(text)


def test_nothing_can_be_changed_and_no_file_read(
    connection: psycopg.Connection[Any], tables: Kept, tmp_path: Path
) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a,b\nvery,secret\n")
    secret = [("very", "secret")]
    assert tables.database.execute(f"FROM '{file}'").fetchall() == secret  # the database itself could
    for text in (
        f"FROM '{file}'", f'SELECT * FROM "{file}"', f"SELECT * FROM read_csv('{file}')", f"FROM glob('{tmp_path}/*')",
        f"COPY everything TO '{tmp_path}/out'", f"ATTACH '{tmp_path}/other.db'", "INSTALL httpfs", "PRAGMA version",
        "INSERT INTO orders VALUES (1, 1, 1)", "CREATE TEMP TABLE x AS SELECT 1", "SET enable_external_access = true; "
        f"SELECT * FROM read_text('{file}')", "WITH x AS (DELETE FROM everything RETURNING id) SELECT * FROM x",
        f"EXPLAIN ANALYZE SELECT * FROM '{file}'", "DROP TABLE orders", "FROM query('FROM everything')", "FROM tables",
        f"DECLARE c CURSOR WITH HOLD FOR FROM '{file}'",
    ):  # fmt: skip
        with pytest.raises(psycopg.Error):
            connection.execute(text)
    assert connection.execute("SELECT count(*) FROM orders").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM everything").fetchone() == (2,)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.csv"]


def test_an_error_in_the_middle_of_a_pipeline(connection: psycopg.Connection[Any]) -> None:
    with connection.pipeline() as pipeline:
        before = connection.execute("SELECT 1")
        pipeline.sync()
        connection.execute("SELECT * FROM nowhere")
        skipped = connection.execute("SELECT 2")
        with pytest.raises(errors.UndefinedTable):
            pipeline.sync()
        after = connection.execute("SELECT 3")
    assert before.fetchone() == (1,)
    with pytest.raises(psycopg.Error):
        skipped.fetchone()
    assert after.fetchone() == (3,)
    assert connection.execute("SELECT 4").fetchone() == (4,)


def test_named_cursors(address: str) -> None:
    with psycopg.connect(address, user="ann", row_factory=dict_row) as connection:
        with connection.cursor("many") as cursor:
            cursor.execute("SELECT range AS n FROM range(%s)", (10_000,))
            assert cursor.fetchone() == {"n": 0}
            other = connection.execute("SELECT name FROM everything WHERE id = 2").fetchone()
            assert other == {"name": "Bob"}  # while the first one is still open
            assert [row["n"] for row in cursor.fetchmany(2)] == [1, 2]
            cursor.scroll(100)
            assert cursor.fetchone() == {"n": 103}
            assert len(cursor.fetchall()) == 10_000 - 104
        with pytest.raises(errors.InvalidCursorName):
            connection.execute("FETCH 1 FROM many")


SYNC, FLUSH = (b"S", b""), (b"H", b"")


def parse(text: str) -> tuple[bytes, bytes]:
    return b"P", b"\0" + text.encode() + b"\0\0\0"


BIND = (b"B", b"\0\0\0\0\0\0\0\0")


def execute(limit: int) -> tuple[bytes, bytes]:
    return b"E", b"\0" + struct.pack("!I", limit)


def test_a_portal_is_suspended_at_its_limit(address: str) -> None:
    wire = Wire(address)
    with closing(wire.socket):
        wire.start()
        wire.send((b"Q", b"BEGIN\0"))
        wire.until(b"Z")
        wire.send(parse("FROM range(5)"), BIND, (b"D", b"P\0"), execute(2), execute(2), execute(2), SYNC)
        tags = b"".join(tag for tag, _ in wire.until(b"Z"))
        assert tags == b"12TDDsDDsDCZ"
        wire.send(execute(0), SYNC)
        assert wire.until(b"Z")[0] == (b"C", b"SELECT 0\0")  # portals live as long as the transaction
        wire.send((b"Q", b"COMMIT\0"))
        wire.until(b"Z")
        wire.send(execute(0), SYNC)
        assert [tag for tag, _ in wire.until(b"Z")] == [b"E", b"Z"]


def test_statements_are_described_before_they_have_parameters(address: str) -> None:
    wire = Wire(address)
    with closing(wire.socket):
        wire.start()
        wire.send(
            (b"P", b"x\0SELECT name, $2::date AS day FROM everything WHERE id = $1::int\0\0\0"), (b"D", b"Sx\0"), SYNC
        )
        _, (_, parameters), (_, columns), _ = wire.until(b"Z")
        assert parameters == struct.pack("!HII", 2, 23, 1082)
        assert (columns[2:7], columns[25:29]) == (b"name\0", b"day\0")
        wire.send((b"Q", b"DISCARD ALL\0"))
        wire.until(b"Z")
        wire.send((b"D", b"Sx\0"), SYNC)
        assert b"26000" in wire.until(b"Z")[0][1]


def test_flush_gives_what_there_is_and_errors_skip_to_sync(address: str) -> None:
    wire = Wire(address)
    with closing(wire.socket):
        wire.socket.sendall(struct.pack("!II", 8, 80877103))
        assert wire.socket.recv(1) == b"N"
        wire.socket.sendall(struct.pack("!II", 8, 80877104))
        assert wire.socket.recv(1) == b"N"
        wire.start()
        wire.send(parse("SELECT 1"), BIND, FLUSH)
        assert [wire.read()[0], wire.read()[0]] == [b"1", b"2"]
        wire.send(execute(0), parse("SELEC"), execute(0), BIND, SYNC)
        assert b"".join(tag for tag, _ in wire.until(b"Z")) == b"DCEZ"
        wire.send(parse(""), BIND, (b"D", b"P\0"), execute(0), (b"C", b"P\0"), SYNC)
        assert b"".join(tag for tag, _ in wire.until(b"Z")) == b"12nI3Z"
        wire.send((b"F", b"\0\0\0\0"), SYNC)
        assert b"".join(tag for tag, _ in wire.until(b"Z")) == b"EZ"
        wire.send((b"?", b""))
        assert b"08P01" in wire.until(b"E")[-1][1]
        assert wire.socket.recv(1) == b""


def test_twenty_connections_at_once(address: str) -> None:
    gate = threading.Barrier(20, timeout=60)

    def ask(number: int) -> Any:
        with psycopg.connect(address, user="ann", autocommit=True) as connection:
            gate.wait()
            row = connection.execute("SELECT sum(range) + %s FROM range(100000)", (number,)).fetchone()
            return None if row is None else row[0]

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(ask, range(20))) == [4999950000 + number for number in range(20)]


@pytest.mark.parametrize("text", [ENDLESS, "FROM range(1000000000000)"])
def test_a_query_is_cancelled(connection: psycopg.Connection[Any], address: str, text: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: connection.execute(text).fetchall())
        assert soon(lambda: _cancelled(connection, running.done))
        with pytest.raises(errors.QueryCanceled):
            running.result(30)
    assert connection.execute("SELECT 1").fetchone() == (1,)


def _cancelled(connection: psycopg.Connection[Any], done: Callable[[], bool]) -> bool:
    """Asked for again until it is: the first time the query may not have begun."""
    connection.cancel_safe()
    return done()


def test_others_are_answered_while_a_query_runs(address: str, connection: psycopg.Connection[Any]) -> None:
    with psycopg.connect(address, user="ann", autocommit=True) as busy, ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: busy.execute(ENDLESS).fetchall())
        assert connection.execute("SELECT name FROM everything WHERE id = 1").fetchone() == ("Ann",)
        assert not running.done()
        assert soon(lambda: _cancelled(busy, running.done))
        assert isinstance(running.exception(30), errors.QueryCanceled)


def test_a_big_result_comes_in_pieces(address: str) -> None:
    """The first rows are there long before the last ones are made: of these there are too many to make."""
    wire = Wire(address)
    with closing(wire.socket):
        wire.start()
        wire.send((b"Q", b"SELECT range, repeat('x', 100) AS x FROM range(1000000000000)\0"))
        assert wire.read()[0] == b"T"
        for number in range(5000):
            tag, body = wire.read()
            size = int.from_bytes(body[2:6])
            assert (tag, int(body[6 : 6 + size])) == (b"D", number)


def test_all_rows_of_a_big_result(connection: psycopg.Connection[Any]) -> None:
    count = total = 0
    for number, text in connection.cursor().stream("SELECT range, 'x' || range FROM range(200000)"):
        count, total = count + 1, total + int(text[1:]) - number
    assert (count, total) == (200_000, 0)


def test_a_client_that_vanishes_takes_its_query_with_it(tables: Kept, address: str) -> None:
    assert soon(lambda: tables.running() <= 1)
    for text in (ENDLESS, "SELECT range, repeat('x', 100) FROM range(1000000000000)"):
        wire = Wire(address)
        wire.start()
        wire.send((b"Q", text.encode() + b"\0"))
        assert soon(lambda: tables.running() > 1)
        wire.socket.close()
        assert soon(lambda: tables.running() <= 1)


def test_a_server_that_stops_ends_what_runs(tables: Kept) -> None:
    with ThreadPoolExecutor(1) as pool:
        with serving(tables) as url:
            connection = psycopg.connect(url, user="ann", autocommit=True)
            running = pool.submit(lambda: connection.execute(ENDLESS).fetchall())
            assert soon(lambda: tables.running() > 1)
        assert isinstance(running.exception(30), psycopg.OperationalError)
        connection.close()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, user="ann")


def test_passwords_and_tables_that_are_not_there_yet() -> None:
    kept = Kept()
    access = Passwords(lambda user, password: (user, password) == ("ann", "right"))
    with closing(bound("127.0.0.1", 0)) as sock, serving_postgres(kept, sock, access) as url:
        with psycopg.connect(url, user="ann", password="right") as connection:
            assert connection.execute("SELECT current_user").fetchone() is not None
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(url, user="ann", password="wrong")
        kept.filled = False
        with pytest.raises(psycopg.OperationalError, match="being filled"):
            psycopg.connect(url, user="ann", password="right")
    kept.database.close()


def test_a_port_that_is_taken_gives_way_unless_it_was_asked_for() -> None:
    told: list[str] = []
    with closing(bound("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with pytest.raises(ConfigError):
            bound_somewhere(Postgres(port=port), "it", told.append)
        wanted = Postgres.model_construct(enabled=True, host="127.0.0.1", port=port, _fields_set=set())
        with closing(bound_somewhere(wanted, "it", told.append)) as second:
            assert second.getsockname()[1] != port
    assert told == [f"port {port} is taken: it gets a free one"]


def test_asyncio_clients(address: str) -> None:
    async def ask() -> Any:
        async with await psycopg.AsyncConnection.connect(address, user="ann") as connection:
            return await (await connection.execute("SELECT name FROM everything WHERE id = %s", (1,))).fetchone()

    assert asyncio.run(ask()) == ("Ann",)

"""Python's drivers and psql over tables as the platform keeps them: names in capitals, TIME, TIMESTAMP, windows."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import pandas
import psycopg
import pytest
import sqlalchemy

from tests.services.postgres_served import ANN_ROW, MOMENT, Served
from tests.services.postgres_world import psql, serving

# Without types of their own.
adbc: Any = import_module("adbc_driver_postgresql.dbapi")
asyncpg: Any = import_module("asyncpg")
psycopg2: Any = import_module("psycopg2")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    found = Served()
    yield found
    found.close()


@pytest.fixture(scope="module")
def address(served: Served) -> Iterator[str]:
    with serving(served) as url:
        yield url


@pytest.fixture
def connection(address: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(address, user="ann", autocommit=True) as connection:
        yield connection


# ---- psycopg -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_times_as_times(connection: psycopg.Connection[Any], binary: bool) -> None:
    cursor = connection.cursor(binary=binary)
    assert cursor.execute("SELECT * EXCLUDE (rowtime) FROM totals WHERE n > 3").fetchall() == [ANN_ROW]
    assert cursor.description is not None
    oids = {column.name: column.type_code for column in cursor.description}
    assert (oids["seen"], oids["clock"], oids["day"], oids["n"]) == (1184, 1083, 1082, 23)
    clocks, moments, by_name, place = cursor.execute(
        "SELECT clocks, moments, by_name, place FROM nested WHERE k = 1"
    ).fetchall()[0]
    assert (clocks, moments) == ([dt.time(10, 11, 12, 500000), None], [MOMENT])
    assert by_name == {"first": "2024-01-02 03:04:05.678+00"}
    assert place == {"CITY": "Ulm", "OPENS": "00:00:00", "VISITS": [{"AT": "2024-01-02 03:04:05.678+00"}]}


@pytest.mark.parametrize(
    "name",
    ["totals", "TOTALS", "Totals", '"totals"', '"TOTALS"', "main.totals", '"MAIN"."TOTALS"', "orion.main.totals"],
)
def test_names_are_found_however_they_are_written(connection: psycopg.Connection[Any], name: str) -> None:
    rows = connection.execute(
        f'SELECT customer, N, "N", "camelCase", camelcase FROM {name} WHERE CUSTOMER = %s', ("Ann",)
    )
    assert rows.fetchall() == [("Ann", 7, 7, "x", "x")]


def test_what_serves_the_keeping_of_tables_is_hidden(connection: psycopg.Connection[Any]) -> None:
    listed = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'v') ORDER BY 1"
    names = [("hourly",), ("nested",), ("totals",)]
    for text in (
        listed, "SHOW TABLES", "SELECT table_name FROM information_schema.tables ORDER BY 1",
        "SELECT tablename FROM pg_tables ORDER BY 1",
    ):  # fmt: skip
        assert connection.execute(text).fetchall() == names
    columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'hourly' ORDER BY ordinal_position"
    assert [name for (name,) in connection.execute(columns)] == ["page", "windowstart", "windowend", "n", "rowtime"]
    for text in (
        "SELECT * FROM __tables", "SELECT __key FROM hourly", "SELECT * FROM memory.main.__tables",
        "FROM duckdb_tables()", "FROM duckdb_tables", "FROM sqlite_master", "SHOW TABLES FROM memory",
        "SELECT * FROM orion.orion_catalog.relations",
        "SELECT * FROM (SHOW ALL TABLES)", "FROM pragma_table_info('memory.main.__tables')",
        "SELECT * FROM system.information_schema.tables", "DESCRIBE memory.main.__tables",
        "SELECT system.main.current_setting('memory_limit')", "SELECT json_serialize_plan('FROM memory.main.__tables')",
    ):  # fmt: skip
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(text)
        assert "memory." not in str(refused.value).replace(text, "").replace("memory.main.__tables", "")


def test_a_table_that_comes_back_with_other_columns(served: Served, address: str) -> None:
    with psycopg.connect(address, user="ann", autocommit=True) as connection:
        before = served.sources["NESTED"]
        assert len(connection.execute("SELECT * FROM nested").fetchall()) == 2
        served.store.drop("NESTED")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM nested")
        served.sources["NESTED"] = replace(served.sources["TOTALS"], name="NESTED")
        served.store.opened(served.sources["NESTED"], "other")
        assert connection.execute("SELECT customer FROM nested").fetchall() == []
        served.store.drop("NESTED")
        served.sources["NESTED"] = before
        served.fill_nested()
        assert len(connection.execute("SELECT clocks FROM nested").fetchall()) == 2


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("SELECT current_user, session_user, user, current_catalog", ("ann", "ann", "ann", "orion")),
        ("SELECT '{1,2}'::int[], CAST('{a,\"b c\",NULL}' AS text[])", ([1, 2], ["a", "b c", None])),
        ("SELECT to_char(seen, 'YYYY-MM-DD HH24:MI:SS'), to_char(amount, 'FM990.00') FROM totals WHERE n = 7",
         ("2024-01-02 03:04:05", "12.34")),
        ("SELECT seen FROM totals WHERE seen >= '2024-01-02' AND clock < '11:00'", (MOMENT,)),
        ("SELECT seen::text FROM totals WHERE n = 1", ("0002-01-01 (BC) 00:00:00+00",)),
        ("SELECT pg_advisory_unlock_all()", (None,)),
    ],
)  # fmt: skip
def test_what_postgresql_writes_in_another_way(connection: psycopg.Connection[Any], text: str, row: Any) -> None:
    assert connection.execute(text).fetchone() == row


def test_statements_are_prepared_by_statements(connection: psycopg.Connection[Any]) -> None:
    connection.execute("PREPARE some (int, text) AS SELECT customer FROM totals WHERE n > $1 AND customer LIKE $2")
    assert connection.execute("EXECUTE some ('3', 'A%')").fetchall() == [("Ann",)]
    assert connection.execute("EXECUTE some (1 + 1, '%')").rowcount == 2
    with pytest.raises(psycopg.errors.DuplicatePreparedStatement):
        connection.execute("PREPARE some AS SELECT 1")
    with pytest.raises(psycopg.errors.SyntaxError):
        connection.execute("EXECUTE some (1)")
    connection.execute("DEALLOCATE some")
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        connection.execute("EXECUTE some (1, '2')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("PREPARE other AS SELECT * FROM read_text('/etc/hostname')")


def test_copy_in_three_formats(connection: psycopg.Connection[Any]) -> None:
    cursor = connection.cursor()
    with cursor.copy("COPY totals (customer, n, clock) TO STDOUT") as copy:
        assert sorted(copy.rows()) == [("Ann", "7", "10:11:12.500000"), ("Bob", "3", None), ("Cem", "1", None)]
    query = "SELECT customer, tags, NULL AS nothing, '' AS empty FROM totals WHERE n >= 3 ORDER BY n"
    with cursor.copy(f"COPY ({query}) TO STDOUT WITH (FORMAT csv, HEADER, FORCE_QUOTE (customer))") as copy:
        text = b"".join(map(bytes, copy)).decode()
    assert text == 'customer,tags,nothing,empty\n"Bob",,,""\n"Ann","{a,""b c"",NULL}",,""\n'
    with cursor.copy(
        "COPY (SELECT customer, n, seen, counts FROM totals WHERE n = 7) TO STDOUT (FORMAT binary)"
    ) as copy:
        copy.set_types(["text", "int4", "timestamptz", "int4[]"])
        assert list(copy.rows()) == [("Ann", 7, MOMENT, [1, 2, None])]
    with cursor.copy("COPY (SELECT range FROM range(5000)) TO STDOUT") as copy:
        assert sum(int(row[0]) for row in copy.rows()) == 4999 * 2500
    assert cursor.rowcount == 5000


def test_days_and_instants_that_python_has_no_word_for(connection: psycopg.Connection[Any]) -> None:
    connection.adapters.register_loader("date", psycopg.types.string.TextLoader)
    connection.adapters.register_loader("timestamptz", psycopg.types.string.TextLoader)
    row = connection.execute(
        "SELECT DATE '20000-01-02', '0044-03-15 (BC)'::DATE, 'infinity'::DATE, '5877642-06-25 (BC)'::DATE, "
        "TIMESTAMPTZ '20000-01-02 03:04:05+00', '0044-03-15 (BC) 01:02:03+00'::TIMESTAMPTZ, '-infinity'::TIMESTAMPTZ"
    ).fetchone()
    assert row == (
        "20000-01-02", "0044-03-15 BC", "infinity", "-infinity",
        "20000-01-02 03:04:05.000000+00", "0044-03-15 01:02:03.000000+00 BC", "-infinity",
    )  # fmt: skip
    with pytest.raises(psycopg.DataError):  # psycopg's own word for it, and the connection lives
        connection.cursor(binary=True).execute("SELECT DATE '20000-01-02'").fetchone()
    assert connection.execute("SELECT seen FROM totals WHERE n = 1").fetchone() == ("0002-01-01 00:00:00.000000+00 BC",)


# ---- the others --------------------------------------------------------------------------------------------------


def test_psycopg2(address: str) -> None:
    connection = psycopg2.connect(address, user="ann")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM totals WHERE n > %s AND customer = ANY(%s)", (3, ["Ann", "Bob"]))
            (row,) = cursor.fetchall()
            assert (*row[:9], bytes(row[9]), *row[10:13]) == ANN_ROW
        with connection.cursor("many") as cursor:
            cursor.execute("SELECT range FROM range(5000)")
            assert len(cursor.fetchall()) == 5000
    finally:
        connection.close()


def test_asyncpg_with_a_pool(address: str) -> None:
    async def ask() -> None:
        async with asyncpg.create_pool(address, user="ann", min_size=1, max_size=3) as pool:
            (row,) = await pool.fetch("SELECT * FROM totals WHERE n > $1 AND seen < $2", 3, dt.datetime.now(dt.UTC))
            assert tuple(row)[:-1] == ANN_ROW
            names = await pool.fetch("SELECT customer FROM totals WHERE n = ANY($1) ORDER BY n LIMIT $2", [3, 7], 5)
            assert [name for (name,) in names] == ["Bob", "Ann"]
            assert await pool.fetchval("SELECT n + $1 FROM totals WHERE customer = $2", 10, "Bob") == 13
            assert await pool.fetchval("SELECT clocks FROM nested WHERE k = $1", 1) == [
                dt.time(10, 11, 12, 500000),
                None,
            ]
            found = await asyncio.gather(*(pool.fetchval("SELECT $1::int * 2", number) for number in range(20)))
            assert found == [2 * number for number in range(20)]
            async with pool.acquire() as connection, connection.transaction():
                rows = [row[0] async for row in connection.cursor("SELECT range FROM range(120)")]
                assert rows == list(range(120))
            with pytest.raises(asyncpg.UndefinedTableError):
                await pool.fetch("SELECT * FROM nowhere")

    asyncio.run(ask())


def test_adbc(address: str) -> None:
    with adbc.connect(address.replace("postgresql://", "postgresql://ann@")) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT customer, n, share, seen, day, clock, tags, raw FROM totals WHERE n > $1", (3,))
            (row,) = cursor.fetch_arrow_table().to_pylist()
            assert row == {
                "customer": "Ann", "n": 7, "share": 1.5, "seen": MOMENT, "day": dt.date(2024, 2, 29),
                "clock": dt.time(10, 11, 12, 500000), "tags": ["a", "b c", None], "raw": b"\xab\xcd",
            }  # fmt: skip
            cursor.execute("SELECT range FROM range(10000)")
            assert cursor.fetch_arrow_table().num_rows == 10_000
        (catalog,) = connection.adbc_get_objects(depth="columns").read_all().to_pylist()
        schemas = {schema["db_schema_name"]: schema["db_schema_tables"] for schema in catalog["catalog_db_schemas"]}
        assert {table["table_name"] for table in schemas["main"]} == {"hourly", "nested", "totals"}
        assert connection.adbc_get_table_schema("totals").names[:3] == ["customer", "n", "amount"]


def test_sqlalchemy_reflects_and_pandas_reads(address: str) -> None:
    for driver in ("psycopg", "psycopg2"):
        engine = sqlalchemy.create_engine(address.replace("postgresql://", f"postgresql+{driver}://ann@"))
        inspector = sqlalchemy.inspect(engine)
        assert sorted(inspector.get_table_names()) == ["hourly", "nested", "totals"]
        assert inspector.get_pk_constraint("hourly")["constrained_columns"] == ["page", "windowstart", "windowend"]
        types = {column["name"]: column["type"] for column in inspector.get_columns("totals")}
        assert isinstance(types["seen"], sqlalchemy.TIMESTAMP)
        assert types["seen"].timezone
        assert isinstance(types["clock"], sqlalchemy.TIME)
        table = sqlalchemy.Table("totals", sqlalchemy.MetaData(), autoload_with=engine)
        with engine.connect() as connection:
            asked = sqlalchemy.select(table.c.customer, table.c.camelCase).where(table.c.n > 3)
            assert [tuple(row) for row in connection.execute(asked)] == [("Ann", "x")]
        frame = pandas.read_sql("SELECT customer, n, seen FROM totals ORDER BY n DESC LIMIT 1", engine)
        assert frame.iloc[0].to_dict() == {"customer": "Ann", "n": 7, "seen": pandas.Timestamp(MOMENT)}
        whole = pandas.read_sql_table("hourly", engine)
        assert whole.to_dict("records") == [
            {"page": "home", "windowstart": 3_600_000, "windowend": 7_200_000, "n": 4, "rowtime": 1}
        ]
        engine.dispose()


def test_psql_finds_tables_by_any_case(address: str) -> None:
    for name in ("totals", "TOTALS", '"TOTALS"', "main.totals", "tot*"):
        shown = psql(address, rf"\d {name}")
        assert "\nclock|time without time zone|||\n" in shown
        assert "\nseen|timestamp with time zone|||\n" in shown
        assert '"totals_pkey" PRIMARY KEY, btree (customer)' in shown
    shown = psql(address, r"\dt", r"\dn", r"\d")
    assert "__" not in shown
    assert "main|hourly|table|ann\nmain|nested|table|ann\nmain|totals|table|ann\n(3 rows)\n" in shown


def test_psql_copies_and_expands(address: str) -> None:
    shown = psql(
        address, r"\copy (SELECT customer, n FROM totals ORDER BY n) TO STDOUT WITH CSV HEADER", r"\x",
        "SELECT customer, n FROM totals WHERE n = 7", r"\x", "PREPARE p AS SELECT n FROM totals WHERE customer = $1",
        "EXECUTE p ('Bob')",
    )  # fmt: skip
    assert "customer,n\nCem,1\nBob,3\nAnn,7\n" in shown
    assert "customer|Ann\nn|7\n" in shown
    assert shown.endswith("n\n3\n(1 row)\n")

"""The jdbc sink's tables: found, made and widened, and what is refused before a row is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orion.errors import ConfigError
from orion.plan.sources import Kind
from orion.schema import Array, Column, Decimal, Role, Scalar, SqlType
from orion.sinks.jdbc import JdbcStore
from orion.sinks.store import Layout, StoreAway
from tests.contracts.rows import SAMPLES, layout
from tests.servers.mariadb import Database as MariaDatabase
from tests.servers.postgres import Database as PostgresDatabase
from tests.services.sql_world import NAMES, UPSERT, SqlWorld, opened, put

PEOPLE = layout(("NAME", Scalar.STRING), ("AGE", Scalar.INTEGER))
ANN = {"ID": 1, "NAME": "Ann", "AGE": 30}
MAKING = {"auto_create": "true", "auto_evolve": "true"}


@pytest.fixture(params=NAMES)
def world(request: pytest.FixtureRequest) -> SqlWorld:
    return opened(request.param, request)


@pytest.fixture(params=[n for n in NAMES if n != "sqlite"])
def served(request: pytest.FixtureRequest) -> SqlWorld:
    return opened(request.param, request)


def refusal(world: SqlWorld, columns: Layout = PEOPLE, /, **options: str) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        world.store(columns, **options).prepare()
    return told.value


def test_a_missing_table_is_refused(world: SqlWorld) -> None:
    error = refusal(world)
    assert (error.code, error.message) == ("TABLE_MISSING", "There is no table plays.")
    assert "auto.create" in str(error.hint)


def test_a_missing_column_is_refused(world: SqlWorld) -> None:
    world.ask("CREATE TABLE plays (id BIGINT PRIMARY KEY, nam VARCHAR(10), age INT)")
    error = refusal(world)
    assert (error.code, error.message) == ("COLUMN_MISSING", "plays has no column NAME.")
    assert str(error.hint).startswith("Did you mean nam?")


def test_a_key_s_column_is_never_added(world: SqlWorld) -> None:
    world.ask("CREATE TABLE plays (name VARCHAR(10), age INT)")
    assert refusal(world, **MAKING, **UPSERT).code == "COLUMN_MISSING"


def test_a_column_that_must_have_a_value_and_gets_none(world: SqlWorld) -> None:
    world.ask(
        "CREATE TABLE plays (id BIGINT, name VARCHAR(10), age INT, seen INT NOT NULL DEFAULT 5, score INT NOT NULL)"
    )
    error = refusal(world, **MAKING)
    assert error.code == "COLUMN_NOT_FILLED"
    assert "score" in error.message
    assert "seen" not in error.message


def test_upsert_needs_a_unique_key(world: SqlWorld) -> None:
    world.ask("CREATE TABLE plays (id BIGINT, name VARCHAR(10), age INT)")
    assert refusal(world, **UPSERT).code == "KEY_MISSING"
    world.ask("CREATE UNIQUE INDEX by_name ON plays (id, name)")
    assert refusal(world, **UPSERT).code == "KEY_MISSING"
    world.ask("CREATE UNIQUE INDEX by_id ON plays (id)")
    assert put(_prepared(world, **UPSERT), [ANN, {**ANN, "AGE": 31}]) == []
    assert world.ask("SELECT * FROM plays") == [(1, "Ann", 31)]


@pytest.mark.parametrize(
    ("type_", "declared"),
    [
        (Scalar.STRING, "INTEGER"),
        (Scalar.STRING, "DATE"),
        (Scalar.BIGINT, "VARCHAR(20)"),
        (Scalar.DOUBLE, "INTEGER"),
        (Scalar.TIMESTAMP, "INTEGER"),
        (Scalar.DATE, "INTEGER"),
        (Scalar.BYTES, "VARCHAR(20)"),
        (Array(Scalar.INTEGER), "INTEGER"),
        (Decimal(10, 4), "INTEGER"),
        (Scalar.BOOLEAN, "VARCHAR(5)"),
    ],
    ids=str,
)
def test_a_type_that_does_not_fit_is_refused(world: SqlWorld, type_: SqlType, declared: str) -> None:
    """With both types named."""
    world.ask(f"CREATE TABLE plays (id BIGINT, v {declared})")
    error = refusal(world, layout(("V", type_)))
    assert error.code == "TYPE_MISMATCH"
    assert str(type_) in error.message
    assert "column v of plays is" in error.message


def test_a_decimal_that_would_be_rounded_is_refused(served: SqlWorld) -> None:
    served.ask("CREATE TABLE plays (id BIGINT, v DECIMAL(10, 2))")
    assert refusal(served, layout(("V", Decimal(10, 3)))).code == "TYPE_MISMATCH"
    served.store(layout(("V", Decimal(20, 2)))).prepare()


@pytest.mark.parametrize("type_", SAMPLES, ids=str)
def test_a_table_that_was_made_fits_the_second_time(world: SqlWorld, type_: SqlType) -> None:
    columns = layout(("V", type_))
    world.ready(columns)
    world.store(columns).prepare()


@pytest.mark.parametrize("type_", [t for t in SAMPLES if isinstance(t, Scalar | Decimal)], ids=str)
def test_every_type_can_be_a_key(world: SqlWorld, type_: SqlType) -> None:
    columns = layout(("N", Scalar.INTEGER), key=("K", type_))
    store = world.ready(columns, **UPSERT)
    value = SAMPLES[type_][1]
    put(store, [{"K": value, "N": 1}, {"K": value, "N": 2}], 1)
    assert put(store, [{"K": value, "N": 3}], 2) == []
    assert world.ask("SELECT n FROM plays") == [(3,)]
    assert put(store, [{"K": value, "__deleted": True}], 3) == []
    assert world.ask("SELECT n FROM plays") == []


def test_names_are_found_whatever_their_case(world: SqlWorld) -> None:
    quote = "`" if world.kind == "mariadb" else '"'
    table = f"{quote}Plays{quote}"
    world.ask(f"CREATE TABLE {table} ({quote}Id{quote} BIGINT PRIMARY KEY, {quote}nAME{quote} TEXT)")
    world.store(PEOPLE, auto_evolve="true", **UPSERT).prepare()
    store = world.store(PEOPLE, **UPSERT)
    put(store, [ANN], 1)
    put(store, [{**ANN, "AGE": 31}], 2)
    assert world.ask(f"SELECT * FROM {table}") == [(1, "Ann", 31)]


def test_what_is_made_is_lower_case(world: SqlWorld) -> None:
    columns = Layout(
        "ORDERS", Kind.STREAM, (Column("Some Id", Scalar.STRING, Role.KEY), Column("GROUP", Scalar.STRING))
    )
    put(_prepared(world, columns, **MAKING, **UPSERT), [{"Some Id": "x", "GROUP": "y"}])
    quote = "`" if world.kind == "mariadb" else '"'
    assert world.ask(f"SELECT {quote}some id{quote}, {quote}group{quote} FROM orders") == [("x", "y")]


def test_names_without_quotes(world: SqlWorld) -> None:
    store = _prepared(world, quote_sql_identifiers="never", **MAKING)
    assert put(store, [ANN]) == []
    odd = layout(("A B", Scalar.STRING))
    assert refusal(world, odd, quote_sql_identifiers="never", **MAKING).code == "INVALID_NAME"


def test_a_table_of_another_schema(served: SqlWorld) -> None:
    if served.kind == "postgresql":
        served.ask("CREATE SCHEMA sales")
        schema = "sales"
    else:
        assert isinstance(served.database, MariaDatabase)
        schema = served.database.name
    store = _prepared(served, table_name_format=f"{schema}.${{topic}}_all", epochs_table=f"{schema}.far", **MAKING)
    assert put(store, [ANN]) == []
    assert served.ask(f"SELECT name FROM {schema}.plays_all") == [("Ann",)]
    assert served.ask(f"SELECT task, slot, epoch FROM {schema}.far") == [("task", 3, 1)]


def test_a_missing_database_or_user_is_refused(served: SqlWorld) -> None:
    assert not isinstance(served.database, Path)
    url = served.reached["connection_url"].replace(served.database.name, "nowhere")
    assert refusal(served, connection_url=url).code == "DATABASE_REFUSED"
    error = refusal(served, connection_user="nobody_at_all")
    assert error.code == "DATABASE_REFUSED"
    assert served.database.server.password not in str(error.as_dict())


def test_somebody_without_rights_is_told_so(served: SqlWorld) -> None:
    _prepared(served, **MAKING, **UPSERT)
    with guest(served) as (name, on):
        served.ask(f"GRANT ALL ON {on}orion_epochs TO {name}", f"GRANT SELECT ON {on}plays TO {name}")
        login = {"connection_user": name.split("@")[0].strip("'"), "connection_password": "guest"}
        for options, right in [({}, "INSERT"), (UPSERT, "UPDATE"), (UPSERT, "DELETE")]:
            assert refusal(served, **login, **options).code == "DATABASE_REFUSED"
            served.ask(f"GRANT {right} ON {on}plays TO {name}")
        served.store(PEOPLE, **login, **UPSERT).prepare()
        wider = layout(("NAME", Scalar.STRING), ("AGE", Scalar.INTEGER), ("NEW", Scalar.STRING))
        assert refusal(served, wider, auto_evolve="true", **login, **UPSERT).code == "DATABASE_REFUSED"
        error = refusal(served, epochs_table="mine", **login, **UPSERT)
        assert "The table that keeps epochs, mine," in error.message
        assert "PRIMARY KEY (task, slot)" in str(error.hint)


@contextmanager
def guest(world: SqlWorld) -> Iterator[tuple[str, str]]:
    """A user who may nothing, and how rights on a table are spelled."""
    if isinstance(world.database, MariaDatabase):
        name = f"'g_{world.database.name[2:10]}'@'%'"
        world.ask(f"CREATE USER {name} IDENTIFIED BY 'guest'")
        yield name, f"{world.database.name}."
        world.ask(f"DROP USER {name}")
        return
    assert isinstance(world.database, PostgresDatabase)
    name = f"g_{world.database.name[2:10]}"
    world.ask(f"CREATE USER {name} PASSWORD 'guest'")
    yield name, ""
    world.ask(f"DROP OWNED BY {name}", f"DROP USER {name}")


def test_no_room_for_another_connection_is_being_away(served: SqlWorld) -> None:
    with guest(served) as (name, on):
        _prepared(served, **MAKING)
        served.ask(f"GRANT ALL ON {on}orion_epochs TO {name}", f"GRANT ALL ON {on}plays TO {name}")
        limit = f"ALTER USER {name} CONNECTION LIMIT 1"
        served.ask(limit if served.kind == "postgresql" else f"ALTER USER {name} WITH MAX_USER_CONNECTIONS 1")
        login = {"connection_user": name.split("@")[0].strip("'"), "connection_password": "guest"}
        store = served.store(PEOPLE, **login)
        session = store.open()
        with pytest.raises(StoreAway):
            store.open()
        session.close()


def test_a_table_without_transactions_is_refused(request: pytest.FixtureRequest) -> None:
    world = opened("mariadb", request)
    world.ask("CREATE TABLE plays (id BIGINT, name TEXT, age INT) ENGINE = MyISAM")
    error = refusal(world)
    assert error.code == "NO_TRANSACTIONS"
    assert "MyISAM" in error.message


def test_a_file_that_can_not_be_a_database(tmp_path: Path) -> None:
    nowhere = SqlWorld("sqlite", tmp_path / "missing" / "world.db")
    assert refusal(nowhere, **MAKING).code == "DATABASE_REFUSED"
    text = tmp_path / "notes.txt"
    text.write_text("no database, but long enough to be taken for one, or so one might think" * 20)
    assert refusal(SqlWorld("sqlite", text), **MAKING).code == "DATABASE_REFUSED"


def test_epochs_can_be_read(world: SqlWorld) -> None:
    put(_prepared(world, **MAKING), [ANN], 7)
    assert world.ask("SELECT task, slot, epoch FROM orion_epochs") == [("task", 3, 7)]


def _prepared(world: SqlWorld, columns: Layout = PEOPLE, /, **options: str) -> JdbcStore:
    store = world.store(columns, **options)
    store.prepare()
    return store

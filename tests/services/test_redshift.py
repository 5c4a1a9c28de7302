"""What the jdbc sink says to Redshift, said to PostgreSQL: there is no Redshift here, and its SQL is a part of this."""

from __future__ import annotations

import pytest

from orion.errors import ConfigError
from orion.schema import Array, Decimal, Scalar
from orion.sinks.jdbc import JdbcStore
from orion.sinks.sql.redshift import Redshift
from orion.sinks.store import DELETED, Layout
from tests.contracts.databases import jdbc_store
from tests.contracts.rows import SAMPLES, layout
from tests.services.sql_world import UPSERT, SqlWorld, opened, put

MAKING = {"auto_create": "true", "auto_evolve": "true"}
PEOPLE = layout(("NAME", Scalar.STRING), ("AGE", Scalar.INTEGER))
ANN, BOB = {"ID": 1, "NAME": "it's \\'; --", "AGE": 30}, {"ID": 2, "NAME": None, "AGE": 40}


@pytest.fixture
def world(request: pytest.FixtureRequest) -> SqlWorld:
    return opened("postgresql", request)


def store(world: SqlWorld, columns: Layout = PEOPLE, /, **options: str) -> JdbcStore:
    url = world.reached["connection_url"].replace("jdbc:postgresql:", "jdbc:redshift:")
    made = jdbc_store(columns, **world.reached | MAKING | options | {"connection_url": url})
    assert isinstance(made.orders.database, Redshift)
    made.prepare()
    return made


def test_upserts_deletes_and_the_same_epoch(world: SqlWorld) -> None:
    made = store(world, **UPSERT)
    assert put(made, [ANN, BOB, {**BOB, "AGE": 41}], 1) == []
    assert put(made, [ANN], 1) is None
    assert put(made, [{**BOB, "AGE": 42}, {"ID": 1, DELETED: True}], 2) == []
    assert world.ask("SELECT id, name, age FROM plays") == [(2, None, 42)]
    updating = store(world, **UPSERT | {"insert_mode": "update"})
    assert put(updating, [ANN, {**BOB, "AGE": 43}], 3) == []
    assert world.ask("SELECT id, age FROM plays") == [(2, 43)]


def test_every_type_but_bytes(world: SqlWorld) -> None:
    types = [t for t in SAMPLES if t is not Scalar.BYTES]
    columns = layout(*((f"C{n}", type_) for n, type_ in enumerate(types)))
    made = store(world, columns)
    row = {"ID": 1} | {f"C{n}": SAMPLES[type_][0] for n, type_ in enumerate(types)}
    assert put(made, [row, {"ID": 2}]) == []
    assert world.ask("SELECT count(*), count(c1), sum(c1) FROM plays") == [(2, 1, 0)]
    with pytest.raises(ConfigError, match="BYTES"):
        store(world, layout(("V", Scalar.BYTES)), table_name_format="other")


def test_many_rows_are_several_statements(world: SqlWorld) -> None:
    made = store(world)
    assert put(made, [{"ID": n, "NAME": f"n{n}", "AGE": n} for n in range(12_000)]) == []
    assert world.ask("SELECT count(*), sum(age) FROM plays") == [(12_000, 71_994_000)]


def test_a_refused_row_stops_the_slot(world: SqlWorld) -> None:
    columns = layout(("PRICE", Decimal(5, 2)), ("TAGS", Array(Scalar.STRING)))
    made = store(world, columns, **UPSERT)
    long = put(made, [{"ID": 1, "TAGS": ["x" * 70_000]}, {"ID": 2, "TAGS": []}], 1)
    assert long is not None
    assert [r.offset for r in long] == [0]
    world.ask("ALTER TABLE plays ADD CHECK (price < 10)")
    with pytest.raises(ConfigError, match="violates check constraint"):
        put(made, [{"ID": 3, "PRICE": 1}, {"ID": 4, "PRICE": 11}], 2)
    assert world.ask("SELECT id FROM plays") == [(2,)]


def test_its_own_port() -> None:
    database = jdbc_store(PEOPLE, connection_url="jdbc:redshift://cluster/shop").orders.database
    assert isinstance(database, Redshift)
    assert database.address.hosts == (("cluster", 5439),)

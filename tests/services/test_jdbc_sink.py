"""The jdbc sink's rows: modes and keys, what is refused and why, and several that write at once."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from orion.errors import ConfigError
from orion.schema import Array, Decimal, Scalar
from orion.sinks.store import DELETED, ROUTE, Nested, Slot, StoreAway
from tests.contracts.rows import Row, batch, layout
from tests.services.sql_world import NAMES, UPSERT, SqlWorld, opened, put, put_batch

PEOPLE = layout(("NAME", Scalar.STRING), ("AGE", Scalar.INTEGER))
ANN, BOB = {"ID": 1, "NAME": "Ann", "AGE": 30}, {"ID": 2, "NAME": "Bob", "AGE": 40}
ALL = "SELECT id, name, age FROM plays ORDER BY id, name"


@pytest.fixture(params=NAMES)
def world(request: pytest.FixtureRequest) -> SqlWorld:
    return opened(request.param, request)


@pytest.fixture(params=[n for n in NAMES if n != "sqlite"])
def served(request: pytest.FixtureRequest) -> SqlWorld:
    return opened(request.param, request)


def test_insert_appends_and_a_key_that_is_there_is_refused(world: SqlWorld) -> None:
    store = world.ready(PEOPLE, pk_mode="record_key")
    assert put(store, [ANN, BOB], 1) == []
    again = put(store, [{"ID": 3, "NAME": "Cy", "AGE": 5}, {"ID": 1, "NAME": "hush-1234", "AGE": 1}], 2)
    assert again is not None
    assert [r.offset for r in again] == [1]
    assert "hush" not in again[0].reason
    assert world.ask(ALL) == [(1, "Ann", 30), (2, "Bob", 40), (3, "Cy", 5)]


def test_insert_with_deletes_goes_in_order(world: SqlWorld) -> None:
    store = world.ready(PEOPLE, pk_mode="record_key", delete_enabled="true")
    gone = {"ID": 1, DELETED: True}
    assert put(store, [ANN, gone, ANN, gone, {**ANN, "AGE": 31}, BOB, {"ID": 2, DELETED: True}]) == []
    assert world.ask(ALL) == [(1, "Ann", 31)]


def test_update_changes_only_what_is_there(world: SqlWorld) -> None:
    store = world.ready(PEOPLE, insert_mode="update", pk_mode="record_key", delete_enabled="true")
    world.ask("INSERT INTO plays VALUES (1, 'Ann', 30), (2, 'Bob', 40), (3, 'Cy', 5)")
    rows: list[Row] = [
        {**ANN, "AGE": 31},
        {**ANN, "AGE": 32},
        {"ID": 9, "NAME": "new", "AGE": 1},
        {"ID": 2, DELETED: True},
        BOB,
        {"ID": 3, "NAME": "it's; \\", "AGE": None},
    ]
    assert put(store, rows) == []
    assert world.ask(ALL) == [(1, "Ann", 32), (3, "it's; \\", None)]


def test_a_key_of_several_columns(world: SqlWorld) -> None:
    columns = layout(
        ("B", Decimal(30, 10)), ("C", Scalar.BYTES), ("D", Scalar.DATE), ("V", Scalar.INTEGER), key=("A", Scalar.STRING)
    )
    keyed = {"insert_mode": "upsert", "pk_mode": "record_value", "pk_fields": "A,B,C,D"}
    row = {"A": "x", "B": 1, "C": b"\x00'", "D": datetime(2026, 1, 1).date()}
    store = world.ready(columns, **keyed)
    assert (
        put(store, [{**row, "V": 1}, {**row, "A": "X", "V": 2}, {**row, "A": "x ", "V": 3}, {**row, "V": 4}], 1) == []
    )
    assert put(store, [{**row, "V": 5}], 2) == []
    assert world.ask("SELECT v FROM plays ORDER BY v") == [(2,), (3,), (5,)]
    changed = world.ready(columns, **keyed | {"insert_mode": "update"})
    assert put(changed, [{**row, "V": 6}], 3) == []
    assert world.ask("SELECT v FROM plays ORDER BY v") == [(2,), (3,), (6,)]


def test_deletes_by_a_key_of_several_columns(world: SqlWorld) -> None:
    several = layout(("NAME", Scalar.STRING))
    parts = (*several.columns, layout(("N", Scalar.STRING), key=("PART", Scalar.INTEGER)).columns[0])
    columns = type(several)(several.topic, several.kind, (parts[0], parts[2], parts[1]))
    store = world.ready(columns, **UPSERT)
    put(store, [{"ID": n, "PART": p, "NAME": "x"} for n in (1, 2) for p in (1, 2)], 1)
    assert put(store, [{"ID": 1, "PART": 2, DELETED: True}, {"ID": 2, "PART": 1, DELETED: True}], 2) == []
    assert world.ask("SELECT id, part FROM plays ORDER BY id") == [(1, 1), (2, 2)]


def test_a_table_of_keys_alone_is_upserted(world: SqlWorld) -> None:
    store = world.ready(layout(), insert_mode="upsert", pk_mode="record_key")
    put(store, [{"ID": 1}, {"ID": 1}], 1)
    assert put(store, [{"ID": 1}, {"ID": 2}], 2) == []
    assert world.ask("SELECT id FROM plays ORDER BY id") == [(1,), (2,)]


def test_the_record_s_place_as_key(world: SqlWorld) -> None:
    store = world.ready(PEOPLE, insert_mode="upsert", pk_mode="kafka", fields_whitelist="name")
    put(store, [ANN, ANN])
    found = world.ask("SELECT * FROM plays ORDER BY __connect_offset")
    assert found == [("plays", 3, 0, "Ann"), ("plays", 3, 1, "Ann")]


def test_records_without_value_or_key_are_refused_unless_they_delete(world: SqlWorld) -> None:
    plain = put(world.ready(PEOPLE), [ANN, {"ID": 1, DELETED: True}])
    assert plain is not None
    assert [(r.offset, "delete.enabled" in r.reason) for r in plain] == [(1, True)]
    keyed = put(world.ready(PEOPLE, table_name_format="other", **UPSERT), [{**ANN, "ID": None}, BOB], 2)
    assert keyed is not None
    assert [(r.offset, "NULL" in r.reason) for r in keyed] == [(0, True)]


def test_what_a_refused_row_would_have_replaced_stays(world: SqlWorld) -> None:
    """The last change of a key is refused: then the one before it counts, and not the row of long ago."""
    store = world.ready(PEOPLE, **UPSERT)
    world.ask("DROP TABLE plays", "CREATE TABLE plays (id BIGINT PRIMARY KEY, name TEXT, age INT CHECK (age < 100))")
    assert put(store, [ANN], 1) == []
    refused = put(store, [{**ANN, "AGE": 31}, BOB, {**ANN, "AGE": 100}], 2)
    assert refused is not None
    assert [r.offset for r in refused] == [2]
    assert world.ask(ALL) == [(1, "Ann", 31), (2, "Bob", 40)]


@pytest.mark.parametrize("mode", ["insert", "upsert", "update"])
def test_rows_that_the_server_refuses_leave_the_others(served: SqlWorld, mode: str) -> None:
    """With the server's reason, and without the row's values."""
    served.ask(
        "CREATE TABLE parents (id BIGINT PRIMARY KEY)",
        "INSERT INTO parents VALUES (1)",
        "CREATE TABLE plays (id BIGINT PRIMARY KEY, name VARCHAR(5), age SMALLINT CHECK (age <> 7), "
        "born DATE NOT NULL, parent BIGINT REFERENCES parents(id))",
    )
    columns = layout(("NAME", Scalar.STRING), ("AGE", Scalar.INTEGER), ("BORN", Scalar.DATE), ("PARENT", Scalar.BIGINT))
    store = served.store(columns, insert_mode=mode, pk_mode="record_key")
    store.prepare()
    day = datetime(2026, 1, 1).date()
    good = {"NAME": "ok", "AGE": 1, "BORN": day, "PARENT": 1}
    bad = {
        5: {"NAME": "hush-hush", "AGE": 1, "BORN": day},
        6: {"NAME": "ok", "AGE": 99_999, "BORN": day},
        30: {"NAME": "ok", "AGE": 7, "BORN": day},
        31: {"NAME": "ok", "AGE": 1, "BORN": None},
        49: {"NAME": "ok", "AGE": 1, "BORN": day, "PARENT": 77_777},
    }
    if mode == "update":
        there = ", ".join(f"({n}, NULL, 0, DATE '2000-01-01', NULL)" for n in range(50))
        served.ask(f"INSERT INTO plays VALUES {there}")
    refused = put(store, [{"ID": n, **bad.get(n, good)} for n in range(50)])
    assert refused is not None
    reasons = {r.offset: r.reason.lower() for r in refused}
    assert sorted(reasons) == sorted(bad)
    for offset, words in {5: "too long", 6: "out of range", 30: "constraint", 31: "null", 49: "foreign key"}.items():
        assert words in reasons[offset]
    assert not any(secret in reason for reason in reasons.values() for secret in ("hush", "99999", "77777"))
    assert served.ask("SELECT count(*) FROM plays WHERE name = 'ok'") == [(50 - len(bad),)]


def test_a_whole_slot_of_bad_rows(world: SqlWorld) -> None:
    store = world.ready(PEOPLE, pk_mode="record_key")
    put(store, [{"ID": n, "NAME": "there", "AGE": 0} for n in range(40)], 1)
    refused = put(store, [{"ID": n, "NAME": "again", "AGE": 1} for n in range(40)], 2)
    assert refused is not None
    assert [r.offset for r in refused] == list(range(40))
    assert put(store, [{"ID": 40, "NAME": "new", "AGE": 1}], 3) == []


def test_chunks_are_of_the_batch_size(world: SqlWorld) -> None:
    store = world.ready(PEOPLE, batch_size="7", **UPSERT)
    rows = [{"ID": n % 50, "NAME": f"n{n}", "AGE": n} for n in range(120)]
    assert put(store, rows) == []
    assert world.ask("SELECT count(*), min(age), max(age) FROM plays") == [(50, 70, 119)]


def test_a_text_that_is_not_utf_8_is_refused(world: SqlWorld) -> None:
    store = world.ready(PEOPLE)
    texts = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff\xfe", b"Bob"], pa.binary()).buffers())
    rows = batch(PEOPLE, [ANN, BOB], Nested.TEXT).set_column(1, "NAME", texts)
    refused = put_batch(store, rows)
    assert refused is not None
    assert [r.offset for r in refused] == [0]
    assert world.ask(ALL) == [(2, "Bob", 40)]


def test_rows_go_where_they_are_routed(world: SqlWorld) -> None:
    store = world.ready(PEOPLE, table_name_format="t_${topic}", **UPSERT)
    assert put(store, [ANN, {**BOB, ROUTE: "Grown.Ups"}, {**BOB, "ID": 3, ROUTE: "x\"; `' --"}]) == []
    quote = "`" if world.kind == "mariadb" else '"'
    assert world.ask("SELECT name FROM t_plays") == [("Ann",)]
    assert world.ask(f"SELECT id FROM {quote}t_grown.ups{quote}") == [(2,)]
    assert put(store, [{**BOB, ROUTE: "Grown.Ups", "AGE": 41}, {"ID": 3, ROUTE: "none", DELETED: True}], 2) == []
    assert world.ask(f"SELECT age FROM {quote}t_grown.ups{quote}") == [(41,)]


def test_a_route_that_leads_nowhere_is_the_row_s_fault(world: SqlWorld) -> None:
    world.ready(PEOPLE)
    store = world.store(PEOPLE)
    refused = put(store, [ANN, {**BOB, ROUTE: "nowhere"}, {**BOB, ROUTE: "n" * 300}])
    assert refused is not None
    assert [r.offset for r in refused] == [1, 2]
    assert "no table nowhere" in refused[0].reason
    assert world.ask(ALL) == [(1, "Ann", 30)]


def test_the_same_slot_from_two_workers_goes_in_once(world: SqlWorld) -> None:
    """Whoever comes second waits for the first one's end, and finds the epoch there."""
    store = world.ready(PEOPLE)
    first = store.open()
    transfer = first.begin(Slot("task", 3, 1))
    assert transfer is not None
    transfer.write(batch(PEOPLE, [ANN], Nested.TEXT))
    outcome: list[object] = []
    second = threading.Thread(target=lambda: outcome.append(put(store, [ANN], 1)))
    second.start()
    transfer.write(batch(PEOPLE, [BOB], Nested.TEXT, 1))
    transfer.commit()
    second.join(60)
    first.close()
    assert outcome == [None]
    assert world.ask(ALL) == [(1, "Ann", 30), (2, "Bob", 40)]


def test_workers_make_and_widen_tables_at_once(world: SqlWorld) -> None:
    world.ready(PEOPLE, **UPSERT)
    wider = layout(("NAME", Scalar.STRING), ("AGE", Scalar.INTEGER), *((f"C{n}", Scalar.STRING) for n in range(5)))
    store = world.store(wider, auto_create="true", auto_evolve="true", **UPSERT)
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            routed = {"ID": 100 + number, "NAME": "r", "AGE": 1, "C4": "x", ROUTE: "side"}
            put(store, [{"ID": number, "NAME": "n", "AGE": number, "C1": "c"}, routed], 1, number)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert failed == []
    assert world.ask("SELECT count(*), count(c1) FROM plays") == [(6, 6)]
    assert world.ask("SELECT count(*), count(c4) FROM side") == [(6, 6)]


def test_times_in_the_database_s_zone(served: SqlWorld) -> None:
    """Where a column keeps no zone, it has the clock of `db.timezone`; where it keeps one, the instant is right."""
    zoned, local = ("TIMESTAMPTZ", "TIMESTAMP") if served.kind == "postgresql" else ("TIMESTAMP NULL", "DATETIME")
    served.ask(f"CREATE TABLE plays (id BIGINT, zoned {zoned}, local {local})")
    columns = layout(("ZONED", Scalar.TIMESTAMP), ("LOCAL", Scalar.TIMESTAMP))
    store = served.store(columns, db_timezone="Asia/Tokyo")
    store.prepare()
    at = datetime(2026, 1, 1, 20, tzinfo=UTC)
    assert put(store, [{"ID": 1, "ZONED": at, "LOCAL": at}]) == []
    ((found, clock),) = served.ask("SELECT zoned, local FROM plays")
    assert found.replace(tzinfo=UTC) == at
    assert clock == datetime(2026, 1, 2, 5)


def test_nested_values_can_be_asked_for_as_json(served: SqlWorld) -> None:
    store = served.ready(layout(("TAGS", Array(Scalar.STRING))))
    assert put(store, [{"ID": 1, "TAGS": ["a", "b"]}]) == []
    asked = "tags->>1" if served.kind == "postgresql" else "JSON_VALUE(tags, '$[1]')"
    assert served.ask(f"SELECT {asked} FROM plays") == [("b",)]


def test_a_constraint_that_waits_for_the_commit_tells_its_row(postgres_world: SqlWorld) -> None:
    postgres_world.ask(
        "CREATE TABLE parents (id BIGINT PRIMARY KEY)",
        "CREATE TABLE plays (id BIGINT REFERENCES parents(id) DEFERRABLE INITIALLY DEFERRED, name TEXT, age INT)",
        "INSERT INTO parents VALUES (1)",
    )
    store = postgres_world.store(PEOPLE)
    store.prepare()
    refused = put(store, [ANN, BOB])
    assert refused is not None
    assert [r.offset for r in refused] == [1]
    assert postgres_world.ask(ALL) == [(1, "Ann", 30)]


def test_a_row_that_is_longer_than_a_packet_is_refused(mariadb_world: SqlWorld) -> None:
    store = mariadb_world.ready(PEOPLE)
    long = "x" * (17 * 1024 * 1024)
    rows = [{"ID": n, "NAME": "y" * 3_000_000, "AGE": n} for n in range(4)]
    refused = put(store, [*rows, {**ANN, "NAME": long}, BOB])
    assert refused is not None
    assert [r.offset for r in refused] == [4]
    assert mariadb_world.ask("SELECT count(*) FROM plays") == [(5,)]


def test_a_lock_that_is_held_is_the_server_being_away(served: SqlWorld) -> None:
    """Somebody who changes a row and doesn't end: it is tried again later, and nothing is refused."""
    store = served.ready(PEOPLE, **UPSERT)
    put(store, [ANN], 1)
    session = store.open()
    impatient = "SET lock_timeout = '100ms'" if served.kind == "postgresql" else "SET innodb_lock_wait_timeout = 1"
    session.connection.ask(impatient)
    holder = served.store(PEOPLE, **UPSERT).open()
    other = holder.begin(Slot("another", 1, 1))
    assert other is not None
    other.write(batch(PEOPLE, [{**ANN, "AGE": 1}], Nested.TEXT))
    transfer = session.begin(Slot("task", 3, 2))
    assert transfer is not None
    with pytest.raises(StoreAway):
        transfer.write(batch(PEOPLE, [{**ANN, "AGE": 2}], Nested.TEXT))
    transfer.abort()
    session.close()
    other.abort()
    holder.close()
    assert put(store, [{**ANN, "AGE": 2}], 2) == []
    assert served.ask(ALL) == [(1, "Ann", 2)]


def test_a_table_that_is_dropped_while_it_runs_needs_somebody(world: SqlWorld) -> None:
    world.ready(PEOPLE)
    store = world.store(PEOPLE)
    world.ask("DROP TABLE plays")
    with pytest.raises(ConfigError):
        put(store, [ANN])


@pytest.fixture
def postgres_world(request: pytest.FixtureRequest) -> SqlWorld:
    return opened("postgresql", request)


@pytest.fixture
def mariadb_world(request: pytest.FixtureRequest) -> SqlWorld:
    return opened("mariadb", request)

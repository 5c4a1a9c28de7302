"""Changes of real PostgreSQL and MariaDB tables, through Debezium on a real Connect worker, into a real broker."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest
from pymysql.cursors import Cursor

from orion.errors import ConfigError, Conflict, ExternalError, NotFound
from orion.feeds.cdc import Capture, Captures, Options, Surroundings
from orion.feeds.connect import checking, reaching
from orion.feeds.connect.client import State
from orion.feeds.connect.debezium import translate
from orion.hub.kafka import Kafka
from orion.hub.reader import Reader
from orion.hub.records import Position
from orion.plan.sources import Connector, Direction
from orion.runtime.capturing import Capturing
from tests.captured import MARIADB, POSTGRES
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Database, Postgres

Until: TypeAlias = Callable[[Callable[[], bool]], None]
Pair: TypeAlias = tuple[Any, Any]

PATIENCE = 150.0
# What a worker has from its start. MariaDB's comes later, which restarts it: once in a run that is tested too.
PLUGINS = tuple(f"debezium-{database}" for database in ("postgres", "sqlserver", "mysql", "mongodb"))
pytestmark = pytest.mark.timeout(600)  # a worker starts several times, on machines that may be busy


@pytest.fixture(scope="module")
def captures(bootstrap: str, scratch: Path) -> Iterator[Captures]:
    with Captures(Surroundings(bootstrap, scratch / "cdc", "cdc", partitions=1)) as started:
        started.worker.client(*PLUGINS)
        yield started


@pytest.fixture(scope="module")
def capturing(captures: Captures) -> Iterator[Capturing]:
    """The supervisor over the same worker."""
    started = Capturing(lambda: captures)
    yield started
    started.close()


@pytest.fixture
def shop(postgres: Postgres) -> Iterator[Database]:
    with postgres.database() as database:
        yield database


@pytest.fixture
def capture() -> str:
    """A name that no other capture has."""
    return f"c{uuid.uuid4().hex[:10]}"


@pytest.fixture
def until() -> Until:
    """Wait for a condition; longer than other tests, since a worker may have to start in between."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "the condition never came true"
            time.sleep(0.1)

    return wait


def of_postgres(database: Database, **more: str) -> Options:
    server = database.server
    return Options.of(
        {
            "connector.class": "cdc",
            "database": "postgresql",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.password": server.password,
            "database.dbname": database.name,
            "table.include.list": "public.users",
            **{name.replace("__", "."): value for name, value in more.items()},
        }
    )


def of_mariadb(server: MariaDB, tables: str) -> Options:
    return Options.of(
        {
            "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.password": server.password,
            "table.include.list": tables,
            "topic.creation.default.cleanup.policy": "delete",
        }
    )


def records(kafka: Kafka, topic: str) -> list[Pair]:
    """What readers of committed records find in a topic of one partition; nothing while it isn't there."""
    if not kafka.present([topic]):
        return []
    found: list[Pair] = []
    with Reader(kafka, topic, Position("earliest")) as reader:
        while not reader.at_end:
            found += [(_parsed(r.key), _parsed(r.value)) for r in reader.read(10_000, 0.2)]
    return found


def _parsed(data: bytes | None) -> Any:
    """A value of a record; what Connect writes for itself may not be JSON."""
    try:
        return None if data is None else json.loads(data)
    except ValueError:
        return data


def rows(kafka: Kafka, topic: str, count: int, until: Until) -> list[Pair]:
    """The records, once there are this many."""
    until(lambda: len(records(kafka, topic)) >= count)
    return records(kafka, topic)


def test_a_table_and_its_changes(captures: Captures, kafka: Kafka, shop: Database, capture: str, until: Until) -> None:
    with shop.connect() as db:
        db.execute("CREATE TABLE users (id INT PRIMARY KEY, name TEXT, notes TEXT)")
        db.execute("INSERT INTO users SELECT n, 'u' || n, repeat('x', 100) FROM generate_series(1, 3) n")
        options = of_postgres(shop, topic__creation__default__cleanup__policy="delete")
        made = captures.create(capture, options)
        topic = made.topics["public.users"]
        assert topic == f"{capture}.public.users"
        snapshot = rows(kafka, topic, 3, until)
        assert snapshot == [(n, {"id": n, "name": f"u{n}", "notes": "x" * 100}) for n in (1, 2, 3)]
        db.execute("INSERT INTO users VALUES (4, 'new', NULL)")
        db.execute("UPDATE users SET name = 'changed' WHERE id = 1")
        db.execute("DELETE FROM users WHERE id = 2")
        db.execute("UPDATE users SET id = 33 WHERE id = 3")
        changes = rows(kafka, topic, 8, until)[3:]
        assert [(key, value and value["name"]) for key, value in changes] == [
            (4, "new"),
            (1, "changed"),
            (2, None),
            (3, None),
            (33, "u3"),
        ]
        status = captures.status(capture, options)
        assert status.running
        assert status.reason is None
        assert captures.problem(capture, options) is None
        assert captures.drop(capture, options) == []
        assert db.execute(
            "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
        ).fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM pg_publication").fetchone() == (0,)
    with pytest.raises(NotFound):
        captures.status(capture, options)


def test_every_type_of_postgresql(captures: Captures, kafka: Kafka, shop: Database, capture: str, until: Until) -> None:
    with shop.connect() as db:
        db.execute(POSTGRES.table.encode())
        db.execute(POSTGRES.insert.encode())
        options = of_postgres(shop)
        made = captures.create(capture, options)
        assert rows(kafka, f"{capture}.public.users", 1, until) == [(7, POSTGRES.record)]
        db.execute("UPDATE users SET id = 8")
        assert rows(kafka, f"{capture}.public.users", 3, until)[-1] == (8, {**POSTGRES.record, "id": 8})
    assert [c.name for c in made.tables[0].columns if c.type is None] == []
    assert {"seen TIMESTAMP", "never TIMESTAMP", "moments ARRAY<TIMESTAMP>"} <= _declared(made)
    captures.drop(capture, options)


def _declared(made: Capture) -> set[str]:
    """The columns of the one table, as it is declared."""
    return {line.strip(" ,") for line in made.declaration(made.tables[0].name).splitlines()}


def test_a_large_value_that_an_update_leaves_alone_is_kept(
    captures: Captures, kafka: Kafka, shop: Database, capture: str, until: Until
) -> None:
    large = "SELECT string_agg(md5(n::text), '') FROM generate_series(1, 3000) n"
    with shop.connect() as db:
        db.execute("CREATE TABLE users (id INT PRIMARY KEY, name TEXT, notes TEXT)")
        db.execute(f"INSERT INTO users VALUES (1, 'a', ({large}))".encode())
        options = of_postgres(shop)
        captures.create(capture, options)
        rows(kafka, f"{capture}.public.users", 1, until)
        db.execute("UPDATE users SET name = 'b'")
        _, after = rows(kafka, f"{capture}.public.users", 2, until)[-1]
    assert (after["name"], len(after["notes"])) == ("b", 3000 * 32)
    captures.drop(capture, options)


def test_a_killed_worker_loses_nothing_and_repeats_nothing(
    captures: Captures, kafka: Kafka, shop: Database, capture: str, until: Until
) -> None:
    with shop.connect() as db:
        db.execute("CREATE TABLE users (id INT PRIMARY KEY, n INT)")
        options = of_postgres(shop, topic__creation__default__cleanup__policy="delete")
        topic = captures.create(capture, options).topics["public.users"]
        until(lambda: _is_read(db, f"cdc_{capture}"))
        for n in range(2000):
            db.execute("INSERT INTO users VALUES (%s, %s)", [n, n])
            if n == 1000:
                until(lambda: len(records(kafka, topic)) > 0)
                assert captures.worker.pid is not None
                os.kill(captures.worker.pid, signal.SIGKILL)
                until(lambda: captures.worker.pid is None)
        until(lambda: captures.status(capture, options).running)  # which starts another worker
        db.execute("UPDATE users SET n = -1 WHERE id = 0")
        found = rows(kafka, topic, 2001, until)
    assert [key for key, _ in found] == [*range(2000), 0]
    captures.drop(capture, options)


def test_a_capture_waits_for_its_database(
    captures: Captures, capturing: Capturing, kafka: Kafka, shop: Database, capture: str, until: Until
) -> None:
    with shop.connect() as db:
        db.execute("CREATE TABLE users (id INT PRIMARY KEY)")
        db.execute("INSERT INTO users VALUES (1)")
    said = tuple(sorted(_said(of_postgres(shop)).items()))
    topic = capturing.create(Connector(capture, "cdc", (), said, direction=Direction.SOURCE)).topics["public.users"]
    until(lambda: capturing.status(capture).state == "RUNNING")
    rows(kafka, topic, 1, until)
    shop.server.kill()
    until(lambda: capturing.status(capture).state == "WAITING")
    assert f"The database at {shop.server.host}:{shop.server.port} can't be reached" in (
        capturing.status(capture).error or ""
    )
    assert shop.server.password not in str(capturing.status(capture))
    assert captures.status(capture, of_postgres(shop)).running  # as Connect has it
    shop.server.start()
    until(lambda: capturing.status(capture).state == "RUNNING")
    assert capturing.status(capture).error is None
    with shop.connect() as db:
        db.execute("INSERT INTO users VALUES (2)")
    assert [key for key, _ in rows(kafka, topic, 2, until)] == [1, 2]
    assert capturing.drop(capture) == []


def test_databases_that_do_not_answer(
    captures: Captures, shop: Database, mariadb: MariaDB, capture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaching, "TIMEOUT", 1)
    away = {"database.hostname": "127.0.0.1", "database.port": "1", "database.user": "u", "database.dbname": "d"}
    mongodb = {"database": "mongodb", "mongodb.connection.string": "mongodb://127.0.0.1:1"}
    said = [{"database": name, **away, "database.names": "d"} for name in ("postgresql", "mysql", "sqlserver")]
    for options in (Options.of(one) for one in (*said, mongodb)):
        with pytest.raises(ExternalError, match="can't be reached") as caught:
            reaching.reach(options.kind, translate(capture, options, captures.around))
        assert caught.value.code == "DATABASE_UNREACHABLE"
    for options in (of_postgres(shop, database__password="wrong"), of_mariadb(mariadb, "d.users"), of_postgres(shop)):
        reaching.reach(options.kind, translate(capture, options, captures.around))


def _is_read(db: psycopg.Connection[Any], slot: str) -> bool:
    """Whether the snapshot is done and the log is followed: what stops a capture before that has it begin again."""
    found = db.execute("SELECT active FROM pg_replication_slots WHERE slot_name = %s", [slot]).fetchone()
    return found == (True,)


@pytest.mark.parametrize("again", [False, True], ids=["gone", "made anew"])
def test_a_lost_slot_is_a_loud_stop(
    captures: Captures, kafka: Kafka, shop: Database, capture: str, until: Until, again: bool
) -> None:
    with shop.connect() as db:
        db.execute("CREATE TABLE users (id INT PRIMARY KEY)")
        db.execute("INSERT INTO users VALUES (1)")
        options = of_postgres(shop)
        topic = captures.create(capture, options).topics["public.users"]
        rows(kafka, topic, 1, until)
        db.execute("INSERT INTO users VALUES (2)")
        rows(kafka, topic, 2, until)
        client = captures.worker.client()
        until(lambda: "lsn_commit" in client.offsets(capture)[0].offset)
        client.stop(capture)
        until(lambda: _dropped(db, f"cdc_{capture}"))
        db.execute("INSERT INTO users VALUES (3)")
        if again:
            db.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [f"cdc_{capture}"])
        with pytest.raises(Conflict) as caught:
            captures.resume(capture, options)
        assert caught.value.code == "SLOT_LOST"
        client.resume(capture)
        until(lambda: captures.status(capture, options).failed)
        db.execute("INSERT INTO users VALUES (4)")
        problem = captures.problem(capture, options)
        assert problem is not None
        assert f"slot cdc_{capture} {'was made anew' if again else 'is gone'}" in problem
        client.restart(capture)
        until(lambda: captures.status(capture, options).failed)
        assert "no longer available" in (captures.status(capture, options).reason or "")
    assert [key for key, _ in records(kafka, topic)] == [1, 2]
    captures.drop(capture, options)


def _dropped(db: psycopg.Connection[Any], slot: str) -> bool:
    try:
        db.execute("SELECT pg_drop_replication_slot(%s)", [slot])
    except psycopg.errors.ObjectInUse:
        return False
    return True


@pytest.mark.parametrize(
    ("wrong", "code", "said"),
    [
        ({"database.password": "wrong"}, "DATABASE_LOGIN_REFUSED", "password authentication failed"),
        ({"database.dbname": "nowhere"}, "DATABASE_NOT_FOUND", '"nowhere" does not exist'),
        ({"table.include.list": "public.user"}, "TABLE_NOT_FOUND", "Did you mean public.users?"),
        ({"table.include.list": "public.notes"}, "TABLE_WITHOUT_KEY", "public.notes has no primary key"),
        ({"snapshot.mod": "initial"}, "UNKNOWN_OPTION", "Did you mean snapshot.mode?"),
        ({"snapshot.mode": "sometimes"}, "OPTION_REFUSED", "'snapshot.mode': Value must be one of"),
        ({"slot.name": "Not A Slot"}, "OPTION_REFUSED", "'slot.name'"),
        ({"transforms": "x", "transforms.x.type": "Nothing"}, "OPTION_REFUSED", "Class Nothing could not be found"),
    ],
)
def test_what_is_wrong_is_refused(
    captures: Captures, shop: Database, capture: str, wrong: dict[str, str], code: str, said: str
) -> None:
    with shop.connect() as db:
        db.execute("CREATE TABLE users (id INT PRIMARY KEY)")
        db.execute("CREATE TABLE notes (text TEXT)")
    with pytest.raises(ConfigError) as caught:
        captures.create(capture, of_postgres(shop, **wrong))
    assert caught.value.code == code
    assert said in f"{caught.value.message} {caught.value.hint}"
    assert shop.server.password not in str(caught.value.as_dict())
    assert capture not in captures.worker.client().names()


def test_a_server_that_is_not_there(captures: Captures, shop: Database, capture: str) -> None:
    with pytest.raises(ExternalError, match="can't be reached") as caught:
        captures.create(capture, of_postgres(shop, database__port="1"))
    assert caught.value.retry_after is not None


def test_passwords_stay_out_of_kafka_and_the_log(
    captures: Captures, kafka: Kafka, shop: Database, capture: str, until: Until
) -> None:
    password = shop.server.password
    with shop.connect() as db:
        db.execute("CREATE TABLE users (id INT PRIMARY KEY)")
    options = of_postgres(shop)
    made = captures.create(capture, options)
    assert password not in str(made)
    assert password not in repr(options)
    until(lambda: captures.status(capture, options).running)
    assert password not in str(records(kafka, "_cdc_connect_configs"))
    assert password not in str(captures.worker.client().config(capture))
    around = captures.around
    assert password not in around.log.read_text() + around.console.read_text()
    held = [file for file in around.folder.rglob("*") if file.is_file() and password in file.read_text(errors="ignore")]
    assert [file.parent.parent for file in held] == [around.secrets]
    assert stat.S_IMODE(held[0].stat().st_mode) == 0o600
    captures.drop(capture, options)
    assert not held[0].exists()


def test_somebody_elses_cluster(
    captures: Captures, kafka: Kafka, shop: Database, capture: str, until: Until, tmp_path: Path
) -> None:
    """Ours, as another server sees it."""
    with shop.connect() as db:
        db.execute("CREATE TABLE users (id INT PRIMARY KEY)")
        db.execute("INSERT INTO users VALUES (7)")
    captures.worker.client("debezium-postgres")
    url = captures.worker.url
    assert url is not None
    around = Surroundings(captures.around.bootstrap, tmp_path, "other", partitions=1)
    with Captures(around) as others:
        options = of_postgres(shop, connect__url=url)
        others.create(capture, options)
        assert rows(kafka, f"{capture}.public.users", 1, until) == [(7, {"id": 7})]
        assert others.worker.pid is None
        others.pause(capture, options)
        until(lambda: others.status(capture, options).state is State.PAUSED)
        others.resume(capture, options)
        until(lambda: others.status(capture, options).running)
        assert others.drop(capture, options) == []
        with pytest.raises(ExternalError, match="doesn't answer") as caught:
            others.status(capture, of_postgres(shop, connect__url="http://user:word@127.0.0.1:1"))
        assert "word" not in str(caught.value)


def test_mariadb(captures: Captures, kafka: Kafka, mariadb: MariaDB, capture: str, until: Until) -> None:
    with mariadb.database() as database, database.connect() as connection, connection.cursor() as db:
        db.execute("CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20))")
        db.execute("CREATE TABLE pairs (a INT, b VARCHAR(5), n BIGINT UNSIGNED, PRIMARY KEY (b, a))")
        db.execute("INSERT INTO users VALUES (1, 'a'), (2, 'b')")
        db.execute("INSERT INTO pairs VALUES (1, 'x', 18446744073709551615)")
        options = of_mariadb(mariadb, f"{database.name}.users,{database.name}.pairs")
        users, pairs = (f"{capture}.{database.name}.{table}" for table in ("users", "pairs"))
        made = captures.create(capture, options)
        assert set(made.topics.values()) == {users, pairs}
        rows(kafka, users, 2, until)
        (pair,) = rows(kafka, pairs, 1, until)
        assert pair == ({"a": 1, "b": "x"}, {"a": 1, "b": "x", "n": 18446744073709551615})
        db.execute("UPDATE users SET name = 'c' WHERE id = 2")
        db.execute("DELETE FROM users WHERE id = 1")
        db.execute("ALTER TABLE users ADD COLUMN age INT")
        db.execute("INSERT INTO users VALUES (3, 'd', 5)")
        assert rows(kafka, users, 5, until) == [
            (1, {"id": 1, "name": "a"}),
            (2, {"id": 2, "name": "b"}),
            (2, {"id": 2, "name": "c"}),
            (1, None),
            (3, {"id": 3, "name": "d", "age": 5}),
        ]
        assert captures.drop(capture, options) == []
        assert not kafka.present([f"_cdc_connect_history_{capture}"])
        with pytest.raises(ConfigError, match="Access denied"):
            captures.check(capture, Options.of({**_said(options), "database.password": "wrong"}))


def test_every_type_of_mariadb(captures: Captures, kafka: Kafka, mariadb: MariaDB, capture: str, until: Until) -> None:
    with mariadb.database() as database, database.connect() as connection, connection.cursor() as db:
        db.execute(MARIADB.table)
        db.execute(MARIADB.insert)
        options = of_mariadb(mariadb, f"{database.name}.users")
        made = captures.create(capture, options)
        (topic,) = made.topics.values()
        assert rows(kafka, topic, 1, until) == [(7, MARIADB.record)]
        db.execute("UPDATE users SET id = 8")
        assert rows(kafka, topic, 3, until)[-1] == (8, {**MARIADB.record, "id": 8})
        assert [c.name for c in made.tables[0].columns if c.type is None] == []
        assert {"seen TIMESTAMP", "never TIMESTAMP", "made TIMESTAMP"} <= _declared(made)
        captures.drop(capture, options)


def test_a_lost_log_of_mariadb_is_a_loud_stop(
    captures: Captures, kafka: Kafka, mariadb: MariaDB, capture: str, until: Until
) -> None:
    with mariadb.database() as database, database.connect() as connection, connection.cursor() as db:
        db.execute("CREATE TABLE users (id INT PRIMARY KEY)")
        options = of_mariadb(mariadb, f"{database.name}.users")
        (topic,) = captures.create(capture, options).topics.values()
        until(lambda: captures.status(capture, options).running)
        db.execute("INSERT INTO users VALUES (1)")
        rows(kafka, topic, 1, until)
        client = captures.worker.client()
        client.stop(capture)
        until(lambda: not client.status(capture).tasks)
        db.execute("INSERT INTO users VALUES (2)")
        db.execute("FLUSH BINARY LOGS")
        db.execute("SHOW BINARY LOGS")
        newest = db.fetchall()[-1][0]
        until(lambda: _purged(db, newest))
        captures.resume(capture, options)
        until(lambda: captures.status(capture, options).failed)
        assert "binlog files have been purged" in (captures.status(capture, options).reason or "")
        db.execute("INSERT INTO users VALUES (3)")
        assert [key for key, _ in records(kafka, topic)] == [1]
        captures.drop(capture, options)


def _purged(db: Cursor, newest: str) -> bool:
    """Whether only the newest log is left; one that somebody still reads stays."""
    db.execute("PURGE BINARY LOGS TO %s", [newest])
    db.execute("SHOW BINARY LOGS")
    return [row[0] for row in db.fetchall()] == [newest]


def _said(options: Options) -> dict[str, str]:
    database = {"database": options.database} if options.database else {}
    return {"connector.class": options.connector_class, **database, **options.given}


@pytest.mark.parametrize(
    ("database", "said", "connects"),
    [
        (
            "sqlserver",
            {"database.hostname": "127.0.0.1", "database.port": "1", "database.user": "sa", "database.password": "p"}
            | {"database.names": "shop", "message.key.columns": "shop.dbo.users:id", "driver.loginTimeout": "1"},
            "database.hostname",
        ),
        (
            "mysql",
            {"database.hostname": "127.0.0.1", "database.port": "1", "database.user": "u", "database.password": "p"},
            "database.hostname",
        ),
        ("mongodb", {"mongodb.connection.string": "mongodb://127.0.0.1:1/?timeoutMS=500"}, "mongodb.connection.string"),
    ],
)
def test_configurations_without_a_server_are_right_but_for_the_connection(
    captures: Captures, capture: str, database: str, said: dict[str, str], connects: str
) -> None:
    options = Options.of({"connector.class": "cdc", "database": database, **said})
    client = captures.worker.client(*PLUGINS)
    config = translate(capture, options, captures.around)
    definitions = client.validate(config["connector.class"], config)
    assert {d.name for d in definitions if d.errors} <= {connects, "database.user", "database.password"}
    with pytest.raises(ConfigError) as caught:
        checking.check(client, config, Options.of({"database": database, **said, "heartbeat.interval.mss": "1"}))
    assert (caught.value.code, caught.value.hint) == ("UNKNOWN_OPTION", "Did you mean heartbeat.interval.ms?")


def test_a_worker_dies_with_its_server(bootstrap: str, tmp_path: Path, until: Until) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from orion.feeds.cdc import Surroundings\n"
        "from orion.feeds.connect.worker import ConnectWorker\n"
        f"worker = ConnectWorker.start(Surroundings({bootstrap!r}, Path({str(tmp_path)!r}), 'dies'), [])\n"
        "print(worker.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        pid = int(server.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        server.kill()
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_worker_that_cannot_start_says_why(bootstrap: str, tmp_path: Path) -> None:
    from orion.feeds.connect.worker import ConnectWorker

    with pytest.raises(ConfigError, match="heap"):
        ConnectWorker.start(Surroundings(bootstrap, tmp_path, heap="lots"), [])
    client = {"security.protocol": "NONSENSE"}
    with pytest.raises(ExternalError, match="NONSENSE") as caught:
        ConnectWorker.start(Surroundings(bootstrap, tmp_path, "fails", client=client), [])
    assert str(tmp_path / "logs" / "connect.log") in str(caught.value.hint)

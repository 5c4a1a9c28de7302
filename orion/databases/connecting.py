"""Connections to a database, by the client library of its kind; what goes wrong comes out as Orion's errors."""

from __future__ import annotations

import re
import sqlite3
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, assert_never

import psycopg
import pymysql
from psycopg.conninfo import make_conninfo
from psycopg.types.string import TextLoader
from pymysql.cursors import SSCursor

from orion.databases.address import Database, Kind
from orion.errors import ConfigError, ExternalError

_PATIENCE_S = 10
_ROWS = 10_000  # that a client holds at a time
_NAME = "orion"
# What a server says for a login, a database or a right that somebody must put right.
_PG_REFUSED = re.compile(
    r"password authentication failed|no password supplied|no pg_hba\.conf entry|permission denied"
    r"|(role|database|user) \".*\" does not exist|not permitted to log in",
    re.IGNORECASE,
)
_MYSQL_REFUSED = frozenset({1044, 1045, 1049, 1130, 1142, 1698})
_MYSQL_AWAY = frozenset({1040, 1053, 1205, 1213, 2002, 2003, 2006, 2013, 2055})

Parameters = Sequence[object]


class Cursor(Protocol):
    @property
    def description(self) -> Any: ...
    def execute(self, statement: Any, parameters: Any = ..., /) -> Any: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> Any: ...
    def fetchmany(self, size: int = ..., /) -> Any: ...
    def close(self) -> Any: ...


class Connection(Protocol):
    def cursor(self) -> Any: ...
    def commit(self) -> Any: ...
    def rollback(self) -> Any: ...
    def close(self) -> Any: ...


def connect(database: Database) -> Connection:
    """A connection whose session has UTC for its time zone.

    Raises ConfigError for a login that is refused, ExternalError while nobody answers.
    """
    with translated(database):
        match database.kind:
            case Kind.POSTGRESQL:
                opened = psycopg.connect(_conninfo(database))
                # PostgreSQL has times that Python has not: as text, one of them is its own row's trouble alone.
                for name in ("timestamp", "timestamptz", "date"):
                    opened.adapters.register_loader(name, TextLoader)
                return opened
            case Kind.MYSQL:
                return pymysql.connect(
                    host=database.host,
                    port=database.port,
                    user=database.user,
                    password=database.password or "",
                    database=database.name,
                    charset="utf8mb4",
                    connect_timeout=_PATIENCE_S,
                    init_command="SET time_zone = '+00:00'",
                    ssl=ssl.create_default_context() if _wants_tls(database) else None,
                )
            case Kind.SQLITE:
                return _opened(database)
            case _:
                assert_never(database.kind)


@contextmanager
def connected(database: Database) -> Iterator[Connection]:
    connection = connect(database)
    try:
        with translated(database):
            yield connection
    finally:
        with suppress(Exception):
            connection.close()


def rows(
    connection: Connection, database: Database, statement: str, parameters: Parameters = ()
) -> Iterator[list[tuple[Any, ...]]]:
    """What a statement gives, some thousand rows at a time: no more of them are held, however many there are."""
    cursor: Cursor
    match database.kind:
        case Kind.POSTGRESQL:
            assert isinstance(connection, psycopg.Connection)
            cursor = connection.cursor(name=_NAME)
        case Kind.MYSQL:
            assert isinstance(connection, pymysql.Connection)
            cursor = connection.cursor(SSCursor)
        case Kind.SQLITE:
            cursor = connection.cursor()
        case _:
            assert_never(database.kind)
    try:
        cursor.execute(statement, tuple(parameters))
        while found := cursor.fetchmany(_ROWS):
            yield [tuple(row) for row in found]
    finally:
        with suppress(Exception):
            cursor.close()


def asked(connection: Connection, statement: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
    """All that a statement gives; nothing stays open after it."""
    cursor = connection.cursor()
    try:
        cursor.execute(statement, tuple(parameters))
        found = [tuple(row) for row in cursor.fetchall()]
        connection.rollback()
        return found
    finally:
        cursor.close()


@contextmanager
def translated(database: Database) -> Iterator[None]:
    """Errors of the client libraries as Orion's. They are told by the server's own words, without the login."""
    try:
        yield
    except psycopg.Error as error:
        told = _first_line(str(error), database)
        if isinstance(error, psycopg.OperationalError) and not _PG_REFUSED.search(told):
            raise away(database, told) from None
        raise refused(database, told) from None
    except pymysql.Error as error:
        code = error.args[0] if error.args else 0
        told = _first_line(str(error.args[1] if len(error.args) > 1 else error), database)
        operational = isinstance(error, pymysql.OperationalError | pymysql.InterfaceError)
        if code in _MYSQL_AWAY or (operational and code not in _MYSQL_REFUSED):
            raise away(database, told) from None
        raise refused(database, told) from None
    except sqlite3.OperationalError as error:
        told = str(error)
        if "locked" in told or "busy" in told:
            raise away(database, told) from None
        raise refused(database, told) from None
    except sqlite3.Error as error:
        raise refused(database, str(error)) from None


def away(database: Database, why: str) -> ExternalError:
    return ExternalError(
        "DATABASE_AWAY", f"{database} doesn't answer: {why}", hint="It is tried again until it does.", retry_after=2.0
    )


def refused(database: Database, why: str) -> ConfigError:
    return ConfigError("DATABASE_REFUSED", f"{database} refuses: {why}")


def _first_line(told: str, database: Database) -> str:
    line = next((text.strip() for text in reversed(told.splitlines()) if text.strip()), "no reason given")
    return line.replace(database.password, "[hidden]") if database.password else line


def _conninfo(database: Database) -> str:
    schema = database.parameter("currentSchema")
    options = "-c timezone=UTC" + (f" -c search_path={schema}" if schema else "")
    return make_conninfo(
        host=database.host,
        port=database.port,
        dbname=database.name,
        user=database.user,
        password=database.password,
        sslmode=database.parameter("sslmode"),
        sslrootcert=database.parameter("sslrootcert"),
        connect_timeout=_PATIENCE_S,
        application_name=_NAME,
        options=options,
    )


def _wants_tls(database: Database) -> bool:
    told = (database.parameter("sslMode") or database.parameter("useSSL") or "").lower()
    return told not in ("", "disable", "disabled", "false")


def _opened(database: Database) -> sqlite3.Connection:
    path = Path(database.name).expanduser().absolute()
    if not path.is_file():
        raise ConfigError("DATABASE_REFUSED", f"There is no database {path}.", hint="Does the address name a file?")
    return sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=_PATIENCE_S)

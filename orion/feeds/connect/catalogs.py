"""What a database says of its tables: PostgreSQL's and MySQL's catalogs. One of SQL Server or MongoDB isn't asked.

The connection is made from here with the capture's own options, so what fails is said before anything is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
import pymysql
from psycopg.conninfo import make_conninfo

from orion.errors import ConfigError, ExternalError, OrionError, hint_nearest
from orion.feeds.connect.debezium import Kind, keys_said
from orion.feeds.connect.mysql_types import mysql_type
from orion.feeds.connect.postgres_types import postgres_type
from orion.feeds.connect.tables import CapturedColumn, Table

TIMEOUT = 10
RETRY_AFTER = 10.0
KNOWN = ("postgresql", "mysql", "mariadb")
BUSY = "DATABASE_BUSY"  # the code where a server answers, but takes no more connections

_POSTGRES_TABLES = """
SELECT n.nspname || '.' || c.relname, a.attname, b.typname, b.typtype, e.typname, e.typtype,
       CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END,
       array_position(i.indkey::int2[], a.attnum)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
LEFT JOIN pg_type e ON e.oid = b.typelem AND b.typcategory = 'A'
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%%'
ORDER BY 1, a.attnum
"""
_MYSQL_TABLES = """
SELECT CONCAT(c.table_schema, '.', c.table_name), c.column_name, c.data_type, c.column_type,
       c.numeric_precision, c.numeric_scale, k.ordinal_position
FROM information_schema.columns c
JOIN information_schema.tables t
  ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.table_type = 'BASE TABLE'
LEFT JOIN information_schema.key_column_usage k
  ON k.table_schema = c.table_schema AND k.table_name = c.table_name AND k.column_name = c.column_name
  AND k.constraint_name = 'PRIMARY'
WHERE c.table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
ORDER BY 1, c.ordinal_position
"""


def captured(kind: Kind, config: Mapping[str, str]) -> list[Table]:
    """The tables that a configuration captures. Raises for one that it names and that isn't there or has no key."""
    found = all_tables(kind, config)
    taken = [table for table in found if _is_taken(table.name, kind, config)]
    for pattern in _listed(config.get(kind.include, "")):
        if not any(_matches(pattern, table.name) for table in found):
            raise ConfigError(
                "TABLE_NOT_FOUND",
                f"Option '{kind.include}': there is no table {pattern} that {config.get('database.user')} sees.",
                hint=hint_nearest(pattern, [table.name for table in found])
                or f"Tables are named with their schema, such as {found[0].name if found else 'public.users'}.",
            )
    if not taken:
        raise ConfigError("TABLE_NOT_FOUND", f"Nothing is captured: '{kind.include}' and its like leave no table.")
    keyed = [re.escape(name) for name in keys_said(config)] or _listed_keys(config)
    for table in taken:
        if not table.key and not any(_matches(pattern, table.name) for pattern in keyed):
            raise ConfigError(
                "TABLE_WITHOUT_KEY",
                f"{table.name} has no primary key, so its changes can't be told apart.",
                hint=f"Give it one, name one with 'message.key.columns', or leave the table out of '{kind.include}'.",
            )
    return taken


def all_tables(kind: Kind, config: Mapping[str, str]) -> list[Table]:
    """Every table of the database that isn't the system's own, by name."""
    return _postgres_tables(config) if kind.name == "postgresql" else _mysql_tables(kind, config)


@contextmanager
def postgres(config: Mapping[str, str]) -> Iterator[psycopg.Connection[Any]]:
    """A connection with a capture's options."""
    options = ("sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert")
    security = {o: config[f"database.{o}"] for o in options if config.get(f"database.{o}")}
    address = make_conninfo("", **security)
    try:
        with psycopg.connect(
            address,
            host=config["database.hostname"],
            port=port_of(config, 5432),
            user=config["database.user"],
            password=config.get("database.password"),
            dbname=config["database.dbname"],
            connect_timeout=TIMEOUT,
            autocommit=True,
            application_name="orion",
        ) as connection:
            yield connection
    except psycopg.Error as error:
        raise _postgres_refusal(error, config) from error


@contextmanager
def mysql(config: Mapping[str, str]) -> Iterator[pymysql.Connection[Any]]:
    """A connection with a capture's options."""
    try:
        connection = pymysql.connect(
            host=config["database.hostname"],
            port=port_of(config, 3306),
            user=config["database.user"],
            password=config.get("database.password", ""),
            connect_timeout=TIMEOUT,
            read_timeout=TIMEOUT,
        )
        with connection:
            yield connection
    except pymysql.MySQLError as error:
        raise _mysql_refusal(error, config) from error


def _postgres_tables(config: Mapping[str, str]) -> list[Table]:
    with postgres(config) as connection:
        rows = connection.execute(_POSTGRES_TABLES).fetchall()
    columns = [
        (
            table,
            CapturedColumn(name, postgres_type((base, kind), (element, inner), modifier), base == "timestamptz"),
            at,
        )
        for table, name, base, kind, element, inner, modifier, at in rows
    ]
    return _grouped(columns)


def _mysql_tables(kind: Kind, config: Mapping[str, str]) -> list[Table]:
    with mysql(config) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@log_bin, @@binlog_format, @@binlog_row_image")
        log, form, image = cursor.fetchone() or (0, "", "")
        if not int(log) or str(form).upper() != "ROW" or str(image).upper() != "FULL":
            raise ConfigError(
                "BINLOG_MISSING",
                f"The server writes no log that changes can be read from: log_bin={log}, binlog_format={form}, "
                f"binlog_row_image={image}.",
                hint=f"Start {kind.name} with log_bin, binlog_format=ROW and binlog_row_image=FULL.",
            )
        cursor.execute(_MYSQL_TABLES)
        rows = cursor.fetchall()
    return _grouped(
        [
            (table, CapturedColumn(name, mysql_type(type_, full, precision, scale), type_.lower() == "timestamp"), at)
            for table, name, type_, full, precision, scale, at in rows
        ]
    )


def _grouped(columns: list[tuple[str, CapturedColumn, int | None]]) -> list[Table]:
    tables: dict[str, list[tuple[CapturedColumn, int | None]]] = {}
    for table, column, at in columns:
        tables.setdefault(table, []).append((column, at))
    return [
        Table(
            name,
            tuple(column for column, _ in found),
            tuple(column.name for _, column in sorted((at, c) for c, at in found if at is not None)),
        )
        for name, found in tables.items()
    ]


def _is_taken(table: str, kind: Kind, config: Mapping[str, str]) -> bool:
    """Whether Debezium's lists take a table; a schema or database is what stands before the dot."""
    schema = table.partition(".")[0]
    scope = "schema" if kind.name == "postgresql" else "database"
    for name, option in ((table, "table"), (schema, scope)):
        include, exclude = (_listed(config.get(f"{option}.{way}.list", "")) for way in ("include", "exclude"))
        if (include and not _any(include, name)) or (exclude and _any(exclude, name)):
            return False
    return True


def _any(patterns: list[str], name: str) -> bool:
    return any(_matches(pattern, name) for pattern in patterns)


def _matches(pattern: str, name: str) -> bool:
    """Debezium's lists hold patterns for whole names, in any case. One that Python can't read is taken as a name."""
    try:
        return re.fullmatch(pattern, name, re.IGNORECASE) is not None
    except re.error:
        return pattern == name


def _listed(text: str) -> list[str]:
    """The entries of a list; a comma in a pattern stands behind a backslash."""
    return [part.strip().replace("\\,", ",") for part in re.split(r"(?<!\\),", text) if part.strip()]


def _listed_keys(config: Mapping[str, str]) -> list[str]:
    return [entry.rpartition(":")[0].strip() for entry in config.get("message.key.columns", "").split(";") if entry]


def port_of(config: Mapping[str, str], usual: int) -> int:
    said = config.get("database.port", str(usual))
    if not said.isdecimal():
        raise ConfigError("INVALID_OPTION", f"Option 'database.port': {said} is no port.")
    return int(said)


def _postgres_refusal(error: psycopg.Error, config: Mapping[str, str]) -> OrionError:
    said = " ".join(str(error).split()).removesuffix(
        "Is the server running on that host and accepting TCP/IP connections?"
    )
    fatal = re.search(r"FATAL: +(.+?)(?: connection to server .*| Multiple connection.*)?$", said)
    if fatal and re.search(r"authentication|role|pg_hba|password", fatal[1]):
        return _login_refused(fatal[1], config)
    if fatal and "database" in fatal[1] and "does not exist" in fatal[1]:
        return ConfigError("DATABASE_NOT_FOUND", f"Option 'database.dbname': {fatal[1]}.")
    if fatal and re.search(r"too many|remaining connection slots", fatal[1]):
        return _busy(fatal[1], config)
    if isinstance(error, psycopg.OperationalError):
        return unreachable(fatal[1] if fatal else said, config)
    return ConfigError("DATABASE_REFUSED", f"The database refuses: {said}.")


def _mysql_refusal(error: pymysql.MySQLError, config: Mapping[str, str]) -> OrionError:
    number, said = (error.args[0], str(error.args[-1])) if error.args else (0, str(error))
    if number in (1044, 1045, 1130, 1698):
        return _login_refused(said, config)
    if number == 1040:
        return _busy(said, config)
    if isinstance(error, pymysql.OperationalError) and number in (2003, 2006, 2013, 1053):
        return unreachable(said, config)
    return ConfigError("DATABASE_REFUSED", f"The database refuses: {said}.")


def _login_refused(said: str, config: Mapping[str, str]) -> ConfigError:
    return ConfigError(
        "DATABASE_LOGIN_REFUSED",
        f"{_address(config)} doesn't let {config.get('database.user')} in: {said.rstrip('.')}.",
        hint="Check 'database.user' and 'database.password'.",
    )


def _busy(said: str, config: Mapping[str, str]) -> ExternalError:
    told = f"{_address(config)} takes no more connections: {said.strip().rstrip('.')}."
    return ExternalError(BUSY, told, retry_after=RETRY_AFTER)


def unreachable(said: str, config: Mapping[str, str]) -> ExternalError:
    """The error of a server that doesn't answer, with what the attempt says."""
    return ExternalError(
        "DATABASE_UNREACHABLE",
        f"{_address(config)} can't be reached: {said.strip().rstrip('.')}.",
        hint="Check its host and port in the options, and that the server runs.",
        retry_after=RETRY_AFTER,
    )


def _address(config: Mapping[str, str]) -> str:
    host, port = config.get("database.hostname"), config.get("database.port")
    return f"The database{f' at {host}' if host else ''}{f':{port}' if port else ''}"

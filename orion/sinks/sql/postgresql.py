"""PostgreSQL, and what speaks its protocol: rows go in by COPY, keyed ones through a temporary table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from orion.databases.address import Address
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct
from orion.sinks.sql.database import Existing, Into, Place, Refused, Shape, server_refuses
from orion.sinks.sql.login import Login, known_parameters
from orion.sinks.sql.names import Quoting, TableName, nearest
from orion.sinks.sql.options import InsertMode
from orion.sinks.sql.probes import harmless
from orion.sinks.sql.texts import csv, hexed, local, times, zoned
from orion.sinks.store import StoreAway

# Parameters of PostgreSQL's JDBC driver as libpq knows them.
_PARAMETERS = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "channelBinding": "channel_binding",
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout",
    "options": "options",
    "currentSchema": "currentSchema",
    "ssl": "ssl",
    "targetServerType": "targetServerType",
    "loadBalanceHosts": "load_balance_hosts",
}
_WITHOUT_EFFECT = frozenset(
    "reWriteBatchedInserts stringtype prepareThreshold preparedStatementCacheQueries tcpKeepAlive socketTimeout "
    "defaultRowFetchSize binaryTransfer preferQueryMode load-balance topology-keys".split()
)
# A transaction that its worker has left open, frozen or cut off, ends by itself: it holds locks.
_SETTINGS = (
    "SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = '120s'; "
    "SET datestyle = 'ISO, YMD'; SET timezone = 'UTC'"
)

# Rows that are made into text together: few at first, so that the server has something to do soon.
_FIRST, _AT_ONCE = 250, 2000

# Classes of SQLSTATE, and single ones: a row's own fault, and what trying again can help.
_ROWS = ("22", "23", "21", "44000", "54000", "P0001")
_AWAY = ("08", "53", "57P", "57014", "58030", "40", "55P03", "55006", "25P03", "25P04")
_NEVER_AGAIN = re.compile(
    r"password authentication failed|no password supplied|authentication failed|does not exist|no pg_hba.conf entry"
    r"|permission denied|not permitted to log in|does not support SSL|certificate|invalid (port|sslmode|connection)"
    r"|database \".*\" is not currently accepting|has no CONNECT privilege|root certificate",
    re.IGNORECASE,
)

_DECLARED = {
    Scalar.BOOLEAN: "boolean",
    Scalar.INTEGER: "integer",
    Scalar.BIGINT: "bigint",
    Scalar.DOUBLE: "double precision",
    Scalar.STRING: "text",
    Scalar.BYTES: "bytea",
    Scalar.DATE: "date",
    Scalar.TIME: "time(3) without time zone",
    Scalar.TIMESTAMP: "timestamp with time zone",
}
_INTEGERS = ("smallint", "integer", "bigint")
_TEXTS = ("text", "character varying", "character", "citext", "json", "jsonb")
_FITTING: dict[Scalar, tuple[str, ...]] = {
    Scalar.BOOLEAN: ("boolean",),
    Scalar.INTEGER: (*_INTEGERS, "numeric", "double precision"),
    Scalar.BIGINT: (*_INTEGERS, "numeric"),
    Scalar.DOUBLE: ("double precision", "real", "numeric"),
    Scalar.STRING: (*_TEXTS, "uuid", "xml", "enum", "name", "inet", "cidr", "macaddr"),
    Scalar.BYTES: ("bytea",),
    Scalar.DATE: ("date",),
    Scalar.TIME: ("time without time zone",),
    Scalar.TIMESTAMP: ("timestamp with time zone", "timestamp without time zone"),
}

_COLUMNS = """
SELECT n.nspname, c.relname, a.attname,
       CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod) WHEN 'e' THEN 'enum'
                      ELSE format_type(a.atttypid, a.atttypmod) END,
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
WHERE lower(c.relname) = lower(?) AND c.relkind IN ('r', 'p', 'f') AND a.attnum > 0 AND NOT a.attisdropped
"""
_UNIQUE = """
SELECT i.indexrelid, a.attname
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL unnest(i.indkey[0:i.indnkeyatts - 1]) AS k(attnum)
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
WHERE n.nspname = ? AND c.relname = ? AND i.indisunique AND i.indimmediate AND i.indisvalid
  AND i.indpred IS NULL AND i.indexprs IS NULL
"""


@dataclass(frozen=True)
class PostgreSql:
    address: Address
    login: Login
    zone: str
    quoting: Quoting
    for_update: str = " FOR UPDATE"
    makes_aside: bool = True

    def connect(self) -> PostgreSqlConnection:
        return PostgreSqlConnection(self.connected(_SETTINGS), self)

    def connected(self, settings: str) -> psycopg.Connection[Any]:
        try:
            connection = psycopg.connect(autocommit=True, prepare_threshold=None, **self._settings())
            connection.execute(settings)
        except psycopg.Error as error:
            raise _unreached(error, self.address) from None
        return connection

    def fits(self, type_: SqlType, declared: str) -> bool:
        plain = re.sub(r"\(.*?\)", "", declared)
        match type_:
            case Scalar():
                return plain in _FITTING[type_]
            case Decimal(_, scale):
                limits = re.search(r"\((\d+)(?:,(-?\d+))?\)", declared)
                # The server would round what has more digits than its column.
                return plain == "numeric" and (limits is None or int(limits[2] or 0) >= scale)
            case Array() | Map() | Struct():
                return plain in _TEXTS

    def untaken(self, place: Place, values: pa.Array) -> tuple[pa.Array, str] | None:
        return None

    def lock_of(self, epochs: str) -> str | None:
        return None

    def first_of(self, epochs: str) -> str:
        return f"INSERT INTO {epochs} (task, slot, epoch) VALUES (?, ?, -1) ON CONFLICT DO NOTHING"

    def probes(self, into: Into, *, deletes: bool) -> list[str]:
        return harmless(self.quoting, into, nowhere="WHERE false", otherwise=self.on_conflict(into), deletes=deletes)

    def on_conflict(self, into: Into) -> str:
        if into.mode is InsertMode.INSERT:
            return ""
        new = ", ".join(f"{self.quoting(n)} = EXCLUDED.{self.quoting(n)}" for n in into.others)
        return f" ON CONFLICT ({self.quoting.all(into.key)}) DO {f'UPDATE SET {new}' if new else 'NOTHING'}"

    def _settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "application_name": "orion",
            "connect_timeout": "10",
            "client_encoding": "UTF8",
            "keepalives_idle": "10",
            "keepalives_interval": "5",
            "keepalives_count": "3",
            "tcp_user_timeout": "60000",
        } | known_parameters(self.address, _PARAMETERS, _WITHOUT_EFFECT)
        schema, ssl, kind = (found.pop(n, None) for n in ("currentSchema", "ssl", "targetServerType"))
        if schema:
            found["options"] = f"{found.get('options', '')} -c search_path={schema}".strip()
        if ssl in ("", "true"):
            found.setdefault("sslmode", "verify-full")
        if kind in ("primary", "master"):
            found["target_session_attrs"] = "read-write"
        return found | {
            "host": ",".join(host for host, _ in self.address.hosts),
            "port": ",".join(str(port) for _, port in self.address.hosts),
            "dbname": self.address.database,
            "user": self.login.user,
            "password": self.login.secret,
        }


class PostgreSqlConnection:
    CREATE_STAGE: ClassVar[str] = "CREATE TEMPORARY TABLE {stage} ON COMMIT DELETE ROWS AS {source} WITH NO DATA"
    EMPTY_STAGE: ClassVar[str] = "TRUNCATE {stage}"

    def __init__(self, connection: psycopg.Connection[Any], database: PostgreSql) -> None:
        self._connection, self._database = connection, database
        self._quote = database.quoting
        self._stages: dict[Into, str] = {}
        self._since_savepoint: list[Into] = []
        self._numbers = count()

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.told():
            # A statement without values may be several; a percent sign means itself there.
            text = sql.replace("%", "%%").replace("?", "%s") if values else sql
            cursor = self._connection.execute(text, values or None)
            return cursor.fetchall() if cursor.description else []

    def shape(self, table: TableName) -> Shape | None:
        if table.schema:
            rows = self.ask(f"{_COLUMNS} AND n.nspname = ? ORDER BY a.attnum", table.name, table.schema)
        else:
            rows = self.ask(f"{_COLUMNS} AND pg_table_is_visible(c.oid) ORDER BY a.attnum", table.name)
        found = nearest(table.name, {row[1] for row in rows})
        if found is None:
            return None
        rows = [row for row in rows if row[1] == found]
        unique: dict[int, set[str]] = {}
        for index, name in self.ask(_UNIQUE, rows[0][0], found):
            unique.setdefault(index, set()).add(name)
        columns = tuple(Existing(name, type_, required) for _, _, name, type_, required in rows)
        return Shape(TableName(table.schema, found), columns, tuple(map(frozenset, unique.values())))

    def declared(self, type_: SqlType, *, key: bool) -> str:
        match type_:
            case Scalar():
                return _DECLARED[type_]
            case Decimal(precision, scale):
                return f"numeric({precision},{scale})"
            case Array() | Map() | Struct():
                return "jsonb"

    def begin(self) -> None:
        # What is refused must be refused while its row is known, and not at the commit.
        self.ask("BEGIN; SET CONSTRAINTS ALL IMMEDIATE")

    def savepoint(self) -> None:
        self._since_savepoint = []
        self.ask("SAVEPOINT chunk")

    def release(self) -> None:
        self.ask("RELEASE SAVEPOINT chunk")

    def back(self) -> None:
        self.ask("ROLLBACK TO SAVEPOINT chunk; RELEASE SAVEPOINT chunk")
        for into in self._since_savepoint:
            del self._stages[into]

    def write(self, into: Into, rows: pa.RecordBatch) -> None:
        table = self._quote.table(into.table)
        if into.mode is InsertMode.INSERT:
            self.load(table, into.places, rows)
            return
        stage = self.staged(into, into.places, rows)
        if into.mode is InsertMode.UPSERT:
            self.merge(into, stage)
            return
        new = ", ".join(f"{self._quote(n)} = {stage}.{self._quote(n)}" for n in into.others)
        self.ask(f"UPDATE {table} SET {new} FROM {stage} WHERE {self._same_key(into, stage)}")

    def delete(self, into: Into, keys: pa.RecordBatch) -> None:
        self.remove(into, self.staged(into, [p for p in into.places if p.key], keys))

    def merge(self, into: Into, stage: str) -> None:
        table, names = self._quote.table(into.table), self._quote.all(into.names)
        self.ask(f"INSERT INTO {table} ({names}) SELECT {names} FROM {stage}{self._database.on_conflict(into)}")

    def remove(self, into: Into, stage: str) -> None:
        self.ask(f"DELETE FROM {self._quote.table(into.table)} USING {stage} WHERE {self._same_key(into, stage)}")

    def load(self, table: str, places: Sequence[Place], rows: pa.RecordBatch) -> None:
        """Rows into a table, as they are."""
        names = self._quote.all(p.name for p in places)
        statement = f"COPY {table} ({names}) FROM STDIN (FORMAT csv)"
        with self.told(), self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            # The server reads one part while the next is made.
            for part in _parts(rows):
                columns = [self.rendered(place, values) for place, values in zip(places, part.columns, strict=True)]
                copy.write(csv(columns))

    def commit(self) -> None:
        self.ask("COMMIT")

    def rollback(self) -> None:
        self._stages = {}
        with suppress(psycopg.Error):
            if self._connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._connection.close()

    def staged(self, into: Into, places: Sequence[Place], rows: pa.RecordBatch) -> str:
        """A temporary table of the target's types with these rows and no others."""
        stage = self._stages.get(into)
        if stage is None:
            stage = f"orion_stage_{next(self._numbers)}"
            source = f"SELECT {self._quote.all(into.names)} FROM {self._quote.table(into.table)}"
            self.ask(self.CREATE_STAGE.format(stage=stage, source=source))
            self._stages[into] = stage
            self._since_savepoint.append(into)
        else:
            self.ask(self.EMPTY_STAGE.format(stage=stage))
        self.load(stage, places, rows)
        return stage

    def _same_key(self, into: Into, stage: str) -> str:
        table = self._quote.table(into.table)
        return " AND ".join(f"{table}.{self._quote(n)} = {stage}.{self._quote(n)}" for n in into.key)

    def rendered(self, place: Place, values: pa.Array) -> pa.Array:
        """A column that CSV can show as the server reads it."""
        if place.type is Scalar.BYTES:
            prefix, nothing = pa.scalar("\\x", pa.large_string()), pa.scalar("", pa.large_string())
            return pc.binary_join_element_wise(prefix, hexed(values), nothing)
        if place.type is Scalar.TIME:
            return times(values)
        if place.type is Scalar.TIMESTAMP:
            without = place.declared.endswith("without time zone")
            return local(values, self._database.zone) if without else zoned(values)
        return values

    @contextmanager
    def told(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise _judged(error, self._database.address) from None


def _judged(error: psycopg.Error, address: Address) -> Exception:
    state, words = error.sqlstate, _words(error)
    if state is None:
        return StoreAway(str(address), words or "the connection is lost")
    if state.startswith(_AWAY):
        return StoreAway(str(address), words)
    if state.startswith(_ROWS):
        return Refused(_where(error, words))
    return server_refuses(f"{address} refuses: {words}")


def _unreached(error: psycopg.Error, address: Address) -> Exception:
    """libpq tells why it has no connection in words only."""
    if error.sqlstate is not None:
        return _judged(error, address)
    words = str(error).strip()
    if _NEVER_AGAIN.search(words):
        return server_refuses(f"{address} refuses the connection: {words}")
    return StoreAway(str(address), words)


def _words(error: psycopg.Error) -> str:
    """The server's message, without the values that some end in."""
    words = (error.diag.message_primary or str(error)).strip()
    if error.sqlstate and error.sqlstate.startswith("22"):
        words = re.sub(r'value ".*" is', "value is", words, flags=re.DOTALL)
        words = re.sub(r': ".*"', "", words, flags=re.DOTALL)
    return words


def _where(error: psycopg.Error, words: str) -> str:
    """With the column, where the server says it."""
    context = re.search(r", line \d+, column ([^:]+)", error.diag.context or "")
    column = error.diag.column_name or (context[1] if context else None)
    return words if column is None or f'"{column}"' in words else f'{words} (column "{column}")'


def _parts(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    first, size = 0, _FIRST
    while first < rows.num_rows:
        yield rows.slice(first, size)
        first, size = first + size, min(2 * size, _AT_ONCE)

"""MySQL and MariaDB: rows go in by INSERT of many at once, whose text is made a column at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pymysql
from pymysql.constants import CLIENT

from orion.databases.address import Address
from orion.errors import ConfigError
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct
from orion.sinks.sql.database import Existing, Into, Place, Refused, Shape, server_refuses
from orion.sinks.sql.login import Login, known_parameters
from orion.sinks.sql.names import Quoting, TableName, nearest
from orion.sinks.sql.options import InsertMode
from orion.sinks.sql.probes import harmless
from orion.sinks.sql.texts import alternating, hexed, local, quoted, runs, times
from orion.sinks.store import StoreAway

# Parameters of the JDBC drivers, and what is made of them here.
_PARAMETERS = {
    name: name for name in ("sslMode", "useSSL", "requireSSL", "serverSslCert", "sslCa", "sslCert", "sslKey")
}
_WITHOUT_EFFECT = frozenset(
    "rewriteBatchedStatements useUnicode characterEncoding connectionCollation autoReconnect serverTimezone "
    "connectionTimeZone useLegacyDatetimeCode zeroDateTimeBehavior allowPublicKeyRetrieval connectTimeout "
    "socketTimeout tcpKeepAlive useServerPrepStmts cachePrepStmts useBulkStmts createDatabaseIfNotExist".split()
)
# What doesn't fit is refused and not bent, a backslash means itself, and nobody waits for a lock for ever.
_SETTINGS = (
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', "
    "innodb_lock_wait_timeout = 30, lock_wait_timeout = 30"
)
_NETWORK_S = 120
# A transaction that its worker has left open, frozen or cut off, ends by itself: it holds locks.
_IDLE_MARIADB = "SET SESSION idle_transaction_timeout = 120"
_IDLE_MYSQL = "SET SESSION wait_timeout = 600"  # MySQL knows none of transactions alone
_STATEMENT_BYTES = 4_000_000

# Numbers of the server's errors: a row's own fault, and what trying again can help.
_ROWS = frozenset(
    [
        *(1048, 1138, 1263, 1364),  # NULL where none may be, no value and no default
        *(1062, 1557, 1586, 1761, 1762),  # a key that is there
        *(1216, 1217, 1451, 1452),  # a row that another refers to, or that isn't there
        *(1369, 3819, 4025),  # a view's condition, a constraint's
        *(1264, 1265, 1292, 1367, 1411, 1416, 1525, 1690),  # a value out of range, or that isn't one of its type
        *(1118, 1300, 1366, 1406, 3140, 3141, 3156, 3903, 4038),  # too long, not of its character set, no JSON
        1644,  # a trigger's own
    ]
)
_AWAY = frozenset(
    [
        *(2002, 2003, 2006, 2013, 2014, 2027, 2055),  # the client's: no connection, or no longer
        *(1040, 1203, 1226, 1152, 1154, 1155, 1156, 1157, 1158, 1159, 1160, 1161, 1184, 1189, 1190),  # connections
        *(1053, 1077, 1078, 1079, 1080, 1317, 1836, 1927, 1969, 3024, 3168, 4031),  # going down, cut off
        *(3, 1021, 1026, 1114, 1180),  # no room on its disk
        *(5, 1037, 1038, 1041),  # nor in its memory
        *(1020, 1205, 1206, 1213, 1412, 1613, 1615, 1637),  # locks and deadlocks
    ]
)

_DECLARED = {
    Scalar.BOOLEAN: "BOOLEAN",
    Scalar.INTEGER: "INT",
    Scalar.BIGINT: "BIGINT",
    Scalar.DOUBLE: "DOUBLE",
    Scalar.STRING: "LONGTEXT CHARACTER SET utf8mb4",
    Scalar.BYTES: "LONGBLOB",
    Scalar.DATE: "DATE",
    Scalar.TIME: "TIME(3)",
    Scalar.TIMESTAMP: "DATETIME(6)",
}
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json")
_BLOBS = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_FITTING: dict[Scalar, tuple[str, ...]] = {
    Scalar.BOOLEAN: (*_INTEGERS, "bit"),
    Scalar.INTEGER: (*_INTEGERS, "decimal", "double"),
    Scalar.BIGINT: (*_INTEGERS, "decimal"),
    Scalar.DOUBLE: ("double", "float", "decimal"),
    Scalar.STRING: (*_TEXTS, "enum", "set", "uuid", "inet4", "inet6"),
    Scalar.BYTES: _BLOBS,
    Scalar.DATE: ("date",),
    Scalar.TIME: ("time",),
    Scalar.TIMESTAMP: ("datetime", "timestamp"),
}

_COLUMNS = """
SELECT c.table_name, c.column_name, c.column_type, t.engine, e.transactions,
       c.is_nullable = 'NO' AND c.column_default IS NULL AND c.extra NOT LIKE '%%auto_increment%%'
       AND c.extra NOT LIKE '%%GENERATED%%'
FROM information_schema.columns c
JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
LEFT JOIN information_schema.engines e ON e.engine = t.engine
WHERE c.table_schema = ? AND lower(c.table_name) = lower(?) AND t.table_type = 'BASE TABLE'
ORDER BY c.ordinal_position
"""
_UNIQUE = """
SELECT index_name, column_name, sub_part FROM information_schema.statistics
WHERE table_schema = ? AND table_name = ? AND non_unique = 0
"""


@dataclass(frozen=True)
class MySql:
    address: Address
    login: Login
    zone: str
    quoting: Quoting
    for_update: str = " FOR UPDATE"
    makes_aside: bool = True

    def connect(self) -> MySqlConnection:
        failed: Exception = StoreAway(str(self.address), "it has no host")
        for host, port in self.address.hosts:
            try:
                return MySqlConnection(self._connected(host, port), self)
            except pymysql.Error as error:
                failed = _judged(error, self.address)
            except (RuntimeError, OSError) as error:
                # A login that needs Python's `cryptography`, a certificate that can't be read.
                failed = server_refuses(f"{self.address} can't be reached this way: {error}")
        raise failed from None

    def fits(self, type_: SqlType, declared: str) -> bool:
        plain = _plain(declared)
        match type_:
            case Scalar():
                return plain in _FITTING[type_]
            case Decimal(_, scale):
                limits = re.search(r"\(\d+,(\d+)\)", declared)
                # The server would round what has more digits than its column.
                return plain == "decimal" and limits is not None and int(limits[1]) >= scale
            case Array() | Map() | Struct():
                return plain in _TEXTS

    def untaken(self, place: Place, values: pa.Array) -> tuple[pa.Array, str] | None:
        if place.type is not Scalar.DOUBLE:
            return None
        return pc.invert(pc.is_finite(values)), f"{place.name} is NaN or infinite, which the database can't keep."

    def lock_of(self, epochs: str) -> str | None:
        return None

    def first_of(self, epochs: str) -> str:
        return f"INSERT IGNORE INTO {epochs} (task, slot, epoch) VALUES (?, ?, -1)"

    def probes(self, into: Into, *, deletes: bool) -> list[str]:
        return harmless(
            self.quoting, into, nowhere="FROM DUAL WHERE false", otherwise=self.on_duplicate(into), deletes=deletes
        )

    def on_duplicate(self, into: Into) -> str:
        if into.mode is InsertMode.INSERT:
            return ""
        quote = self.quoting
        new = ", ".join(f"{quote(n)} = VALUES({quote(n)})" for n in into.others)
        return f" ON DUPLICATE KEY UPDATE {new or f'{quote(into.key[0])} = {quote(into.key[0])}'}"

    def _connected(self, host: str, port: int) -> pymysql.Connection[Any]:
        return pymysql.connect(
            host=host,
            port=port,
            user=self.login.user,
            password=self.login.secret or "",
            database=self.address.database,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=10,
            read_timeout=_NETWORK_S,
            write_timeout=_NETWORK_S,
            client_flag=CLIENT.MULTI_STATEMENTS,
            program_name="orion",
            **self._encryption(),
        )

    def _encryption(self) -> dict[str, Any]:
        told = known_parameters(self.address, _PARAMETERS, _WITHOUT_EFFECT)
        mode = told.get("sslMode", "").upper().replace("-", "_")
        asked = [told.get(n) for n in ("useSSL", "requireSSL")]
        if mode in ("DISABLED", "DISABLE") or (not mode and "false" in asked):
            return {"ssl_disabled": True}
        files = {
            "ssl_ca": told.get("sslCa") or told.get("serverSslCert"),
            "ssl_cert": told.get("sslCert"),
            "ssl_key": told.get("sslKey"),
        }
        known = {name: path for name, path in files.items() if path}
        if mode in ("VERIFY_CA", "VERIFY_IDENTITY", "VERIFY_FULL"):
            return known | {"ssl_verify_cert": True, "ssl_verify_identity": mode != "VERIFY_CA"}
        if mode in ("REQUIRED", "TRUST") or "true" in asked or known:
            return known | {"ssl": {"check_hostname": False, "verify_mode": "none"}}
        if mode not in ("", "PREFERRED"):
            raise ConfigError("INVALID_CONNECTOR", "'connection.url' has an sslMode that isn't known.")
        return {}


class MySqlConnection:
    def __init__(self, connection: pymysql.Connection[Any], database: MySql) -> None:
        self._connection, self._database = connection, database
        self._quote = database.quoting
        ((version, packet),) = self.ask("SELECT version(), @@max_allowed_packet")
        self.ask("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        self.ask(_SETTINGS)
        mariadb = "mariadb" in version.lower()
        self.ask(_IDLE_MARIADB if mariadb else _IDLE_MYSQL)
        self._exact = "utf8mb4_nopad_bin" if mariadb else "utf8mb4_0900_bin"
        # One row may be as long as a packet; many of them needn't be.
        self._most = min(_STATEMENT_BYTES, packet - 65_536)
        self._longest = packet - 1024

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._told(), self._connection.cursor() as cursor:
            cursor.execute(sql.replace("?", "%s"), values) if values else cursor.execute(sql)
            return list(cursor.fetchall())

    def shape(self, table: TableName) -> Shape | None:
        schema = table.schema or self._database.address.database
        rows = self.ask(_COLUMNS, schema, table.name)
        found = nearest(table.name, {row[0] for row in rows})
        if found is None:
            return None
        rows = [row for row in rows if row[0] == found]
        if rows[0][4] != "YES":
            raise ConfigError(
                "NO_TRANSACTIONS",
                f"{table} is of the engine {rows[0][3]}, which has no transactions.",
                hint=f"ALTER TABLE {found} ENGINE = InnoDB",
            )
        unique: dict[str, set[str | None]] = {}
        for index, name, prefix in self.ask(_UNIQUE, schema, found):
            unique.setdefault(index, set()).add(None if prefix else name)
        return Shape(
            TableName(table.schema, found),
            tuple(Existing(row[1], row[2], bool(row[5])) for row in rows),
            tuple(frozenset(n for n in names if n) for names in unique.values() if None not in names),
        )

    def declared(self, type_: SqlType, *, key: bool) -> str:
        match type_:
            case Scalar.STRING if key:
                # Keys that differ in case or in blanks at their end are different keys.
                return f"VARCHAR(255) CHARACTER SET utf8mb4 COLLATE {self._exact}"
            case Scalar.BYTES if key:
                return "VARBINARY(255)"
            case Scalar():
                return _DECLARED[type_]
            case Decimal(precision, scale):
                return f"DECIMAL({precision},{scale})"
            case Array() | Map() | Struct():
                return "JSON"

    def begin(self) -> None:
        self.ask("START TRANSACTION")

    def savepoint(self) -> None:
        self.ask("SAVEPOINT chunk")

    def release(self) -> None:
        self.ask("RELEASE SAVEPOINT chunk")

    def back(self) -> None:
        self.ask("ROLLBACK TO SAVEPOINT chunk")
        self.release()

    def write(self, into: Into, rows: pa.RecordBatch) -> None:
        columns = self._constants(into.places, rows)
        table = self._quote.table(into.table)
        if into.mode is InsertMode.UPDATE:
            keys = self._constants(into.places[: len(into.key)], rows, compared=True)
            set_ = self._pairs(into.others, columns[len(into.key) :], f"UPDATE {table} SET ", ", ")
            parts = [*set_, *self._pairs(into.key, keys, " WHERE ", " AND "), ";"]
            for statements in runs(parts, 1, self._most):
                self._all(statements)
            return
        head = f"INSERT INTO {table} ({self._quote.all(into.names)}) VALUES "
        values = runs(alternating(columns, "(", ",", "),"), 1, self._most)
        self._each(head, values, self._database.on_duplicate(into))

    def delete(self, into: Into, keys: pa.RecordBatch) -> None:
        columns = self._constants([p for p in into.places if p.key], keys, compared=True)
        head = f"DELETE FROM {self._quote.table(into.table)} WHERE "
        if len(columns) == 1:
            self._each(f"{head}{self._quote(into.key[0])} IN (", runs([columns[0], ","], 1, self._most), ")")
            return
        either = [*self._pairs(into.key, columns, "(", " AND "), ") OR "]
        self._each(head, runs(either, len(" OR "), self._most), "")

    def commit(self) -> None:
        self.ask("COMMIT")

    def rollback(self) -> None:
        with suppress(pymysql.Error, OSError):
            self._connection.rollback()

    def close(self) -> None:
        with suppress(pymysql.Error, OSError):
            self._connection.close()

    def _pairs(
        self, names: Sequence[str], columns: Sequence[pa.Array], head: str, between: str
    ) -> list[pa.Array | str]:
        """`name = constant`, as often as there are columns."""
        parts: list[pa.Array | str] = []
        for number, (name, column) in enumerate(zip(names, columns, strict=True)):
            parts += [f"{between if number else head}{self._quote(name)} = ", column]
        return parts

    def _each(self, head: str, bodies: list[bytes], tail: str) -> None:
        for body in bodies:
            if len(body) > self._longest:
                raise Refused("A row is longer than the server's max_allowed_packet.")
            with self._told():
                self._connection.query(head.encode() + body + tail.encode())

    def _all(self, statements: bytes) -> None:
        """Several at once, each with an answer of its own."""
        with self._told(), self._connection.cursor() as cursor:
            cursor.execute(statements.decode("utf-8", "surrogateescape"))
            while cursor.nextset():
                pass

    def _constants(self, places: Sequence[Place], rows: pa.RecordBatch, *, compared: bool = False) -> list[pa.Array]:
        return [
            self._constant(place, values, compared=compared)
            for place, values in zip(places, rows.columns, strict=False)
        ]

    def _constant(self, place: Place, values: pa.Array, *, compared: bool) -> pa.Array:
        """A column as constants of SQL."""
        match place.type:
            case Scalar.BOOLEAN:
                return pc.if_else(values, "TRUE", "FALSE")
            case Scalar.INTEGER | Scalar.BIGINT:
                return values.cast(pa.string())
            case Scalar.BYTES:
                return _joined("X'", hexed(values), "'")
            case Decimal(precision, scale) if compared:
                # Beside a text, the server would compare as floating point.
                return _joined("CAST(", quoted(values), f" AS DECIMAL({precision},{scale}))")
            case Scalar.TIME:
                return quoted(times(values).cast(pa.string()))
            case Scalar.TIMESTAMP:
                zone = "UTC" if _plain(place.declared) == "timestamp" else self._database.zone
                return quoted(local(values, zone))
            case _:
                return quoted(values.cast(pa.large_string()))

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except pymysql.Error as error:
            raise _judged(error, self._database.address) from None


def _joined(before: str, column: pa.Array, after: str) -> pa.Array:
    text = pa.large_string()
    return pc.binary_join_element_wise(pa.scalar(before, text), column, pa.scalar(after, text), pa.scalar("", text))


def _plain(declared: str) -> str:
    """A type without its size: `int(11) unsigned` is int."""
    return re.split(r"[ (]", declared, maxsplit=1)[0].lower()


def _judged(error: pymysql.Error, address: Address) -> Exception:
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    words = str(error.args[1]) if len(error.args) > 1 else str(error)
    if number in _ROWS:
        return Refused(_without_values(words))
    if number in _AWAY or number == 0:
        return StoreAway(str(address), words or "the connection is lost")
    return server_refuses(f"{address} refuses: {words}")


def _without_values(words: str) -> str:
    words = re.sub(r"Duplicate entry '.*' for key", "Duplicate entry for key", words, flags=re.DOTALL)
    words = re.sub(r"value: '.*' for", "value for", words, flags=re.DOTALL)
    words = re.sub(r"value: '.*'$", "value", words, flags=re.DOTALL)
    words = re.sub(r"value '.*' for", "value for", words, flags=re.DOTALL)
    return re.sub(r" at row \d+", "", words)

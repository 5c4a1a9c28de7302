"""What a table, or a query's result, holds: its columns as SQL's types, which of them may be NULL, and the key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, assert_never

from pymysql.constants import FIELD_TYPE

from orion.databases.address import Database, Kind
from orion.databases.connecting import Connection, asked
from orion.errors import ConfigError, hint_nearest
from orion.schema import Array, Decimal, Scalar, SqlType

_LARGEST = 38  # digits of a DECIMAL
_PLAIN: dict[str, SqlType] = {
    **dict.fromkeys("boolean bool".split(), Scalar.BOOLEAN),
    **dict.fromkeys("smallint int2 tinyint mediumint integer int int4 serial smallserial year".split(), Scalar.INTEGER),
    **dict.fromkeys("bigint int8 bigserial oid".split(), Scalar.BIGINT),
    **dict.fromkeys("real float4 float float8 double".split(), Scalar.DOUBLE),
    **dict.fromkeys("bytea binary varbinary tinyblob blob mediumblob longblob bit".split(), Scalar.BYTES),
    "date": Scalar.DATE,
    **dict.fromkeys("time timetz".split(), Scalar.TIME),
    **dict.fromkeys("timestamp timestamptz datetime".split(), Scalar.TIMESTAMP),
}
_DECIMAL = ("numeric", "decimal", "dec", "money")
_TYPE = re.compile(r"\s*([a-z_][a-z0-9_]*)(?:\s+precision|\s+varying)?\s*(?:\(([^)]*)\))?(.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableColumn:
    name: str
    type: SqlType
    written: str  # the type as the database says it
    nullable: bool = True
    key: int = 0  # its place in the primary key, from 1; 0: it isn't part of it
    zoned: bool = False  # its times are moments, and no reading of some clock

    @classmethod
    def of(cls, database: Database, name: str, written: str, nullable: bool = True, key: int = 0) -> TableColumn:
        plain = written.lower()
        zoned = "with time zone" in plain or plain.startswith(("timestamptz", "timetz"))
        zoned = zoned or (database.kind is Kind.MYSQL and plain.startswith("timestamp"))
        return cls(name, type_of(database, written), written, nullable, key, zoned)


def split_name(database: Database, table: str) -> list[str]:
    """The parts of a table's name; a quoted part keeps its dots and its case."""
    mark = "`" if database.kind is Kind.MYSQL else '"'
    found = re.findall(rf"{mark}((?:[^{mark}]|{mark}{mark})+){mark}|([^.{mark}]+)", table)
    return [quoted.replace(mark * 2, mark) if quoted else plain for quoted, plain in found]


def quoted(database: Database, *names: str) -> str:
    mark = "`" if database.kind is Kind.MYSQL else '"'
    return ".".join(f"{mark}{name.replace(mark, mark * 2)}{mark}" for name in names)


def mark(database: Database) -> str:
    """What stands for a parameter in a statement."""
    return "?" if database.kind is Kind.SQLITE else "%s"


def found_table(connection: Connection, database: Database, table: str) -> tuple[str, ...]:
    """The table's name as the database spells it; raises ConfigError where there is none."""
    parts = split_name(database, table)
    there = _tables(connection, database, parts[-2] if len(parts) > 1 else None)
    alike = [t for t in there if t[-1].lower() == parts[-1].lower()]
    same = next((t for t in alike if t[-1] == parts[-1]), alike[0] if alike else None)
    if same is not None:
        return same if len(parts) > 1 else same[-1:]
    raise ConfigError(
        "TABLE_MISSING",
        f"There is no table {table} in {database}.",
        hint=hint_nearest(parts[-1], [t[-1] for t in there]),
    )


def columns_of(connection: Connection, database: Database, table: tuple[str, ...]) -> list[TableColumn]:
    match database.kind:
        case Kind.POSTGRESQL:
            told = asked(connection, _PG_COLUMNS, (quoted(database, *table),))
            found = [(name, written, not required, key or 0) for name, written, required, key in told]
        case Kind.MYSQL:
            schema = table[0] if len(table) > 1 else database.name
            told = asked(connection, _MYSQL_COLUMNS, (schema, table[-1]))
            found = [(name, written, nullable == "YES", key or 0) for name, written, nullable, key in told]
        case Kind.SQLITE:
            told = asked(connection, f"PRAGMA table_info({quoted(database, table[-1])})")
            # A key of one INTEGER column is the row's own number, which is never missing.
            rowid = [row[1] for row in told if row[5]] if sum(bool(row[5]) for row in told) == 1 else []
            found = [
                (name, written, not (required or (name in rowid and written.upper() == "INTEGER")), key)
                for _, name, written, required, _, key in told
            ]
        case _:
            assert_never(database.kind)
    return [TableColumn.of(database, *told) for told in found]


def columns_of_query(connection: Connection, database: Database, query: str) -> list[TableColumn]:
    """A query's columns, by running it for one row. SQLite tells no types: there the row itself does."""
    cursor = connection.cursor()
    try:
        cursor.execute(f"SELECT * FROM ({query}) AS orion_query LIMIT 1")
        row = cursor.fetchone()
        described = list(cursor.description)
        connection.rollback()
    finally:
        cursor.close()
    told = [_told(database, column, row[at] if row else None) for at, column in enumerate(described)]
    return [TableColumn.of(database, column[0], t) for column, t in zip(described, told, strict=True)]


def type_of(database: Database, written: str) -> SqlType:
    """The type that a database writes like this. What SQL has no type for is text: a UUID, JSON, an interval."""
    plain = written.strip().lower()
    if plain.endswith("[]") and database.kind is Kind.POSTGRESQL:
        return Array(type_of(database, plain[:-2]))
    if plain == "tinyint(1)":
        return Scalar.BOOLEAN  # MySQL's BOOLEAN
    parts = _TYPE.match(plain)
    if parts is None:
        return Scalar.STRING
    name, arguments, rest = parts[1], parts[2], parts[3]
    if name in _DECIMAL:
        return _decimal(arguments)
    if name == "bit" and database.kind is Kind.POSTGRESQL:
        return Scalar.STRING
    type_ = _PLAIN.get(name, Scalar.STRING)
    if "unsigned" in rest and type_ in (Scalar.INTEGER, Scalar.BIGINT):
        return Scalar.BIGINT if name in ("int", "integer") else Decimal(20, 0) if name == "bigint" else type_
    if database.kind is Kind.SQLITE:
        return _of_sqlite(name, type_)
    return type_


def _of_sqlite(name: str, type_: SqlType) -> SqlType:
    """SQLite's integers have 64 bits, whatever their column is called; it goes by parts of the name itself."""
    if "int" in name:
        return Scalar.BIGINT
    if type_ is Scalar.STRING and "blob" in name:
        return Scalar.BYTES
    if type_ is Scalar.STRING and any(part in name for part in ("real", "floa", "doub")):
        return Scalar.DOUBLE
    return type_


def _decimal(arguments: str | None) -> SqlType:
    if not arguments:
        return Decimal(_LARGEST, 18)
    precision, _, scale = arguments.partition(",")
    digits, behind = int(precision), int(scale or 0)
    if behind < 0:  # PostgreSQL's, rounded before the point
        digits, behind = digits - behind, 0
    digits = max(digits, behind)
    return Decimal(digits, behind) if digits <= _LARGEST else Decimal(_LARGEST, min(behind, 18))


_MYSQL_NAMES = {
    code: name
    for name, code in vars(FIELD_TYPE).items()
    if isinstance(code, int) and name not in ("CHAR", "INTERVAL", "NEWDATE")
}
_MYSQL_TYPES = {
    "TINY": "int",
    "SHORT": "int",
    "LONG": "int",
    "INT24": "int",
    "LONGLONG": "bigint",
    "NEWDECIMAL": "decimal",
    "VAR_STRING": "text",
    "STRING": "text",
    "BLOB": "text",  # the client gives text for text's blobs, and bytes for others
}


def _told(database: Database, column: Any, value: object) -> str:
    match database.kind:
        case Kind.POSTGRESQL:
            return str(column.type_display)
        case Kind.MYSQL:
            name = _MYSQL_NAMES.get(column[1], "text")
            if name == "NEWDECIMAL":
                return f"decimal({max(1, column[4] - 2 if column[5] else column[4] - 1)},{column[5] or 0})"
            if isinstance(value, bytes):
                return "blob"
            return _MYSQL_TYPES.get(name, name.lower())
        case Kind.SQLITE:
            kinds = {int: "bigint", float: "double", bytes: "blob"}
            return kinds.get(type(value), "text")
        case _:
            assert_never(database.kind)


_PG_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, array_position(i.indkey::int2[], a.attnum) + 1
FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_PG_TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {of} ORDER BY 1, 2
"""
_MYSQL_COLUMNS = """
SELECT c.column_name, c.column_type, c.is_nullable, k.ordinal_position
FROM information_schema.columns c LEFT JOIN information_schema.key_column_usage k
  ON k.table_schema = c.table_schema AND k.table_name = c.table_name AND k.column_name = c.column_name
  AND k.constraint_name = 'PRIMARY'
WHERE c.table_schema = %s AND c.table_name = %s ORDER BY c.ordinal_position
"""
_MYSQL_TABLES = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = %s"
_SQLITE_TABLES = "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view')"


def _tables(connection: Connection, database: Database, schema: str | None) -> list[tuple[str, ...]]:
    match database.kind:
        case Kind.POSTGRESQL:
            of = "lower(n.nspname) = lower(%s)" if schema else "pg_table_is_visible(c.oid)"
            return asked(connection, _PG_TABLES.format(of=of), (schema,) if schema else ())
        case Kind.MYSQL:
            return asked(connection, _MYSQL_TABLES, (schema or database.name,))
        case Kind.SQLITE:
            return asked(connection, _SQLITE_TABLES)
        case _:
            assert_never(database.kind)

"""A captured table: its columns in SQL's types, as Debezium's records hold them, and the statement that declares it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from orion.errors import UserError
from orion.ksql.parser import RESERVED
from orion.schema import Array, Decimal, Scalar, SqlType

MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class CapturedColumn:
    """A column of a database's table; no type means that SQL here has none for it."""

    name: str
    type: SqlType | None
    zoned: bool = False  # a time with a zone: text in the record, with more digits than a TIMESTAMP has


@dataclass(frozen=True, slots=True)
class Table:
    """A table as its database describes it; `name` is as in Debezium's lists: schema.table, or database.table."""

    name: str
    columns: tuple[CapturedColumn, ...]
    key: tuple[str, ...]  # the columns of the primary key, in its order


def declaration(table: Table, topic: str, key: tuple[str, ...] | None = None) -> str:
    """CREATE TABLE over the topic of a captured table. Columns that SQL has no type for are left out."""
    key = table.key if key is None else key
    if not key:
        raise UserError(
            "TABLE_WITHOUT_KEY",
            f"{table.name} has no primary key, so there is no TABLE of it.",
            hint="Give it one, or name its key with 'message.key.columns'.",
        )
    folded = [c.name.upper() for c in table.columns]
    lines = []
    for column in sorted(table.columns, key=lambda c: key.index(c.name) if c.name in key else len(key)):
        if column.type is not None:
            clash = folded.count(column.name.upper()) > 1
            mark = " PRIMARY KEY" if column.name in key else ""
            # Keys that differ only in their microseconds stay apart.
            type_ = Scalar.STRING if column.zoned and column.name in key else column.type
            lines.append(f"  {quoted(column.name, clash)} {spelled(type_)}{mark}")
    body = ",\n".join(lines)
    name = quoted(re.sub(r"\W", "_", table.name.rpartition(".")[2]))
    return (
        f"CREATE TABLE {name} (\n{body}\n) WITH (KAFKA_TOPIC = '{topic}', KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON');"
    )


def quoted(name: str, exact: bool = False) -> str:
    """A name as SQL takes it; in quotes only where it must be, since those bind its case."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and name.upper() not in RESERVED
    return name if plain and not exact else "`" + name.replace("`", "``") + "`"


def spelled(type_: SqlType) -> str:
    """A type as a declaration has it."""
    match type_:
        case Scalar.STRING:
            return "VARCHAR"
        case Array(element):
            return f"ARRAY<{spelled(element)}>"
        case _:
            return str(type_)


def decimal(precision: int | None, scale: int | None) -> SqlType:
    """A number of fixed digits; text where it has more of them than SQL has here, or as many as it likes."""
    if precision is None or scale is None or precision > MOST_DIGITS or not 0 <= scale <= precision:
        return Scalar.STRING
    return Decimal(precision, scale)

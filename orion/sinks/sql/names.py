"""Names of tables and columns: how a format gives one, how it is quoted, and how it is found among others.

Orion's own names are upper case as SQL means them, and databases fold names each in their own way. So a name finds a
table or column that is spelled like it, or else one that differs in case only; what is made new is lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from orion.errors import ConfigError

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
TOPIC = "${topic}"


@dataclass(frozen=True, slots=True)
class TableName:
    schema: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True, slots=True)
class Quoting:
    """How a database quotes names; or that it doesn't."""

    mark: str
    always: bool = True
    longest: int = 255
    in_bytes: bool = False  # how a name's length is told

    def __call__(self, name: str) -> str:
        length = len(name.encode() if self.in_bytes else name)
        # A longer one is cut short by some, and then two tables are one.
        if "\x00" in name or not 0 < length <= self.longest:
            raise ConfigError("INVALID_NAME", f"{name[:70]!r} is no name that the database takes.")
        if self.always:
            return f"{self.mark}{name.replace(self.mark, self.mark * 2)}{self.mark}"
        if not _PLAIN.fullmatch(name):
            raise ConfigError(
                "INVALID_NAME", f"{name!r} is no name without quotes.", hint="Set 'quote.sql.identifiers' to always."
            )
        return name

    def table(self, table: TableName) -> str:
        return f"{self(table.schema)}.{self(table.name)}" if table.schema else self(table.name)

    def all(self, names: Iterable[str]) -> str:
        return ", ".join(map(self, names))


def table_name(format_: str, topic: str) -> TableName:
    """Dots of the format separate a schema from the table. Those of a topic are part of its name."""
    parts = format_.split(".")
    filled = [part.replace(TOPIC, topic) for part in parts]
    return TableName(filled[0] if len(filled) == 2 else None, filled[-1])


def nearest(wanted: str, there: Iterable[str]) -> str | None:
    """The one that is spelled so, or the only one that differs in case alone."""
    candidates = [name for name in there if name.casefold() == wanted.casefold()]
    if wanted in candidates:
        return wanted
    return candidates[0] if len(candidates) == 1 else None

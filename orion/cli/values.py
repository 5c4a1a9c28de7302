"""Values of SQL on a screen, from the JSON that a server sends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from orion.cli.output import escaped
from orion.clients.exporting import json_text, scalar_text
from orion.schema import Array, Decimal, Map, Scalar, SqlType, Struct

NULL = "NULL"
# The columns that hold milliseconds since 1970 by their nature, whatever the query.
_MOMENTS = ("ROWTIME", "WINDOWSTART", "WINDOWEND")
_NUMBERS = (Scalar.INTEGER, Scalar.BIGINT, Scalar.DOUBLE)


def is_number(type_: SqlType) -> bool:
    return type_ in _NUMBERS or isinstance(type_, Decimal)


def screen_text(value: Any, type_: SqlType) -> str:
    """A value on one line: NULL is a bare word, and a text that could be taken for it stands in quotes."""
    if value is None:
        return NULL
    if type_ is Scalar.STRING:
        return _quoted_where_doubtful(str(value))
    return plain_text(value, type_)


def plain_text(value: Any, type_: SqlType) -> str:
    """A value that is there; what has parts is JSON."""
    is_nested = isinstance(type_, Array | Map | Struct)
    return escaped(json_text(value, type_) if is_nested else scalar_text(value, type_))


def moment_text(millis: Any) -> str:
    """Milliseconds since 1970 as a time in UTC; the bare number where no calendar reaches."""
    try:
        moment = datetime.fromtimestamp(millis / 1000, UTC)
    except (ValueError, OverflowError, OSError, TypeError):
        return NULL if millis is None else str(millis)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_moment(name: str, type_: SqlType) -> bool:
    return type_ is Scalar.BIGINT and name in _MOMENTS


def _quoted_where_doubtful(text: str) -> str:
    doubtful = not text or text == NULL or text[0] == "'" or text != text.strip()
    return escaped("'" + text.replace("'", "''") + "'" if doubtful else text)

"""DELIMITED: cells between delimiters, as Apache Commons CSV reads and writes them for ksqlDB.

A cell that holds the delimiter, a quote, a line's end or white space at its edge stands in double quotes, and a quote
in it is doubled. NULL and the empty text are both an empty cell, and are read as NULL. A record has one cell for each
column, no more and no fewer. BYTES are base64; DATE, TIME and TIMESTAMP are numbers, as in JSON.
"""

from __future__ import annotations

from orion.errors import InternalError
from orion.formats import Decoded
from orion.formats.wire import ranges
from orion.plan.sources import Serde
from orion.schema import Column, Decimal, Scalar, SqlType, literal, quote, spark_type

_CORRUPT = "__corrupt"
# What numbers and the like are made of: a delimiter among these may stand in any cell, not only in text.
_IN_NUMBERS = frozenset("+-.=/")


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    if not columns:
        return Decoded("1", (), "FALSE", "''")
    schema = ", ".join([*(f"c{at} STRING" for at in range(len(columns))), f"{_CORRUPT} STRING"])
    options = {
        "sep": delimiter_of(serde).replace("\\", "\\\\"),  # Spark reads escapes in it
        "escape": '"',
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _CORRUPT,
    }
    listed = ", ".join(f"'{name}', {literal(text)}" for name, text in options.items())
    line = f"rtrim('\\r\\n', CAST({raw} AS STRING))"  # some producers end it like a line of a file
    parsed = f"from_csv({line}, '{schema}', map({listed}))"
    cells = [f"nullif({value}.c{at}, '')" for at in range(len(columns))]
    fields = tuple(_read(cell, column.type) for cell, column in zip(cells, columns, strict=True))
    unreadable = [
        f"({cell} IS NOT NULL AND {field} IS NULL)"
        for cell, field, column in zip(cells, fields, columns, strict=True)
        if column.type not in (Scalar.STRING, Scalar.BOOLEAN)
    ]
    bad = [f"{value} IS NULL", f"{value}.{_CORRUPT} IS NOT NULL", f"length({raw}) = 0", *unreadable]
    reason = f"'not the {len(columns)} delimited columns that were declared'"
    return Decoded(parsed, fields, f"({' OR '.join(bad)})", reason)


def _read(cell: str, type_: SqlType) -> str:
    match type_:
        case Scalar.STRING:
            return cell
        case Scalar.BOOLEAN:
            return f"(lower({cell}) = 'true')"
        case Scalar.BYTES:
            return f"try_to_binary({cell}, 'base64')"
        case Scalar.DATE:
            return f"date_from_unix_date(try_cast({cell} AS INT))"
        case Scalar.TIMESTAMP:
            return ranges.timestamp(f"try_cast({cell} AS BIGINT)")
        case Scalar() | Decimal():
            return f"try_cast({cell} AS {spark_type(type_)})"
        case _:
            raise InternalError("FORMAT", f"DELIMITED can't hold {type_}.")


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    if not columns:
        return "CAST(NULL AS BINARY)"
    delimiter = delimiter_of(serde)
    anywhere = delimiter.isalnum() or delimiter in _IN_NUMBERS
    cells = []
    for at, column in enumerate(columns):
        text = _write(quote(column.name), column.type)
        if column.type is Scalar.STRING or anywhere:
            text = _quoted(text, delimiter, first=at == 0)
        cells.append(f"coalesce({text}, '')")
    return f"CAST(concat_ws({literal(delimiter)}, {', '.join(cells)}) AS BINARY)"


def _write(value: str, type_: SqlType) -> str:
    match type_:
        case Scalar.STRING:
            return value
        case Scalar.BYTES:
            return f"base64({value})"
        case Scalar.DATE:
            return f"CAST(unix_date({value}) AS STRING)"
        case Scalar.TIMESTAMP:
            return f"CAST(unix_millis({value}) AS STRING)"
        case Scalar() | Decimal():
            return f"CAST({value} AS STRING)"
        case _:
            raise InternalError("FORMAT", f"DELIMITED can't hold {type_}.")


def _quoted(text: str, delimiter: str, *, first: bool) -> str:
    """The cell in quotes where it needs them. A record's first cell needs them more often: it may be the whole line."""
    held = delimiter if delimiter.isalnum() else f"\\{delimiter}"
    starts = r"^(?:\z|[\x00-#,\x7f-\uffff])" if first else r"^[\x00-#]"
    pattern = rf'{starts}|[\r\n"{held}]|[\x00- ]\z'
    inside = f"""concat('"', replace({text}, '"', '""'), '"')"""
    return f"if({text} RLIKE {literal(pattern)}, {inside}, {text})"


def delimiter_of(serde: Serde) -> str:
    return serde.delimiter or ","

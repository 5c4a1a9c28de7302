"""JSON: an object of columns. A single key column stands alone, without an object around it, as in ksqlDB.

Field names are found whatever their case, as far as Spark's parser allows: under the column's name in upper and lower
case and as the declaration spelled it. TIMESTAMP, DATE and TIME travel as numbers (milliseconds, days, milliseconds of
the day), BYTES as base64, DECIMAL as a number.
"""

from __future__ import annotations

import json

from orion.formats import Decoded
from orion.plan.sources import Serde
from orion.schema import Array, Column, Map, Role, Scalar, SqlType, Struct, quote, spark_type

_CORRUPT = "__corrupt"
_OPTIONS = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_CORRUPT}', 'allowNonNumericNumbers', 'true')"


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    text = f"CAST({raw} AS STRING)"
    if _is_bare(columns, serde):
        text = f"concat('{{{_escaped(_quoted(columns[0].name))}:', {text}, '}}')"
    spelled = [(column, _spellings(column)) for column in columns]
    fields = [f"{quote(s)} {_wire_type(column.type)}" for column, names in spelled for s in names]
    schema = ", ".join([*fields, f"{_CORRUPT} STRING"]).replace("'", "\\'")
    parsed = f"from_json({text}, '{schema}', {_OPTIONS})"
    bad = f"({value} IS NULL OR {value}.{_CORRUPT} IS NOT NULL)"
    return Decoded(
        parsed, tuple(_field(c, names, value) for c, names in spelled), bad, "'not the JSON that was declared'"
    )


def _is_bare(columns: tuple[Column, ...], serde: Serde) -> bool:
    if len(columns) != 1:
        return False
    return columns[0].role is Role.KEY if serde.wrap_single is None else not serde.wrap_single


def _spellings(column: Column) -> list[str]:
    if column.spelling is None:
        return [column.name]  # written by Orion itself, which spells it like this
    return list(dict.fromkeys((column.spelling, column.name, column.name.lower())))


def _field(column: Column, spellings: list[str], value: str) -> str:
    read = [_from_wire(f"{value}.{quote(s)}", column.type) for s in spellings]
    return _first(read)


def _first(spelled: list[str]) -> str:
    return spelled[0] if len(spelled) == 1 else f"coalesce({', '.join(spelled)})"


def _wire_type(type_: SqlType) -> str:
    """The type as it stands in JSON, in Spark's DDL; a nested field is looked for in both cases too."""
    match type_:
        case Scalar.TIMESTAMP:
            return "BIGINT"
        case Scalar.DATE | Scalar.TIME:
            return "INT"
        case Array(element):
            return f"ARRAY<{_wire_type(element)}>"
        case Map(_, value):
            return f"MAP<STRING,{_wire_type(value)}>"
        case Struct(fields):
            inner = (f"{quote(s)}:{_wire_type(f.type)}" for f in fields for s in _both_cases(f.name))
            return f"STRUCT<{','.join(inner)}>"
        case _:
            return spark_type(type_)


def _both_cases(name: str) -> list[str]:
    return list(dict.fromkeys((name, name.lower())))


def _from_wire(value: str, type_: SqlType, depth: int = 0) -> str:
    x = f"x{depth}"
    match type_:
        case Scalar.TIMESTAMP:
            return f"timestamp_millis({value})"
        case Scalar.DATE:
            return f"date_from_unix_date({value})"
        case Array(element) if _is_special(element):
            return f"transform({value}, {x} -> {_from_wire(x, element, depth + 1)})"
        case Map(key, inner) if key is not Scalar.STRING or _is_special(inner):
            read = f"CAST(k{depth} AS {spark_type(key)})", _from_wire(x, inner, depth + 1)
            with_keys = f"transform_keys({value}, (k{depth}, {x}) -> {read[0]})"
            return f"transform_values({with_keys}, (k{depth}, {x}) -> {read[1]})"
        case Struct(fields):
            parts = []
            for f in fields:
                spelled = [_from_wire(f"{value}.{quote(s)}", f.type, depth + 1) for s in _both_cases(f.name)]
                parts.append(f"'{_escaped(f.name)}', {_first(spelled)}")
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case _:
            return value


def _is_special(type_: SqlType) -> bool:
    """Whether a value of the type stands otherwise in JSON than in Spark."""
    match type_:
        case Scalar.TIMESTAMP | Scalar.DATE | Struct():
            return True
        case Array(element):
            return _is_special(element)
        case Map(key, value):
            return key is not Scalar.STRING or _is_special(value)
        case _:
            return False


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    if not columns:
        return "CAST(NULL AS BINARY)"
    fields = ", ".join(f"'{_escaped(c.name)}', {_to_wire(quote(c.name), c.type)}" for c in columns)
    text = f"to_json(named_struct({fields}), map('ignoreNullFields', 'false'))"
    if _is_bare(columns, serde):
        name = columns[0].name
        ahead = len(f"{{{_quoted(name)}:") + 1
        bare = f"substring({text}, {ahead}, length({text}) - {ahead})"
        text = f"if({quote(name)} IS NULL, NULL, {bare})"
    return f"CAST({text} AS BINARY)"


def _quoted(name: str) -> str:
    """A name as JSON writes it."""
    return json.dumps(name, ensure_ascii=False)


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")


def _to_wire(value: str, type_: SqlType, depth: int = 0) -> str:
    x = f"x{depth}"
    match type_:
        case Scalar.TIMESTAMP:
            return f"unix_millis({value})"
        case Scalar.DATE:
            return f"unix_date({value})"
        case Array(element) if _is_special(element):
            return f"transform({value}, {x} -> {_to_wire(x, element, depth + 1)})"
        case Map(_, inner) if _is_special(inner):
            return f"transform_values({value}, (k{depth}, {x}) -> {_to_wire(x, inner, depth + 1)})"
        case Struct(fields) if any(_is_special(f.type) for f in fields):
            parts = (f"'{_escaped(f.name)}', {_to_wire(f'{value}.{quote(f.name)}', f.type, depth + 1)}" for f in fields)
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case _:
            return value

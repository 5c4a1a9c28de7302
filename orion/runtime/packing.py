"""Several columns as one run of bytes and back, for rows that pass through an operator in Python.

An operator moves and keeps rows without looking into them. As bytes they cost Python one value each, whatever they
hold, and neither a time zone nor a float's last digit can change on the way. The bytes are Avro, written and read
inside the JVM; names that Avro can't have are replaced by positions. One column of text alone, which most keys are, is
a 1 and its bytes, or a 0 for NULL: that takes a small part of the time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from orion.plan.relations import Expr
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct, literal, quote, spark_type

_PRIMITIVE: dict[Scalar, Any] = {
    Scalar.BOOLEAN: "boolean",
    Scalar.INTEGER: "int",
    Scalar.TIME: "int",
    Scalar.BIGINT: "long",
    Scalar.DOUBLE: "double",
    Scalar.STRING: "string",
    Scalar.BYTES: "bytes",
    Scalar.DATE: {"type": "int", "logicalType": "date"},
    Scalar.TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros"},
}


def pack(columns: Sequence[tuple[str, SqlType]]) -> str:
    """The Spark SQL of the bytes; each column is given as its Spark SQL."""
    if _is_text([t for _, t in columns]):
        text = columns[0][0]
        return f"CASE WHEN ({text}) IS NULL THEN {_NULL} ELSE concat({_TEXT}, CAST({text} AS BINARY)) END"
    fields = ", ".join(f"'c{at}', {_to_avro(spark, type_)}" for at, (spark, type_) in enumerate(columns))
    return f"to_avro(named_struct({fields or _NOTHING}), {_schema([t for _, t in columns])})"


def packed(expressions: Iterable[Expr]) -> str:
    """The bytes of a plan's expressions."""
    return pack([(e.spark, e.type) for e in expressions])


def present(expressions: Iterable[Expr]) -> str:
    """A condition: none of them is NULL."""
    return " AND ".join(f"({e.spark}) IS NOT NULL" for e in expressions)


def unpacked(bytes_: str, types: Sequence[SqlType]) -> str:
    """The Spark SQL of a struct; its fields are read by `column`."""
    if _is_text(types):
        text = f"CASE WHEN substring({bytes_}, 1, 1) = {_TEXT} THEN CAST(substring({bytes_}, 2) AS STRING) END"
        return f"CASE WHEN ({bytes_}) IS NOT NULL THEN named_struct('c0', {text}) END"
    return f"from_avro({bytes_}, {_schema(types)})"


def column(struct: str, at: int, type_: SqlType) -> str:
    return _from_avro(f"{struct}.c{at}", type_)


_NOTHING = "'none', CAST(NULL AS BOOLEAN)"
_NULL, _TEXT = "X'00'", "X'01'"


def _is_text(types: Sequence[SqlType]) -> bool:
    return list(types) == [Scalar.STRING]


def _schema(types: Sequence[SqlType]) -> str:
    numbers = count()
    fields = [{"name": f"c{at}", "type": ["null", _avro(t, numbers)]} for at, t in enumerate(types)]
    fields = fields or [{"name": "none", "type": ["null", "boolean"]}]
    text = json.dumps({"type": "record", "name": "row", "fields": fields})
    return f"'{text}'"


def _avro(type_: SqlType, numbers: count[int]) -> Any:
    match type_:
        case Scalar():
            return _PRIMITIVE[type_]
        case Decimal(precision, scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case Array(element):
            return {"type": "array", "items": ["null", _avro(element, numbers)]}
        case Map(Scalar.STRING, value):
            return {"type": "map", "values": ["null", _avro(value, numbers)]}
        case Map(key, value):
            return {"type": "array", "items": ["null", _avro(_entry(key, value), numbers)]}
        case Struct(fields):
            named = [
                {"name": name, "type": ["null", _avro(f.type, numbers)]}
                for name, f in zip(_field_names(type_), fields, strict=True)
            ]
            named = named or [{"name": "none", "type": ["null", "boolean"]}]
            return {"type": "record", "name": f"r{next(numbers)}", "fields": named}


def _entry(key: SqlType, value: SqlType) -> Struct:
    return Struct((Field("key", key), Field("value", value)))


def _field_names(struct: Struct) -> list[str]:
    names = [f.name for f in struct.fields]
    if all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", n) for n in names) and len({n.lower() for n in names}) == len(names):
        return names
    return [f"f{at}" for at in range(len(names))]


def _is_direct(type_: SqlType) -> bool:
    """Whether Avro takes the type as Spark has it."""
    match type_:
        case Array(element):
            return _is_direct(element)
        case Map(key, value):
            return key is Scalar.STRING and _is_direct(value)
        case Struct(fields):
            as_is = bool(fields) and _field_names(type_) == [f.name for f in fields]
            return as_is and all(_is_direct(f.type) for f in fields)
        case _:
            return True


def _to_avro(value: str, type_: SqlType, depth: int = 0) -> str:
    if _is_direct(type_):
        return value
    x = f"x{depth}"
    match type_:
        case Array(element):
            return f"transform({value}, {x} -> {_to_avro(x, element, depth + 1)})"
        case Map(Scalar.STRING, inner):
            return f"transform_values({value}, (k{depth}, {x}) -> {_to_avro(x, inner, depth + 1)})"
        case Map(key, inner):
            return f"transform(map_entries({value}), {x} -> {_to_avro(x, _entry(key, inner), depth + 1)})"
        case Struct(fields):
            parts = [
                f"'{name}', {_to_avro(f'{value}.{quote(f.name)}', f.type, depth + 1)}"
                for name, f in zip(_field_names(type_), fields, strict=True)
            ]
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts) or _NOTHING}))"
        case _:
            return value


def _from_avro(value: str, type_: SqlType, depth: int = 0) -> str:
    if _is_direct(type_):
        return value
    x = f"x{depth}"
    match type_:
        case Array(element):
            return f"transform({value}, {x} -> {_from_avro(x, element, depth + 1)})"
        case Map(Scalar.STRING, inner):
            return f"transform_values({value}, (k{depth}, {x}) -> {_from_avro(x, inner, depth + 1)})"
        case Map(key, inner):
            return f"map_from_entries(transform({value}, {x} -> {_from_avro(x, _entry(key, inner), depth + 1)}))"
        case Struct(fields):
            parts = []
            for name, f in zip(_field_names(type_), fields, strict=True):
                parts.append(f"{literal(f.name)}, {_from_avro(f'{value}.{quote(name)}', f.type, depth + 1)}")
            made = f"named_struct({', '.join(parts)})" if parts else f"CAST(NULL AS {spark_type(type_)})"
            return f"if({value} IS NULL, NULL, {made})"
        case _:
            return value

"""SQL's types as fields of an index: how they are made, and which that are there take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from orion.errors import ConfigError
from orion.schema import Array, Column, Decimal, Map, Scalar, SqlType, Struct

_TEXT = ("text", "keyword", "wildcard", "match_only_text", "search_as_you_type")
_REAL = ("double", "float", "half_float", "scaled_float", "rank_feature")
_TIMES = ("date", "date_nanos")
_OBJECTS = ("object", "nested")
_FLAT = ("flattened", "flat_object")

_FIELDS: dict[Scalar, dict[str, Any]] = {
    Scalar.BOOLEAN: {"type": "boolean"},
    Scalar.INTEGER: {"type": "integer"},
    Scalar.BIGINT: {"type": "long"},
    Scalar.DOUBLE: {"type": "double"},
    Scalar.STRING: {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}},
    Scalar.BYTES: {"type": "binary"},
    Scalar.DATE: {"type": "date"},
    Scalar.TIME: {"type": "keyword"},
    Scalar.TIMESTAMP: {"type": "date"},
}
# A number to search, sort and add up by, and its text to find it exactly.
_DECIMAL: dict[str, Any] = {"type": "double", "fields": {"exact": {"type": "keyword"}}}

# What is there and takes every value of a type. One that takes some, such as a text that should be an address of the
# internet, counts too: the server refuses the rows that don't fit.
_TAKES: dict[Scalar, tuple[str, ...]] = {
    Scalar.BOOLEAN: ("boolean", *_TEXT),
    Scalar.INTEGER: ("integer", "long", "unsigned_long", *_REAL, *_TEXT),
    Scalar.BIGINT: ("long", "unsigned_long", *_REAL, *_TIMES, *_TEXT),
    Scalar.DOUBLE: (*_REAL, *_TEXT),
    Scalar.STRING: (*_TEXT, *_TIMES, "constant_keyword", "ip", "version", "completion", "geo_point", "geo_shape"),
    Scalar.BYTES: ("binary", *_TEXT),
    Scalar.DATE: (*_TIMES, *_TEXT),
    Scalar.TIME: (*_TIMES, *_TEXT),
    Scalar.TIMESTAMP: (*_TIMES, *_TEXT),
}
_TAKES_DECIMAL = (*_REAL, *_TEXT)

Properties = dict[str, Any]


def mappings(columns: tuple[Column, ...], compact: bool) -> dict[str, Any]:
    """What a new index is told. Texts that look like dates stay texts: nothing is guessed."""
    templates = [{c.name: _template(c.name, c.type)} for c in columns if compact and _values_alike(c.type)]
    told: dict[str, Any] = {"date_detection": False, "properties": properties(columns, compact)}
    return told | ({"dynamic_templates": templates} if templates else {})


def properties(columns: tuple[Column, ...], compact: bool) -> Properties:
    return {c.name: field(c.type, compact) for c in columns}


def field(type_: SqlType, compact: bool) -> dict[str, Any]:
    match type_:
        case Scalar():
            return _FIELDS[type_]
        case Decimal():
            return _DECIMAL
        case Array(element):
            return field(element, compact)  # a field may have several values
        case Map(_, value):
            pair = {"key": _FIELDS[Scalar.STRING], "value": field(value, compact)}
            return {"type": "object"} if compact else {"type": "object", "properties": pair}
        case Struct(fields):
            return {"type": "object", "properties": {f.name: field(f.type, compact) for f in fields}}
        case _:
            assert_never(type_)


def missing(columns: tuple[Column, ...], there: Mapping[str, Any], index: str, compact: bool) -> Properties:
    """What must be added to an index before it takes these columns; a field that won't is refused, both named."""
    added = {}
    for column in columns:
        found = _missing(column.name, column.type, there.get(column.name), index, compact)
        if found is not None:
            added[column.name] = found
    return added


def _missing(path: str, type_: SqlType, there: Any, index: str, compact: bool) -> dict[str, Any] | None:
    if there is None:
        return field(type_, compact)
    kind = str(there.get("type", "object"))
    match type_:
        case Array(element):
            return _missing(path, element, there, index, compact)
        case Struct(fields) if kind in _OBJECTS:
            inside = there.get("properties", {})
            columns = {f.name: _missing(f"{path}.{f.name}", f.type, inside.get(f.name), index, compact) for f in fields}
            added = {name: found for name, found in columns.items() if found is not None}
            return {"type": kind, "properties": added} if added else None
        case Struct() | Map():
            fits = kind in (*_OBJECTS, *_FLAT)
        case Decimal():
            fits = kind in _TAKES_DECIMAL
        case Scalar():
            fits = kind in _TAKES[type_]
        case _:
            assert_never(type_)
    if not fits:
        told = f"{path} is {type_}, and the index {index} has it as {kind}."
        hint = "A CAST in the query or a transform makes them fit; a field of an index can't be changed."
        raise ConfigError("TYPE_MISMATCH", told, hint=hint)
    return None


def _values_alike(type_: SqlType) -> bool:
    """A map whose values can be told apart from its keys' names alone."""
    return isinstance(type_, Map) and isinstance(type_.value, Scalar | Decimal)


def _template(name: str, type_: SqlType) -> dict[str, Any]:
    assert isinstance(type_, Map)
    return {"path_match": f"{name}.*", "mapping": field(type_.value, compact=True)}

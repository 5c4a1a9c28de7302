"""Rows as the values that fastavro writes: by the schema's names, in its branches, its units and its digits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from orion.errors import SchemaError
from orion.formats.records.schema import Array as ArrayTree
from orion.formats.records.schema import Enum, Leaf, Record, Tree, Union, tree_of
from orion.formats.records.schema import Map as MapTree
from orion.formats.records.types import takes_null
from orion.formats.wire.naming import named
from orion.plan.sources import Serde, WireSchema, is_alone
from orion.schema import Array, Column, Decimal, Field, Map, Scalar, SqlType, Struct

# How many of a unit are a millisecond.
_UNITS = {"micros": 1000, "nanos": 1_000_000}
_BOUNDS = {"int": 1 << 31, "long": 1 << 63}
_KINDS = {
    Scalar.BOOLEAN: ("boolean",),
    Scalar.INTEGER: ("int", "long", "float", "double"),
    Scalar.BIGINT: ("int", "long", "float", "double"),
    Scalar.DOUBLE: ("float", "double"),
    Scalar.STRING: ("string",),
    Scalar.BYTES: ("bytes", "fixed"),
    Scalar.DATE: ("int",),
    Scalar.TIME: ("int", "long"),
    Scalar.TIMESTAMP: ("long",),
}


def value_of(columns: tuple[Column, ...], serde: Serde, schema: WireSchema, given: Sequence[Any]) -> Any:
    """What fastavro is to write for the values of columns. Raises SchemaError where the schema has no place for one."""
    tree = _tree(schema)
    if is_alone(columns, serde):
        return _value(given[0], columns[0].type, tree, columns[0].name)
    fields = [Field(column.name, column.type) for column in columns]
    return _record(dict(zip((f.name for f in fields), given, strict=True)), fields, _only(tree, "the record"), "")


@lru_cache(maxsize=64)
def _tree(schema: WireSchema) -> Tree:
    return tree_of(schema)


def _value(value: Any, type_: SqlType, tree: Tree, where: str) -> Any:
    if value is None:
        return None
    inner = _only(tree, where)
    match type_, inner:
        case Struct(fields), Record():
            return _record(value, fields, inner, f"{where}->")
        case Array(element), ArrayTree(items):
            return [_value(one, element, items, where) for one in value]
        case Map(_, element), MapTree(items):
            return {key: _value(one, element, items, where) for key, one in value.items()}
        case Map(_, element), ArrayTree(Record() as entry) if entry.is_entry:
            items = entry.fields[1].type
            return [{"key": key, "value": _value(one, element, items, where)} for key, one in value.items()]
        case Scalar.STRING, Enum():
            return value
        case _, Leaf():
            return _leaf(value, type_, inner, where)
        case _:
            raise _unfit(where, type_)


def _only(tree: Tree, where: str) -> Tree:
    """What a value is, beside NULL."""
    if not isinstance(tree, Union):
        return tree
    if len(tree.values) != 1:
        raise SchemaError("SCHEMA_UNFIT", f"{where} may be one of several things, and a column is of one type.")
    return tree.values[0]


def _record(values: dict[str, Any], fields: Sequence[Field], tree: Tree, where: str) -> dict[str, Any]:
    if not isinstance(tree, Record):
        raise SchemaError("SCHEMA_UNFIT", f"{where or 'The row'} has fields, and the topic's schema is no record.")
    names = [field.name for field in tree.fields]
    made: dict[str, Any] = {}
    for field in fields:
        at = named(field.name, names)
        if at is None:
            message = f"The topic's schema has no field {where}{field.name}."
            raise SchemaError("SCHEMA_UNFIT", message, hint="Register a version with it, or leave the column out.")
        given, place = values[field.name], tree.fields[at]
        if given is None and not takes_null(place.type):
            continue  # its default, or fastavro says that it is missing
        made[place.name] = _value(given, field.type, place.type, f"{where}{field.name}")
    return made


def _leaf(value: Any, type_: SqlType, leaf: Leaf, where: str) -> Any:
    if isinstance(type_, Decimal) and leaf.is_decimal:
        return value
    if not isinstance(type_, Scalar) or leaf.is_decimal or leaf.kind not in _KINDS[type_]:
        raise _unfit(where, type_)
    if leaf.kind in ("float", "double"):
        return float(value)
    if type_ in (Scalar.TIMESTAMP, Scalar.TIME):
        value *= _UNITS.get((leaf.logical or "").rpartition("-")[2], 1)
    bound = _BOUNDS.get(leaf.kind)
    if bound is not None and not -bound <= value < bound:  # fastavro doesn't look
        raise SchemaError("VALUE_UNFIT", f"{where} is {value}, and the topic's schema has {leaf.kind} there.")
    return value


def _unfit(where: str, type_: SqlType) -> SchemaError:
    return SchemaError("SCHEMA_UNFIT", f"{where} is {type_}, and the topic's schema has something else there.")

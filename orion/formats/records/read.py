"""What Spark gives for a record of Avro, as columns: Spark SQL over the fields by their places."""

from __future__ import annotations

from orion.errors import SchemaError
from orion.formats.records.schema import (
    Array,
    Enum,
    Leaf,
    Map,
    Record,
    RecordField,
    Tree,
    Union,
    place,
)
from orion.formats.records.types import (
    branch_name,
    holds_struct,
    is_alike,
    unfit,
    widened,
)
from orion.formats.wire import ranges
from orion.formats.wire.naming import named
from orion.plan.sources import Serde, is_alone
from orion.schema import Array as SqlArray
from orion.schema import Column, Decimal, Scalar, SqlType, Struct, is_numeric, literal, spark_type
from orion.schema import Map as SqlMap


def columns_read(columns: tuple[Column, ...], serde: Serde, tree: Tree, value: str) -> list[str]:
    if is_alone(columns, serde):
        return [_read(value, tree, columns[0].type, columns[0].name)]
    if not isinstance(tree, Record):
        raise SchemaError("SCHEMA_UNFIT", "it is no record")
    return [_field(tree, value, column.name, column.type) for column in columns]


def _field(record: Record, value: str, name: str, type_: SqlType) -> str:
    at = named(name, [f.name for f in record.fields])
    if at is None:
        return f"CAST(NULL AS {spark_type(type_)})"
    return _read(f"{value}.{place(at)}", record.fields[at].type, type_, name)


def _read(value: str, tree: Tree, type_: SqlType, name: str, depth: int = 0) -> str:
    """The Spark SQL that makes a value of the type out of what Spark makes of the tree."""
    if is_alike(tree, type_):
        return f"CAST({value} AS {spark_type(type_)})" if holds_struct(type_) else value
    x = f"x{depth}"
    match tree, type_:
        case Union(), _ if len(tree.values) == 1:
            return _read(value, tree.values[0], type_, name, depth)
        case Union(), _ if not tree.values:
            return f"CAST(NULL AS {spark_type(type_)})"
        case Union(), _ if (wide := widened(tree)) is not None:
            return _read(value, wide, type_, name, depth)
        case Union(), Struct(fields):
            members = [branch_name(b) for b in tree.values]
            parts = []
            for f in fields:
                at = named(f.name, members)
                inner = "NULL" if at is None else _read(f"{value}.member{at}", tree.values[at], f.type, f.name, depth)
                parts.append(f"{literal(f.name)}, CAST({inner} AS {spark_type(f.type)})")
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case Record(), Struct(fields):
            parts = [f"{literal(f.name)}, {_field(tree, value, f.name, f.type)}" for f in fields]
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case Array(items), SqlArray(element):
            return f"transform({value}, {x} -> {_read(x, items, element, name, depth + 1)})"
        case Array(Record(_, (RecordField("key", key), RecordField("value", inner)))), SqlMap(key_type, value_type):
            entry = f"struct({_read(f'{x}.f0', key, key_type, name, depth + 1)}, "
            entry += f"{_read(f'{x}.f1', inner, value_type, name, depth + 1)})"
            return f"map_from_entries(transform({value}, {x} -> {entry}))"
        case Map(values), SqlMap(Scalar.STRING, inner_type):
            return f"transform_values({value}, (k{depth}, {x}) -> {_read(x, values, inner_type, name, depth + 1)})"
        case Enum(), Scalar.STRING:
            return value
        case Leaf(), Scalar() | Decimal():
            return _read_leaf(value, tree, type_, name)
        case _:
            raise unfit(name, type_, tree)


def _read_leaf(value: str, leaf: Leaf, type_: Scalar | Decimal, name: str) -> str:
    micros = (leaf.logical or "").endswith("-micros")
    is_number = leaf.kind in ("int", "long", "float", "double") or leaf.is_decimal
    match type_:
        case Scalar.TIMESTAMP if leaf.kind == "long":
            return f"timestamp_micros({value})" if micros else ranges.timestamp(value)
        case Scalar.DATE if leaf.kind == "int":
            return f"date_from_unix_date({value})"
        case Scalar.TIME if leaf.kind in ("int", "long"):
            return f"CAST({value} DIV 1000 AS INT)" if micros else f"CAST({value} AS INT)"
        case Scalar.STRING if is_number or leaf.kind == "boolean":
            return f"CAST({value} AS STRING)"
        case _ if leaf.kind == "null":
            return f"CAST(NULL AS {spark_type(type_)})"
        case _ if is_number and is_numeric(type_):
            return f"try_cast({value} AS {spark_type(type_)})"
        case Scalar.BYTES if leaf.kind in ("bytes", "fixed") and not leaf.is_decimal:
            return value
        case _:
            raise unfit(name, type_, leaf)

"""Columns as what Spark writes as a record of Avro: Spark SQL by the schema's tree."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal as Number

from orion.errors import SchemaError
from orion.formats.records.schema import (
    MISSING,
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
    sql_type,
    takes_null,
    unfit,
)
from orion.formats.wire.naming import named
from orion.plan.sources import Serde, is_alone
from orion.schema import Array as SqlArray
from orion.schema import Column, Decimal, Scalar, SqlType, Struct, is_numeric, literal, quote, spark_type
from orion.schema import Map as SqlMap


def whole(columns: tuple[Column, ...], serde: Serde, tree: Tree) -> str:
    """The value that `to_avro` is given for a row."""
    if is_alone(columns, serde):
        return _write(quote(columns[0].name), columns[0].type, tree, columns[0].name)
    if not isinstance(tree, Record):
        raise SchemaError("SCHEMA_UNFIT", f"The schema is no record: it can't hold {len(columns)} columns.")
    return _written(tree, {c.name: (quote(c.name), c.type) for c in columns})


def _written(record: Record, given: dict[str, tuple[str, SqlType]]) -> str:
    columns = _by_field(record, given)
    missing = [name for name in given if name not in columns.values()]
    if missing:
        message = f"The schema {record.name} has no field {', '.join(missing)}."
        raise SchemaError("SCHEMA_UNFIT", message, hint="Register a version with it, or leave the column out.")
    parts = []
    for at, field in enumerate(record.fields):
        made = _write(*given[columns[at]], field.type, field.name) if at in columns else _default(field)
        parts.append(f"'{place(at)}', {made}")
    return f"named_struct({', '.join(parts)})"


def _by_field(record: Record, columns: Iterable[str]) -> dict[int, str]:
    """Which column goes into which field."""
    names = [f.name for f in record.fields]
    found = ((named(column, names), column) for column in columns)
    return {at: column for at, column in found if at is not None}


def _default(field: RecordField) -> str:
    """What is written of a field that there is no column for."""
    is_optional = isinstance(field.type, Union) and Leaf("null") in field.type.branches
    type_ = sql_type(field.type)
    if field.default is MISSING and not is_optional:
        message = f"The field {field.name} of the schema has no column, and no default."
        raise SchemaError("SCHEMA_UNFIT", message, hint=f"Select something AS {field.name}.")
    if field.default is MISSING or field.default is None:
        return _write(f"CAST(NULL AS {spark_type(type_)})", type_, field.type, field.name)
    # A union's default is of its first branch.
    tree = field.type.branches[0] if isinstance(field.type, Union) else field.type
    match tree, field.default:
        case Leaf("bytes" | "fixed"), str() if tree.is_decimal:
            unscaled = int.from_bytes(field.default.encode("latin-1"), "big", signed=True)
            number = Number(unscaled).scaleb(-tree.scale)
            return f"CAST('{number:f}' AS DECIMAL({tree.precision},{tree.scale}))"
        case Leaf("bytes" | "fixed"), str():
            return f"X'{field.default.encode('latin-1').hex().upper()}'"
        case Leaf() | Enum(), bool() | int() | float() | str():
            text = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
            kind = tree.kind.replace("long", "bigint").upper() if isinstance(tree, Leaf) else "STRING"
            return f"CAST({literal(text)} AS {kind})"
        case Array() | Map(), [] | {}:
            empty = "array()" if isinstance(tree, Array) else "map()"
            return _write(f"CAST({empty} AS {spark_type(type_)})", type_, field.type, field.name)
        case _:
            raise SchemaError("SCHEMA_UNFIT", f"The field {field.name} has no column, and no simple default.")


def refused(columns: tuple[Column, ...], serde: Serde, tree: Tree) -> list[str]:
    """Conditions, never NULL themselves: the row has something that the schema doesn't take."""
    if is_alone(columns, serde):
        return _refused_inside(quote(columns[0].name), columns[0].type, tree)
    assert isinstance(tree, Record)
    return _refused_fields(tree, {c.name: (quote(c.name), c.type) for c in columns})


def _refused_fields(record: Record, given: dict[str, tuple[str, SqlType]]) -> list[str]:
    columns = _by_field(record, given).items()
    return [c for at, column in columns for c in _refused(*given[column], record.fields[at].type)]


def _refused(value: str, type_: SqlType, tree: Tree, depth: int = 0) -> list[str]:
    """Of a value that may be NULL."""
    inside = _refused_inside(value, type_, tree, depth)
    found = [f"({value} IS NOT NULL AND ({' OR '.join(inside)}))"] if inside else []
    return found if takes_null(tree) else [f"{value} IS NULL", *found]


def _refused_inside(value: str, type_: SqlType, tree: Tree, depth: int = 0) -> list[str]:
    """Of a value that is there."""
    x = f"r{depth}"
    match tree, type_:
        case Union(), _ if len(tree.values) == 1:
            return _refused_inside(value, type_, tree.values[0], depth)
        case Enum(_, symbols), _:
            return [f"{value} NOT IN ({', '.join(map(literal, symbols))})"]
        case Leaf("fixed"), Scalar.BYTES:
            return [f"length({value}) != {tree.size}"]
        case Leaf(), Scalar() | Decimal() if tree.is_decimal and not is_alike(tree, type_):
            return [f"CAST({value} AS DECIMAL({tree.precision},{tree.scale})) IS NULL"]
        case Record(), Struct(fields):
            return _refused_fields(tree, {f.name: (f"{value}.{quote(f.name)}", f.type) for f in fields})
        case Array(items), SqlArray(element):
            inside = _refused(x, element, items, depth + 1)
            return [f"exists({value}, {x} -> {' OR '.join(inside)})"] if inside else []
        case Map(values), SqlMap(_, inner):
            inside = _refused(x, inner, values, depth + 1)
            return [f"exists(map_values({value}), {x} -> {' OR '.join(inside)})"] if inside else []
        case _:
            return []


def _write(value: str, type_: SqlType, tree: Tree, name: str, depth: int = 0) -> str:
    """The Spark SQL of what Spark writes as the tree."""
    if is_alike(tree, type_) and not holds_struct(type_):
        return value
    x = f"x{depth}"
    match tree, type_:
        case Union(), _ if len(tree.values) == 1:
            return _write(value, type_, tree.values[0], name, depth)
        case Union(), Struct(fields) if {f.name.upper() for f in fields} == {
            branch_name(b).upper() for b in tree.values
        }:
            parts = []
            for at, branch in enumerate(tree.values):
                found = next(f for f in fields if f.name.upper() == branch_name(branch).upper())
                inner = _write(f"{value}.{quote(found.name)}", found.type, branch, name, depth)
                parts.append(f"'member{at}', {inner}")
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case Record(), Struct(fields):
            given = {f.name: (f"{value}.{quote(f.name)}", f.type) for f in fields}
            return f"if({value} IS NULL, NULL, {_written(tree, given)})"
        case Array(items), SqlArray(element):
            return f"transform({value}, {x} -> {_write(x, element, items, name, depth + 1)})"
        case Array(Record(_, (RecordField("key", key), RecordField("value", inner)))), SqlMap(key_type, value_type):
            entry = f"'f0', {_write(f'{x}.key', key_type, key, name, depth + 1)}, "
            entry += f"'f1', {_write(f'{x}.value', value_type, inner, name, depth + 1)}"
            return f"transform(map_entries({value}), {x} -> named_struct({entry}))"
        case Map(values), SqlMap(Scalar.STRING, inner):
            return f"transform_values({value}, (k{depth}, {x}) -> {_write(x, inner, values, name, depth + 1)})"
        case Enum(), Scalar.STRING:
            return value
        case Leaf(), Scalar() | Decimal():
            return _write_leaf(value, type_, tree, name)
        case _:
            raise unfit(name, type_, tree)


def _write_leaf(value: str, type_: Scalar | Decimal, leaf: Leaf, name: str) -> str:
    micros = (leaf.logical or "").endswith("-micros")
    match type_:
        case Scalar.TIMESTAMP if leaf.kind == "long":
            return f"unix_micros({value})" if micros else f"unix_millis({value})"
        case Scalar.DATE if leaf.kind == "int":
            return f"unix_date({value})"
        case Scalar.TIME if leaf.kind in ("int", "long"):
            return f"{value} * 1000L" if micros else f"CAST({value} AS {'INT' if leaf.kind == 'int' else 'BIGINT'})"
        case Scalar.BYTES if leaf.kind == "fixed":
            return value
        case _ if leaf.is_decimal and is_numeric(type_):
            return f"CAST({value} AS DECIMAL({leaf.precision},{leaf.scale}))"
        case Scalar.INTEGER | Scalar.BIGINT | Scalar.DOUBLE if leaf.kind in _WIDER[type_]:
            return f"CAST({value} AS {leaf.kind.replace('long', 'bigint').upper()})"
        case _:
            raise unfit(name, type_, leaf)


_WIDER = {
    Scalar.INTEGER: ("int", "long", "float", "double"),
    Scalar.BIGINT: ("long", "float", "double"),
    Scalar.DOUBLE: ("float", "double"),
}

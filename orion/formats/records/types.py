"""Trees of Avro and the types of SQL: which stand for which, and columns as a schema."""

from __future__ import annotations

import json
import re
from itertools import chain, count
from typing import Any

from orion.errors import SchemaError
from orion.formats.records.schema import (
    Array,
    Enum,
    Leaf,
    Map,
    Record,
    Tree,
    Union,
    tree_of,
)
from orion.formats.wire.naming import inferred
from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, WireSchema, is_alone
from orion.schema import Array as SqlArray
from orion.schema import Column, Decimal, Role, Scalar, SqlType, Struct
from orion.schema import Field as SqlField
from orion.schema import Map as SqlMap

RECORD = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KINDS = {
    Scalar.BOOLEAN: "boolean",
    Scalar.INTEGER: "int",
    Scalar.BIGINT: "long",
    Scalar.DOUBLE: "double",
    Scalar.STRING: "string",
    Scalar.BYTES: "bytes",
}
_TIMES = {
    Scalar.DATE: ("int", "date"),
    Scalar.TIME: ("int", "time-millis"),
    Scalar.TIMESTAMP: ("long", "timestamp-millis"),
}
_LOGICAL = {
    ("int", "date"): Scalar.DATE,
    ("int", "time-millis"): Scalar.TIME,
    ("long", "time-micros"): Scalar.TIME,
    ("long", "timestamp-millis"): Scalar.TIMESTAMP,
    ("long", "timestamp-micros"): Scalar.TIMESTAMP,
}
_INFERRED = {kind: type_ for type_, kind in KINDS.items()} | {"float": Scalar.DOUBLE, "fixed": Scalar.BYTES}


def is_alike(tree: Tree, type_: SqlType) -> bool:
    """Whether Spark makes just this type of the tree, fields' names aside."""
    match tree, type_:
        case Union(), _:
            return len(tree.values) == 1 and is_alike(tree.values[0], type_)
        case Record(_, given), Struct(wanted):
            return len(given) == len(wanted) and all(
                g.name.upper() == w.name.upper() and is_alike(g.type, w.type)
                for g, w in zip(given, wanted, strict=True)
            )
        case Array(items), SqlArray(element):
            return is_alike(items, element)
        case Map(values), SqlMap(Scalar.STRING, inner):
            return is_alike(values, inner)
        case Leaf(), Decimal(precision, scale):
            return tree.is_decimal and (tree.precision, tree.scale) == (precision, scale)
        case Leaf(), Scalar():
            return not tree.is_decimal and KINDS.get(type_) == tree.kind
        case _:
            return False


def holds_struct(type_: SqlType) -> bool:
    match type_:
        case Struct():
            return True
        case SqlArray(inner) | SqlMap(_, inner):
            return holds_struct(inner)
        case _:
            return False


def unfit(name: str, type_: SqlType, tree: Tree) -> SchemaError:
    return SchemaError("SCHEMA_UNFIT", f"{name} is {type_}, and the schema has {branch_name(tree)} there")


def widened(tree: Union) -> Leaf | None:
    """The number that Spark makes of a union of two widths of it; of any other union it makes a struct."""
    kinds = {b.kind for b in tree.values if isinstance(b, Leaf)} if len(tree.values) == 2 else set()
    return Leaf("long") if kinds == {"int", "long"} else Leaf("double") if kinds == {"float", "double"} else None


def branch_name(tree: Tree) -> str:
    """As Connect names the fields of a union."""
    match tree:
        case Leaf():
            return tree.kind
        case Enum(name) | Record(name):
            return name.rpartition(".")[2]
        case Array():
            return "array"
        case Map():
            return "map"
        case Union():
            return "union"


def takes_null(tree: Tree) -> bool:
    return null_place(tree) is not None or tree == Leaf("null")


def null_place(tree: Tree) -> int | None:
    """The byte that says NULL in a union; None where there is no NULL."""
    if not isinstance(tree, Union) or Leaf("null") not in tree.branches:
        return None
    return 2 * tree.branches.index(Leaf("null"))


# ---- schemas and columns ---------------------------------------------------------------------------------------


def schema_of(columns: tuple[Column, ...], serde: Serde) -> str:
    """The schema that is registered for columns."""
    name = serde.full_name or RECORD
    taken: set[str] = set()
    if is_alone(columns, serde):
        return json.dumps(_type(columns[0].type, f"{name}_{columns[0].name}", taken))
    return json.dumps(_record(name, [SqlField(c.name, c.type) for c in columns], taken))


def _record(name: str, fields: list[SqlField], taken: set[str]) -> dict[str, Any]:
    """`taken`: the names that records around and before this one have."""
    name = next(n for n in chain((name,), (f"{name}_{at}" for at in count(1))) if n not in taken)
    taken.add(name)
    space, _, simple = name.rpartition(".")
    made: dict[str, Any] = {"type": "record", "name": simple}
    if space:
        made["namespace"] = space
    made["fields"] = []
    for field in fields:
        if not _NAME.fullmatch(field.name):
            raise SchemaError(
                "INVALID_NAME",
                f"Avro has no field {field.name}: names are letters, digits and underscores, a digit not first.",
                hint="Give the column an alias.",
            )
        inner = _type(field.type, f"{name}_{field.name}", taken)
        made["fields"].append({"name": field.name, "type": ["null", inner], "default": None})
    return made


def _type(type_: SqlType, name: str, taken: set[str]) -> Any:
    match type_:
        case Scalar() if type_ in KINDS:
            return KINDS[type_]
        case Scalar():
            kind, logical = _TIMES[type_]
            return {"type": kind, "logicalType": logical}
        case Decimal(precision, scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case SqlArray(element):
            return {"type": "array", "items": ["null", _type(element, name, taken)]}
        case SqlMap(Scalar.STRING, inner):
            return {"type": "map", "values": ["null", _type(inner, name, taken)]}
        case SqlMap():
            raise SchemaError("INVALID_FORMAT", "Avro only supports MAPs with STRING keys.")
        case Struct(fields):
            return _record(name, list(fields), taken)


def columns_of(schema: WireSchema, serde: Serde, role: Role) -> Inferred:
    """The columns of records of a schema."""
    tree = tree_of(schema)
    is_whole = role is Role.KEY or serde.wrap_single is False or not isinstance(tree, Record)
    return inferred(sql_type(tree), serde, role, whole=is_whole)


def sql_type(tree: Tree) -> SqlType:
    match tree:
        case Leaf(kind, logical):
            if tree.is_decimal:
                return Decimal(tree.precision, tree.scale)
            if kind == "null":
                return Scalar.STRING  # a column of nothing but NULLs
            return _LOGICAL.get((kind, logical or ""), _INFERRED[kind])
        case Enum():
            return Scalar.STRING
        case Array(Record(_, (key, value), is_entry=True)):
            return SqlMap(sql_type(key.type), sql_type(value.type))
        case Array(items):
            return SqlArray(sql_type(items))
        case Map(values):
            return SqlMap(Scalar.STRING, sql_type(values))
        case Record(_, fields):
            return Struct(tuple(SqlField(f.name, sql_type(f.type)) for f in fields))
        case Union() if len(tree.values) == 1:
            return sql_type(tree.values[0])
        case Union() if not tree.values:
            return Scalar.STRING
        case Union() if (wide := widened(tree)) is not None:
            return sql_type(wide)
        case Union():
            return Struct(tuple(SqlField(branch_name(b), sql_type(b)) for b in tree.values))

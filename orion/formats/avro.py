"""AVRO: behind the header, a record of columns; a single key column stands alone, without a record around it.

Each record is decoded by the schema it names, in the JVM, and its fields are found by name whatever their case. A field
that a schema doesn't have is NULL. A record is written by a schema made of the columns, or by the topic's own.
"""

from __future__ import annotations

import json
import re
from typing import Any

from orion.errors import SchemaError
from orion.formats import Decoded
from orion.formats.wire import framing
from orion.formats.wire.avro_schema import (
    MISSING,
    Array,
    Enum,
    Leaf,
    Map,
    Record,
    RecordField,
    Tree,
    Union,
    by_place,
    place,
    tree_of,
)
from orion.formats.wire.naming import alone, inferred, named
from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, WireSchema, is_alone
from orion.schema import Array as SqlArray
from orion.schema import Column, Decimal, Role, Scalar, SqlType, Struct, is_numeric, literal, quote, spark_type
from orion.schema import Field as SqlField
from orion.schema import Map as SqlMap

RECORD = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KINDS = {
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
_INFERRED = {kind: type_ for type_, kind in _KINDS.items()} | {"float": Scalar.DOUBLE, "fixed": Scalar.BYTES}


# ---- reading ---------------------------------------------------------------------------------------------------


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    if not columns:
        return Decoded("1", (), "FALSE", "''")
    wiring = framing.wiring_of(serde)
    trees: dict[int, Tree] = {}
    unreadable: list[tuple[int, str]] = []
    for schema in wiring.reads:
        try:
            trees[schema.id] = tree_of(schema)
            _columns(columns, serde, trees[schema.id], "")
        except SchemaError as error:
            trees.pop(schema.id, None)
            unreadable.append((schema.id, f"schema {schema.id} can not be read into these columns: {error.message}"))
    # Most topics have one schema, and need no struct around what it gives.
    names = {number: value if len(trees) == 1 else f"{value}.s{number}" for number in trees}
    parsed = {number: _parsed(number, tree, raw) for number, tree in trees.items()}
    broken = " OR ".join(f"({_is(number, raw)} AND {_broken(trees[number], names[number], raw)})" for number in trees)
    bad, why = framing.refused(raw, wiring, unreadable, broken or "TRUE")
    return Decoded(_struct(parsed), _fields(columns, serde, trees, names, raw), bad, why)


def _struct(parsed: dict[int, str]) -> str:
    if not parsed:
        return "1"
    parts = ", ".join(f"'s{number}', {one}" for number, one in parsed.items())
    return next(iter(parsed.values())) if len(parsed) == 1 else f"named_struct({parts})"


def _fields(
    columns: tuple[Column, ...], serde: Serde, trees: dict[int, Tree], names: dict[int, str], raw: str
) -> tuple[str, ...]:
    read = {number: _columns(columns, serde, tree, names[number]) for number, tree in trees.items()}
    if len(read) == 1:
        return tuple(next(iter(read.values())))
    fields = []
    for at, column in enumerate(columns):
        branches = " ".join(f"WHEN {_is(number, raw)} THEN {one[at]}" for number, one in read.items())
        fields.append(f"CASE {branches} END" if branches else f"CAST(NULL AS {spark_type(column.type)})")
    return tuple(fields)


def _is(number: int, raw: str) -> str:
    return f"{framing.head(raw)} = {framing.header(number)}"


def _parsed(number: int, tree: Tree, raw: str) -> str:
    schema = literal(json.dumps(by_place(tree)))
    return f"CASE WHEN {_is(number, raw)} THEN from_avro({framing.body(raw)}, {schema}, map('mode', 'PERMISSIVE')) END"


def _broken(tree: Tree, value: str, raw: str) -> str:
    """A condition: the bytes didn't fit. Spark then gives NULL, and of a record one whose fields are all NULL."""
    nulls = _null_place(tree)
    if nulls is not None:
        return f"({value} IS NULL AND {framing.body(raw)} != X'{nulls:02X}')"
    if not isinstance(tree, Record):
        return f"{value} IS NULL"
    if not tree.fields:
        return "FALSE"
    for at, field in enumerate(tree.fields):
        if _null_place(field.type) is None and field.type != Leaf("null"):
            return f"{value}.{place(at)} IS NULL"
    # All fields may be NULL: whether they are meant to be, the bytes tell.
    all_null = " AND ".join(f"{value}.{place(at)} IS NULL" for at in range(len(tree.fields)))
    meant = "".join(f"{_null_place(f.type) or 0:02X}" for f in tree.fields if f.type != Leaf("null"))
    return f"({all_null} AND {framing.body(raw)} != X'{meant}')"


def _null_place(tree: Tree) -> int | None:
    """The byte that says NULL in a union; None where there is no NULL."""
    if not isinstance(tree, Union) or Leaf("null") not in tree.branches:
        return None
    return 2 * tree.branches.index(Leaf("null"))


def _columns(columns: tuple[Column, ...], serde: Serde, tree: Tree, value: str) -> list[str]:
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
    if _is_alike(tree, type_):
        return f"CAST({value} AS {spark_type(type_)})" if _holds_struct(type_) else value
    x = f"x{depth}"
    match tree, type_:
        case Union(), _ if len(tree.values) == 1:
            return _read(value, tree.values[0], type_, name, depth)
        case Union(), Struct(fields):
            members = [_branch_name(b) for b in tree.values]
            parts = []
            for f in fields:
                at = named(f.name, members)
                inner = "NULL" if at is None else _read(f"{value}.member{at}", tree.values[at], f.type, f.name, depth)
                parts.append(f"{literal(f.name)}, CAST({inner} AS {spark_type(f.type)})")
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case Union(), _ if all(
            isinstance(b, Leaf) and b.kind in ("int", "long", "float", "double") for b in tree.values
        ):
            return f"try_cast({value} AS {spark_type(type_)})"  # Spark widens these two by itself
        case Record(), Struct(fields):
            parts = [f"{literal(f.name)}, {_field(tree, value, f.name, f.type)}" for f in fields]
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case Array(items), SqlArray(element):
            return f"transform({value}, {x} -> {_read(x, items, element, name, depth + 1)})"
        case Array(Record(_, (RecordField("key", key), RecordField("value", inner)))), SqlMap(key_type, value_type):
            # What Connect makes of a map whose keys are no text.
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
            raise _unfit(name, type_, tree)


def _read_leaf(value: str, leaf: Leaf, type_: Scalar | Decimal, name: str) -> str:
    micros = (leaf.logical or "").endswith("-micros")
    is_number = leaf.kind in ("int", "long", "float", "double") or leaf.is_decimal
    match type_:
        case Scalar.TIMESTAMP if leaf.kind == "long":
            return f"timestamp_micros({value})" if micros else f"timestamp_millis({value})"
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
            raise _unfit(name, type_, leaf)


def _is_alike(tree: Tree, type_: SqlType) -> bool:
    """Whether Spark makes just this type of the tree, fields' names aside."""
    match tree, type_:
        case Union(), _:
            return len(tree.values) == 1 and _is_alike(tree.values[0], type_)
        case Record(_, given), Struct(wanted):
            return len(given) == len(wanted) and all(
                g.name.upper() == w.name.upper() and _is_alike(g.type, w.type)
                for g, w in zip(given, wanted, strict=True)
            )
        case Array(items), SqlArray(element):
            return _is_alike(items, element)
        case Map(values), SqlMap(Scalar.STRING, inner):
            return _is_alike(values, inner)
        case Leaf(), Decimal(precision, scale):
            return tree.is_decimal and (tree.precision, tree.scale) == (precision, scale)
        case Leaf(), Scalar():
            return not tree.is_decimal and _KINDS.get(type_) == tree.kind
        case _:
            return False


def _holds_struct(type_: SqlType) -> bool:
    match type_:
        case Struct():
            return True
        case SqlArray(inner) | SqlMap(_, inner):
            return _holds_struct(inner)
        case _:
            return False


def _unfit(name: str, type_: SqlType, tree: Tree) -> SchemaError:
    return SchemaError("SCHEMA_UNFIT", f"{name} is {type_}, and the schema has {_branch_name(tree)} there")


def _branch_name(tree: Tree) -> str:
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


# ---- writing ---------------------------------------------------------------------------------------------------


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    if not columns:
        return "CAST(NULL AS BINARY)"
    schema = framing.written_by(serde)
    tree = tree_of(schema)
    names = {c.name: (quote(c.name), c.type) for c in columns}
    if is_alone(columns, serde):
        column = columns[0]
        whole = _write(quote(column.name), column.type, tree, column.name)
    elif isinstance(tree, Record):
        whole = _written(tree, names)
    else:
        raise SchemaError("SCHEMA_UNFIT", f"The schema {schema.id} is no record: it can't hold {len(columns)} columns.")
    made = f"concat({framing.header(schema.id)}, to_avro({whole}, {literal(json.dumps(by_place(tree)))}))"
    refused = _refused_columns(columns, serde, tree)
    return alone(columns, serde, f"CASE WHEN NOT ({' OR '.join(refused)}) THEN {made} END" if refused else made)


def _written(record: Record, given: dict[str, tuple[str, SqlType]]) -> str:
    names = list(given)
    parts = []
    used = set()
    for at, field in enumerate(record.fields):
        found = named(field.name, names)
        if found is None:
            parts.append(f"'{place(at)}', {_default(field)}")
            continue
        used.add(names[found])
        value, type_ = given[names[found]]
        parts.append(f"'{place(at)}', {_write(value, type_, field.type, field.name)}")
    missing = [name for name in names if name not in used]
    if missing:
        message = f"The schema {record.name} has no field {', '.join(missing)}."
        raise SchemaError("SCHEMA_UNFIT", message, hint="Register a version with it, or leave the column out.")
    return f"named_struct({', '.join(parts)})"


def _default(field: RecordField) -> str:
    """What is written of a field that there is no column for."""
    is_optional = isinstance(field.type, Union) and Leaf("null") in field.type.branches
    type_ = sql_type(field.type)
    if field.default is MISSING and not is_optional:
        message = f"The field {field.name} of the schema has no column, and no default."
        raise SchemaError("SCHEMA_UNFIT", message, hint=f"Select something AS {field.name}.")
    if field.default is MISSING or field.default is None:
        return _write(f"CAST(NULL AS {spark_type(type_)})", type_, field.type, field.name)
    match field.default:
        case bool() | int() | float() | str() if isinstance(type_, Scalar | Decimal):
            text = literal(str(field.default).lower() if isinstance(field.default, bool) else str(field.default))
            return _write(f"CAST({text} AS {spark_type(type_)})", type_, field.type, field.name)
        case [] | {} if isinstance(type_, SqlArray | SqlMap):
            empty = "array()" if isinstance(type_, SqlArray) else "map()"
            return _write(f"CAST({empty} AS {spark_type(type_)})", type_, field.type, field.name)
        case _:
            raise SchemaError("SCHEMA_UNFIT", f"The field {field.name} has no column, and no simple default.")


def _refused_columns(columns: tuple[Column, ...], serde: Serde, tree: Tree) -> list[str]:
    """Conditions, never NULL themselves: the row has something that the schema doesn't take."""
    if is_alone(columns, serde):
        return _refused_inside(quote(columns[0].name), columns[0].type, tree)
    assert isinstance(tree, Record)
    return _refused_fields(tree, {c.name: (quote(c.name), c.type) for c in columns})


def _refused_fields(record: Record, given: dict[str, tuple[str, SqlType]]) -> list[str]:
    names = list(given)
    found = ((field, named(field.name, names)) for field in record.fields)
    return [c for field, at in found if at is not None for c in _refused(*given[names[at]], field.type)]


def _refused(value: str, type_: SqlType, tree: Tree, depth: int = 0) -> list[str]:
    """Of a value that may be NULL."""
    inside = _refused_inside(value, type_, tree, depth)
    takes_null = _null_place(tree) is not None or tree == Leaf("null")
    found = [f"({value} IS NOT NULL AND ({' OR '.join(inside)}))"] if inside else []
    return found if takes_null else [f"{value} IS NULL", *found]


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
        case Leaf(), Scalar() | Decimal() if tree.is_decimal and not _is_alike(tree, type_):
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
    if _is_alike(tree, type_) and not _holds_struct(type_):
        return value
    x = f"x{depth}"
    match tree, type_:
        case Union(), _ if len(tree.values) == 1:
            return _write(value, type_, tree.values[0], name, depth)
        case Union(), Struct(fields) if {f.name.upper() for f in fields} == {
            _branch_name(b).upper() for b in tree.values
        }:
            parts = []
            for at, branch in enumerate(tree.values):
                found = next(f for f in fields if f.name.upper() == _branch_name(branch).upper())
                inner = _write(f"{value}.{quote(found.name)}", found.type, branch, name, depth)
                parts.append(f"'member{at}', {inner}")
            return f"if({value} IS NULL, NULL, named_struct({', '.join(parts)}))"
        case Record(), Struct(fields):
            given = {f.name: (f"{value}.{quote(f.name)}", f.type) for f in fields}
            return f"if({value} IS NULL, NULL, {_written(tree, given)})"
        case Array(items), SqlArray(element):
            return f"transform({value}, {x} -> {_write(x, element, items, name, depth + 1)})"
        case Map(values), SqlMap(Scalar.STRING, inner):
            return f"transform_values({value}, (k{depth}, {x}) -> {_write(x, inner, values, name, depth + 1)})"
        case Enum(), Scalar.STRING:
            return value
        case Leaf(), Scalar() | Decimal():
            return _write_leaf(value, type_, tree, name)
        case _:
            raise _unfit(name, type_, tree)


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
            raise _unfit(name, type_, leaf)


_WIDER = {
    Scalar.INTEGER: ("int", "long", "float", "double"),
    Scalar.BIGINT: ("long", "float", "double"),
    Scalar.DOUBLE: ("float", "double"),
}


# ---- schemas and columns ---------------------------------------------------------------------------------------


def schema_of(columns: tuple[Column, ...], serde: Serde) -> str:
    """The schema that is registered for columns."""
    name = serde.full_name or RECORD
    if is_alone(columns, serde):
        return json.dumps(_type(columns[0].type, f"{name}_{columns[0].name}"))
    return json.dumps(_record(name, [SqlField(c.name, c.type) for c in columns]))


def _record(name: str, fields: list[SqlField]) -> dict[str, Any]:
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
        inner = _type(field.type, f"{name}_{field.name}")
        made["fields"].append({"name": field.name, "type": ["null", inner], "default": None})
    return made


def _type(type_: SqlType, name: str) -> Any:
    match type_:
        case Scalar() if type_ in _KINDS:
            return _KINDS[type_]
        case Scalar():
            kind, logical = _TIMES[type_]
            return {"type": kind, "logicalType": logical}
        case Decimal(precision, scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case SqlArray(element):
            return {"type": "array", "items": ["null", _type(element, name)]}
        case SqlMap(Scalar.STRING, inner):
            return {"type": "map", "values": ["null", _type(inner, name)]}
        case SqlMap():
            raise SchemaError("INVALID_FORMAT", "Avro only supports MAPs with STRING keys.")
        case Struct(fields):
            return _record(name, list(fields))


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
        case Array(items):
            return SqlArray(sql_type(items))
        case Map(values):
            return SqlMap(Scalar.STRING, sql_type(values))
        case Record(_, fields):
            return Struct(tuple(SqlField(f.name, sql_type(f.type)) for f in fields))
        case Union() if len(tree.values) == 1:
            return sql_type(tree.values[0])
        case Union() if {b.kind for b in tree.values if isinstance(b, Leaf)} == {"int", "long"}:
            return Scalar.BIGINT
        case Union() if {b.kind for b in tree.values if isinstance(b, Leaf)} == {"float", "double"}:
            return Scalar.DOUBLE
        case Union():
            return Struct(tuple(SqlField(_branch_name(b), sql_type(b)) for b in tree.values))

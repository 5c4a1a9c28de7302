"""AVRO: behind the header, a record of columns; a single key column stands alone, without a record around it.

Each record is decoded by the schema it names, in the JVM, and its fields are found by name whatever their case. A field
that a schema doesn't have is NULL. A record is written by a schema made of the columns, or by the topic's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import Decimal as Number
from itertools import chain, count
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
    """A condition: the bytes didn't fit. Spark then gives NULL, and of a struct one whose fields are all NULL."""
    parts, meant = _nulls(tree, value)
    if not parts:
        return "FALSE"
    condition = " AND ".join(f"{part} IS NULL" for part in parts)
    if not meant:
        return f"({condition})" if len(parts) > 1 else condition
    # Whether all that is meant to be NULL, the bytes tell.
    listed = [f"X'{one}'" for one in meant]
    among = f"!= {listed[0]}" if len(listed) == 1 else f"NOT IN ({', '.join(listed)})"
    return f"({condition} AND {framing.body(raw)} {among})"


def _nulls(tree: Tree, value: str) -> tuple[list[str], list[str]]:
    """What is NULL where bytes don't fit, and the bytes, in hex, that mean just that."""
    match tree:
        case Union() if len(tree.values) == 1:
            parts, inside = _nulls(tree.values[0], value)
            branch = f"{2 * tree.branches.index(tree.values[0]):02X}"
            return parts or [value], [*_null_bytes(tree), *(branch + one for one in inside)]
        case Union() if _widened(tree) is None:
            return [f"{value}.member{at}" for at in range(len(tree.values))], _null_bytes(tree)
        case Record(_, fields):
            for at, field in enumerate(fields):
                if not _takes_null(field.type):
                    return [f"{value}.{place(at)}"], []
            meant = "".join("".join(_null_bytes(f.type)) for f in fields)
            return [f"{value}.{place(at)}" for at in range(len(fields))], [meant]
        case _:
            return [value], _null_bytes(tree)


def _null_bytes(tree: Tree) -> list[str]:
    found = _null_place(tree)
    return [] if found is None else [f"{found:02X}"]


def _takes_null(tree: Tree) -> bool:
    return _null_place(tree) is not None or tree == Leaf("null")


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
        case Union(), _ if not tree.values:
            return f"CAST(NULL AS {spark_type(type_)})"
        case Union(), _ if (wide := _widened(tree)) is not None:
            return _read(value, wide, type_, name, depth)
        case Union(), Struct(fields):
            members = [_branch_name(b) for b in tree.values]
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


def _widened(tree: Union) -> Leaf | None:
    """The number that Spark makes of a union of two widths of it; of any other union it makes a struct."""
    kinds = {b.kind for b in tree.values if isinstance(b, Leaf)} if len(tree.values) == 2 else set()
    return Leaf("long") if kinds == {"int", "long"} else Leaf("double") if kinds == {"float", "double"} else None


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


def _refused_columns(columns: tuple[Column, ...], serde: Serde, tree: Tree) -> list[str]:
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
    return found if _takes_null(tree) else [f"{value} IS NULL", *found]


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
        case Scalar() if type_ in _KINDS:
            return _KINDS[type_]
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
        case Union() if (wide := _widened(tree)) is not None:
            return sql_type(wide)
        case Union():
            return Struct(tuple(SqlField(_branch_name(b), sql_type(b)) for b in tree.values))

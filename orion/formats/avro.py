"""AVRO: behind the header, a record of columns; a single key column stands alone, without a record around it.

Each record is decoded by the schema it names, in the JVM, and its fields are found by name whatever their case. A field
that a schema doesn't have is NULL. A record is written by a schema made of the columns, or by the topic's own.
"""

from __future__ import annotations

import json

from orion.errors import SchemaError
from orion.formats import Decoded
from orion.formats.records import write
from orion.formats.records.read import columns_read
from orion.formats.records.schema import Record, Tree, Union, by_place, place, tree_of
from orion.formats.records.types import columns_of, null_place, schema_of, takes_null, widened
from orion.formats.wire import framing
from orion.formats.wire.naming import alone
from orion.plan.sources import Serde
from orion.schema import Column, literal, spark_type

__all__ = ["columns_of", "decode", "encode", "schema_of"]


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    if not columns:
        return Decoded("1", (), "FALSE", "''")
    wiring = framing.wiring_of(serde)
    trees: dict[int, Tree] = {}
    unreadable: list[tuple[int, str]] = []
    for schema in wiring.reads:
        try:
            trees[schema.id] = tree_of(schema)
            columns_read(columns, serde, trees[schema.id], "")
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
    read = {number: columns_read(columns, serde, tree, names[number]) for number, tree in trees.items()}
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
        case Union() if widened(tree) is None:
            return [f"{value}.member{at}" for at in range(len(tree.values))], _null_bytes(tree)
        case Record(_, fields):
            for at, field in enumerate(fields):
                if not takes_null(field.type):
                    return [f"{value}.{place(at)}"], []
            meant = "".join("".join(_null_bytes(f.type)) for f in fields)
            return [f"{value}.{place(at)}" for at in range(len(fields))], [meant]
        case _:
            return [value], _null_bytes(tree)


def _null_bytes(tree: Tree) -> list[str]:
    found = null_place(tree)
    return [] if found is None else [f"{found:02X}"]


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    if not columns:
        return "CAST(NULL AS BINARY)"
    schema = framing.written_by(serde)
    tree = tree_of(schema)
    places = literal(json.dumps(by_place(tree)))
    made = f"concat({framing.header(schema.id)}, to_avro({write.whole(columns, serde, tree)}, {places}))"
    refused = write.refused(columns, serde, tree)
    return alone(columns, serde, f"CASE WHEN NOT ({' OR '.join(refused)}) THEN {made} END" if refused else made)

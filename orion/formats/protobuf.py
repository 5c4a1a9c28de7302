"""PROTOBUF: behind the header, which message of the schema it is, and the message with a field for each column.

Each record is read by the schema and the message that it names; fields are found by name whatever their case. A key is
a message as well, even of a single column. proto3 has no NULL: a scalar that isn't there reads as its type's zero,
unless the schema says `optional` or has one of Google's wrappers there.
"""

from __future__ import annotations

from orion.errors import SchemaError
from orion.formats import Decoded
from orion.formats.messages import calls
from orion.formats.messages.read import Reading
from orion.formats.messages.schema import files_of, schema_of
from orion.formats.messages.types import Path, described, found, struct_of
from orion.formats.messages.write import Writing, writer
from orion.formats.wire import framing
from orion.formats.wire.naming import inferred
from orion.plan.schemas import Inferred
from orion.plan.sources import Serde, WireSchema
from orion.schema import Column, Role, quote

__all__ = ["columns_of", "decode", "encode", "schema_of"]


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    if not columns:
        return Decoded("1", (), "FALSE", "''")
    wiring = framing.wiring_of(serde)
    types, names = tuple(c.type for c in columns), tuple(c.name for c in columns)
    known = []
    unreadable: list[tuple[int, str]] = []
    for schema in wiring.reads:
        try:
            files = files_of(schema)
            Reading(((schema.id, files),), types, names).check()
        except SchemaError as error:
            unreadable.append((schema.id, f"schema {schema.id} can not be read into these columns: {error.message}"))
        else:
            known.append((schema.id, files))
    bad, why = framing.refused(raw, wiring, unreadable, f"{value} IS NULL")
    struct = calls.read(Reading(tuple(known), types, names), raw)
    return Decoded(struct, tuple(f"{value}.c{at}" for at in range(len(columns))), bad, why)


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    if not columns:
        return "CAST(NULL AS BINARY)"
    schema = framing.written_by(serde)
    files = files_of(schema)
    path = found(files, serde.full_name)
    writing = Writing(files, path, tuple(c.type for c in columns), tuple(c.name for c in columns))
    writer(writing)  # refuses columns that don't fit
    head = f"{framing.header(schema.id)}, X'{message_indexes(path).hex()}'"
    return there(columns, f"concat({head}, {calls.write(writing, columns)})")


def there(columns: tuple[Column, ...], made: str) -> str:
    """The bytes; of a key whose one column is NULL none at all."""
    if len(columns) == 1 and columns[0].role is Role.KEY:
        return f"CASE WHEN {quote(columns[0].name)} IS NOT NULL THEN {made} END"
    return made


def columns_of(schema: WireSchema, serde: Serde, role: Role) -> Inferred:
    """The columns of records of a schema: of its first message, or of the one that is named."""
    files = files_of(schema)
    message = described(files, found(files, serde.full_name))
    assert message is not None
    return inferred(struct_of(message), serde, role, whole=False)


def message_indexes(path: Path) -> bytes:
    """Which message it is: how many numbers, and the numbers; of a schema's first message a zero alone."""
    return b"\0" if path == (0,) else b"".join(_varint(number) for number in (len(path), *path))


def _varint(number: int) -> bytes:
    left, made = number << 1, bytearray()  # zigzag: twice the number, as it is never below zero
    while left >= 0x80:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)

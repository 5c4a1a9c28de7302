"""Rows to the bytes of a source's records, in its formats; what Spark's text in `formats` does for queries."""

from __future__ import annotations

import json
import re
import struct
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from orion.arrow import ZONELESS, arrow_type
from orion.errors import OrionError, SchemaError, UserError
from orion.formats.delimited import delimiter_of
from orion.formats.messages.schema import files_of, linked, schema_of
from orion.formats.messages.types import found
from orion.formats.messages.write import Writing, writer
from orion.formats.protobuf import message_indexes
from orion.formats.rows import avro
from orion.formats.rows.reading import Row
from orion.formats.wire import json_schema, values
from orion.formats.wire.framing import written_by
from orion.formats.wire.naming import spelled
from orion.plan.sources import Serde, Source, WireSchema, is_alone
from orion.schema import Array, Column, Decimal, Field, Map, Role, Scalar, SqlType, Struct

_KAFKA = {Scalar.INTEGER: ">i", Scalar.BIGINT: ">q", Scalar.DOUBLE: ">d"}
# What numbers and the like are made of: a delimiter among these may stand in any cell, not only in text.
_IN_NUMBERS = frozenset("+-.=/")


def record_of(source: Source, row: Row) -> tuple[bytes | None, bytes | None]:
    """Key and value of a row's record. `source` has been told the schemas that it writes.

    Raises SchemaError where the row doesn't fit a schema of the registry.
    """
    return _side(source, Role.KEY, row), _side(source, Role.VALUE, row)


def key_of(source: Source, row: Row) -> bytes | None:
    """The key of a row's record alone; what the row has for the value's columns doesn't matter."""
    return _side(source, Role.KEY, row)


def _side(source: Source, role: Role, row: Row) -> bytes | None:
    columns, serde = source.columns(role), source.serde(role)
    if not columns or serde.format == "NONE":
        return None
    given = [row.values[column.name] for column in columns]
    if given[0] is None and len(columns) == 1 and (is_alone(columns, serde) or role is Role.KEY):
        return None
    write = _WRITERS.get(serde.format)
    if write is None:
        raise UserError("UNKNOWN_FORMAT", f"Rows of {source.name} can't be written as {serde.format} here.")
    return write(columns, serde, given)


Given = list[Any]
Writer = Callable[[tuple[Column, ...], Serde, Given], bytes | None]


# ---- KAFKA and DELIMITED -----------------------------------------------------------------------------------------


def _kafka(columns: tuple[Column, ...], _: Serde, given: Given) -> bytes | None:
    type_, value = columns[0].type, given[0]
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    assert isinstance(type_, Scalar)
    return struct.pack(_KAFKA[type_], value)


def _delimited(columns: tuple[Column, ...], serde: Serde, given: Given) -> bytes:
    delimiter = delimiter_of(serde)
    anywhere = delimiter.isalnum() or delimiter in _IN_NUMBERS
    cells = []
    for at, (column, value) in enumerate(zip(columns, given, strict=True)):
        text = "" if value is None else value if isinstance(value, str) else _json(value, column.type).strip('"')
        if value is not None and (column.type is Scalar.STRING or anywhere):
            text = _quoted(text, delimiter, first=at == 0)
        cells.append(text)
    return delimiter.join(cells).encode()


def _quoted(text: str, delimiter: str, *, first: bool) -> str:
    """The cell in quotes where it needs them, as formats.delimited has it."""
    starts = r"^(?:\Z|[\x00-#,\x7f-\uffff])" if first else r"^[\x00-#]"
    if re.search(rf'{starts}|[\r\n"{re.escape(delimiter)}]|[\x00- ]\Z', text):
        return '"' + text.replace('"', '""') + '"'
    return text


# ---- JSON --------------------------------------------------------------------------------------------------------


def _of_json(columns: tuple[Column, ...], serde: Serde, given: Given) -> bytes:
    return _json_under([Field(c.name, c.type) for c in columns], columns, serde, given).encode()


def _of_json_sr(columns: tuple[Column, ...], serde: Serde, given: Given) -> bytes:
    schema = written_by(serde)
    known = json_schema.sql_type(schema)
    if is_alone(columns, serde):
        fields: tuple[Field, ...] = (Field(columns[0].name, spelled(columns[0].type, known)),)
    else:
        inside = spelled(Struct(tuple(Field(c.name, c.type) for c in columns)), known)
        assert isinstance(inside, Struct)
        fields = inside.fields
    text = _json_under(list(fields), columns, serde, given)
    fault = values.json_fault(schema, json.loads(text))
    if fault is not None:
        raise _unwritable(schema, fault)
    return _header(schema) + text.encode()


def _json_under(fields: list[Field], columns: tuple[Column, ...], serde: Serde, given: Given) -> str:
    """The JSON, with the columns' values under these names, and what is inside of them under the types' names."""
    if is_alone(columns, serde):
        return _json(given[0], fields[0].type)
    return _object((field.name, _json(value, field.type)) for field, value in zip(fields, given, strict=True))


def _object(entries: Any) -> str:
    return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in entries) + "}"


def _json(value: Any, type_: SqlType) -> str:
    """The JSON of a value; decimals keep their digits, and the names inside are the type's."""
    match type_:
        case _ if value is None:
            return "null"
        case Scalar.BYTES:
            return json.dumps(b64encode(value).decode())
        case Decimal():
            return format(value, "f")
        case Array(element):
            return "[" + ",".join(_json(one, element) for one in value) + "]"
        case Map(_, element):
            return _object((key, _json(one, element)) for key, one in value.items())
        case Struct(fields):
            # The same fields in the same order, under names that may be spelled in another way.
            return _object((f.name, _json(one, f.type)) for f, one in zip(fields, value.values(), strict=True))
        case _:
            return json.dumps(value, ensure_ascii=False)


# ---- with a schema -----------------------------------------------------------------------------------------------


def _of_avro(columns: tuple[Column, ...], serde: Serde, given: Given) -> bytes:
    schema = written_by(serde)
    return values.written(schema, avro.value_of(columns, serde, schema, given))


def _of_protobuf(columns: tuple[Column, ...], serde: Serde, given: Given) -> bytes:
    schema = written_by(serde)
    files = files_of(schema)
    path = found(files, serde.full_name)
    try:
        made = _message(Writing(files, path, _types(columns), _names(columns)), given)
    except (ValueError, pa.ArrowException) as error:
        raise _unwritable(schema, str(error)) from error
    if made is None:
        raise _unwritable(schema, "a value is none that its field can have")
    return _header(schema) + message_indexes(path) + made


def _of_protobuf_nosr(columns: tuple[Column, ...], serde: Serde, given: Given) -> bytes:
    made = _message(Writing(linked(schema_of(columns, serde)), (0,), _types(columns), _names(columns)), given)
    if made is None:
        raise SchemaError("ROW_UNFIT", "A value is none that its field can have.")
    return made


def _message(writing: Writing, given: Given) -> bytes | None:
    arrays = [
        pa.array([_arrow(value, type_)], arrow_type(type_, ZONELESS))
        for value, type_ in zip(given, writing.columns, strict=True)
    ]
    found_: bytes | None = writer(writing)(*arrays)[0].as_py()
    return found_


def _types(columns: tuple[Column, ...]) -> tuple[SqlType, ...]:
    return tuple(column.type for column in columns)


def _names(columns: tuple[Column, ...]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def _arrow(value: Any, type_: SqlType) -> Any:
    match type_:
        case _ if value is None:
            return None
        case Scalar.TIMESTAMP:
            return value * 1000
        case Array(element):
            return [_arrow(one, element) for one in value]
        case Map(_, element):
            return [(key, _arrow(one, element)) for key, one in value.items()]
        case Struct(fields):
            return {field.name: _arrow(value[field.name], field.type) for field in fields}
        case _:
            return value


def _header(schema: WireSchema) -> bytes:
    return b"\0" + schema.id.to_bytes(4, "big")


def _unwritable(schema: WireSchema, reason: str) -> OrionError:
    return SchemaError("VALUE_UNFIT", f"The row doesn't fit schema {schema.id}: {reason}.")


_WRITERS: dict[str, Writer] = {
    "AVRO": _of_avro,
    "DELIMITED": _delimited,
    "JSON": _of_json,
    "JSON_SR": _of_json_sr,
    "KAFKA": _kafka,
    "PROTOBUF": _of_protobuf,
    "PROTOBUF_NOSR": _of_protobuf_nosr,
}

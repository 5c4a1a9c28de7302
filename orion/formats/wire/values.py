"""Records that name a schema, as Python's values and back: for programs that read and write them without Spark.

Avro's values are fastavro's, JSON's are json's. A Protobuf message is a dict of its fields by their names: enums as
their symbols, messages as dicts, and None for a field that may be absent and is.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from orion.errors import OrionError, SchemaError
from orion.formats.wire.framing import LENGTH
from orion.plan.sources import WireSchema

_TROUBLE = (ValueError, LookupError, TypeError, EOFError, ArithmeticError, AttributeError)


def written(schema: WireSchema, value: Any) -> bytes:
    """The record of a value: header and body. Raises SchemaError where the value doesn't fit."""
    try:
        body = _WRITERS[schema.type](schema, value)
    except SchemaError:
        raise
    except (OrionError, *_TROUBLE) as error:
        raise SchemaError("VALUE_UNFIT", f"The value doesn't fit schema {schema.id}: {error}.") from error
    return b"\0" + schema.id.to_bytes(4, "big") + body


def read(
    raw: bytes,
    schema_of: Callable[[int], WireSchema | None],
    kind: str | None = None,
    parse_json: Callable[[bytes], Any] = json.loads,
) -> Any:
    """The value of a record; `kind` is the type its schema must have. Raises SchemaError where it can't be read."""
    number = schema_id(raw)
    if number is None:
        raise SchemaError("RECORD_UNFIT", "It names no schema: there is no zero byte with an id of four behind it.")
    schema = schema_of(number)
    if schema is None:
        raise SchemaError("SCHEMA_UNKNOWN", f"The registry knows no schema {number}.")
    if kind is not None and schema.type != kind:
        raise SchemaError("RECORD_UNFIT", f"Its schema {number} is {schema.type} and not {kind}.")
    try:
        if schema.type == "JSON":
            return parse_json(raw[LENGTH:])
        return _READERS[schema.type](schema, raw[LENGTH:])
    except (OrionError, *_TROUBLE) as error:
        raise SchemaError("RECORD_UNFIT", f"The bytes don't fit schema {number}: {error}.") from error


def schema_id(raw: bytes) -> int | None:
    """The id in a record's header, if it has one."""
    return int.from_bytes(raw[1:LENGTH], "big") if len(raw) >= LENGTH and raw[0] == 0 else None


# ---- Avro --------------------------------------------------------------------------------------------------------


def read_avro(schema: WireSchema, body: bytes) -> Any:
    import fastavro

    given = io.BytesIO(body)
    value = fastavro.schemaless_reader(given, _avro_schema(schema), None)
    if given.read(1):
        raise ValueError("there is more behind it")
    return value


def _write_avro(schema: WireSchema, value: Any) -> bytes:
    import fastavro

    taken = io.BytesIO()
    fastavro.schemaless_writer(taken, _avro_schema(schema), value, strict_allow_default=True)
    return taken.getvalue()


@lru_cache(maxsize=64)
def _avro_schema(schema: WireSchema) -> Any:
    import fastavro

    names: dict[str, Any] = {}
    for _, text in schema.around:
        fastavro.parse_schema(json.loads(text), names)
    try:
        parsed: Any = json.loads(schema.text)
    except ValueError:
        parsed = schema.text.strip()  # a bare word is a type's name
    return fastavro.parse_schema(parsed, names)


# ---- JSON Schema -------------------------------------------------------------------------------------------------


def _write_json(schema: WireSchema, value: Any) -> bytes:
    """Held against the schema when written, by whoever writes; a reader takes what is there."""
    fault = json_fault(schema, value)
    if fault is not None:
        raise ValueError(fault)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def json_fault(schema: WireSchema, value: Any) -> str | None:
    """What a JSON Schema has against a value."""
    fault = next(iter(_validator(schema).iter_errors(value)), None)
    return None if fault is None else f"{fault.message} at {fault.json_path}"


@lru_cache(maxsize=64)
def _validator(schema: WireSchema) -> Any:
    import jsonschema
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    root = json.loads(schema.text)
    others = {name: json.loads(text) for name, text in schema.around}
    known: Registry[Any] = Registry().with_resources(
        (name, Resource.from_contents(other, default_specification=DRAFT7)) for name, other in others.items()
    )
    return jsonschema.validators.validator_for(root, default=jsonschema.Draft7Validator)(root, registry=known)


# ---- Protobuf ----------------------------------------------------------------------------------------------------


def read_message(schema: WireSchema, body: bytes) -> Any:
    """The message itself, of the kind that the record says."""
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

    from orion.formats.messages.read import indexes

    try:
        path, start = indexes(bytes(LENGTH) + body)
        return GetMessageClass(_message(schema, path)).FromString(body[start - LENGTH :])
    except DecodeError as error:
        raise ValueError(str(error)) from error


def _read_protobuf(schema: WireSchema, body: bytes) -> Any:
    return _fields(read_message(schema, body))


def _write_protobuf(schema: WireSchema, value: Any) -> bytes:
    """As the schema's first message; so a single zero says which."""
    from google.protobuf.message import EncodeError, Message
    from google.protobuf.message_factory import GetMessageClass

    kind = message_of(schema)
    if isinstance(value, Message) and value.DESCRIPTOR.full_name != kind.full_name:
        raise ValueError(f"it is a {value.DESCRIPTOR.full_name} and not a {kind.full_name}")
    try:
        made = value if isinstance(value, Message) else GetMessageClass(kind)(**value)
        return b"\0" + bytes(made.SerializeToString())
    except EncodeError as error:
        raise ValueError(str(error)) from error


def message_of(schema: WireSchema) -> Any:
    """The descriptor of the schema's first message, as which values are written."""
    return _message(schema, (0,))


@lru_cache(maxsize=64)
def _message(schema: WireSchema, path: tuple[int, ...]) -> Any:
    from orion.formats.messages.schema import files_of
    from orion.formats.messages.types import described

    found = described(files_of(schema), path)
    if found is None:
        raise ValueError("there is no such message")
    return found


def _fields(message: Any) -> dict[str, Any]:
    return {field.name: _field(message, field) for field in message.DESCRIPTOR.fields}


def _field(message: Any, field: Any) -> Any:
    from orion.formats.messages.types import entry_of

    value = getattr(message, field.name)
    entry = entry_of(field)
    if entry is not None:
        return {key: _single(one, entry[1]) for key, one in value.items()}
    if field.is_repeated:
        return [_single(one, field) for one in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _single(value, field)


def _single(value: Any, field: Any) -> Any:
    if field.message_type is not None:
        return _fields(value)
    if field.enum_type is not None:
        symbol = field.enum_type.values_by_number.get(value)
        return value if symbol is None else symbol.name
    return value


_READERS: dict[str, Callable[[WireSchema, bytes], Any]] = {
    "AVRO": read_avro,
    "PROTOBUF": _read_protobuf,
}
_WRITERS: dict[str, Callable[[WireSchema, Any], bytes]] = {
    "AVRO": _write_avro,
    "JSON": _write_json,
    "PROTOBUF": _write_protobuf,
}

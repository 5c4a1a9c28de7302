"""The formats in which keys and values stand in the proxy's JSON, to bytes and back."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

from orion.errors import OrionError, SchemaError
from orion.formats.wire import avro_json, values
from orion.formats.wire.framing import LENGTH
from orion.plan.sources import WireSchema
from orion.web.rest_proxy.refusals import UNPROCESSABLE, ProxyError

FORMATS = ("binary", "json", "avro", "jsonschema", "protobuf")
# What a registry calls the schemas of those that have some.
KINDS = {"avro": "AVRO", "jsonschema": "JSON", "protobuf": "PROTOBUF"}
OF_KIND = {kind: name for name, kind in KINDS.items()}
_TROUBLE = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError)


def encoded(name: str, value: Any, schema: WireSchema | None = None) -> bytes | None:
    """The bytes of a value in a format; null is no bytes, which is a tombstone.

    Raises SchemaError (VALUE_UNFIT) where a value doesn't fit its schema.
    """
    if value is None:
        return None
    if name == "binary":
        return _binary(value)
    if name == "json":
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    if name == "string":
        return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).encode()
    assert schema is not None
    if name == "jsonschema":
        return values.written(schema, value)
    made = _avro if name == "avro" else _protobuf
    try:
        return b"\0" + schema.id.to_bytes(4, "big") + made(schema, value)
    except (OrionError, *_TROUBLE) as error:
        raise SchemaError("VALUE_UNFIT", f"Conversion of JSON to {name.capitalize()} failed: {error}.") from error


def decoded(name: str, raw: bytes | None, schema_of: Callable[[int], WireSchema | None]) -> Any:
    """The value of bytes; raises SchemaError where they can't be read in the format."""
    if raw is None:
        return None
    if name == "binary":
        return b64encode(raw).decode()
    if name == "json":
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise SchemaError("RECORD_UNFIT", f"It is no JSON: {error}.") from error
    if name == "jsonschema":
        return values.read(raw, schema_of, KINDS[name])
    return _read(name, raw, schema_of)


def _read(name: str, raw: bytes, schema_of: Callable[[int], WireSchema | None]) -> Any:
    number = values.schema_id(raw)
    if number is None:
        raise SchemaError("RECORD_UNFIT", "It names no schema: there is no zero byte with an id of four behind it.")
    schema = schema_of(number)
    if schema is None:
        raise SchemaError("SCHEMA_UNKNOWN", f"The registry knows no schema {number}.")
    if schema.type != KINDS[name]:
        raise SchemaError("RECORD_UNFIT", f"Its schema {number} is {schema.type} and not {KINDS[name]}.")
    try:
        return (_of_avro if name == "avro" else _of_protobuf)(schema, raw[LENGTH:])
    except (OrionError, *_TROUBLE) as error:
        raise SchemaError("RECORD_UNFIT", f"The bytes don't fit schema {number}: {error}.") from error


def _binary(value: Any) -> bytes:
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise ProxyError(UNPROCESSABLE, "Record contains invalid base64 encoding.") from error


def _avro(schema: WireSchema, value: Any) -> bytes:
    return avro_json.body_of(schema, value)


def _of_avro(schema: WireSchema, body: bytes) -> Any:
    return avro_json.value_of(schema, body)


def _protobuf(schema: WireSchema, value: Any) -> bytes:
    """As the schema's first message, which a single zero says."""
    from google.protobuf.json_format import ParseDict, ParseError
    from google.protobuf.message_factory import GetMessageClass

    try:
        made = ParseDict(value, GetMessageClass(values.message_of(schema))())
        return b"\0" + bytes(made.SerializeToString(deterministic=True))
    except ParseError as error:
        raise ValueError(str(error)) from error


def _of_protobuf(schema: WireSchema, body: bytes) -> Any:
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(values.read_message(schema, body), always_print_fields_with_no_presence=True)

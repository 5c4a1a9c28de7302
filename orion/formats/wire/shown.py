"""A record that names a schema, as JSON for a person to read."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from orion.errors import OrionError
from orion.plan.sources import WireSchema

_HEADER = 5


def shown(raw: bytes | None, schema_of: Callable[[int], WireSchema | None]) -> str | None:
    """The record's JSON; None where it names no schema, or one that isn't known or doesn't fit.

    Any bytes may begin like a header: what then can't be read is no such record.
    """
    if raw is None or len(raw) < _HEADER or raw[0] != 0:
        return None
    try:
        schema = schema_of(int.from_bytes(raw[1:_HEADER], "big"))
        return None if schema is None else _READERS[schema.type](schema, raw[_HEADER:])
    except (OrionError, ValueError, LookupError, TypeError, EOFError, ArithmeticError):
        return None


def _avro(schema: WireSchema, body: bytes) -> str:
    import fastavro

    given = io.BytesIO(body)
    value = fastavro.schemaless_reader(given, _avro_schema(schema), None)
    if given.read(1):
        raise ValueError("there is more behind it")
    return json.dumps(value, ensure_ascii=False, default=_plain)


@lru_cache(maxsize=64)
def _avro_schema(schema: WireSchema) -> Any:
    import fastavro

    names: dict[str, Any] = {}
    for _, text in schema.around:
        fastavro.parse_schema(json.loads(text), names)
    try:
        written: Any = json.loads(schema.text)
    except ValueError:
        written = schema.text.strip()  # a bare word is a type's name
    return fastavro.parse_schema(written, names)


def _json(_: WireSchema, body: bytes) -> str:
    json.loads(body)
    return body.decode()


def _protobuf(schema: WireSchema, body: bytes) -> str:
    from google.protobuf.json_format import MessageToJson
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

    from orion.formats.messages.read import indexes

    try:
        path, start = indexes(bytes(_HEADER) + body)
        made = GetMessageClass(_message(schema, path)).FromString(body[start - _HEADER :])
    except DecodeError as error:
        raise ValueError(str(error)) from error
    return MessageToJson(made, preserving_proto_field_name=True, indent=None, ensure_ascii=False)


@lru_cache(maxsize=64)
def _message(schema: WireSchema, path: tuple[int, ...]) -> Any:
    from orion.formats.messages.schema import files_of
    from orion.formats.messages.types import described

    found = described(files_of(schema), path)
    if found is None:
        raise ValueError("there is no such message")
    return found


_READERS: dict[str, Callable[[WireSchema, bytes], str]] = {"AVRO": _avro, "JSON": _json, "PROTOBUF": _protobuf}


def _plain(value: Any) -> str:
    """What JSON has no form for: bytes as base64, times and decimals as people write them."""
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)

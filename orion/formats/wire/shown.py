"""A record that names a schema, as JSON for a person to read."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from orion.errors import OrionError
from orion.formats.wire.framing import LENGTH
from orion.formats.wire.values import read_avro, read_message, schema_id
from orion.plan.sources import WireSchema


def shown(raw: bytes | None, schema_of: Callable[[int], WireSchema | None]) -> str | None:
    """The record's JSON; None where it names no schema, or one that isn't known or doesn't fit.

    Any bytes may begin like a header: what then can't be read is no such record.
    """
    number = None if raw is None else schema_id(raw)
    if raw is None or number is None:
        return None
    try:
        schema = schema_of(number)
        return None if schema is None else _READERS[schema.type](schema, raw[LENGTH:])
    except (OrionError, ValueError, LookupError, TypeError, EOFError, ArithmeticError):
        return None


def _avro(schema: WireSchema, body: bytes) -> str:
    return json.dumps(read_avro(schema, body), ensure_ascii=False, default=_plain)


def _json(_: WireSchema, body: bytes) -> str:
    json.loads(body)
    return body.decode()


def _protobuf(schema: WireSchema, body: bytes) -> str:
    from google.protobuf.json_format import MessageToJson

    made = read_message(schema, body)
    return MessageToJson(made, preserving_proto_field_name=True, indent=None, ensure_ascii=False)


_READERS: dict[str, Callable[[WireSchema, bytes], str]] = {"AVRO": _avro, "JSON": _json, "PROTOBUF": _protobuf}


def _plain(value: Any) -> str:
    """What JSON has no form for: bytes as base64, times and decimals as people write them."""
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)

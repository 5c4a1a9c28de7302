"""Records as people write them in a case, to the bytes of a topic and back, by the topic's declared formats.

Plain Python, apart from the engine's own formats: a mistake of theirs must not cancel itself out here.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from decimal import Decimal
from typing import Any

from orion.formats import protobuf_nosr
from orion.plan.sources import Serde, Source, WindowKind, WireSchema, subject
from orion.schema import Column, Role, Scalar
from tests.conformance import avro_wire, protobuf_wire
from tests.conformance.shelf import Shelf

_HEADER = struct.Struct(">bI")
_NUMBER = "\ue000"


def dumps(value: Any) -> str:
    """JSON in which every number keeps its spelling."""

    def marked(inner: Any) -> Any:
        if isinstance(inner, Decimal):
            return f"{_NUMBER}{inner}{_NUMBER}"
        if isinstance(inner, dict):
            return {k: marked(v) for k, v in inner.items()}
        if isinstance(inner, list | tuple):
            return [marked(v) for v in inner]
        return inner

    text = json.dumps(marked(value), ensure_ascii=False, separators=(",", ":"))
    return re.sub(f'"{_NUMBER}([^"{_NUMBER}]*){_NUMBER}"', r"\1", text)


def loads(text: str | bytes) -> Any:
    return json.loads(text, parse_float=Decimal)


def encode_key(source: Source | None, key: Any, window: dict[str, Any] | None, shelf: Shelf) -> bytes | None:
    if source is None:
        return _plain(key)
    body = _encode(source, Role.KEY, key, shelf)
    if body is None or source.window is None:
        return body
    if window is None:
        return body
    start = struct.pack(">q", int(window["start"]))
    if source.window.kind is WindowKind.SESSION:
        return body + struct.pack(">q", int(window["end"])) + start
    return body + start


def encode_value(source: Source | None, value: Any, shelf: Shelf) -> bytes | None:
    return _plain(value) if source is None else _encode(source, Role.VALUE, value, shelf)


def decode_key(source: Source | None, key: bytes | None, shelf: Shelf) -> tuple[Any, dict[str, Any] | None]:
    if source is None or source.window is None or key is None:
        return (_text(key) if source is None else _decode(source, Role.KEY, key, shelf)), None
    if source.window.kind is WindowKind.SESSION:
        end, start = struct.unpack(">qq", key[-16:])
        return _decode(source, Role.KEY, key[:-16], shelf), {"start": start, "end": end, "type": "session"}
    (start,) = struct.unpack(">q", key[-8:])
    window = {"start": start, "end": start + source.window.size_ms, "type": "time"}
    return _decode(source, Role.KEY, key[:-8], shelf), window


def decode_value(source: Source | None, value: bytes | None, shelf: Shelf) -> Any:
    return _text(value) if source is None else _decode(source, Role.VALUE, value, shelf)


def _plain(value: Any) -> bytes | None:
    if value is None:
        return None
    return (value if isinstance(value, str) else dumps(value)).encode()


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _encode(source: Source, role: Role, value: Any, shelf: Shelf) -> bytes | None:
    if value is None:
        return None
    serde, columns = source.serde(role), source.columns(role)
    match serde.format:
        case "AVRO" | "JSON_SR" | "PROTOBUF":
            schema = _schema(source, role, shelf)
            return _HEADER.pack(0, schema.id) + _body(schema, serde, value)
        case "PROTOBUF_NOSR":
            return protobuf_wire.encode_bare(_own_schema(serde, columns), serde.full_name, value)
        case "JSON":
            return dumps(value).encode()
        case "KAFKA":
            return _kafka_bytes(columns[0], value) if columns else _plain(value)
        case _:
            return _plain(value)


def _schema(source: Source, role: Role, shelf: Shelf) -> WireSchema:
    """By which a case's records are written: the one the source names, else the topic's last."""
    number = source.serde(role).schema_id
    found = shelf.latest(subject(source.topic, role)) if number is None else shelf.by_id(number)
    assert found is not None
    return found


def _own_schema(serde: Serde, columns: tuple[Column, ...]) -> WireSchema:
    return WireSchema(0, "PROTOBUF", protobuf_nosr.schema_of(columns, serde))


def _body(schema: WireSchema, serde: Serde, value: Any) -> bytes:
    match schema.type:
        case "AVRO":
            return avro_wire.encode(schema, value)
        case "PROTOBUF":
            return protobuf_wire.encode(schema, serde.full_name, value)
        case _:
            return dumps(value).encode()


def _unpacked(schema: WireSchema, raw: bytes) -> Any:
    match schema.type:
        case "AVRO":
            return avro_wire.decode(schema, raw)
        case "PROTOBUF":
            return protobuf_wire.decode(schema, raw)
        case _:
            return loads(raw)


def _kafka_bytes(column: Column, value: Any) -> bytes:
    if isinstance(value, dict):  # a single column may be given under its name
        value = next((v for k, v in value.items() if k.upper() == column.name.upper()), None)
    match column.type:
        case Scalar.INTEGER:
            return struct.pack(">i", int(value))
        case Scalar.BIGINT:
            return struct.pack(">q", int(value))
        case Scalar.DOUBLE:
            return struct.pack(">d", float(value))
        case Scalar.BYTES:
            return base64.b64decode(value)
        case _:
            return str(value).encode()


def _decode(source: Source, role: Role, raw: bytes | None, shelf: Shelf) -> Any:
    if raw is None:
        return None
    serde, columns = source.serde(role), source.columns(role)
    match serde.format:
        case "AVRO" | "JSON_SR" | "PROTOBUF":
            schema = shelf.by_id(_HEADER.unpack(raw[:5])[1])
            assert schema is not None
            return _unpacked(schema, raw[5:])
        case "PROTOBUF_NOSR":
            return protobuf_wire.decode_bare(_own_schema(serde, columns), serde.full_name, raw)
        case "JSON":
            return loads(raw)
        case "KAFKA":
            return _kafka_value(columns[0], raw) if columns else None
        case "NONE":
            return None
        case _:
            return _text(raw)


def _kafka_value(column: Column, raw: bytes) -> Any:
    body: Any
    match column.type:
        case Scalar.INTEGER:
            body = struct.unpack(">i", raw)[0]
        case Scalar.BIGINT:
            body = struct.unpack(">q", raw)[0]
        case Scalar.DOUBLE:
            body = struct.unpack(">d", raw)[0]
        case Scalar.BYTES:
            body = base64.b64encode(raw).decode()
        case _:
            body = _text(raw)
    return body

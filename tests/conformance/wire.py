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

from orion.plan.sources import Serde, Source, WindowKind
from orion.schema import Column, Scalar

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


def encode_key(source: Source | None, key: Any, window: dict[str, Any] | None) -> bytes | None:
    if source is None:
        return _plain(key)
    body = _encode(source.key, source.schema.key, key)
    if body is None or source.window is None:
        return body
    if window is None:
        return body
    start = struct.pack(">q", int(window["start"]))
    if source.window.kind is WindowKind.SESSION:
        return body + struct.pack(">q", int(window["end"])) + start
    return body + start


def encode_value(source: Source | None, value: Any) -> bytes | None:
    return _plain(value) if source is None else _encode(source.value, source.schema.value, value)


def decode_key(source: Source | None, key: bytes | None) -> tuple[Any, dict[str, Any] | None]:
    if source is None or source.window is None or key is None:
        return (_text(key) if source is None else _decode(source.key, source.schema.key, key)), None
    if source.window.kind is WindowKind.SESSION:
        end, start = struct.unpack(">qq", key[-16:])
        return _decode(source.key, source.schema.key, key[:-16]), {"start": start, "end": end, "type": "session"}
    (start,) = struct.unpack(">q", key[-8:])
    window = {"start": start, "end": start + source.window.size_ms, "type": "time"}
    return _decode(source.key, source.schema.key, key[:-8]), window


def decode_value(source: Source | None, value: bytes | None) -> Any:
    return _text(value) if source is None else _decode(source.value, source.schema.value, value)


def _plain(value: Any) -> bytes | None:
    if value is None:
        return None
    return (value if isinstance(value, str) else dumps(value)).encode()


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _encode(serde: Serde, columns: tuple[Column, ...], value: Any) -> bytes | None:
    if value is None:
        return None
    match serde.format:
        case "JSON":
            return dumps(value).encode()
        case "KAFKA":
            return _kafka_bytes(columns[0], value) if columns else _plain(value)
        case _:
            return _plain(value)


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


def _decode(serde: Serde, columns: tuple[Column, ...], raw: bytes | None) -> Any:
    if raw is None:
        return None
    match serde.format:
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

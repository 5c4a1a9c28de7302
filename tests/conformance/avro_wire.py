"""Avro as people write its values in a case, by fastavro."""

from __future__ import annotations

import base64
import io
import json
from decimal import Decimal, localcontext
from typing import Any

import fastavro

from orion.plan.sources import WireSchema

Names = dict[str, Any]


def encode(schema: WireSchema, value: Any) -> bytes:
    parsed, names = _parsed(schema)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, _given(value, parsed, names))
    return out.getvalue()


def decode(schema: WireSchema, raw: bytes) -> Any:
    parsed, names = _parsed(schema)
    return _shown(fastavro.schemaless_reader(io.BytesIO(raw), parsed, None), parsed, names)


def _parsed(schema: WireSchema) -> tuple[Any, Names]:
    names: Names = {}
    for _, text in schema.around:
        fastavro.parse_schema(json.loads(text), names)
    try:
        raw = json.loads(schema.text)
    except ValueError:
        raw = schema.text
    return fastavro.parse_schema(_without_times(raw), names), names


def _without_times(raw: Any) -> Any:
    """Dates and times as the numbers they are: that is how cases write them."""
    if isinstance(raw, list):
        return [_without_times(one) for one in raw]
    if not isinstance(raw, dict):
        return raw
    kept = {k: _without_times(v) for k, v in raw.items() if k != "logicalType" or v == "decimal"}
    return kept["type"] if set(kept) == {"type"} else kept


def _of(parsed: Any, names: Names) -> Any:
    return names.get(parsed, parsed) if isinstance(parsed, str) else parsed


def _kind(parsed: Any) -> str:
    return str(parsed["type"] if isinstance(parsed, dict) else parsed)


def _branch(parsed: list[Any]) -> Any:
    return next((one for one in parsed if _kind(one) != "null"), "null")


def _given(value: Any, parsed: Any, names: Names) -> Any:
    parsed = _of(parsed, names)
    if isinstance(parsed, list):
        return None if value is None else _given(value, _branch(parsed), names)
    kind = _kind(parsed)
    if value is None:
        return None
    if kind == "record":
        upper = {k.upper(): v for k, v in value.items()}
        return {
            f["name"]: _given(value.get(f["name"], upper.get(f["name"].upper(), f.get("default"))), f["type"], names)
            for f in parsed["fields"]
        }
    if kind == "array":
        return [_given(one, parsed["items"], names) for one in value]
    if kind == "map":
        return {k: _given(one, parsed["values"], names) for k, one in value.items()}
    if kind in ("bytes", "fixed"):
        if parsed != kind and parsed.get("logicalType") == "decimal":
            with localcontext(prec=99):
                return Decimal(str(value)).quantize(Decimal(1).scaleb(-parsed.get("scale", 0)))
        return base64.b64decode(value)
    if kind in ("float", "double"):
        return float(value)
    if kind in ("int", "long"):
        return int(value)
    return str(value) if kind == "string" else value


def _shown(value: Any, parsed: Any, names: Names) -> Any:
    parsed = _of(parsed, names)
    if isinstance(parsed, list):
        return None if value is None else _shown(value, _branch(parsed), names)
    if value is None:
        return None
    match _kind(parsed):
        case "record":
            return {f["name"]: _shown(value[f["name"]], f["type"], names) for f in parsed["fields"]}
        case "array":
            return [_shown(one, parsed["items"], names) for one in value]
        case "map":
            return {k: _shown(one, parsed["values"], names) for k, one in value.items()}
        case _:
            return base64.b64encode(value).decode() if isinstance(value, bytes) else value

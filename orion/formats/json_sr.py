"""JSON_SR: behind the header, JSON as the format JSON reads and writes it. The schema says which columns there are."""

from __future__ import annotations

from orion.formats import Decoded, json
from orion.formats.wire import framing, json_schema
from orion.formats.wire.json_schema import columns_of, schema_of
from orion.formats.wire.naming import alone, named
from orion.plan.sources import Serde
from orion.schema import Column, Struct

__all__ = ["columns_of", "decode", "encode", "schema_of"]


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    if not columns:
        return Decoded("1", (), "FALSE", "''")
    plain = json.decode(columns, serde, framing.body(raw), value)
    bad, why = framing.refused(raw, framing.wiring_of(serde), (), plain.bad)
    return Decoded(plain.struct, plain.fields, bad, why, plain.empty)


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    if not columns:
        return "CAST(NULL AS BINARY)"
    schema = framing.written_by(serde)
    type_ = json_schema.sql_type(schema)
    known = [f.name for f in type_.fields] if isinstance(type_, Struct) else []
    places = [named(c.name, known) for c in columns]
    names = [c.name if at is None else known[at] for c, at in zip(columns, places, strict=True)]
    made = f"concat({framing.header(schema.id)}, {json.encode_under(names, columns, serde)})"
    return alone(columns, serde, made)

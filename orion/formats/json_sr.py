"""JSON_SR: behind the header, JSON as the format JSON reads and writes it. The schema says which columns there are."""

from __future__ import annotations

from dataclasses import replace

from orion.formats import Decoded, json
from orion.formats.wire import framing, json_schema
from orion.formats.wire.json_schema import columns_of, schema_of
from orion.formats.wire.naming import alone, spelled
from orion.plan.sources import Serde, is_alone
from orion.schema import Column, Field, Struct

__all__ = ["columns_of", "decode", "encode", "schema_of"]


def decode(columns: tuple[Column, ...], serde: Serde, raw: str, value: str) -> Decoded:
    if not columns:
        return Decoded("1", (), "FALSE", "''")
    plain = json.decode(columns, serde, framing.body(raw), value)
    bad, why = framing.refused(raw, framing.wiring_of(serde), (), plain.bad)
    return Decoded(plain.struct, plain.fields, bad, why, plain.empty, plain.before)


def encode(columns: tuple[Column, ...], serde: Serde) -> str:
    if not columns:
        return "CAST(NULL AS BINARY)"
    schema = framing.written_by(serde)
    fields = tuple(Field(c.name, c.type) for c in columns)
    known = json_schema.sql_type(schema)
    if is_alone(columns, serde):
        fields = (replace(fields[0], type=spelled(fields[0].type, known)),)
    else:
        inside = spelled(Struct(fields), known)
        assert isinstance(inside, Struct)
        fields = inside.fields
    made = f"concat({framing.header(schema.id)}, {json.encode_under(fields, columns, serde)})"
    return alone(columns, serde, made)

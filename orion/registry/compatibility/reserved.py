"""Fields that a schema's metadata reserves: none of the schema may have such a name, and none is let go again."""

from __future__ import annotations

from collections.abc import Set
from typing import assert_never

from orion.registry.compatibility.finding import Finding
from orion.registry.parsing.avro import AvroSchema, Record
from orion.registry.parsing.json_schema import JsonSchema, Object
from orion.registry.parsing.protobuf import ProtobufSchema
from orion.registry.schemas import Parsed


def check(new: Parsed, reserved: Set[str], before: Set[str]) -> list[Finding]:
    """What is wrong with a schema that reserves some names, after one that reserved others."""
    word = "PROPERTY" if isinstance(new, JsonSchema) else "FIELD"
    root = "/" if isinstance(new, AvroSchema) else "#/"
    found = [
        Finding(
            f"RESERVED_{word}_REMOVED", root, f"The new schema doesn't reserve {name} any more, as the old one did,"
        )
        for name in sorted(before - reserved)
    ]
    fields = _top_level(new) if reserved else {}
    for name in sorted(reserved & fields.keys()):
        text = f"The new schema has the field {name}, whose name is reserved,"
        found.append(Finding(f"RESERVED_{word}_CONFLICTS_WITH_{word}", fields[name], text))
    return found


def _top_level(schema: Parsed) -> dict[str, str]:
    """The paths of the outermost fields, by name."""
    match schema:
        case AvroSchema(root=Record(fields=fields)):
            return {field.name: f"/fields/{index}" for index, field in enumerate(fields)}
        case JsonSchema(root=Object(properties=properties)):
            return {name: f"#/properties/{name}" for name in properties}
        case ProtobufSchema(file=file) if file.message_type:
            message = file.message_type[0]
            return {field.name: f"#/{message.name}/{field.number}" for field in message.field}
        case AvroSchema() | JsonSchema() | ProtobufSchema():
            return {}
        case _:
            assert_never(schema)

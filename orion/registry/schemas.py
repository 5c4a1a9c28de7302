"""A schema as clients send it, and as it is once understood."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, assert_never, get_args

from orion.registry import words
from orion.registry.errors import InvalidSchema
from orion.registry.parsing import avro, json_schema, protobuf
from orion.registry.parsing.avro import AvroSchema
from orion.registry.parsing.json_schema import JsonSchema
from orion.registry.parsing.protobuf import ProtobufSchema

SchemaType = Literal["AVRO", "JSON", "PROTOBUF"]
Parsed = AvroSchema | JsonSchema | ProtobufSchema
TYPES: tuple[SchemaType, ...] = get_args(SchemaType)


@dataclass(frozen=True, slots=True)
class Reference:
    """Another schema that this one uses, under the name by which its text does."""

    name: str
    subject: str
    version: int

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "subject": self.subject, "version": self.version}


@dataclass(frozen=True)
class Schema:
    """A text with its type and what goes with it. Two that are equal get one id."""

    text: str
    type: SchemaType = "AVRO"
    references: tuple[Reference, ...] = ()
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)
    rule_set: Mapping[str, Any] | None = field(default=None, hash=False)

    @cached_property
    def digest(self) -> bytes:
        """Equal for equal schemas only."""
        parts = [
            self.type,
            self.text,
            [reference.as_dict() for reference in self.references],
            self.metadata,
            self.rule_set,
        ]
        return hashlib.md5(json.dumps(parts, sort_keys=True).encode(), usedforsecurity=False).digest()

    @property
    def guid(self) -> str:
        return str(uuid.UUID(bytes=self.digest))

    def as_dict(self) -> dict[str, Any]:
        """As answers show it: the type only when it isn't Avro, the rest only where there is any."""
        shown: dict[str, Any] = {"schema": self.text}
        if self.type != "AVRO":
            shown["schemaType"] = self.type
        if self.references:
            shown["references"] = [reference.as_dict() for reference in self.references]
        if self.metadata:
            shown["metadata"] = dict(self.metadata)
        if self.rule_set:
            shown["ruleSet"] = dict(self.rule_set)
        return shown


def schema_type(word: object) -> SchemaType:
    """A type by its name; nothing is Avro, as it was before there were others."""
    if word is None or word == "":
        return "AVRO"
    if (found := words.known(word, TYPES)) is not None:
        return found
    raise InvalidSchema(f"there is no schema type {str(word)[:40]!r}: {', '.join(TYPES)}")


def parse(kind: SchemaType, text: str, around: Mapping[str, str], *, normalize: bool = False) -> Parsed:
    """Understand a text. `around` has what it refers to, by name, each after those it needs itself."""
    try:
        parsed = _parsed(kind, text, around, normalize)
        parsed.canonical.encode()  # half of a pair of surrogates is no text
        return parsed
    except RecursionError as error:
        raise InvalidSchema("it is nested too deep") from error
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        # Something of the wrong kind in a place that no check knows of: still the sender's mistake.
        raise InvalidSchema(f"it can't be understood: {str(error)[:200]}") from error


def _parsed(kind: SchemaType, text: str, around: Mapping[str, str], normalize: bool) -> Parsed:
    match kind:
        case "AVRO":
            return avro.parse(text, around.values(), normalize=normalize)
        case "JSON":
            return json_schema.parse(text, around, normalize=normalize)
        case "PROTOBUF":
            return protobuf.parse(text, around, normalize=normalize)
        case _:
            assert_never(kind)


def stored_text(parsed: Parsed) -> str:
    """The text that is kept: the standard form, but of Protobuf the file as it was written, with its comments."""
    match parsed:
        case AvroSchema() | JsonSchema():
            return parsed.canonical
        case ProtobufSchema():
            return parsed.text
        case _:
            assert_never(parsed)


def formatted(schema: Schema, wanted: str, parsed: Callable[[], Parsed]) -> str:
    """The text in a format that its type has; as it is kept in any other, as Confluent's registry does."""
    match schema.type, wanted:
        case "PROTOBUF", "serialized":
            understood = parsed()
            return understood.serialized if isinstance(understood, ProtobufSchema) else schema.text
        case "AVRO", "resolved":
            understood = parsed()
            return understood.resolved if isinstance(understood, AvroSchema) else schema.text
        case _:
            return schema.text

"""The seven levels: which earlier versions a schema is held against, and who must be able to read whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar, get_args

from orion.registry import words
from orion.registry.compatibility import avro, json_schema, protobuf
from orion.registry.compatibility.effort import TooCostly
from orion.registry.compatibility.finding import Finding
from orion.registry.errors import INVALID_LEVEL, RegistryError
from orion.registry.parsing.avro import AvroSchema
from orion.registry.parsing.json_schema import JsonSchema
from orion.registry.parsing.protobuf import ProtobufSchema
from orion.registry.schemas import Parsed

Level = Literal["NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"]
T = TypeVar("T")
LEVELS: tuple[Level, ...] = get_args(Level)


def level(word: object) -> Level:
    if (found := words.known(word, LEVELS)) is not None:
        return found
    raise RegistryError(
        INVALID_LEVEL,
        "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, "
        "forward_transitive, and full_transitive",
    )


def compared(of: Level, earlier: Sequence[T]) -> list[T]:
    """Which of the earlier versions, oldest first, count at a level; the newest of them first."""
    if of == "NONE":
        return []
    return list(reversed(earlier if of.endswith("_TRANSITIVE") else earlier[-1:]))


def check(of: Level, new: Parsed, earlier: Sequence[Parsed], *, lenient: bool = False) -> list[Finding]:
    """Why the new schema can't follow the earlier ones, oldest first; nothing when it can."""
    for old in compared(of, earlier):
        if found := conflicts(of, new, old, lenient=lenient):
            return found
    return []


def conflicts(of: Level, new: Parsed, old: Parsed, *, lenient: bool = False) -> list[Finding]:
    """Why the new schema can't follow one that counts; `lenient` is Confluent's policy of that name."""
    backward = [] if of.startswith("FORWARD") else reads(new, old, lenient=lenient)
    forward = [] if of.startswith("BACKWARD") else reads(old, new, lenient=lenient)
    return backward + forward


def reads(reader: Parsed, writer: Parsed, *, lenient: bool = False) -> list[Finding]:
    """What keeps one schema from reading what the other wrote."""
    try:
        match reader, writer:
            case AvroSchema(), AvroSchema():
                return avro.check(reader, writer)
            case JsonSchema(), JsonSchema():
                return json_schema.check(reader, writer, lenient=lenient)
            case ProtobufSchema(), ProtobufSchema():
                return protobuf.check(reader, writer)
            case _:
                return [Finding("SCHEMA_TYPE_CHANGED", "/", "Schemas of different types can't read each other")]
    except (RecursionError, TooCostly):
        return [Finding("TOO_COMPLEX", "/", "The schemas are too large or too deep to be compared")]

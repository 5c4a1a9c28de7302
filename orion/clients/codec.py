"""Values to bytes and back, in the formats that a client can name."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from orion.errors import SchemaError, UserError, hint_nearest
from orion.formats.wire import values
from orion.plan.sources import WireSchema, subject
from orion.registry.access import Access, Remote
from orion.schema import Role

Format = Literal["bytes", "string", "json", "avro", "json_sr", "protobuf"]
FORMATS: tuple[Format, ...] = ("bytes", "string", "json", "avro", "json_sr", "protobuf")
# What a registry calls the schemas of the formats that have some.
KINDS = {"avro": "AVRO", "json_sr": "JSON", "protobuf": "PROTOBUF"}


@dataclass(frozen=True)
class Codec:
    """Keys or values of a client. None is no bytes, whatever the format: a tombstone.

    With a `schema` of its own a record is written by that, which is registered for the topic; else by the latest that
    the topic's subject has. Each topic's is asked for once.
    """

    role: Role
    format: Format
    schema: str | None = None
    registry: Access | None = None
    _writes: dict[str, WireSchema] = field(default_factory=dict, compare=False)

    def encode(self, topic: str, value: Any) -> bytes | None:
        """The bytes of a value; a SchemaError says that it doesn't fit the schema, a UserError the format."""
        if value is None:
            return None
        match self.format:
            case "bytes":
                return self._bytes(value)
            case "string":
                if not isinstance(value, str):
                    raise self._unfit(value, "a string")
                return value.encode()
            case "json":
                return self._json(value)
            case _:
                return values.written(self._written_by(topic), value)

    def decode(self, raw: bytes | None) -> Any:
        """The value of bytes; a SchemaError says why it can't be read."""
        if raw is None or self.format == "bytes":
            return raw
        try:
            if self.format == "string":
                return raw.decode()
            if self.format == "json":
                return json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise SchemaError("RECORD_UNFIT", f"The {self.role.lower()} is no {self.format}: {error}.") from error
        return values.read(raw, self._access().by_id, KINDS[self.format])

    def _bytes(self, value: Any) -> bytes:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise self._unfit(value, "bytes")
        return bytes(value)

    def _json(self, value: Any) -> bytes:
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise UserError("VALUE_UNFIT", f"The {self.role.lower()} can't be written as JSON: {error}.") from error

    def _unfit(self, value: Any, wanted: str) -> UserError:
        side = self.role.lower()
        return UserError(
            "VALUE_UNFIT",
            f"A {side} is {wanted} here, and this one is {type(value).__name__}.",
            hint=f"Give the client {side}_format: {', '.join(FORMATS)}.",
        )

    def _written_by(self, topic: str) -> WireSchema:
        if topic not in self._writes:
            name = subject(topic, self.role)
            kind = KINDS[self.format]
            found = (
                self._access().latest(name) if self.schema is None else self._access().register(name, kind, self.schema)
            )
            if found is None:
                hint = f"Give {self.role.lower()}_schema, or register one: `orion schemas register {name} FILE`."
                raise SchemaError("NO_SCHEMA", f"The registry has no schema under {name}.", hint=hint)
            if found.type != kind:
                raise SchemaError("SCHEMA_UNFIT", f"The schema under {name} is {found.type} and not {kind}.")
            self._writes[topic] = found
        return self._writes[topic]

    def _access(self) -> Access:
        assert self.registry is not None
        return self.registry


def codecs(
    formats: tuple[str, str], schemas: tuple[str | None, str | None], registry: str | Access | None
) -> tuple[Codec, Codec]:
    """For keys and for values; a registry is looked for only if one of them has need of it."""
    for name in formats:
        if name not in FORMATS:
            hint = hint_nearest(name, list(FORMATS)) or f"There are {', '.join(FORMATS)}."
            raise UserError("UNKNOWN_FORMAT", f"There is no format {name}.", hint=hint)
    access = _found(registry) if set(formats) & set(KINDS) else None
    made = []
    for role, name, schema in zip((Role.KEY, Role.VALUE), formats, schemas, strict=True):
        if schema is not None and name not in KINDS:
            raise UserError("INVALID_OPTIONS", f"The format {name} has no schema.", hint=f"Use {', '.join(KINDS)}.")
        made.append(Codec(role, name, schema, access))  # type: ignore[arg-type]
    return made[0], made[1]


def _found(registry: str | Access | None) -> Access:
    from orion.config import load
    from orion.hub.running import registry_of

    if registry is None:
        return Remote(registry_of(load()))
    return Remote(registry) if isinstance(registry, str) else registry

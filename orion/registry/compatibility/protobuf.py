"""Confluent's rules for Protobuf: what was written must still be read, field by field number.

`original` is the schema that was written with, `update` the one that reads. Only what breaks readers is a finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto

from orion.registry.compatibility.finding import Finding
from orion.registry.parsing.protobuf import Declared, ProtobufSchema

_REPEATED = FieldDescriptorProto.LABEL_REPEATED
_REQUIRED = FieldDescriptorProto.LABEL_REQUIRED
_MESSAGES = (FieldDescriptorProto.TYPE_MESSAGE, FieldDescriptorProto.TYPE_GROUP)
# Types that are read from each other's bytes. An enum is a number.
_ALIKE = (
    {"int32", "uint32", "int64", "uint64", "bool", "enum"},
    {"sint32", "sint64"},
    {"string", "bytes"},
    {"fixed32", "sfixed32"},
    {"fixed64", "sfixed64"},
)
_GROUPS: dict[int, int] = {
    getattr(FieldDescriptorProto, f"TYPE_{word.upper()}"): number for number, some in enumerate(_ALIKE) for word in some
}
_BYTES = (FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_BYTES)


@dataclass(frozen=True, slots=True)
class _Fields:
    """A message's fields by number, and which oneof each is in."""

    fields: Mapping[int, FieldDescriptorProto]
    oneofs: Mapping[str, Set[int]]
    home: Mapping[int, str]

    @classmethod
    def of(cls, message: DescriptorProto) -> _Fields:
        home = {
            field.number: message.oneof_decl[field.oneof_index].name
            for field in message.field
            if field.HasField("oneof_index") and not field.proto3_optional
        }
        oneofs: dict[str, set[int]] = {}
        for number, name in home.items():
            oneofs.setdefault(name, set()).add(number)
        return cls({field.number: field for field in message.field}, oneofs, home)


def check(update: ProtobufSchema, original: ProtobufSchema) -> list[Finding]:
    """Everything in the new schema that bytes of the old one don't fit."""
    return _Comparison(original, update).file()


class _Comparison:
    def __init__(self, original: ProtobufSchema, update: ProtobufSchema) -> None:
        self._original = original
        self._update = update
        # What is known of a pair; one being compared further up is taken to fit, for messages may hold themselves.
        self._known: dict[tuple[int, int], list[Finding]] = {}

    def file(self) -> list[Finding]:
        before, after = self._original.file, self._update.file
        if before.package != after.package:
            return [Finding("PACKAGE_CHANGED", "#/")]
        return self._messages(before.message_type, after.message_type, "#")

    def _messages(
        self, before: Iterable[DescriptorProto], after: Iterable[DescriptorProto], path: str
    ) -> list[Finding]:
        kept = {message.name: message for message in after}
        found: list[Finding] = []
        for message in before:
            if message.options.map_entry:
                continue
            where = f"{path}/{message.name}"
            other = kept.get(message.name)
            if other is None:
                found.append(Finding("MESSAGE_REMOVED", where))
            else:
                found += self._message(message, other, where)
        return found

    def _message(self, original: DescriptorProto, update: DescriptorProto, path: str) -> list[Finding]:
        pair = (id(original), id(update))
        if pair not in self._known:
            self._known[pair] = []
            found = self._messages(original.nested_type, update.nested_type, path)
            before, after = _Fields.of(original), _Fields.of(update)
            found += _oneofs(before, after, path)
            for number in dict.fromkeys((*before.fields, *after.fields)):
                found += self._field(before.fields.get(number), after.fields.get(number), f"{path}/{number}")
            self._known[pair] = found
        return self._known[pair]

    def _field(
        self, before: FieldDescriptorProto | None, after: FieldDescriptorProto | None, path: str
    ) -> list[Finding]:
        if before is None or after is None:
            single = before or after
            word = "ADDED" if before is None else "REMOVED"
            required = single is not None and single.label == _REQUIRED
            return [Finding(f"REQUIRED_FIELD_{word}", path)] if required else []
        return self._type(before, after, path) or _label(before, after, path)

    def _type(self, before: FieldDescriptorProto, after: FieldDescriptorProto, path: str) -> list[Finding]:
        maps = self._entry(before, self._original), self._entry(after, self._update)
        if maps[0] is not None and maps[1] is not None:
            pairs = zip(maps[0].field, maps[1].field, strict=True)
            return [found for old, new in pairs for found in self._type(old, new, path)]
        if (maps[0] is None) != (maps[1] is None) or (before.type in _MESSAGES) != (after.type in _MESSAGES):
            return [Finding("FIELD_KIND_CHANGED", path)]
        if before.type in _MESSAGES:
            return self._named(before, after, path)
        alike = before.type == after.type or _GROUPS.get(before.type, -1) == _GROUPS.get(after.type, -2)
        return [] if alike else [Finding("FIELD_SCALAR_KIND_CHANGED", path)]

    def _named(self, before: FieldDescriptorProto, after: FieldDescriptorProto, path: str) -> list[Finding]:
        """A type of the file itself is compared where it stands; an imported one here, whatever its package."""
        old, new = self._original.types[before.type_name], self._update.types[after.type_name]
        if old.inner_name != new.inner_name:
            return [Finding("FIELD_NAMED_TYPE_CHANGED", path)]
        if old.local and new.local:
            return []
        where = "#/" + old.inner_name.replace(".", "/")
        inner = self._message(_message_of(old), _message_of(new), where)
        return [*inner, Finding("FIELD_NAMED_TYPE_CHANGED", path)] if inner else []

    def _entry(self, field: FieldDescriptorProto, schema: ProtobufSchema) -> DescriptorProto | None:
        if field.type != FieldDescriptorProto.TYPE_MESSAGE:
            return None
        message = _message_of(schema.types[field.type_name])
        return message if message.options.map_entry else None


def _message_of(declared: Declared) -> DescriptorProto:
    assert not isinstance(declared.type, EnumDescriptorProto)
    return declared.type


def _label(before: FieldDescriptorProto, after: FieldDescriptorProto, path: str) -> list[Finding]:
    """Of numbers, many are packed into one value, which a reader of a single one can't take apart, nor the reverse."""
    changed = (before.label == _REPEATED) != (after.label == _REPEATED)
    number = after.type not in _BYTES and after.type not in _MESSAGES
    return [Finding("FIELD_NUMERIC_LABEL_CHANGED", path)] if changed and number else []


def _oneofs(before: _Fields, after: _Fields, path: str) -> list[Finding]:
    """Fields that could be set side by side may not come to exclude each other, and a oneof loses no member."""
    found: list[Finding] = []
    renamed: dict[str, str] = {}
    for name, members in after.oneofs.items():
        known = members & before.fields.keys()
        loose = {number for number in known if number not in before.home}
        origins = {before.home[number] for number in known if number in before.home}
        where = f"{path}/{name}"
        if name in before.oneofs:
            if loose or origins - {name}:
                found.append(Finding("FIELD_MOVED_TO_EXISTING_ONEOF", where))
        elif len(origins) > 1 or (origins and loose):
            found.append(Finding("FIELD_MOVED_TO_EXISTING_ONEOF", where))
        elif len(loose) > 1:
            found.append(Finding("MULTIPLE_FIELDS_MOVED_TO_ONEOF", where))
        elif origins:
            renamed[next(iter(origins))] = name
    for name, members in before.oneofs.items():
        now = after.oneofs.get(name) or after.oneofs.get(renamed.get(name, ""))
        if now is not None:
            found += [Finding("ONEOF_FIELD_REMOVED", f"{path}/{name}/{number}") for number in sorted(members - now)]
    return found

"""A file descriptor as .proto text: kept when a client sends a descriptor; the same for files that mean the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    ServiceDescriptorProto,
    UninterpretedOption,
)

from orion.registry.parsing.proto_text import SCALARS

_WORDS = {number: word for word, number in SCALARS.items()}
_MAX_TAG = 536870911


def show(file: FileDescriptorProto, *, normalize: bool = False) -> str:
    """The text; normalised, what has no order in Protobuf is in one."""
    return "\n".join(_Printer(file.syntax == "proto3", normalize).file(file)) + "\n"


class _Printer:
    def __init__(self, proto3: bool, normalize: bool) -> None:
        self._proto3 = proto3
        self._normalize = normalize

    def file(self, file: FileDescriptorProto) -> Iterator[str]:
        yield f'syntax = "{file.syntax or "proto2"}";'
        if file.package:
            yield f"package {file.package};"
        public = set(file.public_dependency)
        imports = [f'import {"public " * (index in public)}"{name}";' for index, name in enumerate(file.dependency)]
        yield from (["", *self._ordered(imports)] if imports else [])
        options = [f"option {option};" for option in _options(file.options)]
        yield from (["", *self._ordered(options)] if options else [])
        for message in file.message_type:
            yield ""
            yield from self._message(message, "")
        for enum in file.enum_type:
            yield ""
            yield from self._enum(enum, "")
        yield from self._extensions(file.extension, "")
        for service in file.service:
            yield ""
            yield from _service(service)

    def _message(self, message: DescriptorProto, indent: str) -> Iterator[str]:
        yield f"{indent}message {message.name} {{"
        yield from self._inside(message, indent + "  ")
        yield f"{indent}}}"

    def _inside(self, message: DescriptorProto, indent: str) -> Iterator[str]:
        entries = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
        groups = {
            nested.name: nested
            for nested in message.nested_type
            for field in message.field
            if field.type == FieldDescriptorProto.TYPE_GROUP and field.type_name.rpartition(".")[2] == nested.name
        }
        yield from (f"{indent}option {option};" for option in self._ordered(_options(message.options)))
        yield from _reserved(message, indent)
        fields = sorted(message.field, key=lambda field: field.number) if self._normalize else list(message.field)
        for field in fields:
            if not _in_oneof(field):
                yield from self._field(field, indent, entries, groups)
        for index, oneof in enumerate(message.oneof_decl):
            members = [field for field in fields if _in_oneof(field) and field.oneof_index == index]
            if members:
                yield f"{indent}oneof {oneof.name} {{"
                for field in members:
                    yield from self._field(field, indent + "  ", entries, groups)
                yield f"{indent}}}"
        for nested in message.nested_type:
            if nested.name not in entries and nested.name not in groups:
                yield from self._message(nested, indent)
        for enum in message.enum_type:
            yield from self._enum(enum, indent)
        yield from self._extensions(message.extension, indent)

    def _field(
        self,
        field: FieldDescriptorProto,
        indent: str,
        entries: dict[str, DescriptorProto],
        groups: dict[str, DescriptorProto],
    ) -> Iterator[str]:
        label = self._label(field)
        short = field.type_name.rpartition(".")[2]
        if field.type == FieldDescriptorProto.TYPE_GROUP and short in groups:
            yield f"{indent}{label}group {short} = {field.number} {{"
            yield from self._inside(groups[short], indent + "  ")
            yield f"{indent}}}"
            return
        if short in entries:
            key, value = entries[short].field
            label, of = "", f"map<{_type(key)}, {_type(value)}>"
        else:
            of = _type(field)
        options = list(self._field_options(field))
        shown = f" [{', '.join(options)}]" if options else ""
        yield f"{indent}{label}{of} {field.name} = {field.number}{shown};"

    def _label(self, field: FieldDescriptorProto) -> str:
        if field.label == FieldDescriptorProto.LABEL_REPEATED:
            return "repeated "
        if field.label == FieldDescriptorProto.LABEL_REQUIRED:
            return "required "
        return "optional " if field.proto3_optional or not (self._proto3 or _in_oneof(field)) else ""

    def _field_options(self, field: FieldDescriptorProto) -> Iterable[str]:
        options = []
        if field.HasField("default_value"):
            quoted = field.type in (FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_BYTES)
            options.append(f"default = {json.dumps(field.default_value) if quoted else field.default_value}")
        if field.json_name and field.json_name != json_name(field.name):
            options.append(f"json_name = {json.dumps(field.json_name)}")
        return self._ordered([*options, *_options(field.options)])

    def _enum(self, enum: EnumDescriptorProto, indent: str) -> Iterator[str]:
        yield f"{indent}enum {enum.name} {{"
        yield from (f"{indent}  option {option};" for option in self._ordered(_options(enum.options)))
        names = [json.dumps(name) for name in enum.reserved_name]
        ranges = [_span(one.start, one.end, 2**31 - 1) for one in enum.reserved_range]
        yield from (f"{indent}  reserved {', '.join(some)};" for some in (ranges, names) if some)
        for value in enum.value:
            options = list(self._ordered(_options(value.options)))
            shown = f" [{', '.join(options)}]" if options else ""
            yield f"{indent}  {value.name} = {value.number}{shown};"
        yield f"{indent}}}"

    def _extensions(self, extensions: Iterable[FieldDescriptorProto], indent: str) -> Iterator[str]:
        for field in extensions:
            yield f"{indent}extend {field.extendee} {{"
            yield from self._field(field, indent + "  ", {}, {})
            yield f"{indent}}}"

    def _ordered(self, lines: Iterable[str]) -> list[str]:
        return sorted(lines) if self._normalize else list(lines)


def json_name(field: str) -> str:
    """The name in JSON that a field has unless told."""
    first, *rest = field.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _in_oneof(field: FieldDescriptorProto) -> bool:
    return field.HasField("oneof_index") and not field.proto3_optional


def _type(field: FieldDescriptorProto) -> str:
    return _WORDS.get(field.type) or field.type_name


def _reserved(message: DescriptorProto, indent: str) -> Iterator[str]:
    ranges = [_span(one.start, one.end - 1, _MAX_TAG) for one in message.reserved_range]
    names = [json.dumps(name) for name in message.reserved_name]
    open_to = [_span(one.start, one.end - 1, _MAX_TAG) for one in message.extension_range]
    for word, some in (("reserved", ranges), ("reserved", names), ("extensions", open_to)):
        if some:
            yield f"{indent}{word} {', '.join(some)};"


def _span(start: int, end: int, most: int) -> str:
    return str(start) if start == end else f"{start} to {'max' if end == most else end}"


def _service(service: ServiceDescriptorProto) -> Iterator[str]:
    yield f"service {service.name} {{"
    yield from (f"  option {option};" for option in _options(service.options))
    for method in service.method:
        taken = f"{'stream ' * method.client_streaming}{method.input_type}"
        given = f"{'stream ' * method.server_streaming}{method.output_type}"
        options = [f"option {option};" for option in _options(method.options)]
        end = f" {{ {' '.join(options)} }}" if options else ";"
        yield f"  rpc {method.name} ({taken}) returns ({given}){end}"
    yield "}"


def _options(options: Any) -> Iterator[str]:
    for known, value in options.ListFields():
        if known.name in ("uninterpreted_option", "map_entry") or known.is_extension or known.message_type is not None:
            continue
        if known.is_repeated:
            continue
        yield f"{known.name} = {_known(known, value)}"
    for option in options.uninterpreted_option:
        name = ".".join(f"({part.name_part})" if part.is_extension else part.name_part for part in option.name)
        yield f"{name} = {_value(option)}"


def _known(known: Any, value: Any) -> str:
    if known.enum_type is not None:
        return str(known.enum_type.values_by_number[value].name)
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value)


def _value(option: UninterpretedOption) -> str:
    if option.HasField("string_value"):
        return json.dumps(option.string_value.decode("utf-8", "replace"), ensure_ascii=False)
    if option.HasField("aggregate_value"):
        return f"{{ {option.aggregate_value} }}"
    if option.HasField("identifier_value"):
        return option.identifier_value
    if option.HasField("double_value"):
        return repr(option.double_value)
    return str(option.negative_int_value if option.HasField("negative_int_value") else option.positive_int_value)

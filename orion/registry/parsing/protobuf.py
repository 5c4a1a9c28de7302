"""Protobuf schemas: a text, or a descriptor in base64, to a file whose every type is found."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto
from google.protobuf.descriptor_pb2 import FileDescriptorProto as File
from google.protobuf.message import DecodeError

from orion.registry.errors import InvalidSchema
from orion.registry.parsing import proto_print, proto_text
from orion.registry.parsing.known_protos import KNOWN
from orion.registry.parsing.limits import LONGEST

_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_GOOGLE = "any api descriptor duration empty field_mask source_context struct timestamp type wrappers".split()


@dataclass(frozen=True, slots=True)
class Declared:
    """A message or enum, the name it has inside its package, and whether the schema itself declares it."""

    type: DescriptorProto | EnumDescriptorProto
    inner_name: str
    local: bool


@dataclass(frozen=True)
class ProtobufSchema:
    file: File = field(repr=False)
    types: Mapping[str, Declared] = field(repr=False)  # by full name with a leading dot
    canonical: str
    text: str
    imports: tuple[File, ...] = field(default=(), repr=False)  # each after those it imports itself

    @property
    def serialized(self) -> str:
        """The descriptor in base64, as clients ask for it with `format=serialized`."""
        return base64.b64encode(self.file.SerializeToString()).decode()


def parse(text: str, references: Mapping[str, str] | None = None, *, normalize: bool = False) -> ProtobufSchema:
    """A file over those it imports: `references` by the name of the import, and the well-known ones."""
    file, sent_as_text = _file(text)
    file.name = "default"
    loading = _Imports(references or {})
    for name in file.dependency:
        loading.load(name, ())
    types = {full: declared for one in loading.files.values() for full, declared in _declared(one, local=False)}
    types |= dict(_declared(file, local=True))
    _link(file, types)
    loading.check(file)
    canonical = proto_print.show(file, normalize=normalize)
    shown = canonical if normalize or not sent_as_text else text
    return ProtobufSchema(file, types, canonical, shown, tuple(loading.files.values()))


def _file(text: str) -> tuple[File, bool]:
    if len(text) <= LONGEST and _BASE64.fullmatch(text):
        try:
            return File.FromString(base64.b64decode(text, validate=False)), False
        except (DecodeError, binascii.Error, ValueError) as error:
            raise InvalidSchema("it is neither Protobuf nor a descriptor in base64") from error
    try:
        return proto_text.read(text), True
    except (ValueError, RecursionError) as error:  # a value that its field doesn't take
        raise InvalidSchema(str(error)) from error


class _Imports:
    """The files around a schema, each linked, after those it imports itself."""

    def __init__(self, references: Mapping[str, str]) -> None:
        self._references = references
        self.files: dict[str, File] = {}
        self._pool = descriptor_pool.DescriptorPool()

    def load(self, name: str, around: tuple[str, ...]) -> None:
        if name in around:
            raise InvalidSchema(f"{' imports '.join((*around, name))}, which never ends")
        if name in self.files:
            return
        file = self._read(name)
        file.name = name
        for inner in file.dependency:
            self.load(inner, (*around, name))
        types = {full: found for one in self.files.values() for full, found in _declared(one, local=False)}
        _link(file, types | dict(_declared(file, local=True)))
        self.check(file)
        self.files[name] = file

    def _read(self, name: str) -> File:
        if name in self._references:
            return _file(self._references[name])[0]
        if name in KNOWN:
            return proto_text.read(KNOWN[name])
        known = _google().get(name)
        if known is None:
            raise InvalidSchema(f'the import "{name}" has no reference')
        copy = File()
        copy.CopyFrom(known)
        return copy

    def check(self, file: File) -> None:
        """Google's own library has the last word: twice the same number, a name twice, and much more."""
        try:
            self._pool.AddSerializedFile(file.SerializeToString())
        except TypeError as error:
            raise InvalidSchema(str(error).replace("Couldn't build proto file into descriptor pool: ", "")) from error


@lru_cache(maxsize=1)
def _google() -> dict[str, File]:
    from importlib import import_module

    found = {}
    for name in _GOOGLE:
        module = import_module(f"google.protobuf.{name}_pb2")
        file = File()
        module.DESCRIPTOR.CopyToProto(file)
        found[file.name] = file
    return found


def _declared(file: File, *, local: bool) -> Iterator[tuple[str, Declared]]:
    prefix = f".{file.package}" if file.package else ""

    def inside(
        messages: Iterable[DescriptorProto], enums: Iterable[EnumDescriptorProto], path: str
    ) -> Iterator[tuple[str, Declared]]:
        for enum in enums:
            yield f"{prefix}{path}.{enum.name}", Declared(enum, f"{path}.{enum.name}"[1:], local)
        for message in messages:
            here = f"{path}.{message.name}"
            yield f"{prefix}{here}", Declared(message, here[1:], local)
            yield from inside(message.nested_type, message.enum_type, here)

    yield from inside(file.message_type, file.enum_type, "")


def _link(file: File, types: Mapping[str, Declared]) -> None:
    """Write the full name of every type in, and whether it is a message or an enum."""
    package = f".{file.package}" if file.package else ""

    def find(name: str, scope: str) -> str:
        if name.startswith("."):
            if name in types:
                return name
        else:
            while True:
                if f"{scope}.{name}" in types:
                    return f"{scope}.{name}"
                if not scope:
                    break
                scope = scope.rpartition(".")[0]
        raise InvalidSchema(f'"{name}" is no defined type', path=file.name)

    def fields(some: Iterable[FieldDescriptorProto], scope: str) -> None:
        for one in some:
            if one.extendee:
                one.extendee = find(one.extendee, scope)
            if one.type_name:
                one.type_name = find(one.type_name, scope)
                if one.type != FieldDescriptorProto.TYPE_GROUP:
                    is_enum = isinstance(types[one.type_name].type, EnumDescriptorProto)
                    one.type = FieldDescriptorProto.TYPE_ENUM if is_enum else FieldDescriptorProto.TYPE_MESSAGE

    def inside(message: DescriptorProto, scope: str) -> None:
        here = f"{scope}.{message.name}"
        fields(message.field, here)
        fields(message.extension, here)
        for nested in message.nested_type:
            inside(nested, here)

    fields(file.extension, package)
    for message in file.message_type:
        inside(message, package)
    for service in file.service:
        for method in service.method:
            method.input_type = find(method.input_type, package)
            method.output_type = find(method.output_type, package)

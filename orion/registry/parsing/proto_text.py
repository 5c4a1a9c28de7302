"""A .proto file's text as a file descriptor, names of types still as they are written.

Written by hand, because the registry needs descriptors: clients ask for them, and compatibility is defined over them.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    UninterpretedOption,
)

from orion.registry.parsing.limits import check_text
from orion.registry.parsing.proto_tokens import Cursor

SCALARS = {
    name: getattr(FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in "double float int64 uint64 int32 fixed64 fixed32 bool string bytes uint32 sfixed32 sfixed64 sint32 "
    "sint64".split()
}
_LABELS = {
    "optional": FieldDescriptorProto.LABEL_OPTIONAL,
    "required": FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": FieldDescriptorProto.LABEL_REPEATED,
}
_MAX_TAG = 536870911


def read(text: str) -> FileDescriptorProto:
    """The file's descriptor, its name empty."""
    check_text(text, "{[(<", "}])>")
    return _FileParser(Cursor(text)).file()


class _FileParser:
    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._proto3 = False

    def file(self) -> FileDescriptorProto:
        cursor = self._cursor
        file = FileDescriptorProto()
        if cursor.now.text == "syntax":
            cursor.take()
            cursor.expect("=")
            syntax = cursor.string()
            if syntax not in ("proto2", "proto3"):
                raise cursor.wrong('syntax "proto2" or "proto3"')
            self._proto3 = syntax == "proto3"
            if self._proto3:
                file.syntax = syntax  # a file of proto2 says nothing
            cursor.expect(";")
        while cursor.now.kind != "end":
            self._top(file)
        return file

    def _top(self, file: FileDescriptorProto) -> None:
        cursor = self._cursor
        word = cursor.now.text
        if cursor.skip(";"):
            return
        if word == "import":
            cursor.take()
            public = cursor.skip("public")
            if not public:
                cursor.skip("weak")
            if public:
                file.public_dependency.append(len(file.dependency))
            file.dependency.append(cursor.string())
            cursor.expect(";")
        elif word == "package":
            cursor.take()
            if file.package:
                raise cursor.wrong("one package only")
            file.package = cursor.dotted()
            cursor.expect(";")
        elif word == "option":
            self._option(file.options)
        elif word == "message":
            self._message(file.message_type.add())
        elif word == "enum":
            self._enum(file.enum_type.add())
        elif word == "extend":
            self._extend(file.extension, file.message_type)
        elif word == "service":
            self._service(file.service.add())
        else:
            raise cursor.wrong("message, enum, import, package, option, extend or service")

    # -- messages

    def _message(self, message: DescriptorProto) -> None:
        self._cursor.expect("message")
        message.name = self._cursor.name()
        self._body(message)

    def _body(self, message: DescriptorProto) -> None:
        cursor = self._cursor
        cursor.expect("{")
        while not cursor.skip("}"):
            self._member(message)
        _name_optional_oneofs(message)

    def _member(self, message: DescriptorProto) -> None:
        cursor = self._cursor
        word, after = cursor.now.text, cursor.following
        declares = after.kind == "name"
        if cursor.skip(";"):
            return
        if word == "message" and declares:
            self._message(message.nested_type.add())
        elif word == "enum" and declares:
            self._enum(message.enum_type.add())
        elif word == "oneof" and declares:
            self._oneof(message)
        elif word == "extend" and (declares or after.text == "."):
            self._extend(message.extension, message.nested_type)
        elif word == "option" and (declares or after.text == "("):
            self._option(message.options)
        elif word == "reserved":
            self._reserved(message)
        elif word == "extensions":
            self._extensions(message)
        else:
            self._field(message.field.add(), message.nested_type)

    def _oneof(self, message: DescriptorProto) -> None:
        cursor = self._cursor
        cursor.expect("oneof")
        index = len(message.oneof_decl)
        oneof = message.oneof_decl.add(name=cursor.name())
        cursor.expect("{")
        while not cursor.skip("}"):
            if cursor.skip(";"):
                continue
            if cursor.now.text == "option":
                self._option(oneof.options)
                continue
            field = message.field.add()
            self._field(field, message.nested_type, in_oneof=True)
            field.oneof_index = index

    def _field(self, field: FieldDescriptorProto, nested: Any, *, in_oneof: bool = False) -> None:
        cursor = self._cursor
        field.label = FieldDescriptorProto.LABEL_OPTIONAL
        if cursor.now.text in _LABELS and cursor.following.text != "=" and not in_oneof:
            label = cursor.take().text
            field.label = _LABELS[label]
            if label == "optional" and self._proto3:
                field.proto3_optional = True
            if label == "required" and self._proto3:
                raise cursor.wrong("no required field in proto3")
        if cursor.now.text == "map" and cursor.following.text == "<":
            self._map(field, nested)
        elif cursor.now.text == "group" and cursor.following.kind == "name":
            self._group(field, nested)
            return
        else:
            self._type(field, cursor.dotted())
            field.name = cursor.name()
            self._tag(field)
        self._field_options(field)
        cursor.expect(";")

    def _type(self, field: FieldDescriptorProto, word: str) -> None:
        if word in SCALARS:
            field.type = SCALARS[word]
        else:
            field.type_name = word

    def _tag(self, field: FieldDescriptorProto) -> None:
        self._cursor.expect("=")
        number = self._cursor.integer()
        if not 0 < number <= _MAX_TAG:
            raise self._cursor.wrong(f"a field number from 1 to {_MAX_TAG}")
        field.number = number

    def _map(self, field: FieldDescriptorProto, nested: Any) -> None:
        cursor = self._cursor
        cursor.expect("map")
        cursor.expect("<")
        key = cursor.name()
        if key not in SCALARS or key in ("double", "float", "bytes"):
            raise cursor.wrong("a whole number, bool or string as the key of a map")
        cursor.expect(",")
        value = cursor.dotted()
        cursor.expect(">")
        field.name = cursor.name()
        self._tag(field)
        entry = nested.add(name=entry_name(field.name))
        entry.options.map_entry = True
        optional = FieldDescriptorProto.LABEL_OPTIONAL
        entry.field.add(name="key", number=1, label=optional, type=SCALARS[key], json_name="key")
        self._type(entry.field.add(name="value", number=2, label=optional, json_name="value"), value)
        field.label = FieldDescriptorProto.LABEL_REPEATED
        field.type_name = entry.name

    def _group(self, field: FieldDescriptorProto, nested: Any) -> None:
        cursor = self._cursor
        cursor.expect("group")
        message = nested.add(name=cursor.name())
        field.name = message.name.lower()
        field.type = FieldDescriptorProto.TYPE_GROUP
        field.type_name = message.name
        self._tag(field)
        self._body(message)

    def _field_options(self, field: FieldDescriptorProto) -> None:
        cursor = self._cursor
        if not cursor.skip("["):
            return
        while True:
            name = cursor.now.text
            if name == "default" and cursor.following.text == "=":
                cursor.take()
                cursor.expect("=")
                field.default_value = self._scalar()
            elif name == "json_name" and cursor.following.text == "=":
                cursor.take()
                cursor.expect("=")
                field.json_name = cursor.string()
            else:
                self._assignment(field.options)
            if not cursor.skip(","):
                break
        cursor.expect("]")

    def _scalar(self) -> str:
        if self._cursor.now.kind == "string":
            return self._cursor.string()
        sign = "-" if self._cursor.skip("-") else ""
        return sign + self._cursor.take().text

    # -- ranges

    def _range(self, most: int) -> tuple[int, int]:
        start = end = self._cursor.integer()
        if self._cursor.skip("to"):
            end = most if self._cursor.skip("max") else self._cursor.integer()
        return start, end

    def _reserved(self, message: DescriptorProto | EnumDescriptorProto) -> None:
        cursor = self._cursor
        cursor.expect("reserved")
        while True:
            if cursor.now.kind == "string":
                message.reserved_name.append(cursor.string())
            elif cursor.now.kind == "name":
                message.reserved_name.append(cursor.name())
            elif isinstance(message, DescriptorProto):
                start, end = self._range(_MAX_TAG)
                message.reserved_range.add(start=start, end=end + 1)
            else:
                start, end = self._range(2**31 - 1)
                message.reserved_range.add(start=start, end=end)
            if not cursor.skip(","):
                break
        cursor.expect(";")

    def _extensions(self, message: DescriptorProto) -> None:
        cursor = self._cursor
        cursor.expect("extensions")
        while True:
            start, end = self._range(_MAX_TAG)
            message.extension_range.add(start=start, end=end + 1)
            if not cursor.skip(","):
                break
        self._bracketed(FieldDescriptorProto().options)  # nothing is done with them
        cursor.expect(";")

    # -- the rest

    def _enum(self, enum: EnumDescriptorProto) -> None:
        cursor = self._cursor
        cursor.expect("enum")
        enum.name = cursor.name()
        cursor.expect("{")
        while not cursor.skip("}"):
            if cursor.skip(";"):
                continue
            if cursor.now.text == "option" and cursor.following.text != "=":
                self._option(enum.options)
            elif cursor.now.text == "reserved" and cursor.following.text != "=":
                self._reserved(enum)
            else:
                value = enum.value.add(name=cursor.name())
                cursor.expect("=")
                value.number = cursor.integer()
                self._bracketed(value.options)
                cursor.expect(";")

    def _extend(self, extensions: Any, nested: Any) -> None:
        cursor = self._cursor
        cursor.expect("extend")
        extendee = cursor.dotted()
        cursor.expect("{")
        while not cursor.skip("}"):
            if not cursor.skip(";"):
                field = extensions.add(extendee=extendee)
                self._field(field, nested)
                field.proto3_optional = False

    def _service(self, service: Any) -> None:
        cursor = self._cursor
        cursor.expect("service")
        service.name = cursor.name()
        cursor.expect("{")
        while not cursor.skip("}"):
            if cursor.skip(";"):
                continue
            if cursor.now.text == "option":
                self._option(service.options)
                continue
            cursor.expect("rpc")
            method = service.method.add(name=cursor.name())
            method.client_streaming, method.input_type = self._side()
            cursor.expect("returns")
            method.server_streaming, method.output_type = self._side()
            if cursor.skip("{"):
                while not cursor.skip("}"):
                    if not cursor.skip(";"):
                        self._option(method.options)
            else:
                cursor.expect(";")

    def _side(self) -> tuple[bool, str]:
        cursor = self._cursor
        cursor.expect("(")
        streaming = cursor.now.text == "stream" and cursor.following.text != ")" and cursor.skip("stream")
        of = cursor.dotted()
        cursor.expect(")")
        return streaming, of

    # -- options

    def _option(self, options: Any) -> None:
        self._cursor.expect("option")
        self._assignment(options)
        self._cursor.expect(";")

    def _bracketed(self, options: Any) -> None:
        """`[a = 1, b = 2]`, or nothing."""
        if self._cursor.skip("["):
            self._assignment(options)
            while self._cursor.skip(","):
                self._assignment(options)
            self._cursor.expect("]")

    def _assignment(self, options: Any) -> None:
        """An option of descriptor.proto goes to its field; one of somebody's own stays as it is written."""
        cursor = self._cursor
        made = UninterpretedOption()
        while True:
            custom = cursor.skip("(")
            name = cursor.dotted() if custom else cursor.name()
            if custom:
                cursor.expect(")")
            made.name.add(name_part=name, is_extension=custom)
            if not cursor.skip("."):
                break
        cursor.expect("=")
        self._option_value(made)
        if not _interpreted(options, made):
            options.uninterpreted_option.append(made)

    def _option_value(self, made: UninterpretedOption) -> None:
        cursor = self._cursor
        if cursor.now.kind == "string":
            made.string_value = cursor.string().encode("utf-8", "surrogatepass")
        elif cursor.skip("{"):
            made.aggregate_value = self._aggregate()
        elif cursor.now.kind == "name":
            made.identifier_value = cursor.name()
        else:
            negative = cursor.skip("-")
            if not negative:
                cursor.skip("+")
            word = cursor.take().text
            if word in ("inf", "nan") or "." in word or ("e" in word.lower() and "x" not in word.lower()):
                made.double_value = float(("-" if negative else "") + word)
            else:
                try:
                    number = int(word, 0)
                except ValueError:
                    raise cursor.wrong("a value") from None
                if negative:
                    made.negative_int_value = -number
                else:
                    made.positive_int_value = number

    def _aggregate(self) -> str:
        words: list[str] = []
        depth = 1
        while True:
            token = self._cursor.take()
            if token.kind == "end":
                raise self._cursor.wrong("'}'")
            depth += (token.text in "{[") - (token.text in "}]") if token.kind == "sign" else 0
            if depth == 0:
                return " ".join(words)
            words.append(token.text)


def _interpreted(options: Any, made: UninterpretedOption) -> bool:
    if len(made.name) != 1 or made.name[0].is_extension:
        return False
    known = options.DESCRIPTOR.fields_by_name.get(made.name[0].name_part)
    if known is None or known.message_type is not None or known.is_repeated or known.name == "map_entry":
        return False
    if known.enum_type is not None:
        value = known.enum_type.values_by_name.get(made.identifier_value)
        if value is None:
            return False
        setattr(options, known.name, value.number)
        return True
    if known.type == FieldDescriptorProto.TYPE_STRING and made.HasField("string_value"):
        setattr(options, known.name, made.string_value.decode("utf-8", "replace"))
        return True
    if known.type == FieldDescriptorProto.TYPE_BOOL and made.identifier_value in ("true", "false"):
        setattr(options, known.name, made.identifier_value == "true")
        return True
    return False


def _name_optional_oneofs(message: DescriptorProto) -> None:
    """In proto3 an optional field is the one member of a oneof that nobody wrote; those come last."""
    for field in message.field:
        if field.proto3_optional and not field.HasField("oneof_index"):
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")


def entry_name(field: str) -> str:
    """The message that protoc makes up for a map."""
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"

"""Columns as the text of a .proto file, and such a text as descriptors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from orion.errors import SchemaError
from orion.formats.messages.types import Files
from orion.plan.sources import Serde, WireSchema
from orion.registry.errors import InvalidSchema
from orion.registry.parsing.protobuf import parse
from orion.schema import Array, Column, Decimal, Field, Map, Scalar, SqlType, Struct

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOP = "ConnectDefault1"
_SCALARS = {
    Scalar.BOOLEAN: "bool",
    Scalar.INTEGER: "int32",
    Scalar.BIGINT: "int64",
    Scalar.DOUBLE: "double",
    Scalar.STRING: "string",
    Scalar.BYTES: "bytes",
}
_MESSAGES = {
    Scalar.DATE: ("google.type.Date", "google/type/date.proto"),
    Scalar.TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    Scalar.TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}


def files_of(schema: WireSchema) -> Files:
    return linked(schema.text, schema.around)


def linked(text: str, around: Iterable[tuple[str, str]] = ()) -> Files:
    try:
        parsed = parse(text, dict(around))
    except InvalidSchema as error:
        raise SchemaError("SCHEMA_UNFIT", f"The schema can't be read as Protobuf: {error}.") from error
    return tuple(file.SerializeToString() for file in (*parsed.imports, parsed.file))


def schema_of(columns: tuple[Column, ...], serde: Serde) -> str:
    """The file whose one message has a field for each column."""
    package, _, name = (serde.full_name or _TOP).rpartition(".")
    writer = _Writer(serde)
    message = writer.message(name, [Field(c.name, c.type) for c in columns], "")
    blocks = [
        'syntax = "proto3";\n',
        f"package {package};\n" if package else "",
        "".join(f'import "{one}";\n' for one in sorted(writer.imports)),
        message,
    ]
    return "\n".join(block for block in blocks if block)


class _Writer:
    def __init__(self, serde: Serde) -> None:
        self._serde = serde
        self._messages = 1
        self.imports: set[str] = set()

    def message(self, name: str, fields: list[Field], indent: str) -> str:
        nested: list[str] = []
        lines = []
        json_names = Counter(_json_name(field.name) for field in fields)
        for number, field in enumerate(fields, 1):
            if not _NAME.fullmatch(field.name):
                raise SchemaError(
                    "INVALID_NAME",
                    f"Protobuf has no field {field.name}: names are letters, digits and underscores, no digit first.",
                    hint="Give the column an alias.",
                )
            options = self._options(field.type)
            if json_names[_json_name(field.name)] > 1:  # A_B and AB: one name in JSON, which Protobuf refuses
                options.append(f'json_name = "{field.name}"')
            told = f" [{', '.join(options)}]" if options else ""
            type_ = self._field(field.type, nested, f"{indent}  ")
            lines.append(f"{indent}  {type_} {field.name} = {number}{told};\n")
        return f"{indent}message {name} {{\n{''.join(lines)}{''.join(nested)}{indent}}}\n"

    def _field(self, type_: SqlType, nested: list[str], indent: str) -> str:
        match type_:
            case Array(element):
                return f"repeated {self._value(element, nested, indent, 'ARRAY')}"
            case Map(Scalar.STRING, value):
                return f"map<string, {self._value(value, nested, indent, 'MAP')}>"
            case Map():
                raise SchemaError(
                    "INVALID_FORMAT", f"{self._serde.format} format only supports MAP types with STRING keys."
                )
            case Scalar() if type_ in _SCALARS and self._serde.nullable == "OPTIONAL":
                return f"optional {_SCALARS[type_]}"
            case _:
                return self._value(type_, nested, indent, "")

    def _value(self, type_: SqlType, nested: list[str], indent: str, around: str) -> str:
        match type_:
            case Scalar() if type_ in _SCALARS and self._serde.nullable == "WRAPPER":
                self.imports.add("google/protobuf/wrappers.proto")
                return f"google.protobuf.{_SCALARS[type_].capitalize()}Value"
            case Scalar() if type_ in _SCALARS:
                return _SCALARS[type_]
            case Scalar():
                name, file = _MESSAGES[type_]
                self.imports.add(file)
                return name
            case Decimal():
                self.imports |= {"confluent/type/decimal.proto", "confluent/meta.proto"}
                return "confluent.type.Decimal"
            case Struct(fields):
                self._messages += 1
                name = f"ConnectDefault{self._messages}"
                nested.append(self.message(name, list(fields), indent))
                return name
            case Array() | Map():
                raise SchemaError(
                    "INVALID_FORMAT",
                    f"Protobuf has no {type_} inside of {'an ' if around == 'ARRAY' else 'a '}{around}.",
                    hint="Put it into a STRUCT.",
                )

    def _options(self, type_: SqlType) -> list[str]:
        of = type_.element if isinstance(type_, Array) else type_.value if isinstance(type_, Map) else type_
        if not isinstance(of, Decimal):
            return []
        digits = ("precision", of.precision), ("scale", of.scale)
        params = ", ".join(f'{{key: "{name}", value: "{number}"}}' for name, number in digits)
        return [f"(confluent.field_meta) = {{params: [{params}]}}"]


def _json_name(name: str) -> str:
    """As protoc makes it: the letter behind an underscore large, the underscore gone."""
    return re.sub(r"_+(.?)", lambda found: found[1].upper(), name)

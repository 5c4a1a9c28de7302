"""Messages of Protobuf and the types of SQL that stand for their fields.

Shared by the driver, which checks that columns fit, and by the workers, which read and write. What travels between them
is `Files`: the descriptors of a schema and of all it imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from orion.errors import SchemaError
from orion.formats.wire.naming import named
from orion.schema import Array, Decimal, Field, Map, Scalar, SqlType, Struct

Files = tuple[bytes, ...]  # each after those it imports, the schema itself last
Path = tuple[int, ...]  # where a message stands: its index in the file, then in the message around it

TIMESTAMP, DATE, TIME = "google.protobuf.Timestamp", "google.type.Date", "google.type.TimeOfDay"
DECIMAL = "confluent.type.Decimal"
WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_MESSAGES = {TIMESTAMP: Scalar.TIMESTAMP, DATE: Scalar.DATE, TIME: Scalar.TIME}
_SCALARS = {
    FieldDescriptor.TYPE_BOOL: Scalar.BOOLEAN,
    FieldDescriptor.TYPE_INT32: Scalar.INTEGER,
    FieldDescriptor.TYPE_SINT32: Scalar.INTEGER,
    FieldDescriptor.TYPE_SFIXED32: Scalar.INTEGER,
    # SQL has no numbers without a sign: the next wider type holds these, and the widest wraps around as Java's does.
    FieldDescriptor.TYPE_UINT32: Scalar.BIGINT,
    FieldDescriptor.TYPE_FIXED32: Scalar.BIGINT,
    FieldDescriptor.TYPE_INT64: Scalar.BIGINT,
    FieldDescriptor.TYPE_SINT64: Scalar.BIGINT,
    FieldDescriptor.TYPE_SFIXED64: Scalar.BIGINT,
    FieldDescriptor.TYPE_UINT64: Scalar.BIGINT,
    FieldDescriptor.TYPE_FIXED64: Scalar.BIGINT,
    FieldDescriptor.TYPE_FLOAT: Scalar.DOUBLE,
    FieldDescriptor.TYPE_DOUBLE: Scalar.DOUBLE,
    FieldDescriptor.TYPE_STRING: Scalar.STRING,
    FieldDescriptor.TYPE_BYTES: Scalar.BYTES,
    FieldDescriptor.TYPE_ENUM: Scalar.STRING,
}
_MOST_DIGITS = 38


# ---- messages of a file ----------------------------------------------------------------------------------------


def messages(files: Files) -> Iterator[tuple[Path, str]]:
    """Every message that the schema itself declares, with its full name, in the order of their declaration."""
    file = FileDescriptorProto.FromString(files[-1])
    yield from _inside(file.message_type, (), file.package)


def _inside(some: Iterable[DescriptorProto], around: Path, scope: str) -> Iterator[tuple[Path, str]]:
    # Those that stand for the entries of a map were never written down, and are not counted.
    for at, message in enumerate(one for one in some if not one.options.map_entry):
        path, name = (*around, at), f"{scope}.{message.name}".lstrip(".")
        yield path, name
        yield from _inside(message.nested_type, path, name)


def found(files: Files, name: str | None) -> Path:
    """The message of a name, full or inside the package; without a name the first."""
    known = list(messages(files))
    if not known:
        raise SchemaError("SCHEMA_UNFIT", "The schema declares no message.")
    if name is None:
        return known[0][0]
    package = FileDescriptorProto.FromString(files[-1]).package
    for path, full in known:
        if name in (full, full.removeprefix(f"{package}.")):
            return path
    message = f"The schema has no message {name}."
    raise SchemaError("SCHEMA_UNFIT", message, hint=f"It has {', '.join(full for _, full in known)}.")


def described(files: Files, path: Path) -> Descriptor | None:
    """The message at a place, if there is one."""
    pool = DescriptorPool()
    for file in files:
        pool.AddSerializedFile(file)
    return next((pool.FindMessageTypeByName(full) for at, full in messages(files) if at == path), None)


# ---- fields and types ------------------------------------------------------------------------------------------


def field_of(message: Descriptor, name: str) -> FieldDescriptor | None:
    """The field of a name, else the first that differs in case alone."""
    at = named(name, [f.name for f in message.fields])
    return None if at is None else message.fields[at]


def entry_of(field: FieldDescriptor) -> tuple[FieldDescriptor, FieldDescriptor] | None:
    """The key and the value of a map, if the field is one."""
    entry = field.message_type
    if entry is None or not entry.GetOptions().map_entry:
        return None
    return entry.fields_by_name["key"], entry.fields_by_name["value"]


def struct_of(message: Descriptor, inside: tuple[str, ...] = ()) -> Struct:
    """The fields of a message as SQL sees them."""
    if message.full_name in inside:
        raise SchemaError("SCHEMA_RECURSIVE", f"The message {message.full_name} holds itself, and columns can't.")
    around = (*inside, message.full_name)
    return Struct(tuple(Field(f.name, _type(f, around)) for f in message.fields))


def _type(field: FieldDescriptor, inside: tuple[str, ...]) -> SqlType:
    entry = entry_of(field)
    if entry is not None:
        return Map(value_type(entry[0], inside), value_type(entry[1], inside))
    of_one = value_type(field, inside)
    return Array(of_one) if field.is_repeated else of_one


def value_type(field: FieldDescriptor, inside: tuple[str, ...] = ()) -> SqlType:
    """The type of one value of the field."""
    if field.message_type is None:
        return _SCALARS[field.type]
    name = field.message_type.full_name
    if name in _MESSAGES:
        return _MESSAGES[name]
    if name == DECIMAL:
        return decimal_of(field) or Decimal(_MOST_DIGITS, 0)
    if name in WRAPPERS:
        return value_type(field.message_type.fields_by_name["value"])
    return struct_of(field.message_type, inside)


def decimal_of(field: FieldDescriptor) -> Decimal | None:
    """Precision and scale that the option confluent.field_meta of the field declares."""
    told = " ".join(
        f"{{{option.aggregate_value}}}"
        for option in field.GetOptions().uninterpreted_option
        if option.name[0].name_part.endswith("field_meta")
    )
    digits = {}
    for entry in re.findall(r"\{[^{}]*\}", told):
        pairs = dict(re.findall(r"(key|value)\s*:\s*[\"'](\w*)[\"']", entry))
        if pairs.get("value", "").isdigit():
            digits[pairs.get("key")] = int(pairs["value"])
    if not digits:
        return None
    return Decimal(min(digits.get("precision", _MOST_DIGITS), _MOST_DIGITS), digits.get("scale", 0))


def shown(field: FieldDescriptor) -> str:
    """What a field holds, for people."""
    if entry_of(field) is not None:
        return "a map"
    kinds = {number: name[5:].lower() for name, number in vars(FieldDescriptor).items() if name.startswith("TYPE_")}
    one = field.message_type.full_name if field.message_type is not None else kinds[field.type]
    return f"repeated {one}" if field.is_repeated else one


def unfit(name: str, type_: SqlType, field: FieldDescriptor) -> SchemaError:
    return SchemaError("SCHEMA_UNFIT", f"{name} is {type_}, and the schema has {shown(field)} there")

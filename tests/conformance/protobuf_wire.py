"""Protobuf as people write its values in a case, by Google's own library."""

from __future__ import annotations

import base64
from datetime import date
from decimal import Decimal
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from orion.plan.sources import WireSchema
from orion.registry.parsing import protobuf

_WRAPPERS = tuple(f"google.protobuf.{k}Value" for k in ("Bool", "Int32", "Int64", "Double", "String", "Bytes", "Float"))
_EPOCH = date(1970, 1, 1).toordinal()


def encode(schema: WireSchema, name: str | None, value: Any) -> bytes:
    """With the message's place in the file before it."""
    found = _message(schema, name)
    place = [m.name for m in found.file.message_types_by_name.values()].index(found.name)
    before = b"\x00" if place == 0 else bytes([2, 2 * place])
    return before + _filled(found, value).SerializeToString()


def encode_bare(schema: WireSchema, name: str | None, value: Any) -> bytes:
    return bytes(_filled(_message(schema, name), value).SerializeToString())


def decode(schema: WireSchema, raw: bytes) -> Any:
    names = list(_file(schema).message_types_by_name)
    place, start = (0, 1) if raw[0] == 0 else (raw[1] // 2, 2)
    return decode_bare(schema, names[place], raw[start:])


def decode_bare(schema: WireSchema, name: str | None, raw: bytes) -> Any:
    made = message_factory.GetMessageClass(_message(schema, name))()
    made.ParseFromString(raw)
    return _shown(made)


def _file(schema: WireSchema) -> Any:
    parsed = protobuf.parse(schema.text, dict(schema.around))
    pool = descriptor_pool.DescriptorPool()
    for name in parsed.file.dependency:
        _add(pool, name, dict(schema.around))
    pool.Add(parsed.file)
    return pool.FindFileByName(parsed.file.name)


def _add(pool: descriptor_pool.DescriptorPool, name: str, around: dict[str, str]) -> None:
    """A file that another one imports, after those that it imports itself."""
    one = protobuf._Imports(around)
    one.load(name, ())
    for file in one.files.values():
        pool.Add(file)


def _message(schema: WireSchema, name: str | None) -> Descriptor:
    messages: list[Descriptor] = list(_file(schema).message_types_by_name.values())
    return messages[0] if name is None else next(m for m in messages if name in (m.name, m.full_name))


def _filled(of: Descriptor, value: dict[str, Any]) -> Message:
    made = message_factory.GetMessageClass(of)()
    upper = {k.upper(): v for k, v in value.items()}
    for field in of.fields:
        given = value.get(field.name, upper.get(field.name.upper()))
        if given is not None:
            _fill(made, field, given)
    return made


def _fill(made: Message, field: FieldDescriptor, given: Any) -> None:
    target = getattr(made, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        entry = field.message_type.fields_by_name["value"]
        for key, one in given.items():
            if entry.message_type is None:
                target[key] = _scalar(entry, one)
            else:
                target[key].CopyFrom(_inner(entry, one))
    elif field.is_repeated:
        for one in given:
            if field.message_type is None:
                target.append(_scalar(field, one))
            else:
                target.append(_inner(field, one))
    elif field.message_type is None:
        setattr(made, field.name, _scalar(field, given))
    else:
        target.CopyFrom(_inner(field, given))


def _inner(field: FieldDescriptor, given: Any) -> Message:
    of = field.message_type
    assert of is not None
    cls = message_factory.GetMessageClass(of)
    match of.full_name:
        case name if name in _WRAPPERS:
            return cls(value=_scalar(of.fields_by_name["value"], given))
        case "google.protobuf.Timestamp":
            return cls(seconds=int(given) // 1000, nanos=int(given) % 1000 * 1_000_000)
        case "google.type.Date":
            day = date.fromordinal(_EPOCH + int(given))
            return cls(year=day.year, month=day.month, day=day.day)
        case "google.type.TimeOfDay":
            seconds, millis = divmod(int(given), 1000)
            return cls(
                hours=seconds // 3600, minutes=seconds // 60 % 60, seconds=seconds % 60, nanos=millis * 1_000_000
            )
        case "confluent.type.Decimal":
            number = Decimal(str(given))
            sign, digits, exponent = number.as_tuple()
            unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
            size = (unscaled.bit_length() + 8) // 8
            value = unscaled.to_bytes(size, "big", signed=True)
            return cls(value=value, precision=len(digits), scale=-int(exponent))
        case _:
            return _filled(of, given)


def _scalar(field: FieldDescriptor, given: Any) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values_by_name[given].number
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            return float(given)
        case FieldDescriptor.CPPTYPE_STRING:
            return base64.b64decode(given) if field.type == FieldDescriptor.TYPE_BYTES else str(given)
        case FieldDescriptor.CPPTYPE_BOOL:
            return bool(given)
        case _:
            return int(given)


def _shown(made: Message) -> dict[str, Any]:
    return {field.name: _shown_field(made, field) for field in made.DESCRIPTOR.fields}


def _shown_field(made: Message, field: Any) -> Any:
    value = getattr(made, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        entry = field.message_type.fields_by_name["value"]
        return {key: _shown_value(entry, value[key]) for key in value}
    if field.is_repeated:
        return [_shown_value(field, one) for one in value]
    if field.has_presence and not made.HasField(field.name):
        return None
    return _shown_value(field, value)


def _shown_value(field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name
    if field.message_type is None:
        return base64.b64encode(value).decode() if isinstance(value, bytes) else value
    match field.message_type.full_name:
        case name if name in _WRAPPERS:
            return value.value
        case "google.protobuf.Timestamp":
            return value.seconds * 1000 + value.nanos // 1_000_000
        case "google.type.Date":
            return date(value.year, value.month, value.day).toordinal() - _EPOCH
        case "google.type.TimeOfDay":
            return ((value.hours * 60 + value.minutes) * 60 + value.seconds) * 1000 + value.nanos // 1_000_000
        case "confluent.type.Decimal":
            return Decimal(int.from_bytes(value.value, "big", signed=True)).scaleb(-value.scale)
        case _:
            return _shown(value)
